"""What the faults of volleys are planted in: a mechanism that reads a single count whenever it can."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.attack import Outcome
from penstock.audit.planted import Planted
from penstock.epsilon import Epsilon
from penstock.primitives.volley import VolleyPlan
from penstock.types import Kind, Release, Snapshot

LEVEL = 100  # records


@dataclass(kw_only=True)
class Volleying(Planted):
    """Reads one volley after another."""

    plan: ClassVar[VolleyPlan] = VolleyPlan(3, Epsilon(1))

    def begin(self) -> None:
        self.volley = self.curator.volley()

    def decide(self, snapshot: Snapshot) -> Release:
        if not self.volley.left:
            self.volley.renew(self.plan)
        if not self.volley.can_read():
            return self.republish(snapshot)
        return self.released(snapshot, self.volley.read(snapshot), Kind.ESTIMATED, 0.0)


def low(outcome: Outcome) -> bool:
    """No unit is told to have more records than there are on the one stream."""
    return bool((outcome.values <= LEVEL).all())
