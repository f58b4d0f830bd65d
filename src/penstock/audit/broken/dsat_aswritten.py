"""DSAT as it is in print (Li et al. 2015): the threshold is cut off after its noise was added, and then it is known."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.audit.attack import Attack, Outcome
from penstock.audit.permissive import Printed
from penstock.models import PrivacyModel, UserLevel
from penstock.types import Kind, Release, Snapshot

COMPARISONS = 7


def never_moved(outcome: Outcome) -> bool:
    """The first release is empty, and every comparison with it says no."""
    return bool(outcome.values[0, 0] == 0 and (outcome.kinds[1:] == Kind.REPUBLISHED).all())


@dataclass(kw_only=True)
class DSATAsWritten(Printed):
    """The cut hits at the first comparison; from then on every no tells as much as a yes.

    Distances and thresholds are in records, n0 times what they are in print. Releases are not negative, as no
    histogram is; so the attack knows the first one half of the time.

    ``threshold``, ``releases``, ``total``, ``decide_share``   T, C, n0 and k
    ``tolerance``, ``gain``, ``burn_in``                       delta, theta and M
    """

    proven_for: ClassVar = (UserLevel,)
    caught_by: ClassVar = "audit"
    mutant: ClassVar = "DSAT as printed"
    under: ClassVar[PrivacyModel] = UserLevel(epsilon=3, horizon=200)
    attack: ClassVar = Attack(
        model=under, one=[0, 0] + [99] * COMPARISONS, other=[0, 0] + [100] * COMPARISONS, event=never_moved
    )
    trials: ClassVar = 40_000

    threshold: float = 0.025
    releases: int = 2
    total: int = 50
    decide_share: float = 0.95
    tolerance: float = 0.05
    gain: float = 0.5
    burn_in: int = 2

    def begin(self) -> None:
        epsilon = float(self.model.epsilon)
        self.deciding = epsilon * self.decide_share
        self.part = (epsilon - self.deciding) / self.releases
        self.count = 0
        self.level = self.threshold * self.total + int(self.curator.draw(2 / self.deciding)[0])  # line 1

    def decide(self, snapshot: Snapshot) -> Release:
        left = self.releases - self.count
        if not left:
            return self.republish(snapshot)  # line 4
        if snapshot.t == self.model.window:
            return self.release(snapshot, self.part * left)  # line 15
        if snapshot.t == 1 or (snapshot.t > self.burn_in and self.moved_enough(snapshot)):
            return self.release(snapshot, self.part)  # line 10
        return self.republish(snapshot)  # line 12

    def moved_enough(self, snapshot: Snapshot) -> bool:
        """Lines 5 to 9. The noise is in the level, which is cut off."""
        distance = np.abs(self.curator.look(snapshot) - self.last.values).sum()
        noisy = distance + int(self.curator.draw(2 * self.releases / self.deciding)[0])
        ahead = self.count / snapshot.t - self.releases / self.model.window
        step = self.total * self.gain * abs(abs(ahead) - self.tolerance) / self.tolerance
        self.level = min(2.0 * self.total, self.level + step) if ahead > 0 else max(0.0, self.level - step)
        return bool(noisy >= self.level)

    def release(self, snapshot: Snapshot, e: float) -> Release:
        """A release, for ``e``."""
        self.count += 1
        return self.say(snapshot, np.maximum(self.noisy(snapshot, 1 / e), 0), Kind.FRESH)
