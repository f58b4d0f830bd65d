"""A sparse vector whose run never ends: one threshold noise, and one opening charge, for any number of yeses."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.primitives.segment import Segment, SegmentPlan, Verdict
from penstock.queries import Distance
from penstock.types import Release, Snapshot


class EndlessSegment(Segment):
    """Does not count."""

    def _counted_down(self) -> Verdict:
        return Verdict.ABOVE


class EndlessCurator(Curator):
    """Hands out such segments."""

    segment_type = EndlessSegment


@dataclass(kw_only=True)
class EndlessRun(Planted):
    """Found by pricing the comparisons from the noise they drew."""

    caught_by: ClassVar = "every_draw_is_paid"
    saying: ClassVar = "what is learnt about the fullest set"
    kernel: ClassVar = Kernel(curator=EndlessCurator)

    def begin(self) -> None:
        self.segment = self.curator.segment(SegmentPlan(1, Epsilon("0.5"), Epsilon("0.09")))

    def decide(self, snapshot: Snapshot) -> Release:
        self.segment.above(snapshot, Distance(self.last.values), -(10**6), then=Epsilon(0))
        return self.republish(snapshot)
