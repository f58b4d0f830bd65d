"""A grouper alone."""

from dataclasses import dataclass

from penstock.audit.piece import Piece
from penstock.types import Release, Snapshot


@dataclass(kw_only=True)
class GrouperAlone(Piece):
    """Tells whether a unit joins the group of those before, if these stray by less than ``threshold``.

    | model | with | one stream | its neighbour | given | event | runs | remark |
    |---|---|---|---|---|---|---|---|
    | EventLevel(epsilon=4) | threshold=0.01 | 100x8 | 100x6 101 100 |  |  |  | none tight is known |
    """

    threshold: float = 1.0

    def begin(self) -> None:
        self.grouper = self.curator.grouper(self.model.epsilon / self.model.window)

    def decide(self, snapshot: Snapshot) -> Release:
        return self.tell(snapshot, self.grouper.extend(snapshot, self.threshold))
