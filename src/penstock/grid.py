"""Public grids that points are snapped to, so that where a point lies is a whole number.

An axis is cut into cells of one width, from ``low`` to ``high``; every bound is an exact rational. A point belongs to
the cell that holds it, or, if it lies outside, to the cell nearest to it: that is the rule for points outside of the
domain. It moves no two points further apart, and leaves their number as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from penstock.epsilon import Number, as_fraction
from penstock.errors import BadInput
from penstock.types import LARGEST_COUNT, Floats, Ints

UP_TO, OVER, BESIDES = "..", "/", ","
ROUNDING = 2.0**-48  # how far a quotient of floats may be off, as a part of the largest number in it


@dataclass(frozen=True)
class Axis:
    """Cells of width ``step`` from ``low`` to ``high``: ``0..100/0.5`` has 200 of them."""

    low: Fraction
    high: Fraction
    step: Fraction

    def __post_init__(self) -> None:
        if self.low >= self.high or self.step <= 0:
            raise BadInput(f"a domain goes from a lower to a higher end in steps above 0; got {self}.")
        if self.length % self.step or not 2 <= self.cells <= LARGEST_COUNT:
            raise BadInput(f"the steps of a grid must divide its domain into 2 cells or more, evenly; got {self}.")

    @classmethod
    def parsed(cls, text: str) -> Axis:
        """An axis as it is written."""
        ends, over, step = text.partition(OVER)
        low, between, high = ends.partition(UP_TO)
        if not over or not between:
            raise BadInput(f"a grid is written low..high/step, 0..100/0.5 for instance; got {text!r}.")
        return cls(*(exactly(part.strip()) for part in (low, high, step)))

    def __str__(self) -> str:
        return f"{plainly(self.low)}{UP_TO}{plainly(self.high)}{OVER}{plainly(self.step)}"

    @property
    def length(self) -> Fraction:
        """From end to end."""
        return self.high - self.low

    @property
    def cells(self) -> int:
        """How many there are."""
        return int(self.length / self.step)

    def cell_of(self, values: Floats) -> Ints:
        """The number of the cell of each value, exactly.

        Floats tell which cell it is, except near an edge: there the quotient is taken again in whole numbers.
        """
        low, step = float(self.low), float(self.step)
        with np.errstate(over="ignore", invalid="ignore"):  # what is endlessly far is at the end
            quotient = (values - low) / step
            blurred = ROUNDING * (np.abs(values) + abs(low)) / step + ROUNDING
            near = np.abs(quotient - np.rint(quotient)) <= blurred
        cells: Ints = np.clip(np.floor(quotient), 0, self.cells - 1).astype(np.int64)
        unsure, where = np.unique(values[near], return_inverse=True)
        cells[near] = np.array([self._exact_cell(value) for value in unsure.tolist()], np.int64)[where.reshape(-1)]
        return cells

    def _exact_cell(self, value: float) -> int:
        return min(max(math.floor((as_fraction(value) - self.low) / self.step), 0), self.cells - 1)

    def edges(self) -> Floats:
        """The ends of all cells."""
        return self.centre(np.arange(self.cells + 1) - 0.5)

    def centre(self, cells: ArrayLike) -> Floats:
        """The middle of each of these cells, which need not be whole."""
        centres: Floats = float(self.low) + float(self.step) * (np.asarray(cells, np.float64) + 0.5)
        return centres


@dataclass(frozen=True)
class Grid:
    """The cells of one axis, or of several: numbered row by row, the last axis running fastest."""

    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        if not self.axes or self.cells > LARGEST_COUNT:
            raise BadInput("a grid has one axis or more, and at most 2**53 cells; use larger steps.")

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
        if len(self.axes) != 1:
            raise BadInput("points are in order along one axis only; of points in a plane publish a histogram.")
        return self.axes[0]

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
        rows = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise BadInput("points must be numbers; clean the data and pass them again.") from None
    rows = rows[:, np.newaxis] if rows.ndim == 1 and axes == 1 else rows
    if rows.ndim != 2 or rows.shape[1] != axes or not len(rows):
        raise BadInput(
            f"there must be one point at least, and as many coordinates to each as the grid has axes: {axes}."
        )
    if not np.isfinite(rows).all():
        raise BadInput("every coordinate must be a finite number; clean the data and pass them again.")
    return rows


def exactly(value: Number) -> Fraction:
    """A number as it was meant, ``1/3`` among them."""
    if isinstance(value, str) and OVER in value:
        above, _, below = value.partition(OVER)
        divisor = as_fraction(below)
        if not divisor:
            raise BadInput(f"nothing can be divided by 0; got {value!r}.")
        return as_fraction(above) / divisor
    return as_fraction(value)


def plainly(value: Fraction) -> str:
    """The number in as few digits as it has, or as a quotient if its digits have no end."""
    places = _decimal_places(value.denominator)
    if places is None:
        return f"{value.numerator}{OVER}{value.denominator}"
    digits = f"{abs(value.numerator) * 10**places // value.denominator:0{places + 1}d}"
    whole = digits[: len(digits) - places]
    return f"{'-' * (value < 0)}{whole}{'.' * (places > 0)}{digits[len(whole) :]}"


def _decimal_places(denominator: int) -> int | None:
    """How many places a fraction with this denominator has, if they end."""
    places = 0
    for prime in (2, 5):
        power = 0
        while denominator % prime == 0:
            denominator, power = denominator // prime, power + 1
        places = max(places, power)
    return places if denominator == 1 else None
