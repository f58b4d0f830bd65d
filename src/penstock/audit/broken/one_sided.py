"""Prices a sparse vector as if distances could only grow, so that a comparison needs half the noise."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.watching import Watching, attacked
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.models import PrivacyModel, WEvent
from penstock.primitives.segment import Segment, SegmentPlan


class OneSidedPlan(SegmentPlan):
    """A yes is worth v, and not twice v."""

    @property
    def opening(self) -> Epsilon:
        return self.u


class OneSidedSegment(Segment):
    """Goes by such a plan."""

    def renew(self, plan: SegmentPlan) -> None:
        super().renew(plan)
        self._plan = OneSidedPlan(plan.c, plan.u, plan.v)


class OneSidedCurator(Curator):
    """Hands out such segments."""

    segment_type = OneSidedSegment


@dataclass(kw_only=True)
class OneSided(Watching):
    """With three yeses the price lacks three times v."""

    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M4"
    under: ClassVar[PrivacyModel] = WEvent(epsilon=3, w=7)
    kernel: ClassVar = Kernel(curator=OneSidedCurator)
    plan: ClassVar = SegmentPlan(3, Epsilon("0.6"), Epsilon("0.8"))
    attack: ClassVar = attacked(under, noes=4, yeses=3)
    trials: ClassVar = 40_000
