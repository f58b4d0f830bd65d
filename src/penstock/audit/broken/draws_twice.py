"""Pays once, draws twice and publishes the mean, which carries less noise than was paid for."""

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.desk import Question, scale_of
from penstock.queries import Query
from penstock.types import Ints, Snapshot


class GenerousCurator(Curator):
    """Answers the same question a second time, on the house."""

    def ask(self, snapshot: Snapshot, query: Query, e: Any, *rest: Any, **options: Any) -> Ints:
        first = super().ask(snapshot, query, e, *rest, **options)
        value = query(self._desk.counts(snapshot), None)
        scale = scale_of(query.sensitivity(self.model), e.nano)
        question = Question("ask", scale, len(value), None, (query,))
        second = self._desk.noisy(question, scale, lambda: value)
        mean: Ints = (first + second) // 2
        return mean


@dataclass(kw_only=True)
class DrawsTwice(Planted):
    """Found by comparing what was drawn with what was charged."""

    caught_by: ClassVar = "every_draw_is_paid"
    saying: ClassVar = "were paid for"
    kernel: ClassVar = Kernel(curator=GenerousCurator)
