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
LEAST = 1e-300  # that a probability is taken for
STEEP = 1e150  # what squares of are numbers still; only where the exact form is not used does anything pull so hard
THIN = 1e-9  # the least part of a variance that is left


class Reach:
    """Of a volley: how likely each of a few reaches is, to each model that has foretold its readings.

    The reach of ``size`` readings with noise of this scale is a gamma variable of shape ``size`` + 1.
    """

    def __init__(self, places: Floats, weights: Floats) -> None:
        self.places = places
        self.weights = weights  # logarithms; a row a bin, a column a model, or one of each for all of them

    @classmethod
    def of(cls, scale: float, size: int) -> Reach:
        """What is known before the first reading."""
        logs = np.linspace(-FAR, FAR, PLACES) / np.sqrt(size + 1)
        density = (size + 1) * (logs - np.exp(logs))
        return cls((size + 1) * scale * np.exp(logs), density[np.newaxis, np.newaxis])

    def posterior(self, measured: Floats, variance: Floats, models: slice) -> tuple[Posterior, Floats]:
        """Of x ~ N(0, variance), given ``measured`` = x + noise; and the evidence of every reach."""
        weights = self.weights[:, models] if self.weights.shape[1] > 1 else self.weights
        each = boxed(measured[..., np.newaxis], variance[..., np.newaxis], self.places)
        before, _ = _normalised(weights)
        evidence, shares = _normalised(weights + each.evidence)
        mean = (shares * each.mean).sum(axis=-1)
        apart = each.mean - mean[..., np.newaxis]
        spread = (shares * (each.variance + np.square(apart))).sum(axis=-1)
        return Posterior(evidence - before, mean, spread), each.evidence

    def learn(self, evidence: Floats) -> None:
        """A reading was so likely with each reach, by every model."""
        weights = self.weights + evidence
        self.weights = weights - weights.max(axis=-1, keepdims=True)

    def save(self) -> dict[str, Any]:
        return {"places": self.places, "weights": self.weights}

    @classmethod
    def load(cls, saved: dict[str, Any]) -> Reach:
        return cls(np.array(saved["places"]), np.array(saved["weights"]))


def _normalised(logs: Floats) -> tuple[Floats, Floats]:
    """The logarithm of the sum of the last axis, and the shares in it."""
    largest = logs.max(axis=-1, keepdims=True)
    shares = np.exp(logs - largest)
    whole = shares.sum(axis=-1, keepdims=True)
    return (largest + np.log(whole))[..., 0], shares / whole


def boxed(measured: Floats, variance: Floats, reach: Floats) -> Posterior:
    """Of x ~ N(0, variance), given ``measured`` = x + noise that is uniform from -reach to reach.

    The posterior is the normal cut off at both ends of the box around the measurement.

    >>> found = boxed(np.array([3.0]), np.array([4.0]), np.array([2.0]))
    >>> found.mean.round(3), found.variance.round(3), np.exp(found.evidence).round(4)
    (array([2.213]), array([0.852]), array([0.0756]))
    """
    deviation, apart = np.sqrt(variance), np.abs(measured)
    near, far = (apart - reach) / deviation, (apart + reach) / deviation  # the ends of the box, seen from the prior
    outside = near > 0  # all is seen relative to the density at the near end, or it would be nothing
    at_near = np.exp(np.where(outside, 0.0, -0.5 * np.square(near)))
    at_far = np.exp(np.where(outside, -2 * apart * reach / variance, -0.5 * np.square(far)))
    beyond_near, beyond_far = (at * erfcx(np.abs(end) / np.sqrt(2)) for at, end in ((at_near, near), (at_far, far)))
    inside = np.maximum(np.where(outside, beyond_near - beyond_far, 2 - beyond_near - beyond_far) / 2, LEAST)
    pull = np.minimum(HALF_NORMAL / 2 * (at_near - at_far) / inside, STEEP)
    tilt = HALF_NORMAL / 2 * (near * at_near - far * at_far) / inside
    evidence = np.log(inside / (2 * reach)) - np.where(outside, 0.5 * np.square(near), 0.0)
    spread = np.maximum(1 + tilt - np.square(pull), THIN)
    at_edge, further = near > OUTSIDE, np.maximum(near, 1)
    pull, spread = np.where(at_edge, near + 1 / further, pull), np.where(at_edge, further**-2.0, spread)
    exact = Posterior(evidence, np.sign(measured) * deviation * pull, variance * spread)
    return _kalman_where_narrow(exact, measured, variance, reach)


def _kalman_where_narrow(exact: Posterior, measured: Floats, variance: Floats, reach: Floats) -> Posterior:
    """There the exact form is a small difference of large numbers."""
    narrow = np.square(reach) < NARROW**2 * variance
    if not narrow.any():
        return exact
    noise = np.square(reach) / 3
    whole = variance + noise
    evidence = -0.5 * (np.square(measured) / whole + np.log(2 * np.pi * whole))
    return Posterior(
        np.where(narrow, evidence, exact.evidence),
        np.where(narrow, measured * variance / whole, exact.mean),
        np.where(narrow, variance * noise / whole, exact.variance),
    )
