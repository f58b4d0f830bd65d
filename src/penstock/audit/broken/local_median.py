"""Publishes a median with noise for how far it can move here, although that is not the same for neighbours."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from penstock.audit.attack import Attack, Outcome
from penstock.audit.once import as_points
from penstock.audit.permissive import Unbound
from penstock.models import PrivacyModel
from penstock.noise.cauchy import Bounds, calibrated, cauchy_cell
from penstock.points import SmoothMedian, reach_of
from penstock.spatial import SpatialNeighbourhood
from penstock.types import Release, Snapshot

HARDLY = Fraction(1, 10**6)


def exact(outcome: Outcome) -> bool:
    """The median is in the second cell, and no noise has moved it."""
    return bool(outcome.values[0, 0] == 1)


@dataclass(kw_only=True)
class LocalMedian(Unbound):
    """Where the three in the middle lie together there is hardly any noise."""

    proven_for: ClassVar = (SpatialNeighbourhood,)
    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M23"
    under: ClassVar[PrivacyModel] = SpatialNeighbourhood(epsilon=1, radius=4, grid="0..6/1")
    attack: ClassVar = Attack(model=under, one=[[0, 1, 1, 1, 5]], other=[[0, 1, 1, 5, 5]], event=exact)
    trials: ClassVar = 1_000

    def decide(self, snapshot: Snapshot) -> Release:
        cells, e = as_points(snapshot).grid.cells, self.model.epsilon
        found = SmoothMedian(self.curator.look(snapshot), cells, reach_of(self.model, cells), e)
        local = max(Fraction(int(found.stretches[0])), HARDLY) / calibrated(e).shift  # A_0

        def scale(bits: int) -> Bounds:
            return local, local

        median = cauchy_cell(found.median, scale, cells, lambda number: self.curator.toss(0.5, number))
        return self.say(snapshot, np.full(self.curator.bins, median))
