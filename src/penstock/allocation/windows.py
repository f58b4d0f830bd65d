"""Stretches of time units, none of which lies within another: what adds up over them, and over those of a unit."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from penstock.types import Floats, Ints


class Windows:
    """Windows from unit ``first`` up to but without ``last``, in order of both.

    Every unit is in some of them, and those it is in stand next to each other. Everything is added up anew, never as
    the difference of two running sums: those lose what is small beside what is large.
    """

    def __init__(self, first: Ints, last: Ints) -> None:
        self.first, self.last = first, last
        self.units = int(last[-1])

    def __len__(self) -> int:
        return len(self.first)

    @property
    def apart(self) -> bool:
        """Whether no two of them share a unit."""
        return bool((self.first[1:] >= self.last[:-1]).all())

    @cached_property
    def _in_windows(self) -> Ints:
        return np.stack([self.first, self.last], axis=1).reshape(-1)

    @cached_property
    def _of_units(self) -> Ints:
        units = np.arange(self.units)
        ends = [np.searchsorted(self.last, units, "right"), np.searchsorted(self.first, units, "right")]
        return np.stack(ends, axis=1).reshape(-1)

    def sums(self, of_units: Floats) -> Floats:
        """For each window, the sum over its units."""
        return _reduced(np.add, of_units, self._in_windows)

    def least(self, of_units: Floats) -> Floats:
        """For each window, the least of its units."""
        return _reduced(np.minimum, of_units, self._in_windows)

    def sums_around(self, of_windows: Floats) -> Floats:
        """For each unit, the sum over the windows it is in."""
        return _reduced(np.add, of_windows, self._of_units)

    def least_around(self, of_windows: Floats) -> Floats:
        """For each unit, the least of the windows it is in."""
        return _reduced(np.minimum, of_windows, self._of_units)


def _reduced(how: np.ufunc, values: Floats, ends: Ints) -> Floats:
    padded = np.append(values, 0.0)  # a stretch may end where the values end
    reduced: Floats = how.reduceat(padded, ends)[::2]
    return reduced
