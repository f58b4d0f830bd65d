"""A sparse-vector segment alone."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.piece import Piece
from penstock.epsilon import Epsilon
from penstock.primitives.segment import SegmentPlan, Verdict
from penstock.queries import Distance
from penstock.types import Release, Snapshot


@dataclass(kw_only=True)
class SegmentAlone(Piece):
    """Tells whether the first count is at ``level`` or above, until a yes uses all of epsilon up.

    | model | with | one stream | its neighbour | given | event | runs | remark |
    |---|---|---|---|---|---|---|---|
    | UserLevel(epsilon=4, horizon=6) |  | 9x5 10 | 10x5 9 |  | .<1x5 .>0 |  |  |
    """

    paper: ClassVar = "Lyu et al. 2017"

    level: int = 10

    def begin(self) -> None:
        self.segment = self.curator.segment(SegmentPlan.whole_horizon(1, self.model.epsilon))

    def decide(self, snapshot: Snapshot) -> Release:
        if not self.segment.left:
            return self.republish(snapshot)
        verdict = self.segment.above(snapshot, Distance([0] * self.curator.bins), self.level, then=Epsilon(0))
        return self.tell(snapshot, verdict is Verdict.ABOVE)
