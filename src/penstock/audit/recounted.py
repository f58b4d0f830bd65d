"""The fullest protected set of a stream that an adversary has made up, recounted from the charges in its store.

The stream is published through a durable store, closed and taken up again on the way, with its key and without. Then
the charges are read back from the file and counted by brute force, twice, and with nothing of the ledger's own code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from penstock.audit.adversaries import FAR, Adversary, Attendance, Seen, everyone
from penstock.charges import Fact, Point, Span, Touch, recount
from penstock.checks import Subject
from penstock.epsilon import Epsilon
from penstock.laws import model_of
from penstock.mechanisms.base import Mechanism
from penstock.models import MContext, Presence, PrivacyModel
from penstock.parameters import at_least_one
from penstock.publisher import Publisher
from penstock.store import Archive, Store
from penstock.store.account import Record
from penstock.store.record import unpack
from penstock.types import Cause, Published, Snapshot

NAMES = ("a", "b", "c")  # of the bins
STREAM = "stream"
RESTARTS = 2  # of every other stream
MEMORY = Path("/dev/shm")  # noqa: S108 - this is about what is written, and not about how long disks take


class Fullest(NamedTuple):
    """The fullest protected set of a stream, and what it may hold at most.

    ``releases`` counts those that are not just repeated, ``faults`` the units whose step failed or was refused: then
    what is counted is what a store makes of such a step, and says nothing of the mechanism.
    """

    spent: Epsilon
    limit: Epsilon
    units: int
    releases: int
    faults: int

    @property
    def holds(self) -> bool:
        return self.spent <= self.limit

    @property
    def part(self) -> Fraction:
        return self.spent / self.limit


def fullest(
    mechanism: type[Mechanism],
    model: PrivacyModel,
    adversary: Adversary,
    steps: int | None = None,
    seed: int = 0,
    *,
    attendance: Attendance = everyone,
    restarts: int = RESTARTS,
    parameters: Mapping[str, Any] | None = None,
) -> Fullest:
    """Publish a stream that the adversary makes up as it goes, and recount it from the store whenever it is closed.

    The seed decides what the adversary does and when the stream is taken up again; noise is secure, and never the same.
    """
    subject = Subject(mechanism, model, parameters=parameters or {})
    last = subject.steps() if steps is None else steps
    at_least_one("steps", last)
    rng = np.random.default_rng(seed)
    stops = sorted(rng.permutation(np.arange(1, last))[:restarts].tolist())
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        game = _Game(subject, adversary, attendance, Path(folder) / "store.db", seed, rng)
        for i, until in enumerate([*stops, last]):
            game.play(until, without_key=(seed + i) % 2 == 1)
            found = game.counted()
    return found


@dataclass
class _Game:
    """A stream in a store, and who makes up its counts."""

    subject: Subject
    adversary: Adversary
    attendance: Attendance
    path: Path
    phase: int
    rng: np.random.Generator
    presence: list[tuple[str, ...]] = field(default_factory=list)
    released: list[Published] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)  # that were in the store when it was last closed
    spent: Epsilon = field(default_factory=lambda: Epsilon(0))

    def play(self, until: int, *, without_key: bool) -> None:
        """Publish up to a unit and close the store. What is taken up goes on with its key, or has lost it."""
        with Store(self.path) as store:
            if self.released and without_key:
                store.key_file.path.unlink()
                store.replace_key()
            with Publisher(self.subject.make(), store, STREAM, bins=NAMES) as publisher:
                for t in range(publisher.t + 1, until + 1):
                    self.released.append(publisher.publish(self.snapshot(t)))

    def snapshot(self, t: int) -> Snapshot:
        """What the adversary answers to what was published so far, as far as the model allows it."""
        model, seen = self.subject.model, self.seen(t)
        present = self.attendance(seen) if isinstance(model, MContext) else None
        self.presence.append(present or ())
        most = None if present is None else model.most_records(len(present))
        counts = self.adversary(seen._replace(room=FAR if most is None else most // len(NAMES)))
        return Snapshot(t, self.subject.possible(counts, present), present)

    def seen(self, t: int) -> Seen:
        """What is public by now."""
        model = self.subject.model
        last, charged, remaining = np.zeros(len(NAMES), np.int64), Epsilon(0), model.epsilon
        if self.released:
            release = self.released[-1]
            last, charged, remaining = release.values, release.charged, release.remaining
        return Seen(t, model.window, model.epsilon, last, charged, remaining, 0, self.phase, self.rng)

    def counted(self) -> Fullest:
        """The fullest protected set by what is in the file, which holds what it held before and what was published."""
        with Archive(self.path) as archive:
            records = list(archive.records(archive.account(STREAM)))
            model = model_of(archive.streams()[STREAM]["model"])
        self.subject.require(records[: len(self.records)] == self.records, "a store keeps what it holds")
        self.records, facts, booked = records, list[Fact](), 0
        for record, release in zip(records, self.released, strict=True):
            page = unpack(record.body).facts
            paid = [f.e for f in page if isinstance(f, Point) or (isinstance(f, Span) and f.b is None)]
            facts, booked = facts + page, booked + len(paid)
            told = (release.charged, release.sequence) == (sum(paid, Epsilon(0)), booked)
            self.subject.require(told, f"the store holds every charge of t={release.t}")
        spent, again = recount(facts, model, self.presence), recount_one_by_one(facts, model, self.presence)
        self.subject.require(spent == again, f"two recounts agree, and do not find {spent} and {again}")
        self.subject.require(spent >= self.spent, "what was spent never becomes less")
        self.spent = spent
        faults = sum(release.cause not in (Cause.DECIDED, Cause.OVER) for release in self.released)
        return Fullest(spent, model.epsilon, len(records), sum(each.is_new for each in self.released), faults)


def recount_one_by_one(facts: Iterable[Fact], model: PrivacyModel, presence: Presence = ()) -> Epsilon:
    """The fullest protected set: for each of them, for each charge, add it if they meet. Slow, and plain to see."""
    known = list(facts)
    last = max((f.b or f.a if isinstance(f, Span) else f.t for f in known), default=0)
    charges = [({fact.t}, fact.e.nano) for fact in known if isinstance(fact, Point)]
    for span in {fact.key: fact for fact in known if isinstance(fact, Span)}.values():  # the closing, if there is one
        if isinstance(model, MContext):
            reads = {fact.t for fact in known if isinstance(fact, Touch) and fact.key == span.key}
        else:
            reads = set(range(span.a, (last if span.b is None else span.b) + 1))
        charges.append((reads, span.e.nano))
    paid = [sum(nano for reads, nano in charges if reads & each) for each in _protected(model, last, presence)]
    return Epsilon.of_nano(max(paid, default=0))


def _protected(model: PrivacyModel, last: int, presence: Presence) -> Iterator[set[int]]:
    """Every protected set up to a unit; one that sticks out at the end of the stream is part of another."""
    if not isinstance(model, MContext):
        yield from (set(range(start, start + model.window)) for start in range(1, last + 1))
        return
    for user in {user for here in presence for user in here}:
        units = [t for t, here in enumerate(presence, start=1) if user in here]
        yield from (set(units[i : i + model.m]) for i in range(len(units)))
