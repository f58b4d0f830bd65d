"""PeGaSus: perturb, group, smooth."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from penstock.epsilon import NANO
from penstock.mechanisms.base import Mechanism, state
from penstock.models import DeltaNeighbourhood, EventLevel, UserLevel, WEvent
from penstock.parameters import above, from_one_to, within
from penstock.primitives.smoothing import SMOOTHERS
from penstock.primitives.stacking import stacked
from penstock.types import Floats, Ints, Kind, Mask, Release, Snapshot

LONGEST = 10_000  # units in a group; the raw and the noisy counts of all of them are held


@dataclass(kw_only=True)
class PeGaSus(Mechanism):
    """Publish always; smooth each bin over as long as it has hardly moved (Chen et al. 2017).

    Every unit is perturbed. Beside that a part of the budget tells, bin by bin, whether the count still belongs to the
    group of the units before it, and what is published is the median of the perturbed counts of the group, for example.
    Best for bins that rest for a while at a time.

    ``group_share``  epsilon g, the part that tells groups apart
    ``threshold``    how far a group may stray from its own mean, times s1 / epsilon g
    ``smoother``     "median", "mean" or "james-stein", of the perturbed counts of a group so far
    ``max_length``   a group ends after so many units

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = PeGaSus(model=EventLevel(epsilon=1))  # a group may stray by 5 / 0.2 = 25
    >>> stream = Stream([[10], [12], [11], [90], [91]])
    >>> noise = ScriptedNoise([6, 0, -3, 0, 1, 0, 2, 0, -2, 0])  # that of the count, then that of the group
    >>> for release in publish(stream, mechanism, noise=noise):
    ...     print(release.t, release.values, release.kind, release.noise_sd.round(2), release.charged)
    1 [16] [0] [1.72] 1
    2 [12] [3] [1.22] 1
    3 [12] [3] [0.99] 1
    4 [92] [0] [1.72] 1
    5 [89] [0] [1.72] 1
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, DeltaNeighbourhood)
    paper: ClassVar = "Chen et al. 2017"

    group_share: float = 0.2
    threshold: float = 5.0
    smoother: Literal["median", "mean", "james-stein"] = "median"
    max_length: int = 64

    looks: Floats = state()  # the perturbed counts of each bin's group, the first one first
    counted: Ints = state()  # how many of them each bin has

    def validate(self) -> None:
        within("group_share", self.group_share, 0, 1)
        above("threshold", self.threshold, 0)
        from_one_to("max_length", self.max_length, LONGEST)
        grouping, perturbing = self.unit_in_two(self.group_share)
        self.require_spendable(grouping / 4, perturbing)  # a quarter is the least that a group pays for anything

    def begin(self) -> None:
        self.grouping, self.perturbing = self.unit_in_two(self.group_share)
        self.noise_sd = self.curator.noise_sd(self.perturbing)
        self.grouper = self.curator.grouper(self.grouping, self.max_length)
        self.looks = np.zeros((1, self.curator.bins))
        self.counted = np.zeros(self.curator.bins, np.int64)

    def decide(self, snapshot: Snapshot) -> Release:
        if not self.curator.can(monitor=self.grouping, publish=self.perturbing):  # it can, unless a crash has taken it
            return self.republish(snapshot)
        perturbed = self.perturbed(snapshot)
        self.grouper.extend(snapshot, self.thresholds(snapshot.t, perturbed))
        self.look(perturbed, self.grouper.length == 1)
        values, narrower = SMOOTHERS[self.smoother](self.looks, self.counted)
        kinds = np.where(self.counted > 1, Kind.ESTIMATED.value, self.kind_of_look())
        return self.released(snapshot, values, kinds, self.look_sd() * narrower)

    def perturbed(self, snapshot: Snapshot) -> Floats:
        """A noisy look at every bin."""
        look = self.measured(snapshot, self.perturbing)
        self.latest_sd, self.latest_kind = look.noise_sd, look.kind
        return look.values.astype(np.float64)

    def thresholds(self, t: int, perturbed: Floats) -> Floats | float:
        """How far the groups may stray from their means."""
        return self.threshold * self.model.sensitivity * NANO / self.grouping.nano

    def look(self, perturbed: Floats, begins: Mask) -> None:
        """Put a look beside those before it, or in their place where a group begins."""
        self.counted = np.where(begins, 1, self.counted + 1)
        self.looks = stacked(self.looks, perturbed, self.counted)

    def look_sd(self) -> Floats | float:
        """How wide the noise of one of a bin's looks is."""
        return self.latest_sd

    def kind_of_look(self) -> Ints:
        """What a look is by itself. Where a look at one bin has noise of others, it is fresh along with them alone."""
        fresh = self.each_alone or bool((self.counted == 1).all())
        return np.full(self.curator.bins, (self.latest_kind if fresh else Kind.GROUPED).value)
