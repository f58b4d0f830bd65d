"""Noise that is overheard: it passes every draw on, and remembers what was drawn, and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.desk import Question
from penstock.errors import CheckFailed
from penstock.noise import Noise
from penstock.types import Ints, Mask

T = TypeVar("T")


class Coins(NamedTuple):
    """Coins that were tossed: with a chance of ``rate``, or of exp(-rate * step) where there are ``steps``."""

    rate: Fraction
    steps: Ints
    fallen: Mask


class Listening:
    """Stands between curator and noise. Counts time units, and keeps what was drawn for the latest answer."""

    secure: ClassVar[bool] = False

    def __init__(self, noise: Noise) -> None:
        self.t = 0
        self.drawn: list[Fraction] = []  # the scale of every number
        self.numbers: list[int] = []
        self.reaches: list[int] = []  # how many of the numbers share a reach, for each one
        self.coins: list[Coins] = []
        self._noise = noise

    def listen(self, question: Question, compute: Callable[[], T]) -> T:
        """Compute an answer, and keep what is drawn for it: as many numbers as the question says."""
        self.drawn, self.numbers, self.reaches, self.coins = [], [], [], []
        answer = compute()
        if len(self.drawn) != question.draws:
            raise CheckFailed(f"{question.verb} says it draws {question.draws} values and draws {len(self.drawn)}.")
        return answer

    def rekey(self) -> None:
        self.t += 1
        self._noise.rekey()

    def laplace(self, scale: Fraction, size: int) -> Ints:
        return self._kept([scale] * size, self._noise.laplace(scale, size))

    def laplace_each(self, scales: Sequence[Fraction], which: NDArray[np.intp]) -> Ints:
        return self._kept([scales[i] for i in which], self._noise.laplace_each(scales, which))

    def cube(self, scale: Fraction, size: int) -> Ints:
        self.reaches.append(size)
        return self._kept([scale] * size, self._noise.cube(scale, size))

    def bernoulli(self, chance: Fraction, shape: tuple[int, ...]) -> Mask:
        return self._tossed(chance, np.empty(0, np.int64), self._noise.bernoulli(chance, shape))

    def bernoulli_exp(self, rate: Fraction, steps: Ints) -> Mask:
        return self._tossed(rate, steps, self._noise.bernoulli_exp(rate, steps))

    def order(self, size: int) -> NDArray[np.intp]:
        return self._noise.order(size)

    def _kept(self, scales: list[Fraction], numbers: Ints) -> Ints:
        self.drawn += scales
        self.numbers += numbers.tolist()
        return numbers

    def _tossed(self, rate: Fraction, steps: Ints, fallen: Mask) -> Mask:
        self.coins.append(Coins(rate, steps, fallen))
        return fallen
