"""The law of one data set of points: a point is hidden among all that lie near it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from penstock.epsilon import Number
from penstock.errors import BadInput
from penstock.grid import Grid, exactly, plainly
from penstock.models import Neighbours, Presence, PrivacyModel
from penstock.types import Ints

WHOLE_DOMAIN = "domain"


@dataclass(frozen=True, kw_only=True)
class SpatialNeighbourhood(PrivacyModel):
    """Hides where a point lies, up to ``radius`` (Fang and Chang 2014): neighbours move one point no further than that.

    How many points there are is public, and so is the ``grid`` they are snapped to; ``on`` tells it. Who moves further
    is protected less: a move of k times the radius is hidden with k times epsilon. ``radius="domain"`` is the standard
    neighbourhood, where a point may move anywhere.

    Of a data set one thing is published, once: time unit 1. Several publications about the same people share the
    budget of a population.
    """

    radius: Number
    grid: Grid | str | None = None
    neighbours: Neighbours = "replace"
    horizon_bound: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.neighbours != "replace" or self.per_unit != 1:
            raise BadInput("a point that moves is replaced, and a person has one; leave neighbours and per_unit out.")
        if self.radius != WHOLE_DOMAIN:
            object.__setattr__(self, "radius", plainly(exactly(self.radius)))
            if self._exact_radius <= 0:
                raise BadInput(f"the radius must be above 0; got {self.radius}. Say how far a point may move unseen.")
        if self.grid is not None:
            object.__setattr__(self, "grid", Grid.of(self.grid))
            self._require_inside(self.snapped_to)

    def _require_inside(self, grid: Grid) -> None:
        if self.radius != WHOLE_DOMAIN and not grid.contains(self._exact_radius):
            raise BadInput(
                f"the radius {self.radius} is larger than the domain of {grid}; the standard neighbourhood, where a"
                f' point may move anywhere, is radius="{WHOLE_DOMAIN}".'
            )

    @property
    def _exact_radius(self) -> Fraction:
        return exactly(self.radius)

    def on(self, grid: Grid | str) -> SpatialNeighbourhood:
        """The same law for points on this grid."""
        return replace(self, grid=Grid.of(grid))

    @property
    def snapped_to(self) -> Grid:
        """The grid, which has to be known."""
        if not isinstance(self.grid, Grid):
            raise BadInput('how far a point moves depends on the grid; say which: model.on("0..100/0.5").')
        return self.grid

    @property
    def window(self) -> int:
        return 1

    @property
    def relation(self) -> tuple[object, ...]:
        return *super().relation, self.radius

    @property
    def in_short(self) -> str:
        return f"radius={self.radius}"

    @property
    def reach(self) -> int:
        """By how many cells a point moves at most between neighbours."""
        grid = self.snapped_to
        return grid.cells - 1 if self.radius == WHOLE_DOMAIN else grid.reach(self._exact_radius)

    @property
    def sensitivity(self) -> int:
        """How far, in L1, the cells of all points in order move between neighbours.

        Moving one point by r cells changes the sorted row by r in all: points that it passes shift by one place each.
        """
        return self.reach

    def neighbouring(self, counts: ArrayLike, rng: np.random.Generator, presence: Presence | None = None) -> Ints:
        """A neighbour of points in order: a point is moved as far as it may."""
        (row,) = np.array(counts, np.int64)
        which, way = int(rng.integers(len(row))), int(rng.choice([-1, 1]))
        row[which] = np.clip(row[which] + way * self.reach, 0, self.snapped_to.cells - 1)
        return np.sort(row)[np.newaxis]
