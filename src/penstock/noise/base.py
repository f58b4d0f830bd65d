"""What the curator asks of a source of noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.types import Ints, Mask

NATS_OF_256_BITS = 178  # exp(-178) < 2^-256: what is cut off a distribution is below this chance
LARGEST_SCALE = Fraction(2**62, NATS_OF_256_BITS)  # beyond it a draw might not fit in 64 bits


class Noise(Protocol):
    """Independent draws from distributions whose parameters are exact rationals."""

    secure: ClassVar[bool]

    def rekey(self) -> None:
        """Called once a release, before its first draw."""

    def laplace(self, scale: Fraction, size: int) -> Ints:
        """``size`` draws of the discrete Laplace, P(k) proportional to exp(-|k| / scale)."""

    def laplace_each(self, scales: Sequence[Fraction], which: NDArray[np.intp]) -> Ints:
        """One draw for each entry of ``which``, whose scale is ``scales[which[i]]``."""

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
