"""The median, with noise that follows how far it could move here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.door import Door
from penstock.grid import Axis, Grid
from penstock.histograms import Measured
from penstock.noise.cauchy import calibrated, cauchy_cell
from penstock.points import Points, SmoothMedian
from penstock.spatial import SpatialNeighbourhood
from penstock.static.base import Publication
from penstock.types import Ints, Kind


@dataclass(frozen=True, kw_only=True)
class Median(Publication):
    """Publish the median with Cauchy noise for its smooth sensitivity (Nissim et al. 2007), bounded by the radius.

    Where many points lie close about the median hardly any noise is needed; where they do not, as in small data sets,
    the radius bounds it. How wide the noise is depends on the points and is not published.

    >>> import penstock as ps
    >>> from penstock import static
    >>> points = static.Points([3, 1, 2, 9, 4], "0..10/1", size_is_public=True)
    >>> model = static.SpatialNeighbourhood(epsilon=1, radius=2)
    >>> static.publish(points, Median(), model, noise=ps.ScriptedNoise()).values
    array([3])
    """

    proven_for: ClassVar = (SpatialNeighbourhood,)
    rests_on: ClassVar = (Axis, Points, SpatialNeighbourhood, SmoothMedian, calibrated, cauchy_cell)

    def names(self, grid: Grid, size: int) -> tuple[str, ...]:
        grid.require_line()
        return ("median",)

    def found(self, curator: Door, points: Points) -> Measured:
        cell = curator.median(points, curator.model.epsilon)
        return Measured(np.array([cell], np.int64), Kind.GROUPED, np.full(1, np.inf))

    def told(self, values: Ints, grid: Grid) -> list[dict[str, float | int]]:
        return [{"median": value} for value in grid.line.centre(values).tolist()]
