"""What the faults of volleys are planted in: a mechanism that reads a single count whenever it can."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.attack import Outcome
from penstock.audit.planted import Planted
from penstock.epsilon import Epsilon
from penstock.primitives.volley import Volley, VolleyPlan
from penstock.types import Floats, Ints, Kind, Release, Snapshot

LEVEL = 100  # records


@dataclass(kw_only=True)
class Volleying(Planted):
    """Reads one volley after another where there is a single bin; of histograms it publishes like Uniform."""

    plan: ClassVar[VolleyPlan] = VolleyPlan(3, Epsilon(1))

    def begin(self) -> None:
        self.volley = self.curator.volley() if self.curator.bins == 1 else None

    def decide(self, snapshot: Snapshot) -> Release:
        if self.volley is None:
            return super().decide(snapshot)
        if not self.volley.left:
            self.volley.renew(self.plan)
        if not self.volley.can_read():
            return self.republish(snapshot)
        return self.released(snapshot, self.reading(snapshot, self.volley), Kind.ESTIMATED, 0.0)

    def reading(self, snapshot: Snapshot, volley: Volley) -> Ints | Floats:
        """What is published of a unit."""
        return volley.read(snapshot)


def low(outcome: Outcome) -> bool:
    """No unit is told to have more records than there are on the one stream."""
    return bool((outcome.values <= LEVEL).all())
