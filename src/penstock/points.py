"""Points on a public grid, sealed, and the questions one may ask of them.

Points are held in order: a row of whole numbers, one cell for each. Moving one point by r cells moves that row by r, in
L1, so that whatever may be asked of a snapshot's counts may be asked of points too, for as much noise as they can move.
Some questions move less: here they are, each with its sensitivity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from penstock.epsilon import Epsilon
from penstock.errors import BadInput
from penstock.grid import Grid
from penstock.models import PrivacyModel
from penstock.noise.cauchy import Bounds, calibrated
from penstock.noise.digits import exp_interval
from penstock.parameters import at_least_one
from penstock.queries import Bins, Groups, Query, require_width
from penstock.spatial import SpatialNeighbourhood
from penstock.types import Floats, Ints, Snapshot

MOVES_A_POINT = 2  # leaving one cell and entering another
MOST_CELLS = 2**24  # whose numbers are published one by one
FINENESS = 1024  # a smooth sensitivity below so small a part of a cell is not worth computing
MOST_MOVES = 8192  # neighbours of neighbours that are looked at, one after another
GUARD = 128  # bits; a weight that matters is above 2**-63
CLEARLY_LESS = 1e-9  # on a scale of logarithms, which floats hold to 1e-12


class Points(Snapshot):
    """The points of one data set, sealed: where they lie on a public grid, in order. How many there are is public.

    That has to be declared, because it is published with them. A point outside of the grid's domain counts as lying in
    the cell nearest to it.
    """

    __slots__ = ("grid",)

    _further = ("grid",)

    grid: Grid

    def __init__(self, values: ArrayLike, grid: Grid | str, *, size_is_public: bool = False, label: str = "") -> None:
        require_public(size_is_public)
        snapped = Grid.of(grid)
        super().__init__(1, np.sort(snapped.cell_of(values)), label=label)
        object.__setattr__(self, "grid", snapped)

    def attended(self, present: object) -> NoReturn:
        raise BadInput("nobody is present in a set of points; leave the list out.")

    def __repr__(self) -> str:
        return f"Points(size={self.bins}, grid={self.grid}, sealed)"


def require_public(size: bool) -> None:
    """Refuse points whose number nobody has declared to be public."""
    if size is not True:
        raise BadInput(
            "the number of points is published with them; declare that it is public: size_is_public=True"
            " (--size-is-public). If it is not, publish a histogram under another model."
        )


class PointQuery(Query):
    """A question about all points together."""

    __slots__ = ()

    def touches(self, bins: Bins | None) -> None:
        if bins is not None:
            raise BadInput("this is asked of all points together; leave bins out.")


class Cumulative(PointQuery):
    """How many points lie before each boundary between two cells.

    A point that moves by r cells crosses r boundaries, and changes the number at each by one.
    """

    __slots__ = ("_cells",)

    def __init__(self, cells: int) -> None:
        super().__init__()
        self._cells = in_a_row(cells)

    def sensitivity(self, model: PrivacyModel) -> int:
        return reach_of(model, self._cells)

    def size(self, bins: Bins | None, width: int) -> int:
        return self._cells - 1

    def __call__(self, counts: Ints, bins: Bins | None) -> Ints:
        before: Ints = np.searchsorted(counts, np.arange(1, self._cells)).astype(np.int64)
        return before


class CellSums(PointQuery):
    """How many points lie in each cell, or in each group of cells. Wherever a point moves, it leaves one for another.

    ``labels`` gives the group of each cell, or -1 for none.
    """

    __slots__ = ("_cells", "_groups")

    def __init__(self, cells: int, labels: ArrayLike | None = None) -> None:
        self._cells = in_a_row(cells)
        self._groups = Groups(np.arange(self._cells) if labels is None else labels)
        require_width("the list of labels", self._groups.labels, self._cells)
        super().__init__(self._groups.labels)

    def sensitivity(self, model: PrivacyModel) -> int:
        reach_of(model, self._cells)
        return MOVES_A_POINT

    def size(self, bins: Bins | None, width: int) -> int:
        return self._groups.number

    def __call__(self, counts: Ints, bins: Bins | None) -> Ints:
        return self._groups.sums(np.bincount(counts, minlength=self._cells), None)


def law_of_points(model: PrivacyModel) -> SpatialNeighbourhood:
    """The model, refused where there are no points."""
    if not isinstance(model, SpatialNeighbourhood):
        raise BadInput("this is asked of points, which have a SpatialNeighbourhood; a histogram has other questions.")
    return model


def reach_of(model: PrivacyModel, cells: int) -> int:
    """By how many of so many cells a point moves between neighbours."""
    law = law_of_points(model)
    if cells != law.snapped_to.cells:
        raise BadInput(f"the grid has {law.snapped_to.cells} cells, not {cells}; ask about all of them.")
    return law.reach


def in_a_row(cells: int) -> int:
    """The number of cells, or a refusal if they are more than can be published one by one."""
    number = at_least_one("the number of cells", cells)
    if number > MOST_CELLS:
        raise BadInput(f"a histogram of points has at most {MOST_CELLS} cells; use larger steps.")
    return number


@dataclass(frozen=True)
class SmoothMedian:
    """The median of points in order, and how wide its noise has to be: a smooth bound of how far it can move.

    Moving k points can make the median's next move as large as A_k, the longest stretch of k + 2 points in order that
    holds it (beyond the ends of the data, the ends of the domain); but a move is never longer than ``reach``. Weighted
    with exp(-rate k), the largest of these changes by a factor of exp(rate) at most between neighbours.

    Beyond so many moves as no longer matter, ``reach`` stands for A_k: that is larger, and smooth as well.
    """

    points: Ints
    cells: int
    reach: int
    e: Epsilon

    @property
    def middle(self) -> int:
        """The median's place in the order, from 0."""
        return (len(self.points) - 1) // 2

    @property
    def median(self) -> int:
        """The cell of the median."""
        return int(self.points[self.middle])

    @property
    def moves(self) -> int:
        """How many moves are looked at. Public: whatever the points are, it takes as long."""
        matter = math.log(FINENESS * self.reach) / float(calibrated(self.e).rate)
        return min(len(self.points), math.ceil(matter), MOST_MOVES)

    @cached_property
    def stretches(self) -> Ints:
        """How far the median's next move may lead after 0, 1, 2, ... moves."""
        moves = self.moves
        ends = np.array([0] * (moves + 1)), np.full(moves + 1, self.cells - 1)
        padded = np.concatenate([ends[0], self.points, ends[1]])
        centre = self.middle + moves + 1
        longest = [
            int((padded[centre : centre + k + 2] - padded[centre - k - 1 : centre + 1]).max()) for k in range(moves)
        ]
        return np.minimum(np.array([*longest, self.reach], np.int64), self.reach)

    @cached_property
    def _candidates(self) -> list[tuple[int, int]]:
        """Which moves may lead to the largest weighted stretch: floats are good enough to tell which do not."""
        rate, stretches = float(calibrated(self.e).rate), self.stretches
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(stretches) - rate * np.arange(len(stretches))
        longer = np.diff(stretches, prepend=0) > 0  # after more moves no further is less
        near = np.flatnonzero(longer & (logs >= logs.max() - CLEARLY_LESS))
        return [(int(k), int(stretches[k])) for k in near]

    @property
    def width(self) -> float:
        """The scale of the noise, nearly. For audits: no noise is drawn from it."""
        return float(self.scale(GUARD)[0])

    def scale(self, bits: int) -> Bounds:
        """Bounds of the scale of the noise: the largest weighted stretch, over the shift that is paid for."""
        shift, rate = calibrated(self.e)
        precision = bits + GUARD
        bounds = [
            tuple(stretch * bound for bound in exp_interval(rate * k, precision)) for k, stretch in self._candidates
        ]
        unit = shift * 2**precision
        return max(low for low, _ in bounds) / unit, max(high for _, high in bounds) / unit
