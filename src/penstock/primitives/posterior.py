"""What a noisy measurement says: a normal prior and Laplace noise, in closed form. It sees published values only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.types import Floats

WIDE = 300.0  # a prior of so many squared noise scales or more: Gaussian noise of the same variance says the same
HALF_NORMAL = np.sqrt(2 / np.pi)

# log(erfcx(x) / s) as a polynomial in s = 2 / (2 + x), fitted on Chebyshev's points; exact to 1e-7 for all x >= 0
ERFCX = (
    *(-1.265512225, 1.00002368, 0.3740919597, 0.09678418949, -0.1862880617),
    *(0.2788680844, -1.135204, 1.488515889, -0.8221522344, 0.1708727777),
)


class Posterior(NamedTuple):
    """The log of how likely the measurement was, and mean and variance of what was measured."""

    evidence: Floats
    mean: Floats
    variance: Floats


def posterior(measured: Floats, variance: Floats, scale: Floats | float) -> Posterior:
    """Of x ~ N(0, variance), given ``measured`` = x + Laplace noise of this scale.

    On either side of the measurement the posterior is a normal cut off there, with its mean moved by r = variance /
    scale towards it. With weights a and b of the two sides its mean is r (a - b), and its variance follows likewise.

    >>> found = posterior(np.array([3.0]), np.array([4.0]), 1.0)
    >>> found.mean.round(3), found.variance.round(3), np.exp(found.evidence).round(4)
    (array([2.134]), array([1.446]), array([0.074]))
    """
    apart, deviation, moved = np.abs(measured), np.sqrt(variance), variance / scale
    half = deviation * np.sqrt(2)
    near, far = (moved - apart) / half, erfcx((moved + apart) / half)
    beyond = near < 0  # the measurement lies further out than the prior is moved: scaled, or it would overflow
    scaled = np.exp(np.where(beyond, -np.square(near), 0.0))
    close = erfcx(np.abs(near))
    inner = np.where(beyond, 2 - scaled * close, close)
    outer = scaled * far
    whole = inner + outer
    exponent = np.where(beyond, variance / (2 * scale**2) - apart / scale, -np.square(measured) / (2 * variance))
    evidence = exponent + np.log(whole / (4 * scale))
    mean = np.sign(measured) * moved * (inner - outer) / whole
    edge = 2 * deviation * HALF_NORMAL * scaled / whole
    spread = variance + 4 * np.square(moved / whole) * inner * outer - moved * edge
    return _kalman_where_wide(Posterior(evidence, mean, spread), measured, variance, 2 * scale**2)


def _kalman_where_wide(exact: Posterior, measured: Floats, variance: Floats, noise: Floats | float) -> Posterior:
    """There the exact form is a small difference of large numbers."""
    wide, whole = variance > WIDE / 2 * noise, variance + noise
    evidence = -0.5 * (np.square(measured) / whole + np.log(2 * np.pi * whole))
    return Posterior(
        np.where(wide, evidence, exact.evidence),
        np.where(wide, measured * variance / whole, exact.mean),
        np.where(wide, variance * noise / whole, exact.variance),
    )


def erfcx(x: Floats) -> Floats:
    """exp(x**2) erfc(x) for x >= 0, several times as fast as by a library that has to be exact to the last digit."""
    s = 2 / (2 + x)
    power = np.full_like(s, ERFCX[-1])
    for coefficient in ERFCX[-2::-1]:
        power *= s
        power += coefficient
    whole: Floats = s * np.exp(power)
    return whole
