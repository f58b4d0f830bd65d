"""A sparse vector without noise on its threshold: every no tells as much as a yes."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.watching import Watching, attacked
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.models import PrivacyModel, WEvent
from penstock.primitives.segment import Segment, SegmentPlan
from penstock.queries import Query
from penstock.types import Ints


class BareSegment(Segment):
    """Its threshold is just the threshold."""

    def _compare(self, counts: Ints, query: Query, threshold: int, plan: SegmentPlan) -> bool:
        self._rho = 0
        return super()._compare(counts, query, threshold, plan)


class BareCurator(Curator):
    """Hands out such segments."""

    segment_type = BareSegment


@dataclass(kw_only=True)
class NoThresholdNoise(Watching):
    """Eight noes are paid for as one."""

    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M2"
    under: ClassVar[PrivacyModel] = WEvent(epsilon=1, w=8)
    kernel: ClassVar = Kernel(curator=BareCurator)
    plan: ClassVar = SegmentPlan(1, Epsilon("0.2"), Epsilon("0.4"))
    attack: ClassVar = attacked(under, noes=8)
    trials: ClassVar = 12_000
