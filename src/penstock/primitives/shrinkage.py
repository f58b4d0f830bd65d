"""What is known of a bin from the others, and from what it was: most are small, or few are large, none is below zero.

The counts of all bins are taken for draws from a mixture of half-normals of all sizes, whose shares are fitted to the
estimates; each estimate is then pulled towards what is common, or to what was usual in its own bin. It sees published
values only.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from penstock.primitives.posterior import HALF_NORMAL, WIDE, erfcx
from penstock.primitives.trust import shares
from penstock.types import Floats, Mask

SIZES = 4.0 ** np.arange(-4, 14)  # of the half-normals, in units of the noise that epsilon buys
ROUNDS = 10  # of expectation and maximisation
EXPECTED = 1.0  # bins that what is expected of them counts for
COMMON = 1.0  # earlier estimates of a bin that what is common counts for
FADING = 0.1  # of earlier ones, with each that owes them nothing
LIKELY, RARER = 16.0, 0.5  # smaller sizes than this are less likely, by this power of them, if there is one bin only

EDGES = np.concatenate([[0.0], 2.0 ** np.arange(-10, 28, 0.125)])  # of the cells in which medians are looked for
LARGEST = SIZES[-1] / 8
FAR = 6.0  # deviations above zero from where an estimate is its own median
TINY = 1e-300
KEPT = ("shares", "usual", "latest")


class Parts(NamedTuple):
    """For every bin and size: how likely, and mean and variance if so."""

    evidence: Floats
    mean: Floats
    variance: Floats


class Shrinkage:
    """A mixture that is learnt from estimates of ``bins``, and improves them.

    Before that all sizes are as likely; but who publishes a single bin hardly does so because it is empty.
    """

    def __init__(self, bins: int) -> None:
        likely = np.minimum(SIZES / LIKELY, 1) ** (RARER / bins)
        self._expected = likely / likely.sum()
        self.shares = np.tile(self._expected, (bins, 1))  # of each size, as the other bins have it
        self.usual = np.zeros((1, len(SIZES)))  # sizes that each bin was of before, in estimates; so far no bin's
        self.latest = self.usual  # and now, as far as it is surely not empty
        self._fitted: tuple[Floats, Floats, Parts] | None = None  # often asked about next, and dear

    def fit(self, mean: Floats, deviation: Floats, new: Floats | float = 0.0) -> None:
        """Learn the shares from estimates with these deviations. For none of them its own estimate bears witness.

        So much of each is ``new``. The rest is the estimate before, which is not to count for itself: it is known to be
        usual only as far as this one does without it.
        """
        renewed = np.broadcast_to(new, mean.shape)[:, np.newaxis]
        self.usual = (1 - FADING * renewed) * self.usual + renewed * self.latest
        parts = _parts(mean, deviation)
        self._fitted, evidence = (mean, deviation, parts), parts.evidence
        likelihood = np.exp(evidence - evidence.max(axis=1, keepdims=True))
        for _ in range(ROUNDS if len(mean) > 1 else 1):  # a single bin learns nothing from others
            belonging = shares(likelihood * self._likely)
            others = belonging.sum(axis=0) - belonging
            self.shares = (others + EXPECTED * self._expected) / (len(mean) - 1 + EXPECTED)
        found, left = self.improved(mean, deviation)
        self.latest = np.clip(found / left - 1, 0, 1)[:, np.newaxis] * belonging

    @property
    def _likely(self) -> Floats:
        """How likely each size is in each bin, before its estimate is looked at."""
        return shares(COMMON * self.shares + self.usual)

    def improved(self, mean: Floats, deviation: Floats) -> tuple[Floats, Floats]:
        """Better estimates, and their deviations."""
        known = self._fitted
        same = known is not None and known[0] is mean and known[1] is deviation
        parts = known[2] if known and same else _parts(mean, deviation)
        belonging = shares(np.exp(parts.evidence - parts.evidence.max(axis=1, keepdims=True)) * self._likely)
        found = (belonging * parts.mean).sum(axis=1)
        variance = (belonging * (parts.variance + np.square(parts.mean - found[:, np.newaxis]))).sum(axis=1)
        huge = _beyond(mean, deviation)
        return np.where(huge, np.maximum(mean, 0), found), np.where(huge, deviation, np.sqrt(np.maximum(variance, 0)))

    def medians(self, mean: Floats, deviation: Floats) -> Floats:
        """What counts are as likely to be above as below: of small ones less than their mean, and often nothing.

        Where an estimate is far above zero it is its own median.
        """
        small = (mean < FAR * deviation) & ~_beyond(mean, deviation)
        found = np.maximum(mean, 0)
        if small.any():
            scale = deviation[small, np.newaxis] / np.sqrt(2)
            found[small] = _medians(mean[small, np.newaxis], scale, self._likely[small])
        return found

    def save(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in KEPT}

    def load(self, saved: dict[str, Any]) -> None:
        for name in KEPT:
            setattr(self, name, np.array(saved[name]))


def _medians(mean: Floats, scale: Floats, likely: Floats) -> Floats:
    """By the posterior of every cell of a grid of counts; each bin has sizes that are likely."""
    away = (EDGES - mean) / scale
    fading = np.exp(-np.abs(away)) / 2
    below = np.diff(np.where(away < 0, fading, 1 - fading), axis=1)
    mass = np.cumsum(below * (likely @ _densities()), axis=1)
    half = mass[:, -1:] / 2
    cell = (mass >= half).argmax(axis=1)[:, np.newaxis]
    after = np.take_along_axis(mass, cell, axis=1)
    before = np.where(cell > 0, np.take_along_axis(mass, np.maximum(cell - 1, 0), axis=1), 0.0)
    part = (half - before) / np.maximum(after - before, TINY)
    medians: Floats = (EDGES[cell] + part * (EDGES[cell + 1] - EDGES[cell]))[:, 0]
    return medians


def _beyond(mean: Floats, deviation: Floats) -> Mask:
    """Estimates of which the sizes know nothing, as they are larger."""
    beyond: Mask = np.maximum(mean, deviation) > LARGEST
    return beyond


@lru_cache(maxsize=1)
def _densities() -> Floats:
    """Of every half-normal in every cell."""
    reached = EDGES / (np.sqrt(2) * SIZES[:, np.newaxis])
    below = 1 - erfcx(reached) * np.exp(-np.square(reached))
    densities: Floats = np.diff(below, axis=1) / np.diff(EDGES)
    return densities


def _parts(mean: Floats, deviation: Floats) -> Parts:
    """Of a count that is half-normal of each size, given an estimate that is off like Laplace noise of this deviation.

    On either side of the estimate that is a normal cut off there and at zero, as in ``posterior``: its mean is moved by
    r = size**2 / scale. ``near`` weighs the side between zero and the estimate, ``beyond`` the one above it.
    """
    mean, scale = mean[:, np.newaxis], deviation[:, np.newaxis] / np.sqrt(2)
    positive, apart = mean > 0, np.abs(mean)
    moved, half = SIZES**2 / scale, np.sqrt(2) * SIZES
    start, end = moved / half, np.where(positive, moved - apart, 0.0) / half
    inside = end < 0  # the estimate lies further out than the half-normal is moved: scaled by its own exponent
    fading = np.where(positive, np.where(inside, moved / 2 - apart, -np.square(apart) / (2 * moved)), -apart) / scale
    at_zero = np.exp(-apart / scale - fading)  # densities there and at the estimate, in the same scale
    at_end = np.exp(np.where(positive, -np.square(apart / half), -np.inf) - fading)
    tail = erfcx(np.abs(end))
    near = np.where(inside, 2 - at_end * tail, tail) - at_zero * erfcx(start)
    near = np.where(positive, np.maximum(near, 0.0), 0.0)
    beyond = np.where(positive, at_end, at_zero) * erfcx((moved + np.where(positive, apart, 0.0)) / half)
    whole = near + beyond
    edge = 2 * SIZES / np.sqrt(2 * np.pi)
    found = (moved * (near - beyond) + edge * at_zero) / whole
    bent = np.where(positive, at_zero - 2 * at_end, -at_zero)
    variance = SIZES**2 + moved * (moved + edge * bent / whole) - np.square(found)
    narrow = Parts(fading + np.log(whole / (2 * scale)), found, variance)
    wide = np.square(SIZES / scale) > WIDE
    return Parts(*(np.where(wide, *pair) for pair in zip(_flat_parts(mean, scale), narrow, strict=True)))


def _flat_parts(mean: Floats, scale: Floats) -> Parts:
    """The same where the half-normal is as good as flat, and the exact form a small difference of large numbers."""
    positive = mean > 0
    cut = np.exp(-np.abs(mean) / scale)
    height = -np.square(np.maximum(mean, 0) / SIZES) / 2 + np.log(HALF_NORMAL / SIZES)
    mass = np.where(positive, 1 - cut / 2, 0.5)
    found = np.where(positive, (2 * mean + scale * cut) / (2 - cut), scale)
    lost = cut * (2 * mean**2 + 4 * mean * scale + cut * scale**2) / np.square(2 - cut)
    variance = 2 * scale**2 - np.where(positive, lost, scale**2)
    fading = np.where(positive, 0.0, mean / scale)
    return Parts(height + fading + np.log(mass), found, variance)
