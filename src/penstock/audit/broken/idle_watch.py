"""A mechanism with a watch that is never asked, so that no check can say anything of it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.audit.planted import Planted
from penstock.epsilon import Epsilon
from penstock.primitives.segment import SegmentPlan
from penstock.queries import Distance
from penstock.types import Release, Snapshot

# Later than the streams of any check go.
FIRST_WATCHED = 10**9


@dataclass(kw_only=True)
class IdleWatch(Planted):
    """Found because its code compares, and no stream of the checks makes it."""

    caught_by: ClassVar = "asks_every_verb"
    saying: ClassVar = "never seen to ask above"

    def begin(self) -> None:
        self.segment = self.curator.segment(SegmentPlan(1, Epsilon("0.4"), Epsilon("0.3")))

    def decide(self, snapshot: Snapshot) -> Release:
        if snapshot.t >= FIRST_WATCHED:
            self.segment.above(snapshot, Distance(np.zeros(self.curator.bins)), 100, then=Epsilon(0))
        return super().decide(snapshot)
