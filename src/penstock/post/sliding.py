"""Sums over a sliding window of releases."""

from __future__ import annotations

import numpy as np

from penstock.post.step import R
from penstock.post.window import Windowed, noise_of_sums
from penstock.types import Ints, Kind


class SlidingSum(Windowed):
    """The sum of the last ``width`` releases, at every time unit; of fewer at the beginning.

    Releases come in order of time; one that goes back takes the place of those from there on, so that a stream can be
    told again. A value is republished if nothing was measured for it in this unit, else fresh if all that it adds up
    are fresh, else estimated. Repeated values have the noise of the value before once more, and estimated ones share
    theirs with it at most, so ``noise_sd`` is a bound. A unit that is not known counts like the one before it.

    >>> import penstock as ps
    >>> sliding = SlidingSum(2)
    >>> kind, noise_sd = np.zeros(1, np.int8), np.ones(1)
    >>> [int(sliding(ps.Release(t, np.array([t]), kind, noise_sd, ps.Epsilon(1))).values[0]) for t in (1, 2, 3)]
    [1, 3, 5]
    """

    def __init__(self, width: int) -> None:
        super().__init__(width, "sums")

    def _made(self, release: R) -> R:
        repeated, fresh = release.kind == Kind.REPUBLISHED, self._window.stale == 0
        kinds = np.select([repeated, fresh], [Kind.REPUBLISHED, Kind.FRESH], Kind.ESTIMATED).astype(np.int8)
        noise_sd = noise_of_sums(self._window)
        return self._changed(release, values=self._window.total, kind=kinds, noise_sd=noise_sd)


def sliding_sums(counts: Ints, width: int) -> Ints:
    """The true sums of the last ``width`` rows, for those who know the truth.

    >>> sliding_sums(np.array([[1], [2], [3]]), 2).ravel()
    array([1, 3, 5])
    """
    running = np.vstack([np.zeros((1, counts.shape[1]), np.int64), np.cumsum(counts, axis=0)])
    after = np.arange(1, len(running))
    sums: Ints = running[after] - running[np.maximum(after - width, 0)]
    return sums
