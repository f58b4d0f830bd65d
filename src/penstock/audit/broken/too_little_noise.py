"""Takes sensitivity 1 although neighbours replace a record, which moves two."""

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.audit.attack import Attack, Outcome
from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.desk import Question, scale_of
from penstock.models import PrivacyModel, WEvent
from penstock.queries import Query
from penstock.types import Ints, Snapshot


class OptimisticCurator(Curator):
    """Pays the right price for too little noise."""

    def ask(self, snapshot: Snapshot, query: Query, e: Any, *rest: Any, **options: Any) -> Ints:
        value = query(self._desk.counts(snapshot), None)
        self._desk.charge(e, "publish", None)
        scale = scale_of(1, e.nano)
        return self._desk.noisy(Question("ask", scale, len(value), None, (query,)), scale, lambda: value)


def still_there(outcome: Outcome) -> bool:
    """The first bin is no smaller, the second no larger."""
    first, second = outcome.values[0]
    return bool(first >= 100 and second <= 100)


@dataclass(kw_only=True)
class TooLittleNoise(Planted):
    """A check finds it, too, by comparing what was drawn with what was charged."""

    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M18"
    under: ClassVar[PrivacyModel] = WEvent(epsilon=1, w=5, neighbours="replace")
    kernel: ClassVar = Kernel(curator=OptimisticCurator)
    attack: ClassVar = Attack(
        model=WEvent(epsilon=1, w=1, neighbours="replace"), one=[[100, 100]], other=[[99, 101]], event=still_there
    )
    trials: ClassVar = 5_000
