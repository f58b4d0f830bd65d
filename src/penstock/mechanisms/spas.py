"""SPAS: stream publishing by an adaptive sparse vector."""

import math
from dataclasses import dataclass
from typing import ClassVar

from penstock.epsilon import NANO, Epsilon
from penstock.mechanisms.base import Mechanism, state
from penstock.models import DeltaNeighbourhood, EventLevel, UserLevel, WEvent
from penstock.parameters import at_least_one, within
from penstock.primitives.segment import SegmentPlan, Verdict
from penstock.primitives.spread import Spread, Way, spread
from penstock.queries import Distance
from penstock.theory.spas import optimal_count
from penstock.types import Release, Snapshot

LOOKS = 6  # releases in the first window that predict the count, as in the paper: every 20 units of 120
LONGEST = 20  # units between two of them


@dataclass(kw_only=True)
class SPAS(Mechanism):
    """Predict how many releases a window deserves, and let a sparse vector pick them (Li et al. 2025, repaired).

    ``warm_up``       one release every so many units of the first window, from which the first count is predicted; by
                      default a sixth of the window, 20 units at most
    ``decide_share``  the part of epsilon that pays for picking
    ``update``        which releases predict the count: "recent" (last two windows), "all", or "decay"
    ``direct``        publish without asking when the budget left would otherwise go to waste

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = SPAS(model=WEvent(epsilon=4, w=2), warm_up=2, direct=False)
    >>> for release in publish(Stream([[50], [50], [50], [90]]), mechanism, noise=ScriptedNoise()):
    ...     print(release.t, release.values, release.kind[0], release.charged)
    1 [50] 0 3
    2 [50] 1 0
    3 [50] 1 0.693244104
    4 [90] 0 3.306755895
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, DeltaNeighbourhood)
    paper: ClassVar = "Li et al. 2025"

    warm_up: int | None = None
    decide_share: float = 0.25
    update: Way = "recent"
    direct: bool = True

    count: int = state(1)  # C: releases the next window should have
    times: list[int] = state(factory=list)  # of the fresh releases that the window still holds
    spread: Spread = state()

    def validate(self) -> None:
        if self.warm_up is not None:
            at_least_one("warm_up", self.warm_up)
        within("decide_share", self.decide_share, 0, 1)
        spread(self.update, self.model.window)
        decide = self.model.epsilon.share(self.decide_share)
        least = decide / (4 * self.model.window)  # no share of a segment with so many yeses is smaller
        self.require_spendable(least, (self.model.epsilon - decide) / self.model.window)

    @property
    def unasked(self) -> frozenset[str]:
        """A horizon ends with the warm-up."""
        return frozenset({"above"}) if self.model.horizon_bound else frozenset()

    def begin(self) -> None:
        self.interval = self.warm_up or min(max(self.model.window // LOOKS, 1), LONGEST)
        self.decide_budget = self.model.epsilon.share(self.decide_share)
        self.publish_budget = self.model.epsilon - self.decide_budget
        self.spread = spread(self.update, self.model.window)
        self.segment = self.curator.segment()

    def decide(self, snapshot: Snapshot) -> Release:
        if snapshot.t <= self.model.window:
            return self.warm(snapshot)
        e = self.publish_budget / self.count
        spare = self.spare(snapshot.t, e)
        if self.direct and spare:
            return self.release(snapshot, spare)
        if not self.segment.running:
            self.segment.renew(SegmentPlan.windowed(self.count, self.decide_budget))
        if not self.segment.can_ask(then=e):
            return self.republish(snapshot)
        verdict = self.segment.above(snapshot, Distance(self.last.values), self.threshold(e), then=e)  # lines 3, 4
        if verdict is Verdict.ABOVE:
            return self.release(snapshot, e)  # lines 5, 6
        return self.republish(snapshot)  # line 10

    def warm(self, snapshot: Snapshot) -> Release:
        """Every so many units of the first window, in equal parts of the publishing budget."""
        if (snapshot.t - 1) % self.interval == 0:
            return self.release(snapshot, self.publish_budget / math.ceil(self.model.window / self.interval))
        return self.republish(snapshot)

    def spare(self, t: int, e: Epsilon) -> Epsilon | None:
        """What a release may take if the budget suffices for one at every unit until the oldest leaves the window."""
        while self.times and self.times[0] <= t - self.model.window:
            del self.times[0]
        if not self.times:
            return None
        units = self.times[0] + self.model.window - t
        room = self.curator.remaining()
        return min(room / units, self.model.epsilon / self.count) if room >= e * units else None

    def threshold(self, e: Epsilon) -> int:
        """The noise a fresh release would carry, s1 / e a bin, as an L1 sum over all bins, rounded up."""
        return -(-self.curator.bins * self.model.sensitivity * NANO // e.nano)

    def release(self, snapshot: Snapshot, e: Epsilon) -> Release:
        """Publish, then predict the number of releases anew (lines 6 to 8)."""
        before, fresh = self.last, self.publish(snapshot, e)
        if snapshot.t > 1:
            self.spread.add(snapshot.t, before.values, fresh.values)
            variance = self.spread.variance(snapshot.t)
            optimum = optimal_count(variance, float(self.publish_budget), self.model.sensitivity)
            self.count = min(max(math.floor(optimum), 1), self.model.window)
        self.times.append(snapshot.t)
        return fresh
