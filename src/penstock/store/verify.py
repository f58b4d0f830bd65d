"""Reading a whole store again: is it what was written, is it the latest, and did it keep the law?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.charges import Point, Recount, Span
from penstock.epsilon import Epsilon
from penstock.errors import BudgetExceeded, StoreDamaged
from penstock.laws import model_of
from penstock.models import MContext, PrivacyModel
from penstock.store.account import Account
from penstock.store.archive import Archive
from penstock.store.owed import UNSEEN, Owed
from penstock.store.record import Entry, Source, unpack
from penstock.store.soundness import require_intents, require_whole


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


def verify(
    archive: Archive,
    name: str,
    progress: Callable[[int], None] = lambda t: None,
    *,
    upto: Account | None = None,
    seen: Callable[[Entry], None] = lambda entry: None,
) -> Verified:
    """Follow the chain of a stream from its beginning to the head, and recount what was spent.

    ``upto`` is an account of the stream at an earlier unit, to end there; ``seen`` is shown every unit on the way.
    """
    archive.require_latest(archive.account(name))
    account = upto or archive.account(name)  # which may be further by now
    archive.state(account)
    archive.intent(account)
    model = model_of(archive.streams()[name]["model"])
    found, facts, owed = Verified(name, model), Recount(), Owed(name, model)
    source: Source | None = None
    for record in archive.records(account):
        entry = unpack(record.body)
        source = entry.whole(source)
        _count(found, entry)
        owed.follow(entry)
        facts.add(entry.facts)
        seen(entry)
        progress(record.t)
    if not isinstance(model, MContext):  # who was present is sealed
        found.peak = facts.fullest(model)
        _require(found.peak, found)
    return found


def _count(found: Verified, entry: Entry) -> None:
    booked = [fact for fact in entry.facts if isinstance(fact, Point) or (isinstance(fact, Span) and fact.b is None)]
    found.units += 1
    found.charges += len(booked)
    found.fresh += entry.is_new
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
    """Check the file, the owner of every row, every intent, and whether every population is within its budget."""
    require_whole(archive)
    require_intents(archive)
    budgets = archive.populations()
    for name, budget in budgets.items():
        members = [declared for declared in archive.streams().values() if declared["population"] == name]
        taken = sum(model_of(declared["model"]).epsilon.nano for declared in members)
        if taken > budget.nano:
            raise BudgetExceeded(
                f'the streams of population "{name}" have set aside more than {budget}; stop publishing.'
            )
