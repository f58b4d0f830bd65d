"""Public grids that points are snapped to, so that where a point lies is a whole number.

An axis is cut into cells of one width, from ``low`` to ``high``; every bound is an exact rational. A point belongs to
the cell that holds it, or, if it lies outside, to the cell nearest to it: that is the rule for points outside of the
domain. It moves no two points further apart, and leaves their number as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from penstock.epsilon import Number, as_fraction
from penstock.errors import BadInput
from penstock.types import LARGEST_COUNT, Floats, Ints

UP_TO, OVER, BESIDES = "..", "/", ","
MOST_CELLS = 2**31
FINEST = 2**50  # steps from 0 to the ends of a domain, so that floats tell its cells apart
LARGEST = 10**200  # of what is written down, or its inverse
MOST_PLACES = 22  # of a power of ten that is a float
SURE_DIGITS = 15  # a decimal number of so few digits is what its nearest float is written as


@dataclass(frozen=True)
class Axis:
    """Cells of width ``step`` from ``low`` to ``high``: ``0..100/0.5`` has 200 of them."""

    low: Fraction
    high: Fraction
    step: Fraction

    def __post_init__(self) -> None:
        if self.low >= self.high or self.step <= 0:
            raise BadInput(f"a domain goes from a lower to a higher end in steps above 0; got {self}.")
        if self.length % self.step or self.cells < 2:
            raise BadInput(f"the steps of a grid must divide its domain into 2 cells or more, evenly; got {self}.")
        largest = max(abs(self.low), abs(self.high))
        if self.cells > MOST_CELLS or largest > FINEST * self.step or largest > LARGEST_COUNT:
            raise BadInput(f"the numbers of {self} are too large, or its steps too small for them; use other units.")

    @classmethod
    def parsed(cls, text: str) -> Axis:
        """An axis as it is written. Steps may be a quotient, 0..1/1/3; if an end is, both are: 0..4/3/1/3."""
        low, between, rest = text.partition(UP_TO)
        high, *step = rest.split(OVER)
        if not between or not step:
            raise BadInput(f"a grid is written low..high/step, 0..100/0.5 for instance; got {text!r}.")
        if len(step) > 2:
            high, *step = OVER.join([high, step[0]]), *step[1:]
        return cls(*(exactly(part.strip()) for part in (low, high, OVER.join(step))))

    def __str__(self) -> str:
        low, high, step = (plainly(each) for each in (self.low, self.high, self.step))
        return f"{low}{UP_TO}{high}{OVER}{step}" + (f"{OVER}1" if OVER in high and OVER not in step else "")

    @property
    def length(self) -> Fraction:
        """From end to end."""
        return self.high - self.low

    @property
    def cells(self) -> int:
        """How many there are."""
        return int(self.length / self.step)

    def cell_of(self, values: Floats) -> Ints:
        """The number of the cell of each value, exactly: a float is what it is written as."""
        with np.errstate(over="ignore"):  # what is endlessly far is at the end
            quotient = (values - float(self.low)) / float(self.step)
        nearest: Ints = np.rint(np.clip(quotient, 0, self.cells)).astype(np.int64)
        edges = self._sure_edges(nearest)
        if edges is None:  # slower, but for all of them alike
            return np.array([self._exact_cell(value) for value in values.tolist()], np.int64)
        return np.clip(nearest - (values < edges), 0, self.cells - 1)

    def _sure_edges(self, numbers: Ints) -> Floats | None:
        """The floats nearest to these edges between cells; None if an edge might not be what its float is written as.

        A value lies before an edge exactly if its float does, as long as the edge has few digits: no float but the
        nearest is written as anything between that and the edge.
        """
        places = decimal_places(math.lcm(self.low.denominator, self.step.denominator))
        if places is None or places > MOST_PLACES:
            return None
        unit = 10**places
        if max(abs(self.low), abs(self.high)) * unit >= 10**SURE_DIGITS:
            return None
        return (int(self.low * unit) + int(self.step * unit) * numbers) / float(unit)

    def _exact_cell(self, value: float) -> int:
        above, below = Decimal(repr(value)).as_integer_ratio()
        distance = (above * self.low.denominator - self.low.numerator * below) * self.step.denominator
        cell = distance // (below * self.low.denominator * self.step.numerator)
        return min(max(cell, 0), self.cells - 1)

    def edges(self) -> list[float]:
        """The ends of all cells, as the floats nearest to them."""
        over = math.lcm(self.low.denominator, self.step.denominator)
        first, width = int(self.low * over), int(self.step * over)
        return [(first + i * width) / over for i in range(self.cells + 1)]

    def centre(self, cells: ArrayLike) -> Floats:
        """The middle of each of these cells, which need not be whole."""
        centres: Floats = float(self.low) + float(self.step) * (np.asarray(cells, np.float64) + 0.5)
        return centres


@dataclass(frozen=True)
class Grid:
    """The cells of one axis, or of several: numbered row by row, the last axis running fastest."""

    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        if not self.axes or self.cells > MOST_CELLS:
            raise BadInput(f"a grid has one axis or more, and at most {MOST_CELLS} cells; use larger steps.")

    @classmethod
    def of(cls, given: Grid | str) -> Grid:
        """A grid, or what is written of one: ``0..100/0.5``, or ``0..100/5,0..50/5`` for two axes."""
        if isinstance(given, Grid):
            return given
        if not isinstance(given, str):
            raise BadInput(f"a grid is written low..high/step, 0..100/0.5 for instance; got {given!r}.")
        return cls(tuple(Axis.parsed(part) for part in given.split(BESIDES)))

    def __str__(self) -> str:
        return BESIDES.join(str(axis) for axis in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many cells each axis has."""
        return tuple(axis.cells for axis in self.axes)

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return math.prod(self.shape)

    @property
    def line(self) -> Axis:
        """The only axis, or a refusal."""
        self.require_line()
        return self.axes[0]

    def require_line(self) -> None:
        """Refuse a plane."""
        if len(self.axes) != 1:
            raise BadInput("points are in order along one axis only; of points in a plane publish a histogram.")

    def cell_of(self, values: ArrayLike) -> Ints:
        """The number of the cell of each point; a point is a number, or a row of as many as there are axes."""
        rows = as_points(values, len(self.axes))
        numbers: Ints = np.zeros(len(rows), np.int64)
        for i, axis in enumerate(self.axes):
            numbers = numbers * axis.cells + axis.cell_of(rows[:, i])
        return numbers

    def contains(self, radius: Fraction) -> bool:
        """Whether two points of the domain can lie as far apart as this."""
        return radius**2 <= sum(axis.length**2 for axis in self.axes)

    def reach(self, radius: Fraction) -> int:
        """By how many cells a point moves at most when it moves by ``radius``.

        In a plane cells are numbered row by row, and a small step can lead from any row to the next; so this is all.
        """
        most = self.cells - 1
        return min(math.ceil(radius / self.axes[0].step), most) if len(self.axes) == 1 else most


