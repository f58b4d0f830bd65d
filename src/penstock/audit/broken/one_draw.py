"""One draw is shared by all bins, so that differences between bins come out exact."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.noise import SecureNoise
from penstock.types import Ints


class SharedNoise(SecureNoise):
    """Draws once and repeats it."""

    def laplace(self, scale: Fraction, size: int) -> Ints:
        return np.repeat(super().laplace(scale, 1), size)


@dataclass(kw_only=True)
class OneDraw(Planted):
    """Found because equal counts come out equal."""

    caught_by: ClassVar = "noise_is_as_claimed"
    saying: ClassVar = "no two bins share"
    kernel: ClassVar = Kernel(noise=SharedNoise)
