"""The threshold is cut off after its noise was added, which leaves it without any noise half of the time."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.watching import LEVEL, Watching, attacked
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.desk import scale_of
from penstock.epsilon import Epsilon
from penstock.models import PrivacyModel, WEvent
from penstock.primitives.segment import Segment, SegmentPlan
from penstock.queries import Query
from penstock.types import Ints


class ClampedSegment(Segment):
    """Never compares with less than the level."""

    def _compare(self, counts: Ints, query: Query, threshold: int, plan: SegmentPlan) -> bool:
        if self._rho is None:
            drawn = self._desk.noise.laplace(scale_of(self._sensitivity, plan.u.nano), 1)[0]
            self._rho = max(threshold + int(drawn), LEVEL) - threshold
        return super()._compare(counts, query, threshold, plan)


class ClampingCurator(Curator):
    """Hands out such segments."""

    segment_type = ClampedSegment


@dataclass(kw_only=True)
class ClampedThreshold(Watching):
    """Where the cut has hit, every no tells something."""

    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M10"
    under: ClassVar[PrivacyModel] = WEvent(epsilon=2, w=5)
    kernel: ClassVar = Kernel(curator=ClampingCurator)
    plan: ClassVar = SegmentPlan(1, Epsilon("0.2"), Epsilon("0.9"))
    attack: ClassVar = attacked(under, noes=4, yeses=1)
    trials: ClassVar = 15_000
