"""RGP: publish always, bins of like size together, and smooth."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.mechanisms.base import Mechanism, state
from penstock.models import DeltaNeighbourhood, EventLevel, UserLevel, WEvent
from penstock.parameters import above, at_least_one
from penstock.primitives.grouping import bands, spread_in
from penstock.primitives.kalman import Kalman
from penstock.types import Ints, Kind, Release, Snapshot


@dataclass(kw_only=True)
class RGP(Mechanism):
    """Publish always, with epsilon / w; bins that were alike share one measurement; smooth over time (Nie et al. 2016).

    A group of g bins carries a g-th of the noise. Best for maps with many alike cells.

    ``width``    bins whose last releases fall into a band so wide are alike, in standard deviations of the noise
    ``refresh``  after so many units all bins are measured alone, so that no group stays together by itself
    ``process``  how much a bin drifts in a unit, as a variance; left to the filter if not given

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = RGP(model=WEvent(epsilon=2, w=4), process=1e9)  # so that the filter follows every measurement
    >>> for release in publish(Stream([[90, 5, 3], [90, 5, 3]]), mechanism, noise=ScriptedNoise([1, 0, 0, 4, 0])):
    ...     print(release.t, release.values, release.kind, release.charged)
    1 [91  5  3] [3 3 3] 0.5
    2 [90  6  6] [3 3 3] 0.5
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, DeltaNeighbourhood)
    paper: ClassVar = "Nie et al. 2016"

    width: float = 1.0
    refresh: int = 10
    process: float | None = None

    filter: Kalman = state()
    alone: int = state(0)  # when all bins were last measured alone

    def validate(self) -> None:
        above("width", self.width, 0)
        at_least_one("refresh", self.refresh)
        if self.process is not None:
            above("process", self.process, 0)
        self.require_spendable(self.model.epsilon / self.model.window)

    def begin(self) -> None:
        self.per_unit = self.model.epsilon / self.model.window
        self.noise_sd = self.curator.noise_sd(self.per_unit)
        self.filter = Kalman(self.curator.bins, self.process)

    def decide(self, snapshot: Snapshot) -> Release:
        self.filter.predict_to(snapshot.t)
        if not self.curator.can(publish=self.per_unit):
            return self.republish(snapshot)
        band = self.width * self.noise_sd
        labels = self.groups(snapshot.t, band)
        sizes = np.bincount(labels)[labels]
        sums = self.measured(snapshot, self.per_unit, labels=labels)
        noise_sd = sums.noise_sd[labels] / sizes
        self.filter.correct(sums.values[labels] / sizes, noise_sd**2 + spread_in(band, sizes), noise_sd)
        return self.released(snapshot, self.filter.values, Kind.ESTIMATED, self.filter.noise_sd)

    def groups(self, t: int, band: float) -> Ints:
        """The group of every bin, by its last release."""
        if not self.alone or t - self.alone >= self.refresh:
            self.alone = t
            return np.arange(self.curator.bins)
        return bands(self.last.values, max(band, 1.0))
