"""RG that watches a random sample and publishes from the same sample: what sampling hides, it hides once."""

import math
from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.attack import Attack, Outcome
from penstock.audit.gathering import Gathering
from penstock.models import EventLevel
from penstock.types import Kind, Release, Snapshot

RATE = 0.025


def found(outcome: Outcome) -> bool:
    """Nobody was there; then that has changed, and somebody is."""
    (before,), (after,) = outcome.values
    return bool(abs(before) <= 2 and outcome.kinds[1, 0] == Kind.FRESH and after >= 1)


@dataclass(kw_only=True)
class SampleReused(Gathering):
    """Both noises are drawn for a sample of their own."""

    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M16"
    watch_share: ClassVar = 0.5
    attack: ClassVar = Attack(model=EventLevel(epsilon=1), one=[0, 1], other=[0, 0], event=found)

    def watched(self, count: int) -> float:
        self.sample = int(self.curator.toss(RATE, count).sum())
        return (self.sample + self.noise(1 / amplified(self.watching))) / RATE

    def at_once(self, snapshot: Snapshot, count: int) -> Release:
        if not self.size:
            return super().at_once(snapshot, count)
        self.group, self.size = [], 1
        return self.told(snapshot, (self.sample + self.noise(1 / amplified(self.publishing))) / RATE, Kind.FRESH)


def amplified(e: float) -> float:
    """What may be spent on a sample, drawn afresh, for ``e``."""
    return math.log1p(math.expm1(e) / RATE)
