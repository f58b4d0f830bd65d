"""A private minimum alone."""

from dataclasses import dataclass

from penstock.audit.piece import Piece
from penstock.queries import Distance
from penstock.types import Release, Snapshot


@dataclass(kw_only=True)
class NearestAlone(Piece):
    """Tells which of two public levels the counts are nearer to.

    | model | with | one stream | its neighbour | given | event | runs | remark |
    |---|---|---|---|---|---|---|---|
    | EventLevel(epsilon=2) | levels=(0, 10) | 5 | 6 |  |  |  |  |
    """

    levels: tuple[int, ...] = (0, 1)

    def decide(self, snapshot: Snapshot) -> Release:
        candidates = [Distance([level] * self.curator.bins) for level in self.levels]
        return self.tell(snapshot, self.curator.nearest(snapshot, candidates, self.model.epsilon / self.model.window))
