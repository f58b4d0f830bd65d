"""Measures how far the counts have moved from the counts before, and not from the last release."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.audit.planted import Planted
from penstock.queries import Distance
from penstock.types import Release, Snapshot, unseal

FAR = 10


@dataclass(kw_only=True)
class RawToRaw(Planted):
    """Found because it asks about a reference that no release has shown."""

    caught_by: ClassVar = "same_on_neighbours"
    saying: ClassVar = "asks something else on a neighbouring stream"
    mutant: ClassVar = "M9"

    def begin(self) -> None:
        self.half = self.model.epsilon / self.model.window / 2
        self.before = np.zeros(self.curator.bins, np.int64)

    def decide(self, snapshot: Snapshot) -> Release:
        moved = self.curator.ask(snapshot, Distance(self.before), self.half, envelope="decide")
        self.before = unseal(snapshot)
        return self.publish(snapshot, self.half) if moved[0] > FAR else self.republish(snapshot)
