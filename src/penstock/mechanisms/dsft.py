"""DSFT: distance-based sampling with a fixed threshold."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from penstock.epsilon import Epsilon, as_fraction
from penstock.mechanisms.base import Mechanism, state
from penstock.models import DeltaNeighbourhood, EventLevel, UserLevel, WEvent
from penstock.parameters import at_least_one, within
from penstock.primitives.segment import SegmentPlan, Verdict
from penstock.queries import Distance, EuclideanDistance, LargestDistance
from penstock.theory.dsft import usual_share
from penstock.types import Release, Snapshot

Metric = Literal["l1", "l2", "largest"]
METRICS = {"l1": Distance, "l2": EuclideanDistance, "largest": LargestDistance}
FARTHEST = 2  # two histograms of n0 records are at most 2 n0 apart in L1
LEAST = 2  # releases, by default: with one there is nothing to decide


@dataclass(kw_only=True)
class DSFT(Mechanism):
    """Publish when the counts are further than a fixed threshold from the last release (Li et al. 2015, repaired).

    At most C releases share the publishing budget; a sparse vector tells when the next one is due. Under user-level
    privacy the last unit of the horizon takes whatever is left. Best where it is known beforehand which change matters.

    ``threshold``     T, the change that matters, as a part of all records
    ``releases``      C, the most releases: by default 1% of the units of a horizon, sqrt(w / 10) in a window (3 in 120)
    ``total``         n0, how many records a snapshot has, a public number; by default the sum of the first release
    ``decide_share``  k, the part of epsilon that pays for deciding; by default 1 / (1 + 2 sqrt(bins))
    ``metric``        how to measure a change: "l1", "l2" or "largest" (of any bin)

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = DSFT(model=UserLevel(epsilon=4, horizon=5), threshold=0.2, releases=3, total=100, decide_share=0.25)
    >>> stream = Stream([[50, 50], [45, 55], [35, 65], [30, 70], [30, 70]])
    >>> for release in publish(stream, mechanism, noise=ScriptedNoise()):
    ...     print(release.t, release.values, release.kind[0], release.charged)
    1 [50 50] 0 1
    2 [50 50] 1 0.642051825
    3 [35 65] 0 1.178974086
    4 [35 65] 1 0
    5 [30 70] 0 1
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, DeltaNeighbourhood)
    paper: ClassVar = "Li et al. 2015"

    threshold: float = 0.025
    releases: int | None = None
    total: int | None = None
    decide_share: float | None = None
    metric: Metric = "l1"

    records: int = state(0)  # n0; 0 until the first release

    def validate(self) -> None:
        within("threshold", self.threshold, 0, FARTHEST)
        for name, value in (("releases", self.releases), ("total", self.total)):
            if value is not None:
                at_least_one(name, value)
        if self.releases is not None:
            within("releases", self.releases, 0, self.model.window + 1)
        if self.decide_share is not None:
            within("decide_share", self.decide_share, 0, 1)

    @property
    def unasked(self) -> frozenset[str]:
        """Where every unit can have its release, nothing is decided."""
        return frozenset() if self.plan else frozenset({"above"})

    def begin(self) -> None:
        self.most = self.releases or self.usual_releases()
        decide = self.model.epsilon.share(self.share())
        self.part = (self.model.epsilon - decide) / self.most
        self.require_spendable(self.part)
        if decide:
            self.require_spendable(decide / (8 * self.most))  # the threshold and the comparisons of a run have more
        self.curator.cap(decide=decide, publish=self.model.epsilon - decide)
        self.segment = self.curator.segment()
        self.plan = self.planned(decide) if decide else None

    def decide(self, snapshot: Snapshot) -> Release:
        if self.model.horizon_bound and snapshot.t == self.model.window:
            return self.finish(snapshot)  # line 10
        if not self.records:
            return self.first(snapshot)  # line 3
        if self.moved_enough(snapshot):
            return self.publish(snapshot, self.part)  # line 8
        return self.republish(snapshot)  # lines 6, 9

    def first(self, snapshot: Snapshot) -> Release:
        """Line 3: publish; if nobody has said how many records there are, take the number from here."""
        if not self.curator.can(publish=self.part):  # a crash has taken it
            return self.republish(snapshot)
        release = self.publish(snapshot, self.part)
        self.records = self.total or max(int(release.values.sum(dtype=np.float64)), 1)
        return release

    def moved_enough(self, snapshot: Snapshot) -> bool:
        """Line 7: whether the noisy distance reaches the noisy threshold. Without a budget to decide, always."""
        if self.plan is None:
            return self.curator.can(publish=self.part)
        if not self.segment.running:
            self.segment.renew(self.plan)
        distance = METRICS[self.metric](self.last.values)
        threshold = math.ceil(as_fraction(self.level(snapshot.t)) * self.records)
        return self.segment.above(snapshot, distance, threshold, then=self.part) is Verdict.ABOVE

    def level(self, t: int) -> float:
        """The threshold at unit ``t``, as a part of all records."""
        return self.threshold

    def finish(self, snapshot: Snapshot) -> Release:
        """Line 10: if fewer than C releases were made, the last one gets all that is left for them."""
        left = self.curator.remaining("publish")
        return self.publish(snapshot, left) if left >= self.part else self.republish(snapshot)

    def usual_releases(self) -> int:
        """1% of a horizon, as in the paper, or a root of a tenth of a window, but two at least if there is room."""
        units = self.model.window
        usual = -(-units // 100) if self.model.horizon_bound else round(math.sqrt(units / 10))
        return min(max(usual, LEAST), units)

    def share(self) -> float:
        """k, by default the best one; nothing if every unit can have its release, or only the first."""
        if self.most == self.model.window or (self.model.horizon_bound and self.most == 1):
            return 0
        if self.decide_share is not None:
            return self.decide_share
        return usual_share(self.curator.bins, self.most, self.model.window)

    def planned(self, decide: Epsilon) -> SegmentPlan:
        """One run of C - 1 yeses for a horizon, whose first release is not asked for; runs after runs for windows."""
        if self.model.horizon_bound:
            return SegmentPlan.whole_horizon(self.most - 1, decide)
        return SegmentPlan.windowed(self.most, decide)