def as_points(values: ArrayLike, axes: int) -> Floats:
    """Points as rows of finite numbers, or a refusal that names none of them."""
    try:
        rows = np.asarray(values)
    except ValueError:  # rows of different lengths
        rows = np.empty(0)
    rows = rows[:, np.newaxis] if rows.ndim == 1 and axes == 1 else rows
    if rows.ndim != 2 or rows.shape[1] != axes or not len(rows):
        raise BadInput(f"there must be a point at least, and as many coordinates to each as the grid has axes: {axes}.")
    if rows.dtype.kind not in "iuf" or rows.dtype.itemsize > 8 or isinstance(values, np.ma.MaskedArray):
        raise BadInput("points must be numbers of 64 bits at most, and all there; clean the data and pass them again.")
    if not np.isfinite(rows).all():
        raise BadInput("every coordinate must be a finite number; clean the data and pass them again.")
    return rows.astype(np.float64)


def exactly(value: Number) -> Fraction:
    """A number as it was meant, ``1/3`` among them."""
    above, over, below = value.partition(OVER) if isinstance(value, str) else (value, "", "")
    divisor = as_fraction(below) if over else Fraction(1)
    if not divisor:
        raise BadInput("nothing can be divided by 0; write another number.")
    exact = as_fraction(above) / divisor
    if max(abs(exact.numerator), exact.denominator) > LARGEST:
        raise BadInput("a number of a reasonable number of digits is needed here; round it.")
    return exact


def plainly(value: Fraction) -> str:
    """The number in as few digits as it has, or as a quotient if its digits have no end."""
    places = decimal_places(value.denominator)
    if places is None:
        return f"{value.numerator}{OVER}{value.denominator}"
    digits = f"{abs(value.numerator) * 10**places // value.denominator:0{places + 1}d}"
    whole = digits[: len(digits) - places]
    return f"{'-' * (value < 0)}{whole}{'.' * (places > 0)}{digits[len(whole) :]}"


def decimal_places(denominator: int) -> int | None:
    """How many places a fraction with this denominator has, if they end."""
    places = 0
    for prime in (2, 5):
        power = 0
        while denominator % prime == 0:
            denominator, power = denominator // prime, power + 1
        places = max(places, power)
    return places if denominator == 1 else None
