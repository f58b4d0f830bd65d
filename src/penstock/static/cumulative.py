"""A histogram whose noise depends on how far points may move, rather than on how many bins there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.door import Door
from penstock.grid import Axis, Grid
from penstock.histograms import Measured
from penstock.points import Cumulative, Points
from penstock.primitives.isotonic import isotonic
from penstock.spatial import SpatialNeighbourhood
from penstock.static.base import Publication
from penstock.static.plain import bins_of, named
from penstock.types import Ints, Kind


@dataclass(frozen=True, kw_only=True)
class CumulativeHistogram(Publication):
    """Publish how many points lie before each boundary between bins; bins are differences of that.

    A point that moves by no more than the radius crosses ceil(radius / width) boundaries at most, so that is how wide
    the noise is, for any range of bins, however long: two boundaries are all it has. Best where ranges of more than a
    few bins are asked for. Isotonic regression puts the numbers in order again, and none is below 0 or above all.

    >>> import penstock as ps
    >>> from penstock import static
    >>> points = static.Points([3, 1, 2, 9], "0..10/5", size_is_public=True)
    >>> model = static.SpatialNeighbourhood(epsilon=1, radius=2)
    >>> static.publish(points, CumulativeHistogram(), model, noise=ps.ScriptedNoise([-1])).values
    array([2, 2])
    """

    proven_for: ClassVar = (SpatialNeighbourhood,)
    rests_on: ClassVar = (Axis, Points, SpatialNeighbourhood, Cumulative)

    def names(self, grid: Grid, size: int) -> tuple[str, ...]:
        return named(grid.line)

    def found(self, curator: Door, points: Points) -> Measured:
        line, size, e = points.grid.line, points.bins, curator.model.epsilon
        query = Cumulative(line.cells)
        before = isotonic(np.clip(curator.ask(points, query, e), 0, size).astype(np.float64))
        ends: Ints = np.array([0, *np.rint(before), size], np.int64)
        noise_sd = np.full(line.cells, curator.noise_sd(e, query) * np.sqrt(2))
        noise_sd[[0, -1]] /= np.sqrt(2)  # at the ends nothing is uncertain
        return Measured(ends[1:] - ends[:-1], Kind.GROUPED, noise_sd)

    def told(self, values: Ints, grid: Grid) -> list[dict[str, float | int]]:
        return bins_of(values, grid)
