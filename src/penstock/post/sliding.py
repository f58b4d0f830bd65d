"""Sums over a sliding window of releases."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

import numpy as np

from penstock.parameters import from_one_to
from penstock.types import Floats, Ints, Kind, Published, Release

R = TypeVar("R", bound=Release)

LARGEST_SUM = 2**62
WIDEST = 10_000  # units; as many releases are held


class SlidingSum:
    """The sum of the last ``width`` releases, at every time unit; of fewer at the beginning.

    Releases come in order of time; one that goes back takes the place of those from there on, so that a stream can be
    told again. A value is republished if nothing was measured for it in this unit, else fresh if all that it adds up
    are fresh, else estimated. Repeated values have the noise of the value before once more, and estimated ones share
    theirs with it at most, so ``noise_sd`` is a bound. A unit that is not known counts like the one before it.

    >>> from penstock.epsilon import Epsilon
    >>> sliding = SlidingSum(2)
    >>> kind, noise_sd = np.zeros(1, np.int8), np.ones(1)
    >>> [int(sliding(Release(t, np.array([t]), kind, noise_sd, Epsilon(1))).values[0]) for t in (1, 2, 3)]
    [1, 3, 5]
    """

    def __init__(self, width: int) -> None:
        from_one_to("width", width, WIDEST)
        self.width = width
        self._kept: deque[Release] = deque()

    @property
    def reach(self) -> int:
        """How many earlier releases it has to have seen."""
        return self.width - 1

    def __call__(self, release: R) -> R:
        """The sum that ends with this release, which keeps its time and its charge."""
        if self.width == 1:
            return release
        self._keep(release)
        window = list(self._window())
        most = LARGEST_SUM // self.width  # a public cut that keeps sums inside 64 bits
        values = np.sum([np.clip(each.values, -most, most) for each in window], axis=0)
        fresh = np.all([each.kind == Kind.FRESH for each in window], axis=0)
        kinds = np.select([release.kind == Kind.REPUBLISHED, fresh], [Kind.REPUBLISHED, Kind.FRESH], Kind.ESTIMATED)
        summed = replace(release, values=values, kind=kinds.astype(np.int8), noise_sd=_noise_sd(window))
        return replace(summed, mechanism=self.named(summed.mechanism)) if isinstance(summed, Published) else summed

    def named(self, mechanism: str) -> str:
        """What a release of this mechanism is said to come from, when it is summed."""
        return mechanism if self.width == 1 else f"{mechanism}, sums of {self.width}"

    def _keep(self, release: Release) -> None:
        while self._kept and self._kept[-1].t >= release.t:
            self._kept.pop()
        self._kept.append(release)
        while self._kept[0].t <= release.t - self.width:
            self._kept.popleft()

    def _window(self) -> Iterator[Release]:
        """What is added up: for a unit that is not known the one before, if that is in the window."""
        for each, following in pairwise(self._kept):
            yield each
            if following.t > each.t + 1:
                repeated = replace(each, kind=np.full_like(each.kind, Kind.REPUBLISHED))
                yield from [repeated] * (following.t - each.t - 1)
        yield self._kept[-1]


def _noise_sd(window: Sequence[Release]) -> Floats:
    """What is measured in a unit has noise of its own; other values are taken to share theirs with the unit before."""
    kinds, each = np.array([release.kind for release in window]), np.array([release.noise_sd for release in window])
    begins = (kinds == Kind.FRESH) | (kinds == Kind.GROUPED)
    ends = np.vstack([begins[1:], np.ones_like(begins[:1])])
    total = np.cumsum(each, axis=0)
    before = np.maximum.accumulate(
        np.where(begins, total - each, 0.0), axis=0
    )  # the total where the shared noise began
    noise_sd: Floats = np.sqrt((np.where(ends, total - before, 0.0) ** 2).sum(axis=0))
    return noise_sd


def sliding_sums(counts: Ints, width: int) -> Ints:
    """The true sums of the last ``width`` rows, for those who know the truth.

    >>> sliding_sums(np.array([[1], [2], [3]]), 2).ravel()
    array([1, 3, 5])
    """
    running = np.vstack([np.zeros((1, counts.shape[1]), np.int64), np.cumsum(counts, axis=0)])
    after = np.arange(1, len(running))
    sums: Ints = running[after] - running[np.maximum(after - width, 0)]
    return sums
