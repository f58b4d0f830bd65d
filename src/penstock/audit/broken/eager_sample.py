"""Counts a random sample with half the noise that goes with it."""

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.audit.attack import Attack, Outcome
from penstock.audit.halved import halved
from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.models import PrivacyModel, WEvent
from penstock.types import Ints, Kind, Release, Snapshot

RATE = 0.5


class EagerCurator(Curator):
    """Samples as it should."""

    def sampled(self, *arguments: Any, **options: Any) -> Ints:
        with halved(self._desk):
            return super().sampled(*arguments, **options)


def found(outcome: Outcome) -> bool:
    """Somebody is there."""
    return bool(outcome.values[0, 0] >= 1)


@dataclass(kw_only=True)
class EagerSample(Planted):
    """Publishes what it finds in half of the records."""

    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M1"
    under: ClassVar[PrivacyModel] = WEvent(epsilon=2, w=1)
    kernel: ClassVar = Kernel(curator=EagerCurator)
    attack: ClassVar = Attack(model=under, one=[1], other=[0], event=found)

    def decide(self, snapshot: Snapshot) -> Release:
        counted = self.curator.sampled(snapshot, RATE, self.model.epsilon / self.model.window, limit=1000)
        return self.released(snapshot, counted / RATE, Kind.ESTIMATED, 0.0)
