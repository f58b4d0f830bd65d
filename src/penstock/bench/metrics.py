"""How far what was published is from the truth, by every measure that papers use, and what it cost."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from penstock.post.sliding import sliding_sums
from penstock.types import Floats, Ints, Mask

RANGES = 100  # boxes of bins, the same for all mechanisms
REQUESTS = 1000  # ranges of values, likewise
DIGITS = 6  # that are kept of a figure


class Outcome(NamedTuple):
    """What came of one run. Figures that make no sense for a stream are NaN."""

    mae: float
    mre: float
    rmse: float
    sse: float
    range_error: float
    range_relative: float
    requests: float
    publications: float
    used: float
    fullest: float

    def rounded(self) -> Outcome:
        """The same to the digits that are kept, so that a figure is the same measured or read."""
        return Outcome(*(float(f"{figure:.{DIGITS}g}") for figure in self))


RULES: Mapping[str, str] = {
    "mae": "mean absolute error of a count",
    "mre": "mean relative error of a count; counts of 0 divide by 1",
    "rmse": "root of the mean squared error of a count",
    "sse": "squared error of a release, summed over its bins, in the mean over time",
    "range_error": f"mean absolute error of {RANGES} random ranges of bins (boxes, where the domain has a shape);"
    " streams of several bins only",
    "range_relative": "mean relative error of these ranges; sums of 0 divide by 1",
    "requests": f"mean relative error of {REQUESTS} requests for the number of time units whose count lies in a random"
    " range of values; streams of one bin only; numbers of 0 divide by 1",
    "publications": "units with something new in them, over the whole stream, as a number for a window",
    "used": "what a window spends, in the mean, over epsilon",
    "fullest": "what the fullest window spends, over epsilon; above 1 would break the promise",
}
ERRORS = ("mae", "mre", "rmse", "sse", "range_error", "range_relative", "requests")


class Judge:
    """Compares what is published with the truth, some rows at a time. What it is told is as long as it likes.

    ``top`` is the largest count there is, for ranges of values. ``width`` judges sums over so many units, and
    ``summed`` says that such sums were published. ``clipped`` takes every answer below 0 for 0, which anybody may do
    who reads it: a count, a sum over units, a sum over a range. Sums of clipped counts would be too large.
    """

    def __init__(
        self, shape: tuple[int, ...], top: int, *, width: int = 1, summed: bool = False, clipped: bool = False
    ) -> None:
        self._shape, self._width, self._summed, self._clipped = shape, width, summed, clipped
        alone = math.prod(shape) == 1
        self._boxes = None if alone else random_boxes(shape, RANGES)
        self._edges = _edges(top * width) if alone else None
        self._below = np.zeros((2, 0 if self._edges is None else self._edges.size), np.int64)
        self._before: tuple[Any, Ints] | None = None
        self._units = 0
        self._sums = np.zeros(5)

    def add(self, values: Ints | Floats, counts: Ints) -> None:
        """Rows that were published, and those that were true."""
        values, counts = self._windows(values, counts)
        answers = self._read(values)
        off = (answers - counts).astype(np.float64)
        apart = np.abs(off)
        single = (
            apart.mean(axis=1).sum(),
            (apart / np.maximum(counts, 1)).mean(axis=1).sum(),
            np.square(off).sum(),
        )
        self._sums += (*single, *self._range_errors(values, counts))
        self._units += len(counts)
        if self._edges is not None:
            for below, column in zip(self._below, (answers[:, 0], counts[:, 0]), strict=True):
                below += np.searchsorted(np.sort(column), self._edges.reshape(-1))

    def _read(self, values: Any) -> Any:
        return np.maximum(values, 0) if self._clipped else values

    def _range_errors(self, values: Any, counts: Ints) -> tuple[float, float]:
        if self._boxes is None:
            return math.nan, math.nan
        truth = self._ranges(counts)
        apart = np.abs(self._read(self._ranges(values)) - truth)
        return float(apart.mean(axis=1).sum()), float((apart / np.maximum(truth, 1)).mean(axis=1).sum())

    def errors(self) -> tuple[float, ...]:
        """The figures of ERRORS, over all that was added."""
        mae, mre, squared, ranges, relative = (self._sums / self._units).tolist()
        return mae, mre, math.sqrt(squared / math.prod(self._shape)), squared, ranges, relative, self._requests()

    def _windows(self, values: Any, counts: Ints) -> tuple[Any, Ints]:
        """Sums over the width, of which the first need rows that were added before."""
        if self._width == 1:
            return values, counts
        published, known = values, 0
        if self._before is not None:
            known = len(self._before[0])
            values, counts = (np.concatenate(pair) for pair in zip(self._before, (values, counts), strict=True))
        kept = self._width - 1
        self._before = values[-kept:], counts[-kept:]
        sums = published if self._summed else sliding_sums(values, self._width)[known:]
        return sums, sliding_sums(counts, self._width)[known:]

    def _ranges(self, rows: Any) -> Any:
        """The sums of all boxes, by sums over everything up to their corners."""
        assert self._boxes is not None
        low, high = self._boxes
        summed = rows.reshape(len(rows), *self._shape)
        for axis in range(1, summed.ndim):
            summed = np.cumsum(summed, axis=axis)
        summed = np.pad(summed, [(0, 0)] + [(1, 0)] * len(self._shape))
        total = np.zeros((len(rows), RANGES), rows.dtype)
        for corner in itertools.product((0, 1), repeat=len(self._shape)):
            at = tuple(np.where(np.array(corner), low, high).T)
            total += (-1) ** sum(corner) * summed[(slice(None), *at)]
        return total

    def _requests(self) -> float:
        if self._edges is None:
            return math.nan
        published, true = (np.diff(below.reshape(self._edges.shape), axis=1)[:, 0] for below in self._below)
        return float((np.abs(published - true) / np.maximum(true, 1)).mean())


def random_boxes(shape: tuple[int, ...], number: int) -> tuple[Ints, Ints]:
    """First and last-but-one edges of boxes: an interval drawn at random along every axis."""
    rng = np.random.default_rng(number)
    ends = [np.sort(rng.integers(0, side, (number, 2)), axis=1) for side in shape]
    low, high = (np.stack([axis[:, end] for axis in ends], axis=1) for end in (0, 1))
    return low, high + 1


def _edges(top: int) -> Ints:
    """Two different edges each, so that any range of counts may lie between them."""
    rng = np.random.default_rng(REQUESTS)
    first = rng.integers(0, top + 1, REQUESTS)
    second = (first + rng.integers(1, top + 2, REQUESTS)) % (top + 2)
    return np.sort(np.stack([first, second], axis=1), axis=1)


def spending(charged: Floats, epsilon: float, window: int) -> float:
    """What the windows of a stream spend on average, over epsilon; a stream shorter than a window has but one."""
    running = np.concatenate([[0.0], np.cumsum(charged)])
    width = min(window, len(charged))
    return float((running[width:] - running[:-width]).mean() / epsilon)


def publications(new: Mask, window: int) -> float:
    """How many units have something new, on average over the stream, as a number for a window."""
    return float(new.mean() * min(window, len(new)))
