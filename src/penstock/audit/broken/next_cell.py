"""Publishes points in order, as if none could move further than to the next cell."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.attack import Attack, Outcome
from penstock.audit.permissive import Unbound
from penstock.models import PrivacyModel
from penstock.spatial import SpatialNeighbourhood
from penstock.types import Release, Snapshot


def low(outcome: Outcome) -> bool:
    """All points lie as low as on the one, or lower."""
    return bool((outcome.values[0] <= [8, 9, 10]).all())


@dataclass(kw_only=True)
class NextCell(Unbound):
    """The radius is three cells wide."""

    proven_for: ClassVar = (SpatialNeighbourhood,)
    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M18"
    under: ClassVar[PrivacyModel] = SpatialNeighbourhood(epsilon=1, radius=3, grid="0..20/1")
    attack: ClassVar = Attack(model=under, one=[[8, 9, 10]], other=[[9, 10, 11]], event=low)
    trials: ClassVar = 5_000

    def decide(self, snapshot: Snapshot) -> Release:
        return self.say(snapshot, self.noisy(snapshot, 1 / float(self.model.epsilon)))
