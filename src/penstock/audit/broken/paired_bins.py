"""Every two bins share a draw, so that half of the differences come out exact."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.noise import SecureNoise
from penstock.types import Ints


class PairedNoise(SecureNoise):
    """Uses each draw twice."""

    def laplace(self, scale: Fraction, size: int) -> Ints:
        return np.resize(super().laplace(scale, -(-size // 2)), size)


@dataclass(kw_only=True)
class PairedBins(Planted):
    """Found because bins resemble each other at a distance."""

    caught_by: ClassVar = "noise_is_as_claimed"
    saying: ClassVar = "no two bins share a draw"
    mutant: ClassVar = "M8"
    kernel: ClassVar = Kernel(noise=PairedNoise)
