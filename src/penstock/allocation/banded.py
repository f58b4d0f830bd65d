"""The matrix of a Newton step: how much budget is asked for in one window when the price of another one rises."""

from __future__ import annotations

import numpy as np

from penstock.allocation.windows import Windows
from penstock.errors import BadInput
from penstock.types import Floats

LARGEST = 2**26  # numbers that are held at once
NARROWEST = 32  # windows that are eliminated together, so that little time is spent on anything but arithmetic


class Banded:
    """A symmetric matrix whose entries are sums over the units two windows share, plus something on its diagonal.

    Windows that share no unit have an entry of 0, so the matrix is a band. Windows are eliminated some at a time; what
    that takes off the entries of those after them is carried along.
    """

    def __init__(self, windows: Windows) -> None:
        self._first, self._last = windows.first, windows.last
        after = np.searchsorted(windows.first, windows.last) - np.arange(len(windows)) - 1
        self._reach = int(after.max())  # how many windows after it one shares units with
        self._together = max(NARROWEST, self._reach // 8)
        if self._together * self._reach > LARGEST:
            raise BadInput("windows of so many units that matter are too wide to be planned; use longer units.")
        self._upper = np.triu(np.ones((self._together, self._together), np.bool_))
        self._parts: list[tuple[slice, slice, Floats, Floats]] = []

    def factor(self, of_units: Floats, diagonal: Floats) -> None:
        """Get ready to solve with the matrix of these units and this diagonal."""
        self._parts = []
        carried, number = np.zeros((0, 0)), len(self._first)
        for begin in range(0, number, self._together):
            end = min(begin + self._together, number)
            far = min(end + self._reach, number)
            size, known = end - begin, len(carried)
            rows = self._rows(slice(begin, end), slice(begin, far), of_units)
            rows[:known, :known] += carried[:size]
            rows[range(size), range(size)] += diagonal[begin:end]
            inverse: Floats = np.linalg.inv(rows[:, :size]).astype(np.float64, copy=False)
            beside = rows[:, size:]
            spread = inverse @ beside
            self._parts.append((slice(begin, end), slice(end, far), inverse, spread))
            before, carried = carried, -(beside.T @ spread)
            carried[: max(known - size, 0), : max(known - size, 0)] += before[size:, size:]

    def _rows(self, these: slice, those: slice, of_units: Floats) -> Floats:
        """The sums over the units that each of these windows shares with each of those."""
        last = self._last[these]
        begin, end = self._first[these.start], last[-1]
        inside = np.where(np.arange(begin, end) < last[:, np.newaxis], of_units[begin:end], 0.0)
        from_unit = np.zeros((len(last), end - begin + 1))
        from_unit[:, :-1] = inside[:, ::-1].cumsum(axis=1)[:, ::-1]
        rows: Floats = from_unit[:, np.minimum(self._first[those], end) - begin]
        size = len(last)
        square = rows[:, :size]
        rows[:, :size] = np.where(self._upper[:size, :size], square, square.T)
        return rows

    def solve(self, right: Floats) -> Floats:
        """The solution for one right side."""
        x = right.copy()
        for these, those, _, spread in self._parts:
            x[those] -= x[these] @ spread
        for these, those, inverse, spread in reversed(self._parts):
            x[these] = inverse @ x[these] - spread @ x[those]
        return x
