"""What the faults of retroactive grouping are planted in: RG (Chen et al. 2015) for one bin, in short.

As it stands it is private; whoever builds on it breaks one of its methods.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.audit.permissive import Unbound
from penstock.models import EventLevel, PrivacyModel
from penstock.types import Kind, Release, Snapshot


@dataclass(kw_only=True)
class Gathering(Unbound):
    """Publishes a count that has moved at once, and the sum of counts that rest when there are enough of them.

    (The mean carries so many times less noise; a sum is a whole number.)
    """

    proven_for: ClassVar = (EventLevel,)
    under: ClassVar[PrivacyModel] = EventLevel(epsilon=2)
    watch_share: ClassVar[float] = 0.3

    def begin(self) -> None:
        self.watching = self.watch_share * float(self.model.epsilon)  # epsilon 1
        self.publishing = float(self.model.epsilon) - self.watching  # epsilon 2
        self.group: list[int] = []
        self.size = 0  # of the group before
        self.level = 0.0  # what was last published, as a mean

    def decide(self, snapshot: Snapshot) -> Release:
        count = int(self.curator.look(snapshot)[0])
        if not self.size or abs(self.level - self.watched(count)) >= math.sqrt(2) / self.publishing:
            return self.at_once(snapshot, count)
        self.group.append(count)
        return self.together(snapshot) if len(self.group) >= 2 * self.size else self.republish(snapshot)

    def watched(self, count: int) -> float:
        """About what the count is now."""
        return count + self.noise(1 / self.watching)

    def at_once(self, snapshot: Snapshot, count: int) -> Release:
        """Publish this unit alone, and forget what rested before it."""
        self.group, self.size = [], 1
        return self.told(snapshot, count + self.noise(1 / self.publishing), Kind.FRESH)

    def together(self, snapshot: Snapshot) -> Release:
        """Publish all that rested."""
        self.group, self.size, rested = [], len(self.group), sum(self.group)
        return self.told(snapshot, rested + self.noise(1 / self.publishing), Kind.GROUPED)

    def noise(self, scale: float) -> int:
        """One draw."""
        return int(self.curator.draw(scale)[0])

    def told(self, snapshot: Snapshot, value: float, kind: Kind) -> Release:
        """Publish, and remember the mean."""
        self.level = value / self.size
        return self.say(snapshot, np.array([value]), kind)
