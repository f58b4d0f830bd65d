"""The guess whose relative error is smallest. It sees published values only."""

from __future__ import annotations

import numpy as np

from penstock.types import Floats

POINTS = 64  # at which a distribution is looked at
TINY = 1e-300
FAR = 4.0  # deviations, beyond which nothing is expected


def relative_median(mean: Floats, deviation: Floats) -> Floats:
    """The median of a normal cut off at zero, if each count weighs 1 / max(count, 1): too much of few costs most.

    In the scale of v = x below 1 and 1 + log x above it, which runs as fast as these weights fall, all weigh the same.

    >>> relative_median(np.array([1000.0, 0.0]), np.array([1.0, 50.0])).round(1)
    array([1000. ,    4.4])
    """
    low, high = (_slow(np.maximum(mean + sign * FAR * deviation, least)) for sign, least in ((-1, 0.0), (1, 1e-9)))
    along = low + (high - low) * np.linspace(0, 1, POINTS + 1)[:, np.newaxis]
    counts = np.where(along < 1, along, np.exp(along - 1))
    middle = (counts[1:] + counts[:-1]) / 2
    mass = np.exp(-0.5 * np.square((middle - mean) / deviation)) + TINY
    below = np.cumsum(mass, axis=0)
    half = below[-1] / 2
    at, bins = (below >= half).argmax(axis=0), np.arange(len(mean))
    inside = (half - below[at, bins]) / mass[at, bins] + 1
    found: Floats = counts[at, bins] + inside * (counts[at + 1, bins] - counts[at, bins])
    return found


def _slow(x: Floats) -> Floats:
    slow: Floats = np.where(x < 1, x, 1 + np.log(np.maximum(x, 1)))
    return slow
