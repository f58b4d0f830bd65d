"""Without the key of the sealed state a run goes on, under new threshold noise that nobody pays for."""

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.primitives.segment import Segment, SegmentPlan
from penstock.queries import Distance
from penstock.types import Release, Snapshot


class ClingySegment(Segment):
    """Keeps its run, having lost rho."""

    def _load(self, public: dict[str, Any], sealed: dict[str, Any] | None) -> None:
        super()._load(public, sealed or {"rho": []})


class ClingyCurator(Curator):
    """Hands out such segments."""

    segment_type = ClingySegment


@dataclass(kw_only=True)
class Clingy(Planted):
    """Found by restarting it without the key, because it draws more than it says."""

    caught_by: ClassVar = "resumes_soundly"
    saying: ClassVar = "draws 2"
    kernel: ClassVar = Kernel(curator=ClingyCurator)

    def begin(self) -> None:
        self.segment = self.curator.segment(SegmentPlan(1, Epsilon("0.5"), Epsilon("0.09")))

    def decide(self, snapshot: Snapshot) -> Release:
        self.segment.above(snapshot, Distance(self.last.values), 10**17, then=Epsilon(0))
        return self.republish(snapshot)
