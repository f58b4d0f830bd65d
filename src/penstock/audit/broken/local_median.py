"""Publishes a median with noise for how far it can move here, although that is not the same for neighbours."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.audit.attack import Attack, Outcome
from penstock.audit.permissive import Unbound
from penstock.models import EventLevel, PrivacyModel
from penstock.types import Release, Snapshot


def exact(outcome: Outcome) -> bool:
    """The median is in the second bin, and no noise has moved it."""
    return bool(outcome.values[0, 0] == 1)


@dataclass(kw_only=True)
class LocalMedian(Unbound):
    """Where the three in the middle lie together there is no noise at all."""

    proven_for: ClassVar = (EventLevel,)
    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M23"
    under: ClassVar[PrivacyModel] = EventLevel(epsilon=1, neighbours="replace")
    attack: ClassVar = Attack(model=under, one=[[1, 3, 0, 0, 0, 1]], other=[[1, 2, 0, 0, 0, 2]], event=exact)
    trials: ClassVar = 1_000

    def decide(self, snapshot: Snapshot) -> Release:
        counts = self.curator.look(snapshot)
        places = np.repeat(np.arange(len(counts)), counts)  # of all records, in order
        middle = len(places) // 2
        farthest = int(np.diff(places[middle - 1 : middle + 2]).max())  # A_0
        median = places[middle] + self.curator.draw(2 * farthest / float(self.model.epsilon))
        return self.say(snapshot, np.repeat(median, self.curator.bins))
