"""A volley is charged to the unit of its first reading alone, so that a window gets its budget back too early."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.attack import Attack, Outcome
from penstock.audit.volleying import LEVEL, Volleying
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.models import PrivacyModel, WEvent
from penstock.primitives.volley import Volley, VolleyPlan
from penstock.types import Ints, Snapshot


class HastyVolley(Volley):
    """Its span ends where it begins."""

    _first = 0

    def read(self, snapshot: Snapshot) -> Ints:
        self._first = self._first if self.running else snapshot.t
        return super().read(snapshot)

    def _retire(self, last: int | None = None) -> None:
        super()._retire(self._first)


class HastyCurator(Curator):
    """Hands out such volleys."""

    def volley(self) -> Volley:
        return self._issue(HastyVolley(self._desk, len(self._handles)))


def both_far_below(outcome: Outcome) -> bool:
    """In the window, either volley has its farthest noise, and below."""
    before, first, second, after = outcome.values[:, 0].tolist()
    return bool(first - LEVEL < -abs(before - LEVEL) and second - LEVEL < -abs(after - LEVEL))


@dataclass(kw_only=True)
class ClosedTooSoon(Volleying):
    """A window of two units has the second reading of one volley and the first of the next, each for all of epsilon."""

    caught_by: ClassVar = "audit"
    under: ClassVar[PrivacyModel] = WEvent(epsilon=1, w=2)
    kernel: ClassVar = Kernel(curator=HastyCurator)
    plan: ClassVar = VolleyPlan(2, Epsilon(1))
    attack: ClassVar = Attack(
        model=under, one=[LEVEL] * 4, other=[LEVEL, LEVEL + 1, LEVEL + 1, LEVEL], event=both_far_below
    )
    trials: ClassVar = 20_000
