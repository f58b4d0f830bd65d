"""Sums over a sliding window of releases."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TypeVar

import numpy as np

from penstock.parameters import from_one_to
from penstock.types import Floats, Kind, Published, Release

R = TypeVar("R", bound=Release)

LARGEST_SUM = 2**62
WIDEST = 10_000  # units; as many releases are held


class SlidingSum:
    """The sum of the last ``width`` releases, at every time unit; of fewer at the beginning.

    Releases come in order of time; one that goes back takes the place of those from there on, so that a stream can be
    told again. A value is republished if nothing was measured for it in this unit, else fresh if all that it adds up
    are fresh, else estimated. ``noise_sd`` takes new values to have noise of their own and repeated ones that of the
    value before, which is not quite so where a mechanism smooths over time.

    >>> from penstock.noise import ScriptedNoise
    >>> from penstock.types import Snapshot
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
        most = LARGEST_SUM // self.width  # a public cut that keeps sums inside 64 bits
        values = np.sum([np.clip(each.values, -most, most) for each in self._kept], axis=0)
        fresh = np.all([each.kind == Kind.FRESH for each in self._kept], axis=0)
        kinds = np.select([release.kind == Kind.REPUBLISHED, fresh], [Kind.REPUBLISHED, Kind.FRESH], Kind.ESTIMATED)
        summed = replace(release, values=values, kind=kinds.astype(np.int8), noise_sd=self._noise_sd())
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

    def _noise_sd(self) -> Floats:
        """Releases have noise of their own, but a repeated one has that of the release it repeats, once more."""
        variance = np.zeros_like(self._kept[0].noise_sd)
        shared = np.zeros_like(variance)  # the noise of the draw that the latest values share, as often as they do
        for each in self._kept:
            drawn = each.kind != Kind.REPUBLISHED
            variance += np.where(drawn, shared, 0.0) ** 2
            shared = np.where(drawn, 0.0, shared) + each.noise_sd
        noise_sd: Floats = np.sqrt(variance + shared**2)
        return noise_sd
