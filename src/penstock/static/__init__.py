"""One-time publications of points: sorted points, a histogram, a median."""

from penstock.points import Points
from penstock.spatial import SpatialNeighbourhood
from penstock.static.base import Publication
from penstock.static.cumulative import CumulativeHistogram
from penstock.static.keeping import Keeper
from penstock.static.median import Median
from penstock.static.plain import PlainHistogram
from penstock.static.publishing import publish
from penstock.static.reading import read_points
from penstock.static.sorted_points import SortedPoints

__all__ = [
    "CumulativeHistogram",
    "Keeper",
    "Median",
    "PlainHistogram",
    "Points",
    "Publication",
    "SortedPoints",
    "SpatialNeighbourhood",
    "publish",
    "read_points",
]
