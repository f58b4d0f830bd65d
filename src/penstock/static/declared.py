"""One-time publications as a store declares them: a stream of one time unit, which is called "once"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from penstock.errors import BadInput
from penstock.grid import Grid
from penstock.histograms import Histogram
from penstock.laws import model_of
from penstock.points import law_of_points
from penstock.spatial import SpatialNeighbourhood
from penstock.static.base import Publication
from penstock.static.cumulative import CumulativeHistogram
from penstock.static.median import Median
from penstock.static.plain import PlainHistogram
from penstock.static.sorted_points import SortedPoints
from penstock.store.scribe import declared

ONCE = "once"
MOST_NUMBERS = 2**20  # each is kept with its name
COUNTING = (CumulativeHistogram, PlainHistogram)
PUBLICATIONS: dict[str, type[Publication]] = {kind.__name__: kind for kind in (SortedPoints, *COUNTING, Median)}

Declaration = Mapping[str, Any]


def declaration_of(
    publication: Publication, law: SpatialNeighbourhood, size: int, columns: Sequence[str] = ()
) -> dict[str, Any]:
    """Who a publication is that is about so many points, from these columns; all of that is public."""
    grid = law.snapped_to
    require_keepable(publication, grid, size)
    names = publication.names(grid, size)
    common = declared(type(publication), _parameters(publication, grid), law, names, ONCE)
    return common | {"size": size, "columns": list(columns)}


def require_keepable(publication: Publication, grid: Grid, size: int = 1) -> None:
    """Refuse what has too many numbers to be kept."""
    if isinstance(publication, COUNTING) and grid.cells > MOST_NUMBERS:
        raise BadInput(f"a store keeps {MOST_NUMBERS} bins of a publication at most; use larger steps.")
    if isinstance(publication, SortedPoints) and size > MOST_NUMBERS:
        raise BadInput(f"a store keeps {MOST_NUMBERS} points of a publication at most; publish a histogram of them.")


def _parameters(publication: Publication, grid: Grid) -> dict[str, Any]:
    """As the mechanisms of streams declare theirs, so that whoever asks the release knows how it was measured."""
    planar = isinstance(publication, PlainHistogram) and len(grid.axes) > 1
    return publication.parameters | ({"shape": list(grid.shape)} if planar else {})


def usual_parameters(kind: type[Publication]) -> dict[str, Any]:
    """What a publication is made with if nobody says else, as it would be declared."""
    usual = {each.name: each.default for each in fields(kind)}
    return {name: str(value) if isinstance(value, Histogram) else value for name, value in usual.items()}


def is_once(declaration: Declaration) -> bool:
    """Whether a stream is a one-time publication: no other stream is about points."""
    return isinstance(model_of(declaration["model"]), SpatialNeighbourhood)


def law_of(declaration: Declaration) -> SpatialNeighbourhood:
    """The law of a one-time publication."""
    return law_of_points(model_of(declaration["model"]))


def publication_of(declaration: Declaration) -> Publication:
    """The publication that was declared."""
    kind = PUBLICATIONS.get(declaration["mechanism"])
    if kind is None:
        raise BadInput(f"{declaration['mechanism']} is no publication that this installation knows; use its own code.")
    own = [each.name for each in fields(kind)]
    return kind(**{name: value for name, value in declaration["parameters"].items() if name in own})
