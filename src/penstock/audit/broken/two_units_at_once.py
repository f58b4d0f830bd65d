"""The kernel measures how far the counts have moved from the counts before, so that an answer is about two units."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from penstock.audit.attack import Attack, Outcome
from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.desk import Question, scale_of
from penstock.models import PrivacyModel, WEvent
from penstock.queries import Distance, Query
from penstock.types import Ints, Kind, Release, Snapshot


class ComparingCurator(Curator):
    """Keeps the counts before, and takes them for the reference it was given."""

    before: Ints | int = 0

    def ask(self, snapshot: Snapshot, query: Query, e: Any, *rest: Any, **options: Any) -> Ints:
        counts = self._desk.counts(snapshot)
        moved, self.before = np.abs(counts - self.before).sum(keepdims=True), counts
        self._desk.charge(e, "decide", None)
        scale = scale_of(query.sensitivity(self.model), e.nano)
        return self._desk.noisy(Question("ask", scale, 1, None, (query, "decide")), scale, lambda: moved)


def at_rest(outcome: Outcome) -> bool:
    """Neither of the last two units looks as if anything had moved."""
    return bool((outcome.values[1:, 0] <= 0).all())


@dataclass(kw_only=True)
class TwoUnitsAtOnce(Planted):
    """Publishes how far the counts have moved. A unit is read twice and paid for once."""

    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M9"
    under: ClassVar[PrivacyModel] = WEvent(epsilon=1, w=1)
    kernel: ClassVar = Kernel(curator=ComparingCurator)
    attack: ClassVar = Attack(model=under, one=[9, 9, 9], other=[9, 10, 9], event=at_rest)
    trials: ClassVar = 5_000

    def decide(self, snapshot: Snapshot) -> Release:
        e = self.model.epsilon / self.model.window
        moved = self.curator.ask(snapshot, Distance(self.last.values), e, envelope="decide")
        return self.released(snapshot, np.repeat(moved, self.curator.bins), Kind.ESTIMATED, 0.0)
