"""What a reading of a volley says: a normal prior, and uniform noise of a reach that is not known but guessed at.

All readings of a volley have one reach, so each of them tells something of it to those that follow. It sees published
values only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.primitives.posterior import HALF_NORMAL, Posterior, erfcx
from penstock.types import Floats

PLACES = 16  # of a reach, evenly on a scale of logarithms
FAR = 3.5  # relative deviations that they go out to
NARROW = 0.125  # reaches that are so small beside what is uncertain: Gaussian noise of the same variance says the same
OUTSIDE = 30.0  # deviations between prior and box, from which on only the edge counts


class Reach:
    """Of a volley of so many readings, whose noise has this scale: how likely each of a few reaches is."""

    def __init__(self, scale: float, size: int) -> None:
        logs = np.linspace(-FAR, FAR, PLACES) / np.sqrt(size + 1)
        self.places = (size + 1) * scale * np.exp(logs)
        self.weights = (size + 1) * (logs - np.exp(logs))  # of a gamma variable, by its logarithm; not normalised

    def posterior(self, measured: Floats, variance: Floats) -> Posterior:
        """Of x ~ N(0, variance), given ``measured`` = x + noise."""
        whole = np.logaddexp.reduce(self.weights)
        each = boxed(measured[np.newaxis], variance[np.newaxis], self.places[:, np.newaxis, np.newaxis])
        logs = each.evidence + (self.weights - whole)[:, np.newaxis, np.newaxis]
        evidence = np.logaddexp.reduce(logs, axis=0)
        shares = np.exp(logs - evidence)
        mean = (shares * each.mean).sum(axis=0)
        spread = (shares * (each.variance + np.square(each.mean - mean))).sum(axis=0)
        return Posterior(evidence, mean, spread)

    def learn(self, missed: float, variance: float) -> None:
        """A forecast with this variance missed a reading by so much."""
        found = boxed(np.array([missed]), np.array([variance]), self.places)
        self.weights = self.weights + found.evidence
        self.weights -= self.weights.max()


def boxed(measured: Floats, variance: Floats, reach: Floats) -> Posterior:
    """Of x ~ N(0, variance), given ``measured`` = x + noise that is uniform from -reach to reach.

    >>> found = boxed(np.array([3.0]), np.array([4.0]), np.array([2.0]))
    >>> found.mean.round(3), found.variance.round(3), np.exp(found.evidence).round(4)
    (array([2.033]), array([0.676]), array([0.0756]))
    """
    deviation, apart = np.sqrt(variance), np.abs(measured)
    near, far = (apart - reach) / deviation, (apart + reach) / deviation
    outside = near > 0
    half = np.sqrt(0.5)
    scaled = np.exp(np.where(outside, 0.0, -0.5 * np.square(near)))
    beyond = np.exp(np.where(outside, -2 * apart * reach / variance, -0.5 * np.square(far)))
    inner, outer = scaled * erfcx(np.abs(near) * half), beyond * erfcx(far * half)
    part = np.maximum(np.where(outside, inner - outer, 2 - inner - outer) / 2, 1e-300)
    pull = HALF_NORMAL / 2 * (scaled - beyond) / part
    tilt = HALF_NORMAL / 2 * (near * scaled - far * beyond) / part
    edge = near > OUTSIDE
    mean = np.sign(measured) * deviation * np.where(edge, near + 1 / np.maximum(near, 1), pull)
    spread = variance * np.where(edge, 1 / np.square(np.maximum(near, 1)), np.maximum(1 + tilt - np.square(pull), 1e-9))
    evidence = np.log(part / (2 * reach)) - np.where(outside, 0.5 * np.square(near), 0.0)
    noise = np.square(reach) / 3
    whole, narrow = variance + noise, reach < NARROW * deviation
    wide = -0.5 * (np.square(measured) / whole + np.log(2 * np.pi * whole))
    return Posterior(
        np.where(narrow, wide, evidence),
        np.where(narrow, measured * variance / whole, mean),
        np.where(narrow, variance * noise / whole, spread),
    )
