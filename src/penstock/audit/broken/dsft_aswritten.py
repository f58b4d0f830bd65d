"""DSFT as it is in print (Li et al. 2015): the noise of a comparison would do if distances could only grow."""

import math
from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.permissive import Printed
from penstock.epsilon import Epsilon
from penstock.models import PrivacyModel, UserLevel
from penstock.primitives.segment import SegmentPlan, Verdict
from penstock.queries import Distance
from penstock.types import Release, Snapshot


@dataclass(kw_only=True)
class DSFTAsWritten(Printed):
    """Found by recounting the charges: C - 1 yeses cost (3/2 - 1/C) epsilon 1, and not epsilon 1.

    The kernel's sparse vector draws what is in print, Lap(2 D / epsilon 1) for the threshold and Lap(2 C D / epsilon 1)
    for each comparison, and books what that costs. Distances are in records, n0 times what they are in print.

    ``threshold``, ``releases``, ``total``, ``decide_share``   T, C, n0 and k
    """

    proven_for: ClassVar = (UserLevel,)
    caught_by: ClassVar = "never_overspends"
    saying: ClassVar = "but paid 1.15"
    mutant: ClassVar = "DSFT as printed"
    under: ClassVar[PrivacyModel] = UserLevel(epsilon=1, horizon=30)

    threshold: float = 0.025
    releases: int = 5
    total: int = 1000
    decide_share: float = 0.5

    def begin(self) -> None:
        deciding = self.model.epsilon.share(self.decide_share)
        self.publishing = self.model.epsilon - deciding
        self.count = 0
        plan = SegmentPlan(self.releases - 1, deciding / 2, deciding / (2 * self.releases))  # lines 2 and 7
        self.segment = self.curator.segment(plan)

    def decide(self, snapshot: Snapshot) -> Release:
        part = self.publishing / self.releases
        if self.count == self.releases:
            return self.republish(snapshot)  # line 6
        if snapshot.t == self.model.window:
            return self.publish(snapshot, self.publishing - part * self.count)  # line 10
        if snapshot.t == 1 or self.moved_enough(snapshot):
            self.count += 1
            return self.publish(snapshot, part)  # lines 3 and 8
        return self.republish(snapshot)  # line 9

    def moved_enough(self, snapshot: Snapshot) -> bool:
        """Lines 7 and 8."""
        level = math.ceil(self.threshold * self.total)
        return self.segment.above(snapshot, Distance(self.last.values), level, Epsilon(0)) is Verdict.ABOVE
