"""Draws the noise that was paid for, and adds half of it."""

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.audit.attack import Attack, Outcome
from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.desk import Question, scale_of
from penstock.models import WEvent
from penstock.queries import Query
from penstock.types import Ints, Snapshot


class HalfHeartedCurator(Curator):
    """Pays and draws as it should."""

    def ask(self, snapshot: Snapshot, query: Query, e: Any, *rest: Any, **options: Any) -> Ints:
        value, scale = query(self._desk.counts(snapshot), None), scale_of(query.sensitivity(self.model), e.nano)
        self._desk.charge(e, "publish", None)
        question = Question("ask", scale, len(value), None, (query,))
        return self._desk.answer(question, lambda: value + self._desk.noise.laplace(scale, len(value)) // 2)


def high(outcome: Outcome) -> bool:
    """The unit is published as 100 or more."""
    return bool(outcome.values[0, 0] >= 100)


@dataclass(kw_only=True)
class HalfNoise(Planted):
    """A check finds it, too, with noise that is known beforehand."""

    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M1"
    kernel: ClassVar = Kernel(curator=HalfHeartedCurator)
    attack: ClassVar = Attack(model=WEvent(epsilon=2, w=1), one=[100], other=[99], event=high)
    trials: ClassVar = 5_000
