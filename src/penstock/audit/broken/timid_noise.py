"""The source of noise draws at half the scale it is asked for."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.noise import SecureNoise
from penstock.types import Ints


class Timid(SecureNoise):
    """Halves every scale."""

    def laplace(self, scale: Fraction, size: int) -> Ints:
        return super().laplace(scale / 2, size)


@dataclass(kw_only=True)
class TimidNoise(Planted):
    """Found by comparing the noise of many bins with what a release says of it."""

    caught_by: ClassVar = "noise_is_as_claimed"
    saying: ClassVar = "as wide as noise_sd says"
    mutant: ClassVar = "M1"
    kernel: ClassVar = Kernel(noise=Timid)
