"""The reach of a volley is the sum of one geometric variable too few, so that its readings carry too little noise."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from penstock.audit.volleying import Volleying
from penstock.checks import Kernel
from penstock.noise import SecureNoise
from penstock.types import Ints


class NarrowNoise(SecureNoise):
    """Draws a reach of ``size`` variables, where there have to be ``size`` + 1."""

    def cube(self, scale: Fraction, size: int) -> Ints:
        while True:
            reach = sum(self._geometric(scale, size).tolist())
            places = self._below([2 * (reach + i) for i in range(1, size + 1)])
            if max(places) <= 2 * reach:
                drawn: Ints = np.array(places, np.int64) - reach
                return drawn


@dataclass(kw_only=True)
class NarrowCube(Volleying):
    """Found by drawing the same noise many times."""

    caught_by: ClassVar = "draws_are_as_wide_as_asked"
    saying: ClassVar = "the largest of 3 numbers that share a reach"
    kernel: ClassVar = Kernel(noise=NarrowNoise)
