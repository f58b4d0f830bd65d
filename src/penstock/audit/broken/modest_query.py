"""Tells the query it asks that a record moves it by less than it does."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.planted import Planted
from penstock.models import PrivacyModel, WEvent
from penstock.queries import Counts
from penstock.types import Kind, Release, Snapshot


@dataclass(kw_only=True)
class ModestQuery(Planted):
    """Found by looking at how far its true value moves from a stream to its neighbour."""

    caught_by: ClassVar = "no_answer_moves_further"
    saying: ClassVar = "moves by its sensitivity at most"
    mutant: ClassVar = "M18"
    under: ClassVar[PrivacyModel] = WEvent(epsilon=1, w=5, neighbours="replace")

    def decide(self, snapshot: Snapshot) -> Release:
        query = Counts()
        vars(query)["sensitivity"] = lambda model: 1
        values = self.curator.ask(snapshot, query, self.model.epsilon / self.model.window)
        return self.released(snapshot, values, Kind.FRESH, 0.0)
