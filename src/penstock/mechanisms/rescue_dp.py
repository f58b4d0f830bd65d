"""RescueDP: adaptive sampling and grouping, region by region."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.epsilon import Epsilon
from penstock.mechanisms.base import Mechanism, state
from penstock.models import DeltaNeighbourhood, EventLevel, UserLevel, WEvent
from penstock.parameters import above, within
from penstock.primitives.grouping import small_together, spread_in
from penstock.primitives.kalman import Kalman
from penstock.primitives.pid import PID
from penstock.types import Floats, Ints, Kind, Mask, Release, Snapshot

REMEMBERED = 3  # releases that predict the next one, and changes that the controller averages
PARTS = 5  # no release takes more than such a part of epsilon


@dataclass(kw_only=True)
class RescueDP(Mechanism):
    """Sample each region at its own pace, measure small regions together, and filter (Wang et al. 2016, repaired).

    All regions that are due at a unit are measured for one charge, because a record lies in one of them. Best where
    many small counts move at different speeds.

    ``phi``, ``most``  how much of what is left a release takes: phi ln(interval + 1) of it, and at most ``most``
    ``gain``     how far a region's interval follows its changes
    ``small``    regions below it are grouped, up to this sum
    ``apart``, ``alike``  neighbours in a group differ by less, and their histories correlate by more
    ``process``  how much a region drifts in a unit, as a variance; left to the filter if not given

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = RescueDP(model=WEvent(epsilon=10, w=4), process=1e9)  # the filter follows every measurement
    >>> for release in publish(Stream([[90, 6, 4], [90, 6, 4], [90, 6, 4]]), mechanism, noise=ScriptedNoise()):
    ...     print(release.t, release.values, release.kind, release.charged)
    1 [90  6  4] [3 3 3] 1.386294361
    2 [90  5  5] [3 3 3] 1.194113155
    3 [90  6  4] [1 3 3] 1.028573922
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, DeltaNeighbourhood)
    paper: ClassVar = "Wang et al. 2016"

    phi: float = 0.2
    most: float = 0.6
    gain: float = 10.0
    small: float = 30.0
    apart: float = 25.0
    alike: float = 0.5
    process: float | None = None

    filter: Kalman = state()
    pid: PID = state()
    begun: bool = state(False)
    history: Floats = state()  # the last estimates, a row each
    interval: Floats = state()  # of every region
    due: Ints = state()  # when every region is measured next

    def validate(self) -> None:
        within("phi", self.phi, 0, 1)
        within("most", self.most, 0, 1)
        within("alike", self.alike, -1, 1)
        for name in ("gain", "small", "apart"):
            above(name, getattr(self, name), 0)
        if self.process is not None:
            above("process", self.process, 0)
        self.require_spendable(self.least)

    def begin(self) -> None:
        bins = self.curator.bins
        self.filter = Kalman(bins, self.process)
        self.pid = PID(0.9, 0.1, 0, REMEMBERED, loops=bins)
        self.history = np.zeros((REMEMBERED, bins))
        self.interval = np.ones(bins)
        self.due = np.ones(bins, np.int64)

    @property
    def least(self) -> Epsilon:
        """Less than this is worth nothing: half of what Uniform would have, or of what a first release takes."""
        first = self.budget(1.0, self.model.epsilon)
        return min(first, self.model.epsilon / self.model.window) / 2

    @property
    def scale(self) -> int:
        """In which unit ``small`` and ``apart`` are meant."""
        return 1

    def decide(self, snapshot: Snapshot) -> Release:
        self.filter.predict_to(snapshot.t)
        due = self.due <= snapshot.t
        left = self.curator.remaining()
        e = self.budget(float(self.interval[due].max(initial=0)), left)
        if e < self.least:
            return self.republish(snapshot)
        self.measure(snapshot, e, due)
        self.pace(snapshot.t, due, left)
        kinds = np.where(due, Kind.ESTIMATED.value, Kind.REPUBLISHED.value)
        return self.released(snapshot, self.filter.values, kinds, self.filter.noise_sd)

    def budget(self, longest: float, left: Epsilon) -> Epsilon:
        """What a unit may cost: what the region due with the longest interval asks for, which all of them share."""
        part = min(self.phi * math.log(longest + 1), self.most)
        return min(left.share(part), self.model.epsilon / PARTS)

    def measure(self, snapshot: Snapshot, e: Epsilon, due: Mask) -> None:
        """Ask for the sums of groups, share them out evenly, and filter."""
        labels = self.groups(due)
        sizes = np.bincount(labels[due])[labels]
        sums = self.measured(snapshot, e, labels=labels)
        noise_sd = sums.noise_sd[labels[due]] / sizes[due]
        variance = noise_sd**2 + spread_in(self.scale * self.small, sizes[due])
        self.filter.correct(sums.values[labels[due]] / sizes[due], variance, noise_sd, due)

    def groups(self, due: Mask) -> Ints:
        """The group of every region due, by what was published of it so far; at first every region is alone."""
        if not self.begun:
            return np.where(due, np.cumsum(due) - 1, -1)
        return small_together(self.history, due, self.scale * self.small, self.scale * self.apart, self.alike)

    def pace(self, t: int, due: Mask, left: Epsilon) -> None:
        """A region that changes by more than the noise of all that is left is measured sooner, else later."""
        if not self.begun:
            self.begun, self.history[:] = True, self.filter.values
            return
        change = self.pid.update(t, np.abs(self.filter.values - self.history[-1])[due], due)
        self.history = np.vstack([self.history[1:], self.filter.values])
        noise = self.model.sensitivity / float(left)
        wanted = self.interval[due] + self.gain * (1 - (change / noise) ** 2)
        self.interval[due] = np.clip(wanted, 1, self.model.window)
        self.due[due] = t + np.rint(self.interval[due]).astype(np.int64)
