"""Fixed: publish at fixed intervals."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.epsilon import Epsilon
from penstock.mechanisms.base import Mechanism
from penstock.models import DeltaNeighbourhood, EventLevel, UserLevel, WEvent
from penstock.parameters import at_least_one
from penstock.types import Release, Snapshot


@dataclass(kw_only=True)
class Fixed(Mechanism):
    """Publish every so many units, in equal parts of epsilon, and repeat in between (Li et al. 2015).

    Best where the right interval is known beforehand; ``every=1`` is Uniform, an interval of a whole window is Sample.

    ``every``  how many units from one release to the next

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = Fixed(model=UserLevel(epsilon=1, horizon=5), every=3)
    >>> for release in publish(Stream([[5], [6], [7], [8], [9]]), mechanism, noise=ScriptedNoise([1, -1])):
    ...     print(release.t, release.values, release.charged)
    1 [6] 0.5
    2 [6] 0
    3 [6] 0
    4 [7] 0.5
    5 [7] 0
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, DeltaNeighbourhood)
    paper: ClassVar = "Li et al. 2015"

    every: int = 10

    def validate(self) -> None:
        at_least_one("every", self.every)
        self.require_spendable(self.part)

    @property
    def part(self) -> Epsilon:
        """What each release gets: any window holds at most ceil(w / I) of them."""
        return self.model.epsilon / -(-self.model.window // self.every)

    def decide(self, snapshot: Snapshot) -> Release:
        if (snapshot.t - 1) % self.every == 0 and self.curator.can(publish=self.part):
            return self.publish(snapshot, self.part)
        return self.republish(snapshot)
