"""Asks a query that states a smaller sensitivity than it has."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.planted import Planted
from penstock.models import PrivacyModel, WEvent
from penstock.queries import Counts
from penstock.types import Kind, Release, Snapshot


class ModestCounts(Counts):
    """A fault as it could be made in the kernel, where queries are written."""

    __module__ = Counts.__module__  # elsewhere no query can be made at all
    __slots__ = ()

    def sensitivity(self, model: PrivacyModel) -> int:
        return 1


@dataclass(kw_only=True)
class ModestQuery(Planted):
    """Found by looking at how far its true value moves from a stream to its neighbour."""

    caught_by: ClassVar = "no_answer_moves_further"
    saying: ClassVar = "moves by its sensitivity at most"
    mutant: ClassVar = "M18"
    under: ClassVar[PrivacyModel] = WEvent(epsilon=1, w=5, neighbours="replace")

    def decide(self, snapshot: Snapshot) -> Release:
        values = self.curator.ask(snapshot, ModestCounts(), self.model.epsilon / self.model.window)
        return self.released(snapshot, values, Kind.FRESH, 0.0)
