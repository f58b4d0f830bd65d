"""Draws the noise that was paid for, and adds half of it."""

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.desk import Question, scale_of
from penstock.queries import Query
from penstock.types import Ints, Snapshot


class HalfHeartedCurator(Curator):
    """Pays and draws as it should."""

    def ask(self, snapshot: Snapshot, query: Query, e: Any, *rest: Any, **options: Any) -> Ints:
        value, scale = query(self._desk.counts(snapshot), None), scale_of(query.sensitivity(self.model), e.nano)
        self._desk.charge(e, "publish", None)
        question = Question("ask", scale, len(value), None, (query,))
        return self._desk.answer(question, lambda: value + self._desk.noise.laplace(scale, len(value)) // 2)


@dataclass(kw_only=True)
class HalfNoise(Planted):
    """Found with noise that is known beforehand."""

    caught_by: ClassVar = "noise_is_as_claimed"
    saying: ClassVar = "plus the whole draw"
    kernel: ClassVar = Kernel(curator=HalfHeartedCurator)
