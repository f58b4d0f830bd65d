"""The readings of a volley have noise that is drawn for each by itself, for the price of noise that they share."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from penstock.audit.attack import Attack
from penstock.audit.volleying import LEVEL, Volleying, low
from penstock.checks import Kernel
from penstock.checks.listening import Listening
from penstock.curator import Curator
from penstock.models import PrivacyModel, WEvent
from penstock.noise import Noise
from penstock.types import Ints


class UnsharedNoise(Listening):
    """Draws every number of a cube alone."""

    def cube(self, scale: Fraction, size: int) -> Ints:
        return self.laplace(scale, size)


class UnsharedCurator(Curator):
    """Uses any noise like that."""

    def __init__(self, *arguments: Any, noise: Noise, **options: Any) -> None:
        super().__init__(*arguments, noise=UnsharedNoise(noise), **options)


@dataclass(kw_only=True)
class EachItsOwn(Volleying):
    """Three readings tell three times what was paid."""

    caught_by: ClassVar = "audit"
    under: ClassVar[PrivacyModel] = WEvent(epsilon=1, w=3)
    kernel: ClassVar = Kernel(curator=UnsharedCurator)
    attack: ClassVar = Attack(model=under, one=[LEVEL] * 3, other=[LEVEL + 1] * 3, event=low)
    trials: ClassVar = 5_000
