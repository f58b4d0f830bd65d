"""Sample: publish once a window."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.mechanisms.base import Mechanism
from penstock.models import DeltaNeighbourhood, EventLevel, UserLevel, WEvent
from penstock.types import Release, Snapshot


@dataclass(kw_only=True)
class Sample(Mechanism):
    """Publish the first unit of every w with the whole epsilon, repeat it for the rest (Kellaris et al. 2014).

    Best where nothing moves within a window; blind to whatever does.

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = Sample(model=WEvent(epsilon=1, w=2))
    >>> for release in publish(Stream([[5], [7], [7]]), mechanism, noise=ScriptedNoise([1, 0])):
    ...     print(release.t, release.values, release.charged)
    1 [6] 1
    2 [6] 0
    3 [7] 1
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, DeltaNeighbourhood)
    paper: ClassVar = "Kellaris et al. 2014"

    def decide(self, snapshot: Snapshot) -> Release:
        if (snapshot.t - 1) % self.model.window == 0 and self.curator.can(publish=self.model.epsilon):
            return self.publish(snapshot, self.model.epsilon)
        return self.republish(snapshot)
