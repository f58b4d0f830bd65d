"""The next volley has the noise of the one before, so that differences between them come out exact."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from penstock.audit.attack import Attack, Outcome
from penstock.audit.volleying import LEVEL, Volleying
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.models import PrivacyModel, WEvent
from penstock.primitives.volley import Volley, VolleyPlan


class ThriftyVolley(Volley):
    """Pays for new noise, and keeps the old."""

    def _retire(self, last: int | None = None) -> None:
        noise = self._noise
        super()._retire(last)
        self._noise = noise

    def _noise_at(self, place: int, scale: Fraction, size: int) -> np.int64:
        kept: np.int64 = self._noise[place] if len(self._noise) else super()._noise_at(place, scale, size)
        return kept


class ThriftyCurator(Curator):
    """Hands out such volleys."""

    def volley(self) -> Volley:
        return self._issue(ThriftyVolley(self._desk, len(self._handles)))


def alike(outcome: Outcome) -> bool:
    """The first reading of the second volley is that of the first."""
    return bool(outcome.values[0, 0] == outcome.values[3, 0])


@dataclass(kw_only=True)
class NoiseUsedAgain(Volleying):
    """Two readings, a unit that pays for nothing, and the same noise once more."""

    caught_by: ClassVar = "audit"
    under: ClassVar[PrivacyModel] = WEvent(epsilon=1, w=2)
    kernel: ClassVar = Kernel(curator=ThriftyCurator)
    plan: ClassVar = VolleyPlan(2, Epsilon(1))
    attack: ClassVar = Attack(model=under, one=[LEVEL] * 4, other=[LEVEL] * 3 + [LEVEL + 1], event=alike)
    trials: ClassVar = 1_000
