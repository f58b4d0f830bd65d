"""Uniform: publish always."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.mechanisms.base import Mechanism
from penstock.models import DeltaNeighbourhood, EventLevel, MContext, PrivacyModel, UserLevel, WEvent
from penstock.types import Release, Snapshot


@dataclass(kw_only=True)
class Uniform(Mechanism):
    """Publish always, with epsilon / w each time (Kellaris et al. 2014).

    Best where counts are large or jump about; its noise never falls, however calm the stream.

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = Uniform(model=WEvent(epsilon=1, w=4))
    >>> for release in publish(Stream([[5], [7], [7]]), mechanism, noise=ScriptedNoise([1, -2, 0])):
    ...     print(release.t, release.values, release.charged)
    1 [6] 0.25
    2 [5] 0.25
    3 [7] 0.25
    """

    proven_for: ClassVar[tuple[type[PrivacyModel], ...]] = (EventLevel, WEvent, UserLevel, MContext, DeltaNeighbourhood)
    paper: ClassVar = "Kellaris et al. 2014"

    def validate(self) -> None:
        self.require_spendable(self.model.epsilon / self.model.window)

    def begin(self) -> None:
        self.per_unit = self.model.epsilon / self.model.window

    def decide(self, snapshot: Snapshot) -> Release:
        if self.curator.can(publish=self.per_unit):  # always, unless a crash has taken it
            return self.publish(snapshot, self.per_unit)
        return self.republish(snapshot)
