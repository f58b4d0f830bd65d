"""SlidingBaseline: the histograms of a sliding window, asked for one by one."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.mechanisms.base import Mechanism, state
from penstock.models import DeltaNeighbourhood, EventLevel, UserLevel, WEvent
from penstock.parameters import from_one_to
from penstock.types import Kind, Release, Snapshot

WIDEST = 10_000  # units; the mechanism holds as many histograms


@dataclass(kw_only=True)
class SlidingBaseline(Mechanism):
    """Publish at every unit the sum over the last few, each sum with noise of its own (Chen et al. 2015).

    Every count is part of ``width`` sums, so each sum has a width-th of the budget, and width times the noise. Adding
    up the releases of ``Baseline`` has only sqrt(width) times the noise: this is what others are measured by.

    ``width``  of the sliding window, in units; with 1 it is Baseline

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = SlidingBaseline(model=EventLevel(epsilon=1), width=2)
    >>> for release in publish(Stream([[5], [7], [9]]), mechanism, noise=ScriptedNoise([1, 0, -1])):
    ...     print(release.t, release.values, release.charged)
    1 [6] 1
    2 [12] 1
    3 [15] 1
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, DeltaNeighbourhood)
    paper: ClassVar = "Chen et al. 2015"

    width: int = 1

    seen: int = state(0)  # the last unit that was published

    def validate(self) -> None:
        from_one_to("width", self.width, WIDEST)
        self.require_spendable(self.model.epsilon / self.model.window / self.width)

    def begin(self) -> None:
        self.each = self.model.epsilon / self.model.window / self.width
        self.pools = [self.curator.pool() for _ in range(self.width)]

    def decide(self, snapshot: Snapshot) -> Release:
        if not self.curator.can(publish=self.each * self.width):  # it can, unless a crash has taken it
            return self.republish(snapshot)
        for missed in range(max(self.seen + 1, snapshot.t - self.width), snapshot.t):
            self.pools[missed % self.width].drop()  # a sum that nobody could ask for
        self.seen = snapshot.t
        for pool in self.pools:
            pool.absorb(snapshot, self.each)
        ending = self.pools[snapshot.t % self.width]  # every pool ends once in width units
        if ending.size[0] < min(self.width, snapshot.t):  # units are missing, or a crash has emptied it
            ending.drop()
            return self.republish(snapshot)
        sums = self.settled(ending)
        return self.released(snapshot, sums.values, Kind.GROUPED, sums.noise_sd)
