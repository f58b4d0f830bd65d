"""Points in order, each with a little noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.door import Door
from penstock.grid import Axis, Grid
from penstock.histograms import Measured
from penstock.parameters import at_least_one
from penstock.points import Points
from penstock.primitives.isotonic import isotonic
from penstock.queries import GroupSums
from penstock.spatial import SpatialNeighbourhood
from penstock.static.base import Publication
from penstock.types import Ints, Kind


@dataclass(frozen=True, kw_only=True)
class SortedPoints(Publication):
    """Publish all points in order (Fang and Chang 2012; with a neighbourhood, 2014).

    A point that moves by r cells moves the sorted row by r, so noise as wide as the radius is enough for each: its
    variance falls with the square of the radius. Isotonic regression puts them in order again, which gains most where
    there is much noise, so that the error of counts falls with about the power 4/3.

    With ``group`` above 1 the mean of so many consecutive points is published for each of them: the noise of a point is
    then so many times less, and what differs within a group is lost.

    >>> import penstock as ps
    >>> from penstock import static
    >>> points = static.Points([3, 1, 2, 9], "0..10/1", size_is_public=True)
    >>> model = static.SpatialNeighbourhood(epsilon=1, radius=2)
    >>> release = static.publish(points, SortedPoints(), model, noise=ps.ScriptedNoise([0, 3, -1, 0]))
    >>> release.values, release.charged
    (array([1, 4, 4, 9]), Epsilon('1'))
    """

    proven_for: ClassVar = (SpatialNeighbourhood,)
    rests_on: ClassVar = (Axis, Points, SpatialNeighbourhood, GroupSums)

    group: int = 1

    def validate(self) -> None:
        at_least_one("group", self.group)

    def names(self, grid: Grid, size: int) -> tuple[str, ...]:
        grid.require_line()
        return tuple(f"point {i}" for i in range(1, size + 1))

    def found(self, curator: Door, points: Points) -> Measured:
        line, e = points.grid.line, curator.model.epsilon
        group_of = np.arange(points.bins) // self.group
        sizes = np.bincount(group_of)
        sums = curator.ask(points, GroupSums(group_of), e)
        means = isotonic((sums / sizes)[group_of])  # a point has its group's mean, and weighs as much as any other
        cells = np.clip(np.rint(means), 0, line.cells - 1).astype(np.int64)
        return Measured(cells, Kind.GROUPED, (curator.noise_sd(e) / sizes)[group_of])

    def told(self, values: Ints, grid: Grid) -> list[dict[str, float | int]]:
        return [{"point": i, "value": value} for i, value in enumerate(grid.line.centre(values).tolist(), start=1)]
