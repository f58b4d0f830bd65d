"""Noise of half the width it is asked for, around any other noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from penstock.checks.listening import Listening
from penstock.desk import Desk
from penstock.types import Ints, Mask


class Halved(Listening):
    """Twice as sure of everything as it should be."""

    def laplace(self, scale: Fraction, size: int) -> Ints:
        return super().laplace(scale / 2, size)

    def laplace_each(self, scales: Sequence[Fraction], which: NDArray[np.intp]) -> Ints:
        return super().laplace_each([scale / 2 for scale in scales], which)

    def cube(self, scale: Fraction, size: int) -> Ints:
        return super().cube(scale / 2, size)

    def bernoulli_exp(self, rate: Fraction, steps: Ints) -> Mask:
        return super().bernoulli_exp(rate * 2, steps)


@contextmanager
def halved(desk: Desk) -> Iterator[None]:
    """For as long as this lasts, all noise is."""
    whole, desk.noise = desk.noise, Halved(desk.noise)
    try:
        yield
    finally:
        desk.noise = whole
