"""RG: retroactive grouping."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from penstock.epsilon import NANO
from penstock.mechanisms.base import Mechanism, state
from penstock.models import DeltaNeighbourhood, EventLevel, PrivacyModel, UserLevel, WEvent
from penstock.parameters import above, from_one_to, up_to_one, within
from penstock.primitives.pool import LARGEST_SIZE
from penstock.primitives.sampling import best_rate
from penstock.queries import Counts
from penstock.types import Floats, Ints, Kind, Mask, Release, Snapshot

MOST_COINS = 2**28  # that are thrown for one sample, of all bins together


@dataclass(kw_only=True)
class RG(Mechanism):
    """Publish bins that move at once; let bins that rest wait, and publish their mean over the wait (Chen et al. 2015).

    Every bin goes its own way. A part of the budget watches it; if it has moved further than the noise of a release, it
    is published. Otherwise its last release is repeated and its counts are gathered, until there are twice as many as
    in the group before: their mean carries so many times less noise. Best for single units of bins that rest for long,
    if most of the budget watches them. ``post.SlidingSum(15)`` makes histograms of a sliding window of its releases.

    ``monitor_share``  epsilon 1, the part that watches
    ``growth``         the next group is so many times as large as the one before
    ``max_length``     and never larger than this
    ``rate``           watch a random sample drawn at this rate; "auto" looks for the best one, which is always 1
    ``limit``          a bin is sampled as if it held so many records at most; only for a rate below 1

    The second example of the paper: 5 is published, then 75, which is far from it. What follows rests; the second
    resting unit makes a group of two, the next one has to have four. Of the scripted noise the first draw of each unit
    after the first is the monitor's, the second one, if any, that of the release.

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = RG(model=EventLevel(epsilon=0.1))
    >>> stream = Stream([[5], [75], [77], [73], [74], [76], [75], [71]])
    >>> noise = ScriptedNoise([2, -3, 1, 4, 0, 6, 2, -5, 0, 0, 8], strict=True)
    >>> for release in publish(stream, mechanism, noise=noise):
    ...     print(release.t, release.values, Kind(release.kind[0]).name, round(float(release.noise_sd[0]), 2))
    1 [7] FRESH 15.71
    2 [76] FRESH 15.71
    3 [76] REPUBLISHED 15.71
    4 [78] GROUPED 7.85
    5 [78] REPUBLISHED 7.85
    6 [78] REPUBLISHED 7.85
    7 [78] REPUBLISHED 7.85
    8 [76] GROUPED 3.93
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, DeltaNeighbourhood)
    paper: ClassVar = "Chen et al. 2015"

    monitor_share: float = 0.1
    growth: float = 2.0
    max_length: int = LARGEST_SIZE
    rate: Literal["auto"] | float = "auto"
    limit: int = 1000

    grouped: Ints = state()  # of how many units the last release of each bin is the mean; 0 before the first

    @classmethod
    def variants(cls, model: PrivacyModel) -> tuple[dict[str, Any], ...]:
        """With more to watch from, groups grow; a rate below 1 watches a sample."""
        samples = model.neighbours == "add-remove" and model.per_unit == 1
        return ({"monitor_share": 0.5}, {"rate": 0.5}) if samples else ({"monitor_share": 0.5},)

    def validate(self) -> None:
        within("monitor_share", self.monitor_share, 0, 1)
        above("growth", self.growth, 1)
        from_one_to("max_length", self.max_length, LARGEST_SIZE)
        from_one_to("limit", self.limit, MOST_COINS)
        if self.rate != "auto":
            up_to_one("rate", self.rate)
            if self.rate < 1:
                self.model.require_sampling()
        self.require_spendable(*self.unit_in_two(self.monitor_share))

    def begin(self) -> None:
        self.watching, self.publishing = self.unit_in_two(self.monitor_share)  # epsilon 1 and 2
        for e in (self.watching, self.publishing):
            self.curator.noise_sd(e)  # refused now if it does not fit, rather than in mid-stream
        if self.rate not in ("auto", 1):
            from_one_to("limit", self.limit, MOST_COINS // self.curator.bins)
        self.pool = self.curator.pool()
        self.grouped = np.zeros(self.curator.bins, np.int64)

    def decide(self, snapshot: Snapshot) -> Release:
        if not self.curator.can(monitor=self.watching, publish=self.publishing):  # it can, unless a crash has taken it
            return self.republish(snapshot)
        moved = self.moved_far(snapshot)  # line 1
        values, noise_sd = self.last.values.copy(), self.last.noise_sd.copy()
        kinds = np.full(self.curator.bins, Kind.REPUBLISHED.value)
        if moved.any():
            values[moved], kind, noise_sd[moved] = self.measured(snapshot, self.publishing, moved)  # line 4
            kinds[moved] = kind.value
            self.pool.drop(moved)  # line 5
        full = self.gathered(snapshot, ~moved)
        sizes = self.pool.size[full]
        if full.any():
            sums = self.settled(self.pool, full)
            values[full], kinds[full] = np.rint(sums.values / sizes), Kind.GROUPED.value  # lines 9, 10
            noise_sd[full] = sums.noise_sd / sizes
        self.grouped = np.where(moved, 1, self.grouped)
        self.grouped[full] = sizes
        return self.released(snapshot, values, kinds, noise_sd)  # line 12 for all others

    def moved_far(self, snapshot: Snapshot) -> Mask:
        """Which bins differ from their last release by more than the error of a new one; at first all of them."""
        new: Mask = self.grouped == 0
        if new.any():
            return new
        difference = np.abs(self.last.values - self.monitored(snapshot))  # Algorithm 2, line 5, without the squares
        moved: Mask = difference >= math.sqrt(2) * self.model.sensitivity * NANO / self.publishing.nano  # line 3
        return moved

    def monitored(self, snapshot: Snapshot) -> Floats | Ints:
        """About what the counts are now (Algorithm 2, lines 2 to 4)."""
        rate = self.rate
        if rate == "auto":
            records = float(self.last.values.sum(dtype=np.float64))
            rate = best_rate(records, self.curator.bins, float(self.watching))
        if rate == 1:
            return self.curator.ask(snapshot, Counts(), self.watching, envelope="monitor")
        return self.curator.sampled(snapshot, rate, self.watching, self.limit) / rate

    def gathered(self, snapshot: Snapshot, resting: Mask) -> Mask:
        """Let the counts of resting bins into their groups. Which of these are large enough now?"""
        if not resting.any():
            return resting
        self.pool.absorb(snapshot, self.publishing, resting)  # line 7
        enough = np.minimum(np.ceil(self.growth * self.grouped), self.max_length)  # m = 2 / (lambda * epsilon 2)
        full: Mask = self.pool.size >= enough  # line 8
        return full
