"""Volleys alone."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.piece import Piece
from penstock.primitives.volley import VolleyPlan
from penstock.types import Release, Snapshot


@dataclass(kw_only=True)
class VolleyAlone(Piece):
    """Tells a single count in volleys of ``size`` readings, of which ``most`` may meet a window.

    The farthest noise of a volley tells as much as all of it: where that points away from the other stream, the loss is
    what was paid. In the second row a window has the end of one volley and the whole of the next.

    | model | with | one stream | its neighbour | given | event | runs | remark |
    |---|---|---|---|---|---|---|---|
    | UserLevel(epsilon=2, horizon=3, per_unit=2) | size=3, most=1 | 100x3 | 102x3 |  | .<101x3 |  |  |
    | WEvent(epsilon=4, w=3, per_unit=2) | size=2, most=2 | 100x4 | 100 102x3 |  |  | 2 |  |
    """

    paper: ClassVar = "Hardt and Talwar 2010"

    size: int = 2
    most: int = 2

    def begin(self) -> None:
        self.volley = self.curator.volley()

    def decide(self, snapshot: Snapshot) -> Release:
        if not self.volley.left:
            self.volley.renew(VolleyPlan(self.size, self.model.epsilon / self.most))
        if not self.volley.can_read():
            return self.republish(snapshot)
        return self.tell(snapshot, int(self.volley.read(snapshot)[0]))
