"""One draw is shared by all bins, so that differences between bins come out exact."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from penstock.audit.attack import Attack, Outcome
from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.checks.listening import Listening
from penstock.curator import Curator
from penstock.models import WEvent
from penstock.noise import Noise
from penstock.types import Ints


class SharedNoise(Listening):
    """Draws once and repeats it."""

    def laplace(self, scale: Fraction, size: int) -> Ints:
        return np.repeat(super().laplace(scale, 1), size)


class SharingCurator(Curator):
    """Uses any noise like that."""

    def __init__(self, *arguments: Any, noise: Noise, **options: Any) -> None:
        super().__init__(*arguments, noise=SharedNoise(noise), **options)


def equal(outcome: Outcome) -> bool:
    """Both bins are published with the same value."""
    return bool(outcome.values[0, 0] == outcome.values[0, 1])


@dataclass(kw_only=True)
class OneDraw(Planted):
    """Equal counts come out equal, which a check finds, too."""

    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M8"
    kernel: ClassVar = Kernel(curator=SharingCurator)
    attack: ClassVar = Attack(model=WEvent(epsilon=1, w=2), one=[[9, 9]], other=[[9, 10]], event=equal)
    trials: ClassVar = 1_000
