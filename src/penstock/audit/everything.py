"""A mechanism that asks all there is to ask, of other bins and for other amounts at every unit, until nothing is left.

Mechanisms of the papers pay alike for every unit, so a kernel with a fault in how it adds up *different* amounts looks
right to them. What this one asks, of which bins and for how much follows from the number of the unit alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.audit.planted import Planted
from penstock.epsilon import Epsilon
from penstock.mechanisms.base import state
from penstock.models import DeltaNeighbourhood, EventLevel, MContext, UserLevel, WEvent
from penstock.primitives.segment import SegmentPlan
from penstock.primitives.volley import VolleyPlan
from penstock.queries import Bins, Counts, Distance, GroupDistances, GroupSums
from penstock.types import Ints, Kind, Release, Snapshot

SEED = 7
QUESTIONS_PER_UNIT = 4
# Into how many parts what remains is divided; 1 spends all of it.
DIVISORS = (1, 2, 3, 10)
# A question for less than this part of epsilon would have noise too wide for 64 bits.
LEAST_PART = 1000
# Units that a bin of the pool holds before it is read, and before it is dropped.
FULL, OVERFULL = 3, 5
LEVEL, LIMIT = 100, 50  # records
HEARD = 2**20  # what is made of the answers stays below it


@dataclass(kw_only=True)
class Everything(Planted):
    """Asks a few questions a unit, each for a part of what remains; what it publishes hangs on all answers."""

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, MContext, DeltaNeighbourhood)
    heard: int = state(0)

    def begin(self) -> None:
        self.sharers = self.model.window if self.model.horizon_bound else 1  # units that nothing comes back for
        self.pool, self.twice = self.curator.pool(), self.curator.pool(reads=2)
        self.grouper = self.curator.grouper(self.model.epsilon / self.model.window / 10)
        self.segment = self.curator.segment()
        self.volley = self.curator.volley() if self.curator.bins == 1 else None

    def decide(self, snapshot: Snapshot) -> Release:
        rng = np.random.default_rng((SEED, snapshot.t))
        questions = [self.counts, self.distances, self.gather, self.read, self.compare, self.choose, self.group]
        for number in rng.permutation(len(questions))[:QUESTIONS_PER_UNIT]:
            e = self.curator.remaining() / (int(rng.choice(DIVISORS)) * self.sharers)
            if e >= self.model.epsilon / LEAST_PART:
                self.heard = (self.heard + questions[number](snapshot, e, rng)) % HEARD
        return self.released(snapshot, np.full(self.curator.bins, self.heard), Kind.ESTIMATED, 0.0)

    def bins(self, rng: np.random.Generator) -> Bins:
        """Some of the bins, at least one."""
        return np.sort(rng.permutation(self.curator.bins)[: rng.integers(1, self.curator.bins + 1)])

    def counts(self, snapshot: Snapshot, e: Epsilon, rng: np.random.Generator) -> int:
        """Counts of some bins, twice, each time for one amount or one a bin; and a sample, where that is allowed."""
        first, second = self.bins(rng), self.bins(rng)
        part = e / 3
        heard = self.curator.ask(snapshot, Counts(), part, bins=first).sum()
        heard += self.curator.ask(snapshot, Counts(), [part] + [part / 2] * (len(second) - 1), bins=second).sum()
        if self.model.neighbours == "add-remove" and self.model.per_unit == 1:
            heard += self.curator.sampled(snapshot, 0.5, part, LIMIT).sum()
        return int(heard)

    def distances(self, snapshot: Snapshot, e: Epsilon, rng: np.random.Generator) -> int:
        """A distance, and sums and distances of groups."""
        labels, part = rng.integers(-1, 2, self.curator.bins), e / 3
        groups, last = np.maximum(labels, 0), self.last.values
        heard = self.curator.ask(snapshot, Distance(last), part, envelope="decide").sum()
        heard += self.curator.ask(snapshot, GroupDistances(groups, last), part, envelope="decide").sum()
        return int(heard + self.curator.ask(snapshot, GroupSums(groups), part).sum())

    def gather(self, snapshot: Snapshot, e: Epsilon, rng: np.random.Generator) -> int:
        """Let some bins into either pool, and read what is full, settling one and asking the other through a purse."""
        heard = 0
        for pool in (self.pool, self.twice):
            pool.absorb(snapshot, e / 2, bins=self.bins(rng))
            full = np.flatnonzero(pool.size >= FULL)
            if len(full):
                heard += int(pool.settle(full).sum())
        held = np.flatnonzero(self.pool.size >= FULL - 1)
        if len(held):
            purse = self.pool.purse(held)
            heard += int(purse(purse.remaining / 2).sum()) + int(purse(purse.remaining, np.zeros(len(held), int)).sum())
            self.pool.drop(held)
        self.twice.drop(np.flatnonzero(self.twice.size >= OVERFULL))
        return heard

    def read(self, snapshot: Snapshot, e: Epsilon, rng: np.random.Generator) -> int:
        """The next reading of a volley, if there is a single bin."""
        if self.volley is None:
            return 0
        plan = VolleyPlan(int(rng.integers(2, 5)), e)
        if not self.volley.running and self.volley.fits(plan):
            self.volley.renew(plan)
        return int(self.volley.read(snapshot).sum()) if self.volley.can_read() else 0

    def compare(self, snapshot: Snapshot, e: Epsilon, rng: np.random.Generator) -> int:
        """Whether the counts are far from the last release."""
        if not self.segment.running:
            self.segment.renew(SegmentPlan(int(rng.integers(1, 3)), e / 6, e / 6))
        verdict = self.segment.above(snapshot, Distance(self.last.values), LEVEL, then=e / 6)
        return len(verdict.value)

    def choose(self, snapshot: Snapshot, e: Epsilon, rng: np.random.Generator) -> int:
        """Which of two references is nearer."""
        references: list[Ints] = [np.zeros(self.curator.bins, np.int64), self.last.values]
        return self.curator.nearest(snapshot, [Distance(each) for each in references], e)

    def group(self, snapshot: Snapshot, e: Epsilon, rng: np.random.Generator) -> int:
        """Let the unit join the group of the units before it."""
        able = self.curator.can(monitor=self.grouper.e)
        return int(self.grouper.extend(snapshot, LEVEL).sum()) if able else 0
