"""Steps that are cut short after their draws: their answers are paid for, and what was sealed is given up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.charges import Fact, cost, recount
from penstock.checks.shadow import Shadow
from penstock.checks.subject import Subject
from penstock.epsilon import Epsilon
from penstock.errors import BudgetExceeded, CheckFailed, PenstockError
from penstock.ledger import Ledger
from penstock.mechanisms.base import Mechanism, State
from penstock.models import MContext
from penstock.noise import SimulationNoise
from penstock.sealing import new_key
from penstock.streams import Stream
from penstock.types import Snapshot

# The first unit that is lost: by then runs, volleys and pools have begun.
FIRST_LOST = 3
# Units between a window that was lost and the next loss, in which the budget has come back.
UNITS_AT_WORK = 9
# How many of them come before one that is missing.
UNITS_BEFORE_MISSING = 7


def lost_steps_are_paid(subject: Subject) -> None:
    """A step that dies after its draws is charged by its successor, and no protected set is hurt by its answers."""
    for seed, stream in enumerate(subject.streams()):
        shadow = Shadow(SimulationNoise(seed), subject.model, stream.bins)
        run = Losing(subject, shadow, stream, shadow.answer)
        for t, revealed, paid in run.losses():
            empty = stream.presence is not None and not stream.presence[t - 1]  # an answer then concerns no user
            subject.require(
                empty or revealed <= paid, f"what a lost step reveals at t={t} is paid for by its successor"
            )
        presence, limit = stream.presence, subject.model.epsilon
        learnt = recount(shadow.facts(), subject.model, presence)
        subject.require(learnt <= limit, f"with lost steps the fullest set stays within {limit}, but learns {learnt}")
        if not isinstance(subject.model, MContext):  # there a loss is charged to everybody, and not to those present
            spent = recount(run.journal, subject.model, presence)
            subject.require(spent <= limit, f"with lost steps the fullest set stays within {limit}, but paid {spent}")


@dataclass
class Losing:
    """A run in which some steps are lost: they draw and die, and a successor takes up the state before them.

    Some units are missing besides: there is no input, and the release before is repeated.
    """

    subject: Subject
    shadow: Shadow
    stream: Stream
    answers: Callable[..., Any]
    journal: list[Fact] = field(default_factory=list)
    key: bytes = field(default_factory=new_key)

    def losses(self) -> Iterator[tuple[int, int, int]]:
        """Publish the whole stream. Each lost unit with what it reveals, and what was paid for it, in nano-epsilon."""
        (mechanism, ledger), window = self.started(), self.subject.model.window
        for snapshot in self.stream:
            phase = (snapshot.t - FIRST_LOST) % (window + UNITS_AT_WORK)
            if phase == window + UNITS_BEFORE_MISSING:
                mechanism.pass_over(self.blank(snapshot))
                continue
            before, booked = mechanism.save(self.key), len(self.journal)
            most = ledger.remaining_next()
            try:
                mechanism.step(snapshot)
            except BudgetExceeded:  # answers before the refusal count
                most, phase = Epsilon.of_nano(ledger.charged), 0
            except PenstockError as fault:
                raise CheckFailed(f"{self.subject} failed at t={snapshot.t}: {fault}") from fault
            if phase == 0:
                del self.journal[booked:]  # it was never stored
                mechanism, ledger = self.succeeded(before, snapshot, most)
                yield snapshot.t, self.shadow.learnt(snapshot.t), sum(map(cost, self.journal[booked:]))

    def started(self) -> tuple[Mechanism, Ledger]:
        """A fresh mechanism before the same shadow, and its ledger."""
        options: dict[str, Any] = {"bins": self.stream.bins, "journal": self.journal.append, "answers": self.answers}
        curator = self.subject.curator(self.shadow, **options)
        return self.subject.begin(self.subject.make(), curator), curator.ledger

    def succeeded(self, before: State, snapshot: Snapshot, most: Epsilon) -> tuple[Mechanism, Ledger]:
        """A successor, which knows nothing of the lost step but what it may have cost at most."""
        successor, ledger = self.started()
        successor.load(before, self.key)
        self.shadow.t = snapshot.t - 1
        successor.pass_over(self.blank(snapshot), most, forget=isinstance(self.subject.model, MContext))
        self.shadow.retired()
        return successor, ledger

    def blank(self, snapshot: Snapshot) -> Snapshot:
        """A snapshot of the same unit that holds nothing."""
        present = () if isinstance(self.subject.model, MContext) else None
        return Snapshot(snapshot.t, np.zeros(snapshot.bins, np.int64), present)
