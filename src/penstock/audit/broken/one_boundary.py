"""Publishes how many points lie before each boundary, as if a point that moves could cross no more than one."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.attack import Attack, Outcome
from penstock.audit.once import as_points, padded
from penstock.audit.permissive import Unbound
from penstock.models import PrivacyModel
from penstock.points import Cumulative
from penstock.spatial import SpatialNeighbourhood
from penstock.types import Release, Snapshot


def high(outcome: Outcome) -> bool:
    """At every boundary there are many before it."""
    return bool((outcome.values[0, :3] >= 3).all())


@dataclass(kw_only=True)
class OneBoundary(Unbound):
    """The radius is three bins wide, so a point crosses three boundaries."""

    proven_for: ClassVar = (SpatialNeighbourhood,)
    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M22"
    under: ClassVar[PrivacyModel] = SpatialNeighbourhood(epsilon=1, radius=3, grid="0..4/1")
    attack: ClassVar = Attack(model=under, one=[[0, 0, 0]], other=[[0, 0, 3]], event=high)
    trials: ClassVar = 5_000

    def decide(self, snapshot: Snapshot) -> Release:
        cells = as_points(snapshot).grid.cells
        before = Cumulative(cells)(self.curator.look(snapshot), None)
        noisy = before + self.curator.draw(1 / float(self.model.epsilon), cells - 1)
        return self.say(snapshot, padded(noisy, self.curator.bins))
