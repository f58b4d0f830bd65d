"""The law, from the store: every protected set is recounted from the charges in its file, against adversaries.

A stream is published through a durable store, closed and taken up again on the way, with its key and without. Then the
charges are read back from the file and counted by brute force, twice, by code that shares nothing with the ledger's.
Exactly, and whatever the noise was: no protected set may have paid more than epsilon.

    python -m penstock.audit.windows
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from penstock import catalogue
from penstock.audit.adversaries import ADVERSARIES, ATTENDANCES, FAR, Adversary, Attendance, Seen, everyone, window_edge
from penstock.bench.trials import bar, refused, ruled
from penstock.charges import Fact, Point, Span, Touch, recount
from penstock.checks import Subject, example_models
from penstock.epsilon import Epsilon
from penstock.errors import BadInput, CheckFailed
from penstock.mechanisms.base import Mechanism
from penstock.models import MContext, Presence, PrivacyModel, model_of, named
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


# ---- all of them ----------------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """What many streams came to, for a mechanism under a model: the fullest set of all, and who has filled it."""

    mechanism: str
    model: PrivacyModel
    streams: int
    units: int
    faults: int
    fullest: Fullest
    by: str


class Trial(NamedTuple):
    """A mechanism under a model, against every adversary."""

    mechanism: type[Mechanism]
    model: PrivacyModel
    rounds: int

    def run(self) -> Row:
        """Every stream, with restarts and without."""
        done = [
            (fullest(self.mechanism, self.model, adversary, seed=seed, attendance=who, restarts=restarts), by)
            for by, adversary, who, seed in self.games()
            for restarts in (0, RESTARTS)
        ]
        found, by = max(done, key=lambda each: each[0].spent)
        units, faults = sum(each.units for each, _ in done), sum(each.faults for each, _ in done)
        return Row(self.mechanism.__name__, self.model, len(done), units, faults, found, by)

    def games(self) -> Iterator[tuple[str, Adversary, Attendance, int]]:
        """Who makes up the counts, who says who is present, and in which phase."""
        attended = isinstance(self.model, MContext)
        for (name, adversary), (who, attendance) in product(ADVERSARIES.items(), ATTENDANCES.items()):
            phases = self.rounds
            if adversary is window_edge and not self.model.horizon_bound:
                phases = max(phases, self.model.window)
            if attended or attendance is everyone:
                by = f"{name}, {who}" if attended else name
                yield from ((by, adversary, attendance, phase) for phase in range(phases))


def trials(mechanisms: Iterable[type[Mechanism]], rounds: int = 1) -> list[Trial]:
    """Every mechanism under small models of every kind it is proven for."""
    at_least_one("rounds", rounds)
    kinds = [(mechanism, kind) for mechanism in mechanisms for kind in mechanism.proven_for]
    return [Trial(mechanism, model, rounds) for mechanism, kind in kinds for model in example_models(kind)]


def sweep(
    mechanisms: Iterable[type[Mechanism]],
    *,
    rounds: int = 1,
    workers: int = 1,
    advance: Callable[[], None] = lambda: None,
) -> Iterator[Row]:
    """A row for every trial; ``advance`` is called after each."""
    wanted = trials(mechanisms, rounds)
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:  # not forked: the progress bar is a thread
        for row in pool.map(Trial.run, wanted) if workers > 1 else map(Trial.run, wanted):
            advance()
            yield row


def main(arguments: Sequence[str] | None = None) -> int:
    """Try everything and show it; 1 if a protected set has paid more than epsilon."""
    try:
        options = _options(arguments)
        chosen = [catalogue.mechanism(key) for key in options.mechanisms] or list(catalogue.mechanisms().values())
        with bar(len(trials(chosen, options.rounds))) as advance:
            rows = list(sweep(chosen, rounds=options.rounds, workers=options.workers, advance=advance))
    except BadInput as fault:
        return refused(fault)
    except CheckFailed as fault:
        Console(stderr=True, soft_wrap=True).print(f"broken: {fault}", markup=False, highlight=False)
        return 1
    Console(width=180).print(_table(rows, box.MARKDOWN if options.markdown else box.SIMPLE_HEAD))
    return 0 if all(row.fullest.holds for row in rows) else 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m penstock.audit.windows", description="The law, from the store.")
    parser.add_argument("mechanisms", nargs="*", help="their keys; all of them if none is given")
    parser.add_argument("--rounds", type=int, default=1, help="streams of each adversary")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes that share the work")
    parser.add_argument("--markdown", action="store_true", help="a table for a document")
    options = parser.parse_args(arguments)
    at_least_one("--workers", options.workers)
    return options


def _table(rows: Sequence[Row], style: box.Box) -> Table:
    streams, units = sum(row.streams for row in rows), sum(row.units for row in rows)
    title = f"The fullest protected set of {streams:,} streams, {units:,} time units, recounted from their stores"
    columns = ["mechanism", "model", "filled by", "streams", "failed", "fullest set", "of epsilon", "", "tight"]
    table = ruled(title, columns, style, words=3)
    for mechanism, model, tried, _, faults, found, by in rows:
        law = f"{named(model)}, {model.called} {model.window}"
        shown = f"{math.floor(1000 * found.part) / 10}%" if found.holds else f"{float(found.part):.1%}, BROKEN"
        tight = "yes" if found.part == 1 else "no"
        table.add_row(mechanism, law, by, str(tried), str(faults), str(found.spent), str(found.part), shown, tight)
    return table


if __name__ == "__main__":
    sys.exit(main())
