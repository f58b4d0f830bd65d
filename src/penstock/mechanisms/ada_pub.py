"""AdaPub: adaptive publishing of spatio-temporal streams."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from penstock.mechanisms.base import state
from penstock.mechanisms.pegasus import PeGaSus
from penstock.models import DeltaNeighbourhood, EventLevel, UserLevel, WEvent
from penstock.parameters import at_least_one
from penstock.primitives.grouping import bands
from penstock.primitives.pid import PID
from penstock.queries import GroupSums
from penstock.types import Floats, Ints, Snapshot

GOLDEN = (np.sqrt(5.0) - 1) / 2  # multiples of it, without their whole parts, spread evenly
REACH = 5  # errors that the controller looks back at


@dataclass(kw_only=True)
class AdaPub(PeGaSus):
    """PeGaSus on groups of alike bins, with thresholds that follow how surprising the stream is (Wang et al. 2019).

    Bins whose last releases lie between the same two pivots share one measurement. How far a bin's group in time may
    stray from its mean is steered by a controller: further after a large change. Best for maps with many alike cells.

    ``pivots``                    how many
    ``refresh``                   every so many units all bins are measured alone, so that no group stays by itself
    ``proportional``, ``integral``, ``derivative``   the weights of the controller
    ``group_share``, ``smoother``, ``max_length``    those of PeGaSus

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = AdaPub(model=EventLevel(epsilon=1), pivots=4)
    >>> for release in publish(Stream([[90, 5, 3], [90, 5, 3]]), mechanism, noise=ScriptedNoise()):
    ...     print(release.t, release.values, release.kind, release.charged)
    1 [90  5  3] [0 0 0] 1
    2 [90  4  4] [3 3 3] 1
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, DeltaNeighbourhood)
    paper: ClassVar = "Wang et al. 2019"

    threshold: float = field(default=1.0, init=False)  # the least one, in records
    pivots: int = 20
    refresh: int = 10
    proportional: float = 0.9
    integral: float = 0.1
    derivative: float = 0.0

    pid: PID = state()

    def validate(self) -> None:
        super().validate()
        at_least_one("pivots", self.pivots)
        at_least_one("refresh", self.refresh)

    def begin(self) -> None:
        super().begin()
        self.pid = PID(self.proportional, self.integral, self.derivative, REACH, self.curator.bins)

    def perturbed(self, snapshot: Snapshot) -> tuple[Floats, Floats]:
        """A noisy look at every group of bins, shared out, and how many bins each group has."""
        labels = self.alike(snapshot.t)
        sums = self.curator.ask(snapshot, GroupSums(labels), self.perturbing)
        sizes = np.bincount(labels).astype(np.float64)
        return (sums / sizes)[labels], sizes[labels]

    def alike(self, t: int) -> Ints:
        """The group of every bin: between which pivots its last release lies. Pivots are spread anew at every unit."""
        if (t - 1) % self.refresh == 0:
            return np.arange(self.curator.bins)
        apart = max(float(np.ptp(self.last.values)) / self.pivots, 1.0)
        return bands(self.last.values + apart * (t * GOLDEN % 1), apart)

    def thresholds(self, t: int, perturbed: Floats) -> Floats:
        """The square of what the controller makes of the relative change, over epsilon; 1 at least."""
        change = np.abs(self.last.values - perturbed) / np.maximum(perturbed, 1.0)
        surprise = self.pid.update(t, change)
        return np.maximum(self.threshold, surprise**2 / float(self.model.epsilon))
