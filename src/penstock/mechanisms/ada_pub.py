"""AdaPub: adaptive publishing of spatio-temporal streams."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.mechanisms.base import state
from penstock.mechanisms.pegasus import PeGaSus
from penstock.models import DeltaNeighbourhood, EventLevel, UserLevel, WEvent
from penstock.parameters import at_least_one
from penstock.primitives.grouping import bands
from penstock.primitives.pid import PID
from penstock.primitives.smoothing import average
from penstock.primitives.stacking import stacked
from penstock.types import Floats, Ints, Kind, Mask, Snapshot

GOLDEN = (np.sqrt(5.0) - 1) / 2  # multiples of it, without their whole parts, spread evenly
REACH = 5  # errors that the controller looks back at
SURPRISE = 4  # standard deviations of the noise
SHARED = 0.999  # of the variance of the noise: looks that have less were shared with other bins


@dataclass(kw_only=True)
class AdaPub(PeGaSus):
    """PeGaSus on groups of alike bins, with thresholds that follow how surprising the stream is (Wang et al. 2019).

    Bins whose last releases lie between the same two pivots share one measurement. How far a bin's group in time may
    stray from its mean is steered by a controller: further after a large change. Best for maps with many alike cells.

    ``threshold``   how far it may stray at least, in records
    ``pivots``      at least so many; as many as it takes to part bins that differ by half the noise
    ``refresh``     every so many units all bins are measured alone, and what surprises then counts alone
    ``proportional``, ``integral``, ``derivative``   the weights of the controller
    ``group_share``, ``smoother``, ``max_length``    those of PeGaSus

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = AdaPub(model=EventLevel(epsilon=0.1))
    >>> for release in publish(Stream([[90, 6, 5], [90, 6, 5]]), mechanism, noise=ScriptedNoise()):
    ...     print(release.t, release.values, release.kind, release.noise_sd.round(1))
    1 [90  6  5] [0 0 0] [17.7 17.7 17.7]
    2 [90  6  5] [3 3 3] [12.5  9.9  9.9]
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, DeltaNeighbourhood)
    paper: ClassVar = "Wang et al. 2019"

    threshold: float = 1.0
    pivots: int = 20
    refresh: int = 10
    proportional: float = 0.9
    integral: float = 0.1
    derivative: float = 0.0

    pid: PID = state()
    alone: int = state(0)  # when all bins were last measured alone
    spread: Floats = state()  # the variance of the noise in each of the looks

    def validate(self) -> None:
        super().validate()
        at_least_one("pivots", self.pivots)
        at_least_one("refresh", self.refresh)

    def begin(self) -> None:
        super().begin()
        self.spread = np.zeros((1, self.curator.bins))
        self.pid = PID(self.proportional, self.integral, self.derivative, REACH, self.curator.bins)

    def perturbed(self, snapshot: Snapshot) -> Floats:
        """A noisy look at every group of bins, shared out."""
        labels = self.alike(snapshot.t)
        sums = self.measured(snapshot, self.perturbing, labels=labels)
        sizes = np.bincount(labels)
        self.shared_by = sizes[labels]
        self.latest_sd, self.latest_kind = (sums.noise_sd / sizes)[labels], sums.kind
        return (sums.values / sizes)[labels]

    def alike(self, t: int) -> Ints:
        """The group of every bin: between which pivots its last release lies. Pivots are spread anew at every unit."""
        if not self.alone or t - self.alone >= self.refresh:
            self.alone = t
            return np.arange(self.curator.bins)
        apart = max(min(float(np.ptp(self.last.values)) / self.pivots, self.noise_sd / 2), 1.0)
        return bands(self.last.values + apart * (t * GOLDEN % 1), apart)

    def thresholds(self, t: int, perturbed: Floats) -> Floats:
        """The square of what the controller makes of the relative change, over epsilon."""
        change = np.abs(self.last.values - perturbed) / np.maximum(perturbed, 1.0)
        surprise = self.pid.update(t, change)
        return np.maximum(self.threshold, surprise**2 / float(self.model.epsilon))

    def look(self, perturbed: Floats, begins: Mask) -> None:
        self.startled = self.surprised(perturbed) & ~begins
        super().look(perturbed, begins | self.startled)
        self.spread = stacked(self.spread, self.latest_sd**2, self.counted)

    def surprised(self, perturbed: Floats) -> Mask:
        """Bins that look different when they are measured alone: what they shared with others says little of them."""
        different: Mask = np.abs(perturbed - self.last.values) > SURPRISE * self.noise_sd
        different &= self.shared_by == 1
        if different.any():
            different &= average(self.spread, np.maximum(self.counted, 1)) < SHARED * self.noise_sd**2
        return different

    def look_sd(self) -> Floats:
        sd: Floats = np.sqrt(average(self.spread, self.counted))
        return sd

    def kind_of_look(self) -> Ints:
        alone = np.where(self.startled, Kind.ESTIMATED.value, self.latest_kind.value)  # kept for what it is, with noise
        return np.where(self.shared_by > 1, Kind.GROUPED.value, alone)
