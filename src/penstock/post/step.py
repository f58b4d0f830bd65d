"""What all post-processing has in common: a release goes in, the same one with other values comes out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from penstock.types import Floats, Ints, Published, Release

R = TypeVar("R", bound=Release)

LARGEST_SUM = 2**62
LARGEST_SD = 1e150  # its square is still a number


class Step(ABC):
    """Something done to releases, one after the other. ``says`` is what was done, in a few words.

    ``reach`` is how many earlier releases it has to have seen. Whatever it does not change stays as it was: the time,
    the charge, where the release comes from. What a mechanism's model says of a count it does not say of another
    number, so intervals are left out, unless the step ``keeps_intervals``.
    """

    says: str
    reach: int = 0
    keeps_intervals: bool = False

    @abstractmethod
    def __call__(self, release: R) -> R:
        """What becomes of a release."""

    def named(self, mechanism: str) -> str:
        """What a release of this mechanism is said to come from afterwards."""
        return f"{mechanism}, {self.says}"

    def _changed(self, release: R, **parts: Any) -> R:
        if isinstance(release, Published):
            parts["mechanism"] = self.named(release.mechanism)
        if not self.keeps_intervals:
            parts |= {"low": None, "high": None}
        return replace(release, **parts)


def variances_of(release: Release) -> Floats:
    """The variances of the noise in its values."""
    variances: Floats = np.minimum(release.noise_sd, LARGEST_SD) ** 2
    return variances


def addable(values: Ints) -> Ints:
    """The values, cut by a public rule if noise has made them so enormous that their sum would not fit 64 bits."""
    if float(np.abs(values.astype(np.float64)).sum()) < LARGEST_SUM:
        return values
    most = LARGEST_SUM // len(values)
    return np.clip(values, -most, most)


def divided(values: Ints, by: int) -> Ints:
    """The nearest whole quotients, halves to even.

    >>> divided(np.array([-3, -1, 1, 3, 5, 7]), 2)
    array([-2,  0,  0,  2,  2,  4])
    """
    quotients, left = np.divmod(values, by)
    up = (2 * left > by) | ((2 * left == by) & (quotients % 2 == 1))
    nearest: Ints = quotients + up
    return nearest
