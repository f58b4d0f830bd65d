"""Reading a whole store again: is it what was written, is it the latest, and did it keep the law?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from penstock.charges import Fact, Point, Span, recount
from penstock.epsilon import Epsilon
from penstock.errors import BudgetExceeded, StoreDamaged
from penstock.laws import model_of
from penstock.models import MContext, PrivacyModel
from penstock.store.archive import Archive
from penstock.store.faults import plainly
from penstock.store.owed import UNSEEN, Owed
from penstock.store.record import Entry, unpack
from penstock.types import Kind


@dataclass
class Verified:
    """What a stream's records amount to, counted afresh. ``peak``: the fullest protected set, where it can be told."""

    stream: str
    model: PrivacyModel
    units: int = 0
    fresh: int = 0
    lost: int = 0
    charges: int = 0
    peak: Epsilon | None = None


def verify(archive: Archive, name: str, progress: Callable[[int], None] = lambda t: None) -> Verified:
    """Follow the chain of a stream from its beginning to the head, and recount what was spent."""
    archive.require_latest(archive.account(name))
    account = archive.account(name)  # which may be further by now
    archive.state(account)
    archive.intent(account)
    model = model_of(archive.streams()[name]["model"])
    found, facts = Verified(name, model), list[Fact]()
    source, owed = None, Owed(name, model)
    for record in archive.records(account):
        entry = unpack(record.body)
        source = entry.whole(source)
        _count(found, entry)
        owed.follow(entry)
        facts += entry.facts
        progress(record.t)
    if not isinstance(model, MContext):  # who was present is sealed
        found.peak = recount(facts, model)
        _require(found.peak, found)
    return found


def _count(found: Verified, entry: Entry) -> None:
    booked = [fact for fact in entry.facts if isinstance(fact, Point) or (isinstance(fact, Span) and fact.b is None)]
    found.units += 1
    found.charges += len(booked)
    found.fresh += bool(np.any(entry.kind != Kind.REPUBLISHED))
    found.lost += entry.cause in UNSEEN
    spent = Epsilon.of_nano(sum(fact.e.nano for fact in booked))
    if spent != entry.charged or found.charges != entry.sequence:
        raise StoreDamaged(f'the stream "{found.stream}" does not add up at t={entry.t}; restore the latest backup.')
    if not isinstance(found.model, MContext):  # where nobody was present, nobody pays
        _require(spent, found)


def _require(spent: Epsilon, found: Verified) -> None:
    if spent > found.model.epsilon:
        raise BudgetExceeded(
            f'the stream "{found.stream}" has spent {spent} on one protected set and its law allows'
            f" {found.model.epsilon}; stop publishing it."
        )


def verify_file(archive: Archive) -> None:
    """SQLite's own look at its file, and whether every population is within its budget."""
    with plainly(archive.path):
        outcome = archive.integrity()
    if outcome != "ok":
        raise archive.damaged()
    budgets = archive.populations()
    for name, budget in budgets.items():
        members = [declared for declared in archive.streams().values() if declared["population"] == name]
        taken = sum(model_of(declared["model"]).epsilon.nano for declared in members)
        if taken > budget.nano:
            raise BudgetExceeded(
                f'the streams of population "{name}" have set aside more than {budget}; stop publishing.'
            )
