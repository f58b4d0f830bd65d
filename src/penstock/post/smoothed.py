"""Means and medians over the last releases."""

from __future__ import annotations

import numpy as np

from penstock.errors import BadInput
from penstock.post.step import R, divided
from penstock.post.window import Windowed, noise_of_sums
from penstock.types import Floats, Ints, Kind

SMOOTHERS = ("mean", "median")


class Smoothed(Windowed):
    """The mean or the median of the last ``width`` releases, at every time unit; of fewer at the beginning.

    That takes out noise, and takes in what has changed meanwhile, of which ``noise_sd`` does not know. A value is
    republished if nothing was measured for it in this unit, else estimated. The noise of a mean is that of the sliding
    sum, divided. That of a median is no wider if every release has noise of its own, Laplace noise of one width; else
    it is bounded by sqrt(2) times the root of the mean square of theirs, whatever they share.

    >>> import penstock as ps
    >>> def release(t: int, value: int) -> ps.Release:
    ...     return ps.Release(t, np.array([value]), np.zeros(1, np.int8), np.ones(1), ps.Epsilon(1))
    >>> mean, median = Smoothed(3), Smoothed(3, by="median")
    >>> [(int(mean(each).values[0]), int(median(each).values[0])) for each in map(release, (1, 2, 3), (9, 8, 100))]
    [(9, 9), (8, 8), (39, 9)]
    """

    def __init__(self, width: int, by: str = "mean") -> None:
        if by not in SMOOTHERS:
            raise BadInput(f"releases are smoothed by one of {', '.join(SMOOTHERS)}; got {by!r}.")
        super().__init__(width, f"{by}s")
        self.by = by

    def _made(self, release: R) -> R:
        if len(self._window) == 1:
            return self._changed(release)
        kind = np.where(release.kind == Kind.REPUBLISHED, release.kind, np.int8(Kind.ESTIMATED))
        if self.by == "mean":
            values, noise_sd = divided(self._window.total, len(self._window)), self._noise_of_mean()
        else:
            values, noise_sd = _medians(self._window.values), self._noise_of_median()
        return self._changed(release, values=values, kind=kind, noise_sd=noise_sd)

    def _noise_of_mean(self) -> Floats:
        return noise_of_sums(self._window) / len(self._window)

    def _noise_of_median(self) -> Floats:
        """At least half of the releases are off by as much as their median is, so Markov's inequality bounds it."""
        kinds, noise_sd, n = self._window.kind[1:], self._window.noise_sd, len(self._window)
        apart = ((kinds == Kind.FRESH) | (kinds == Kind.GROUPED)).all(axis=0) & (noise_sd == noise_sd[0]).all(axis=0)
        bound = np.sqrt((noise_sd**2).sum(axis=0) / ((n + 1) // 2))
        return np.where(apart | (n == 2), self._noise_of_mean(), bound)  # of two, the median is the mean


def _medians(values: Ints) -> Ints:
    """The medians of the columns; between two in the middle the nearest whole number to their mean."""
    low, high = (len(values) - 1) // 2, len(values) // 2
    ordered = np.partition(values, [low, high], axis=0)
    return divided(ordered[low] + ordered[high], 2)
