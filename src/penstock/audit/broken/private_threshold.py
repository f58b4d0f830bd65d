"""Chooses the threshold of a paid comparison by looking at a count, so that the answer spells it out."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.planted import Planted
from penstock.epsilon import Epsilon
from penstock.primitives.segment import SegmentPlan, Verdict
from penstock.queries import Distance
from penstock.types import Release, Snapshot, unseal


@dataclass(kw_only=True)
class PrivateThreshold(Planted):
    """Found because on other counts it asks something else."""

    caught_by: ClassVar = "non_interference"
    saying: ClassVar = "asks something else"
    mutant: ClassVar = "M19"

    def begin(self) -> None:
        self.segment = self.curator.segment()

    def decide(self, snapshot: Snapshot) -> Release:
        if not self.segment.running:
            self.segment.renew(SegmentPlan.windowed(1, self.model.epsilon / 2))
        threshold = 10**17 if unseal(snapshot)[0] % 2 else -(10**17)
        verdict = self.segment.above(snapshot, Distance(self.last.values), threshold, then=Epsilon("0.1"))
        return self.publish(snapshot, Epsilon("0.1")) if verdict is Verdict.ABOVE else self.republish(snapshot)
