"""Fast, seeded noise for experiments. It protects nobody: anyone who knows the seed can subtract it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.types import Floats, Ints, Mask


class SimulationNoise:
    """The same distributions as SecureNoise from a seeded numpy generator, to floating-point accuracy."""

    secure: ClassVar[bool] = False

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._rng = np.random.default_rng(seed)

    def __repr__(self) -> str:
        return f"SimulationNoise(seed={self.seed})"

    def rekey(self) -> None:
        """A simulation goes on with its one seeded generator."""

    def laplace(self, scale: Fraction, size: int) -> Ints:
        return self._difference(-np.expm1(-1 / float(scale)), size)

    def laplace_each(self, scales: Sequence[Fraction], which: NDArray[np.intp]) -> Ints:
        if len(which) and (which == which[0]).all():  # the same draws, sooner
            return self.laplace(scales[which[0]], len(which))
        stops = np.array([-np.expm1(-1 / float(scale)) for scale in scales])
        return self._difference(stops[which], len(which))

    def cube(self, scale: Fraction, size: int) -> Ints:
        stop = -np.expm1(-1 / float(scale))
        while True:
            reach = int(self._rng.geometric(stop, size + 1).sum()) - size - 1
            placed = self._rng.integers(0, 2 * (reach + np.arange(1, size + 1)))
            if (placed <= 2 * reach).all():
                centred: Ints = placed - reach
                return centred

    def bernoulli(self, chance: Fraction, shape: tuple[int, ...]) -> Mask:
        return self._rng.random(shape) < float(chance)

    def bernoulli_exp(self, rate: Fraction, steps: Ints) -> Mask:
        chances: Floats = np.exp(-float(rate) * steps)
        return self._rng.random(len(steps)) < chances

    def order(self, size: int) -> NDArray[np.intp]:
        return self._rng.permutation(size).astype(np.intp)

    def _difference(self, stop: Any, size: int) -> Ints:
        """The difference of two geometric variables is a discrete Laplace."""
        pair = self._rng.geometric(stop, (2, size))
        difference: Ints = pair[0] - pair[1]
        return difference
