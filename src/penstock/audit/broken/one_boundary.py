"""Publishes how many records lie below each boundary, as if a record that moves could cross no more than one."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.audit.attack import Attack, Outcome
from penstock.audit.permissive import Unbound
from penstock.models import EventLevel, PrivacyModel
from penstock.types import Release, Snapshot


def high(outcome: Outcome) -> bool:
    """Everywhere there are many below."""
    return bool((outcome.values[0, :-1] >= 1).all())


@dataclass(kw_only=True)
class OneBoundary(Unbound):
    """A record that moves from the first bin to the last crosses three boundaries."""

    proven_for: ClassVar = (EventLevel,)
    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M22"
    under: ClassVar[PrivacyModel] = EventLevel(epsilon=1, neighbours="replace")
    attack: ClassVar = Attack(model=under, one=[[1, 0, 0, 0]], other=[[0, 0, 0, 1]], event=high)
    trials: ClassVar = 5_000

    def decide(self, snapshot: Snapshot) -> Release:
        below = np.cumsum(self.curator.look(snapshot))
        return self.say(snapshot, below + self.curator.draw(1 / float(self.model.epsilon), self.curator.bins))
