"""A mechanism at work on a stream that is being stored: whatever it is told is taken down, so that it can be retold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import TypeVar

import numpy as np

from penstock.charges import Fact, cost
from penstock.curator import Curator
from penstock.desk import Answers, Question
from penstock.epsilon import Epsilon
from penstock.errors import BadState, PenstockError
from penstock.mechanisms.base import Mechanism, State
from penstock.models import MContext
from penstock.noise import Noise
from penstock.store import Entry, Saved, SavedState
from penstock.store.record import BOOKED, Source
from penstock.transcript import Player, Recorder
from penstock.types import Cause, Release, Snapshot

T = TypeVar("T")

STATE_EVERY = 100  # units after which a state is saved, to bound how much has to be played back


class Session:
    """A mechanism with its curator, from the last saved state on."""

    def __init__(self, template: Mechanism, bins: int, noise: Noise | None) -> None:
        self.facts: list[Fact] = []
        self.source: Source | None = None  # the last release that is stored whole
        self._recorder = Recorder()
        self._answers: Answers = self._recorder
        self._saved_at = 0
        self._refused: list[tuple[str, object]] = []  # what a refused step had booked for what it was told
        self._given_up: tuple[Fact, ...] | None = None  # the spans that ended, if secrets were lost between two units
        curator = Curator(template.model, bins, noise=noise, journal=self.facts.append, answers=self._answer)
        self.mechanism = replace(template).start(curator)
        self.ledger = curator.ledger
        self._curator = curator

    def _answer(self, question: Question, compute: Callable[[], T]) -> T:
        return self._answers(question, compute)

    def take_up(self, saved: Saved, key: bytes) -> None:
        """Go where the stream was: load the state, and play back what followed.

        If the key of what was sealed is lost, that is given up. It may have been used last in an announced unit.
        """
        self.source, state = saved.source, saved.state
        if state is not None:
            self._load(state, key)
        for entry in saved.entries:
            self._retell(entry)
        self._answers = self._recorder
        self._begin_unit()
        if state is not None and not state.sealed:
            self._curator.retire(saved.intent.t if saved.intent else None)
            self._given_up = tuple(self.facts)

    def _load(self, state: SavedState, key: bytes) -> None:
        try:
            self.mechanism.load(State(state.public, state.sealed), key, retire=False)
        except PenstockError:
            raise
        except (AttributeError, LookupError, TypeError, ValueError) as fault:  # its parts are not those that were saved
            raise BadState(
                f"this version of {type(self.mechanism).__name__} cannot take up what another one has saved at"
                f" t={state.t}; go on with the version that the releases name."
            ) from fault
        self._saved_at = state.t

    def _retell(self, entry: Entry) -> None:
        otherwise = BadState(
            f"this version of {type(self.mechanism).__name__} does not do again what it did at t={entry.t}; go on with"
            f" version {entry.version}, which the release names."
        )
        player = Player(entry.answers, attrgetter("verb"), otherwise)
        self._answers = partial(_without_secrets, player, otherwise)
        try:
            over = self.mechanism.model.is_over(entry.t)
            release = self.pass_over(self.blank(entry.t)) if over else self.step(self.blank(entry.t, entry.label))
        except PenstockError:
            raise
        except (LookupError, TypeError, ValueError) as fault:  # answers to other questions than it asks
            raise otherwise from fault
        self.source = entry.whole(self.source)
        told = (release.charged, self.facts) == (entry.charged, entry.facts) and not player.tape
        if not told or not np.array_equal(release.values, self.source.values):
            raise otherwise

    def step(self, snapshot: Snapshot) -> Release:
        """One time unit, as the mechanism decides."""
        self._begin_unit()
        return self.mechanism.step(snapshot)

    def check(self, snapshot: Snapshot) -> None:
        """Refuse a snapshot that cannot be the next one, and change nothing."""
        self._curator.check(snapshot)

    def pass_over(self, snapshot: Snapshot, lost: Epsilon | None = None, *, forget: bool = False) -> Release:
        """One time unit without looking at it.

        Under m-context a loss is everybody's, because who was present when a span was read is not known for sure.
        """
        self._begin_unit()
        forgets = forget or (lost is not None and isinstance(self.mechanism.model, MContext))
        return self.mechanism.pass_over(snapshot, lost, forget=forgets)

    def _begin_unit(self) -> None:
        """A new page: but spans that ended between two units, because their secrets are lost, are put down on it."""
        self.facts[:] = self._given_up or ()
        self._recorder.tape.clear()
        self._refused.clear()

    def cost(self) -> int:
        """What the charges of this unit add up to, by what was taken down of them, in nano-epsilon."""
        return sum(cost(fact) for fact in self.facts)

    def note_refused(self, nano: int) -> None:
        """The step of this unit was refused a charge, after answers that had cost this much."""
        self._refused.append((BOOKED, nano))

    def blank(self, t: int, label: str = "", present: Sequence[str] | None = None) -> Snapshot:
        """A snapshot of nothing, for steps that look at none; ``present`` lists who was there, if anybody was."""
        if present is None and isinstance(self.mechanism.model, MContext):
            present = ()
        return Snapshot(t, np.zeros(self.mechanism.curator.bins, np.int64), present, label)

    def answers(self) -> list[tuple[str, object]]:
        """What the mechanism was told in this unit, or what it had cost before a charge was refused."""
        return [*self._refused, *((question.verb, answer) for question, answer in self._recorder.tape)]

    def due_state(self, cause: Cause, key: bytes) -> SavedState | None:
        """The state after this unit, if it has to be saved with it.

        Only answers that hide nothing can be played back, so a unit in which something secret was kept, or presence was
        noted, is saved whole. That depends on what was asked, never on what was answered or counted.
        """
        t = self.ledger.t
        hides = any(question.hides for question, _ in self._recorder.tape)
        present = isinstance(self.mechanism.model, MContext)
        decided = cause in (Cause.DECIDED, Cause.OVER) and self._given_up is None
        if decided and not (hides or present) and t - self._saved_at < STATE_EVERY:
            return None
        self._saved_at, self._given_up = t, None
        return SavedState(t, *self.mechanism.save(key))


def _without_secrets(player: Player, otherwise: BadState, question: Question, compute: Callable[[], T]) -> T:
    """Play back an answer; where something secret was kept a state was saved, so none can be played back."""
    if question.hides:
        raise otherwise
    return player(question, compute)
