"""A new run keeps the threshold noise of the one before, of which the answers have told a lot by then."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.watching import Watching, attacked
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.models import PrivacyModel, WEvent
from penstock.primitives.segment import Segment, SegmentPlan


class KeptSegment(Segment):
    """Pays for a new threshold, and keeps the old one."""

    def _retire(self, last: int | None = None) -> None:
        rho = self._rho
        super()._retire(last)
        self._rho = rho


class KeptCurator(Curator):
    """Hands out such segments."""

    segment_type = KeptSegment


@dataclass(kw_only=True)
class KeptThresholdNoise(Watching):
    """Two yeses have told where the threshold is; from then on every no tells something."""

    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M3"
    under: ClassVar[PrivacyModel] = WEvent(epsilon=4, w=5)
    kernel: ClassVar = Kernel(curator=KeptCurator)
    plan: ClassVar = SegmentPlan(1, Epsilon("0.8"), Epsilon("1.6"))
    attack: ClassVar = attacked(under, noes=4, yeses=1, before=2)
    trials: ClassVar = 16_000
