"""Noise that is written down beforehand, for tests and worked examples."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BadInput
from penstock.types import Ints, Mask


class ScriptedNoise:
    """Laplace draws come from ``values`` in order and are ``then`` afterwards (or an error, if ``strict``).

    A coin falls if its chance is a half or more; of several steps only 0 falls, so that the best one is nearest.

    >>> ScriptedNoise([3, -1]).laplace(Fraction(10), 3)
    array([ 3, -1,  0])
    """

    secure: ClassVar[bool] = False

    def __init__(self, values: Iterable[int] = (), *, then: int = 0, strict: bool = False) -> None:
        self._values = deque(values)
        self.then = then
        self.strict = strict

    @property
    def left(self) -> int:
        """How many scripted values have not been drawn."""
        return len(self._values)

    def rekey(self) -> None:
        """A script has no key."""

    def laplace(self, scale: Fraction, size: int) -> Ints:
        if self.strict and len(self._values) < size:
            raise BadInput(f"the script has {len(self._values)} values left and {size} were asked for; write more.")
        return np.array([self._values.popleft() if self._values else self.then for _ in range(size)], np.int64)

    def laplace_each(self, scales: Sequence[Fraction], which: NDArray[np.intp]) -> Ints:
        return self.laplace(Fraction(1), len(which))

    def cube(self, scale: Fraction, size: int) -> Ints:
        return self.laplace(scale, size)

    def bernoulli(self, chance: Fraction, shape: tuple[int, ...]) -> Mask:
        return np.full(shape, chance >= Fraction(1, 2))

    def bernoulli_exp(self, rate: Fraction, steps: Ints) -> Mask:
        certain: Mask = np.equal(steps, 0)
        return certain

    def order(self, size: int) -> NDArray[np.intp]:
        return np.arange(size)
