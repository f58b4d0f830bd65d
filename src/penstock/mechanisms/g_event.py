"""G-event: budget absorption for bins that move often and bins that move seldom."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.epsilon import Epsilon
from penstock.mechanisms.ba import BA
from penstock.mechanisms.base import state
from penstock.models import DeltaNeighbourhood, EventLevel, UserLevel, WEvent
from penstock.primitives.grouping import equal_parts
from penstock.types import Floats, Ints, Kind, Mask, Release, Snapshot


@dataclass(kw_only=True)
class GEvent(BA):
    """BA on two groups: bins that changed much when they were last published, and bins that changed little.

    Best where a few bins move and most rest: those that rest keep the accurate release they have.

    ``groups``  how many groups, from little change to much

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = GEvent(model=WEvent(epsilon=8, w=2))
    >>> for release in publish(Stream([[50, 9], [80, 9], [99, 9]]), mechanism, noise=ScriptedNoise()):
    ...     print(release.t, release.values, release.kind, release.charged)
    1 [50  9] [0 0] 4
    2 [80  9] [0 1] 4
    3 [99  9] [0 1] 4
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, DeltaNeighbourhood)
    paper: ClassVar = "Cheng et al. 2016"

    groups: int = 2

    change: Floats = state()  # of every bin, from the release before to its last fresh one

    def begin(self) -> None:
        super().begin()
        self.change = np.zeros(self.curator.bins)

    def columns(self) -> Ints:
        return equal_parts(self.change, self.groups)

    def publish(self, snapshot: Snapshot, e: Epsilon, bins: Mask | None = None) -> Release:
        fresh = super().publish(snapshot, e, bins)
        renewed = fresh.kind == Kind.FRESH.value
        self.change[renewed] = np.abs(fresh.values - self.last.values)[renewed]
        return fresh
