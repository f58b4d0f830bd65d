"""A histogram of points in a line or in a plane, by any method that measures histograms."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product
from typing import ClassVar

from penstock.door import Door
from penstock.grid import Axis, Grid
from penstock.histograms import Histogram, Laplace, Measured
from penstock.histograms.catalogue import histogram_of
from penstock.points import CellSums, Points
from penstock.spatial import SpatialNeighbourhood
from penstock.static.base import Publication
from penstock.types import Ints


@dataclass(frozen=True, kw_only=True)
class PlainHistogram(Publication):
    """Publish how many points lie in each cell, as under the standard neighbourhood.

    However short a move, it can lead into another cell, so a small radius buys nothing here. In a plane there is
    nothing better; ``histogram="quadtree"`` is good for large areas.
    """

    proven_for: ClassVar = (SpatialNeighbourhood,)
    rests_on: ClassVar = (Points, SpatialNeighbourhood, CellSums)
    heeds_radius: ClassVar = False

    histogram: Histogram | str = Laplace()

    def __post_init__(self) -> None:
        object.__setattr__(self, "histogram", histogram_of(self.histogram))
        super().__post_init__()

    def names(self, grid: Grid, size: int) -> tuple[str, ...]:
        return tuple(" & ".join(cell) for cell in product(*(named(axis) for axis in grid.axes)))

    def found(self, curator: Door, points: Points) -> Measured:
        e = curator.model.epsilon
        return histogram_of(self.histogram).measure(curator.cells(points, e), points.grid.shape, e)

    def told(self, values: Ints, grid: Grid) -> list[dict[str, float | int]]:
        return bins_of(values, grid)


def named(axis: Axis) -> tuple[str, ...]:
    """What the cells of an axis are called: from where to where they go."""
    edges = [repr(edge).removesuffix(".0") for edge in axis.edges()]
    return tuple(f"{low}..{high}" for low, high in pairwise(edges))


def bins_of(values: Ints, grid: Grid) -> list[dict[str, float | int]]:
    """A row for each cell: its bounds along each axis, and how many points it holds."""
    bounds = [list(pairwise(axis.edges())) for axis in grid.axes]
    suffixes = [""] if len(bounds) == 1 else [f" {i}" for i in range(1, len(bounds) + 1)]
    rows = []
    for cell, count in zip(product(*bounds), values.tolist(), strict=True):
        row: dict[str, float | int] = {}
        for suffix, (low, high) in zip(suffixes, cell, strict=True):
            row |= {f"from{suffix}": low, f"to{suffix}": high}
        rows.append(row | {"count": count})
    return rows
