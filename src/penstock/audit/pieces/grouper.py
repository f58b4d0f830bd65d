"""A grouper alone."""

from dataclasses import dataclass

from penstock.audit.piece import Piece
from penstock.types import Release, Snapshot

# Eight alike units join under thresholds between what they stray by on either stream. A crowd joins under any, after
# which a record more makes the first unit stray less, not more; and the last one leaves at a threshold in between.
EVEN = [1 - 1 / k for k in range(1, 9)]
ANY = [1e6] * 7
LAST = [7199.5]


@dataclass(kw_only=True)
class GrouperAlone(Piece):
    """Tells whether a unit joins the group of those before, if these stray by less than a threshold of its own.

    | model | with | one stream | its neighbour | given | event | runs | remark |
    |---|---|---|---|---|---|---|---|
    | EventLevel(epsilon=4) |  | 100x8 1000x8 | 101 100x7 1000x8 |  | .>0x15 .<1 |  | longer ones come nearer |
    """

    thresholds: tuple[float, ...] = (*EVEN, *ANY, *LAST)

    def begin(self) -> None:
        self.grouper = self.curator.grouper(self.model.epsilon / self.model.window)

    def decide(self, snapshot: Snapshot) -> Release:
        threshold = self.thresholds[(snapshot.t - 1) % len(self.thresholds)]
        return self.tell(snapshot, self.grouper.extend(snapshot, threshold))
