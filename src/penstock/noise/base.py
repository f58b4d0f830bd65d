"""What the curator asks of a source of noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.types import Ints, Mask

NATS_OF_256_BITS = 178  # exp(-178) < 2^-256: what is cut off a distribution is below this chance
LARGEST_SCALE = Fraction(2**62, NATS_OF_256_BITS)  # beyond it a draw might not fit in 64 bits
LARGEST_CUBE = 64  # numbers
LARGEST_CUBE_SCALE = LARGEST_SCALE / (4 * LARGEST_CUBE)  # the reach is a sum of so many draws, and doubled on the way
NARROWEST = 4  # a cube of so many numbers a unit of scale takes eight tries in the mean; of more ever more
SUMMED = 16  # up to such a scale the spread of a cube is summed, and above it is as good as an integral


class Noise(Protocol):
    """Independent draws from distributions whose parameters are exact rationals.

    Every array is a new one: who draws may write into it.
    """

    secure: ClassVar[bool]

    def rekey(self) -> None:
        """Called once a release, before its first draw."""

    def laplace(self, scale: Fraction, size: int) -> Ints:
        """``size`` draws of the discrete Laplace, P(k) proportional to exp(-|k| / scale)."""

    def laplace_each(self, scales: Sequence[Fraction], which: NDArray[np.intp]) -> Ints:
        """One draw for each entry of ``which``, whose scale is ``scales[which[i]]``."""

    def cube(self, scale: Fraction, size: int) -> Ints:
        """``size`` numbers that share one secret reach: P(k) proportional to exp(-max |k_i| / scale)."""

    def bernoulli(self, chance: Fraction, shape: tuple[int, ...]) -> Mask:
        """Coins that fall True with probability ``chance``."""

    def bernoulli_exp(self, rate: Fraction, steps: Ints) -> Mask:
        """One coin for each of ``steps``, whole numbers from 0 to 2**62: True with probability exp(-rate * step)."""

    def order(self, size: int) -> NDArray[np.intp]:
        """A uniformly random order of 0 .. size-1."""


def laplace_sd(scale: Fraction) -> float:
    """Standard deviation of the discrete Laplace of this scale."""
    half = scale.denominator / (2 * scale.numerator)
    return 1 / (math.sqrt(2) * math.sinh(half)) if half < 700 else 0.0


@lru_cache(maxsize=256)
def cube_sd(scale: Fraction, size: int) -> float:
    """Standard deviation of each number of a cube.

    The reach r has the weight exp(-r / scale) (2 r + 1)^size, and a number the variance r (r + 1) / 3 given r. With r +
    1/2 for a gamma variable sums are as good as integrals, where the scale is not small.
    """
    wide = float(scale)
    if size == 1:
        return laplace_sd(scale)
    if wide > SUMMED:
        return math.sqrt(((size + 1) * (size + 2) * wide**2 - 0.25) / 3)
    reaches = np.arange(math.ceil((4 * size + 60) * wide) + 1)
    logs = size * np.log(2 * reaches + 1) - reaches / wide
    weights = np.exp(logs - logs.max())
    return math.sqrt(float(weights @ (reaches * (reaches + 1))) / (3 * float(weights.sum())))
