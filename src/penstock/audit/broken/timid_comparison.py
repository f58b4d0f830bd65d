"""Comparisons draw half the noise that was paid for."""

from dataclasses import dataclass, replace
from typing import ClassVar

from penstock.audit.watching import Watching, attacked
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.models import PrivacyModel, WEvent
from penstock.primitives.segment import Segment, SegmentPlan
from penstock.queries import Query
from penstock.types import Ints


class TimidSegment(Segment):
    """Compares as if twice v had been paid."""

    def _compare(self, counts: Ints, query: Query, threshold: int, plan: SegmentPlan) -> bool:
        return super()._compare(counts, query, threshold, replace(plan, v=plan.v * 2))


class TimidCurator(Curator):
    """Hands out such segments."""

    segment_type = TimidSegment


@dataclass(kw_only=True)
class TimidComparison(Watching):
    """Three noes pin the threshold down; the yes then tells twice as much as it costs."""

    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M1"
    under: ClassVar[PrivacyModel] = WEvent(epsilon=2, w=4)
    kernel: ClassVar = Kernel(curator=TimidCurator)
    plan: ClassVar = SegmentPlan(1, Epsilon("0.4"), Epsilon("0.8"))
    attack: ClassVar = attacked(under, noes=3, yeses=1)
    trials: ClassVar = 5_000
