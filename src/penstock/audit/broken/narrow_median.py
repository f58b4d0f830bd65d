"""Publishes a median with half of the noise it has paid for."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.audit.attack import Attack, Outcome
from penstock.audit.once import as_points
from penstock.audit.permissive import Unbound
from penstock.models import PrivacyModel
from penstock.noise.cauchy import Bounds, cauchy_cell
from penstock.points import SmoothMedian, reach_of
from penstock.spatial import SpatialNeighbourhood
from penstock.types import Release, Snapshot


def below(outcome: Outcome) -> bool:
    """The median is about where it is on the one, and not where the noise is cut."""
    return bool(2 <= outcome.values[0, 0] <= 10)


@dataclass(kw_only=True)
class NarrowMedian(Unbound):
    """The kind of noise that nothing else draws, too narrow."""

    proven_for: ClassVar = (SpatialNeighbourhood,)
    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M1"
    under: ClassVar[PrivacyModel] = SpatialNeighbourhood(epsilon=1, radius="domain", grid="0..30/1")
    attack: ClassVar = Attack(model=under, one=[[3, 10, 24]], other=[[10, 24, 24]], event=below)
    trials: ClassVar = 5_000

    def decide(self, snapshot: Snapshot) -> Release:
        cells = as_points(snapshot).grid.cells
        found = SmoothMedian(self.curator.look(snapshot), cells, reach_of(self.model, cells), self.model.epsilon)

        def narrowed(bits: int) -> Bounds:
            low, high = found.scale(bits)
            return low / 2, high / 2

        median = cauchy_cell(found.median, narrowed, cells, lambda number: self.curator.toss(0.5, number))
        return self.say(snapshot, np.full(self.curator.bins, median))
