"""The noise is seeded anew, and alike, at every unit, so that differences between units come out exact."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from penstock.audit.attack import Attack, Outcome
from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.checks.listening import Listening
from penstock.curator import Curator
from penstock.models import WEvent
from penstock.noise import Noise
from penstock.types import Ints


class StuckNoise(Listening):
    """Begins again from its first draw whenever it is given a key."""

    def __init__(self, noise: Noise) -> None:
        super().__init__(noise)
        self._first: list[Ints] = []
        self._next = 0

    def rekey(self) -> None:
        super().rekey()
        self._next = 0

    def laplace(self, scale: Fraction, size: int) -> Ints:
        if self._next == len(self._first):
            self._first.append(super().laplace(scale, size))
        self._next += 1
        return self._first[self._next - 1].copy()


class StuckCurator(Curator):
    """Uses any noise like that."""

    def __init__(self, *arguments: Any, noise: Noise, **options: Any) -> None:
        super().__init__(*arguments, noise=StuckNoise(noise), **options)


def equal(outcome: Outcome) -> bool:
    """Two units are published with the same value."""
    return bool(outcome.values[0, 0] == outcome.values[1, 0])


@dataclass(kw_only=True)
class SameSeed(Planted):
    """Equal counts come out equal."""

    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M20"
    kernel: ClassVar = Kernel(curator=StuckCurator)
    attack: ClassVar = Attack(model=WEvent(epsilon=1, w=2), one=[9, 9], other=[9, 10], event=equal)
    trials: ClassVar = 1_000
