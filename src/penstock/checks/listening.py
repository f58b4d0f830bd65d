"""Noise that is overheard: it passes every draw on, and remembers its scale."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.noise import Noise
from penstock.types import Ints, Mask


class Listening:
    """Stands between curator and noise. Counts time units, and keeps the scales of what was drawn."""

    secure: ClassVar[bool] = False

    def __init__(self, noise: Noise) -> None:
        self.t = 0
        self.drawn: list[Fraction] = []
        self._noise = noise

    def rekey(self) -> None:
        self.t += 1
        self._noise.rekey()

    def laplace(self, scale: Fraction, size: int) -> Ints:
        self.drawn += [scale] * size
        return self._noise.laplace(scale, size)

    def laplace_each(self, scales: Sequence[Fraction], which: NDArray[np.intp]) -> Ints:
        self.drawn += [scales[i] for i in which]
        return self._noise.laplace_each(scales, which)

    def bernoulli(self, chance: Fraction, shape: tuple[int, ...]) -> Mask:
        return self._noise.bernoulli(chance, shape)

    def bernoulli_exp(self, rate: Fraction, steps: Ints) -> Mask:
        return self._noise.bernoulli_exp(rate, steps)

    def order(self, size: int) -> NDArray[np.intp]:
        return self._noise.order(size)
