"""Chooses the nearest of several references twice as surely as was paid for."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from penstock.audit.attack import Attack, Outcome
from penstock.audit.halved import halved
from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.models import PrivacyModel, WEvent
from penstock.queries import Distance
from penstock.types import Kind, Release, Snapshot


class EagerCurator(Curator):
    """Flips coins that fall too seldom."""

    def nearest(self, *arguments: Any, **options: Any) -> int:
        with halved(self._desk):
            return super().nearest(*arguments, **options)


def full(outcome: Outcome) -> bool:
    """It chose the full one."""
    return bool(outcome.values[0, 0] == 1)


@dataclass(kw_only=True)
class EagerChoice(Planted):
    """Says whether a bin is rather empty or rather full."""

    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M1"
    under: ClassVar[PrivacyModel] = WEvent(epsilon=2, w=1)
    kernel: ClassVar = Kernel(curator=EagerCurator)
    attack: ClassVar = Attack(model=under, one=[1], other=[0], event=full)
    trials: ClassVar = 5_000

    def decide(self, snapshot: Snapshot) -> Release:
        bins = self.curator.bins
        references = [Distance([0] * bins), Distance([1] * bins)]
        chosen = self.curator.nearest(snapshot, references, self.model.epsilon / self.model.window)
        return self.released(snapshot, np.full(bins, chosen), Kind.ESTIMATED, 0.0)
