"""The threshold of a sparse vector has half the noise that was paid for."""

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
    """Draws rho as if twice u had been paid."""

    def _compare(self, counts: Ints, query: Query, threshold: int, plan: SegmentPlan) -> bool:
        return super()._compare(counts, query, threshold, replace(plan, u=plan.u * 2))


class TimidCurator(Curator):
    """Hands out such segments."""

    segment_type = TimidSegment


@dataclass(kw_only=True)
class TimidThreshold(Watching):
    """Noes and a yes about a threshold that is nearly known."""

    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M1"
    under: ClassVar[PrivacyModel] = WEvent(epsilon=4, w=6)
    kernel: ClassVar = Kernel(curator=TimidCurator)
    plan: ClassVar = SegmentPlan(1, Epsilon("1.6"), Epsilon("1.2"))
    attack: ClassVar = attacked(under, noes=5, yeses=1)
