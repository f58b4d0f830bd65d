"""SecWeb: RescueDP for people who visit several pages at once."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.mechanisms.rescue_dp import RescueDP
from penstock.models import DeltaNeighbourhood, EventLevel, UserLevel, WEvent


@dataclass(kw_only=True)
class SecWeb(RescueDP):
    """RescueDP where a person has up to s records in a unit, s being the model's ``per_unit`` (Wang et al. 2016).

    Of a person's visits in a unit at most s are kept before they are counted, chosen at random, so that s bounds what
    one person changes. Noise grows with s, and so does what counts as small. Best for page views by site.

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = SecWeb(model=WEvent(epsilon=10, w=4, per_unit=3), process=1e9)
    >>> for release in publish(Stream([[95, 40, 38], [95, 40, 38]]), mechanism, noise=ScriptedNoise()):
    ...     print(release.t, release.values, release.kind, release.charged)
    1 [95 40 38] [3 3 3] 1.386294361
    2 [95 39 39] [3 3 3] 1.194113155
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, DeltaNeighbourhood)
    paper: ClassVar = "Wang et al. 2016"

    @property
    def scale(self) -> int:
        return self.model.per_unit
