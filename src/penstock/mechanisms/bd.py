"""BD: budget distribution."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.mechanisms.base import Mechanism
from penstock.models import DeltaNeighbourhood, EventLevel, UserLevel, WEvent
from penstock.types import Release, Snapshot


@dataclass(kw_only=True)
class BD(Mechanism):
    """Publish when the counts have moved further than fresh noise would; spend half of what is left each time.

    (Kellaris et al. 2014.) Best on streams that rest and then jump: the first releases of a window are accurate, later
    ones get exponentially less.

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = BD(model=WEvent(epsilon=4, w=2))
    >>> for release in publish(Stream([[50], [50], [90]]), mechanism, noise=ScriptedNoise()):
    ...     print(release.t, release.values, release.charged)
    1 [50] 2
    2 [50] 1
    3 [90] 2
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, DeltaNeighbourhood)
    paper: ClassVar = "Kellaris et al. 2014"

    def validate(self) -> None:
        self.require_spendable(self.model.epsilon / 2 / self.model.window)

    def begin(self) -> None:
        half = self.model.epsilon / 2
        self.per_unit = half / self.model.window
        self.curator.cap(decide=half, publish=half)

    def decide(self, snapshot: Snapshot) -> Release:
        moved = self.distance(snapshot, self.per_unit)  # line 1
        e = self.curator.remaining("publish") / 2  # line 2
        if self.worth_publishing(moved, e):  # line 3
            return self.publish(snapshot, e)
        return self.republish(snapshot)
