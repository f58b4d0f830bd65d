"""A sparse vector that compares first, and says so if there is nothing left to pay for the yes."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.watching import Watching
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.desk import Question, scale_of
from penstock.epsilon import Epsilon
from penstock.primitives.segment import Segment, SegmentPlan, Verdict
from penstock.queries import Query
from penstock.types import Snapshot


class AbortingSegment(Segment):
    """Looks at the budget too late, and does not count what it could not pay."""

    def above(self, snapshot: Snapshot, query: Query, threshold: int, then: Epsilon) -> Verdict:
        if self.plan is None or not self.running or self.can_ask(then):
            return super().above(snapshot, query, threshold, then)
        plan, counts = self.plan, self._desk.counts(snapshot)
        scale = scale_of(self._sensitivity, plan.v.nano)
        question = Question("above", scale, 1, None, (self._number, query, threshold, then))
        above = self._desk.answer(question, lambda: self._compare(counts, query, threshold, plan))
        return Verdict.SKIPPED if above else Verdict.BELOW


class AbortingCurator(Curator):
    """Hands out such segments."""

    segment_type = AbortingSegment


@dataclass(kw_only=True)
class VisibleAbort(Watching):
    """Found by pricing the comparisons from the noise they drew."""

    caught_by: ClassVar = "every_draw_is_paid"
    saying: ClassVar = "were paid for"
    mutant: ClassVar = "M14"
    kernel: ClassVar = Kernel(curator=AbortingCurator)
    plan: ClassVar = SegmentPlan(5, Epsilon("0.2"), Epsilon("0.1"))
