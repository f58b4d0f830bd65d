"""SPAS as it is in print (Li et al. 2025): the warm-up has a budget of its own, and rho is drawn once and for ever."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.audit.attack import Attack, Outcome
from penstock.audit.permissive import Printed
from penstock.models import PrivacyModel, WEvent
from penstock.primitives.spread import spread
from penstock.theory.spas import optimal_count
from penstock.types import Kind, Release, Snapshot


def low(outcome: Outcome) -> bool:
    """The last three units of the warm-up are low, and so is the release after it."""
    return bool((outcome.values[1:, 0] <= [100, 100, 100, 900]).all() and outcome.kinds[4, 0] == Kind.FRESH)


@dataclass(kw_only=True)
class SPASAsWritten(Printed):
    """A window that holds units of the warm-up and of the main part pays for both.

    It is broken once more by rho, of which earlier windows have told a lot by the time that a later one relies on it;
    the attack does not need that. Distances and thresholds are taken d times, so that the counts stay whole.

    ``interval``  m: a unit of the warm-up in so many is published (20 in print, where windows have 120 units)
    """

    caught_by: ClassVar = "audit"
    mutant: ClassVar = "SPAS as printed"
    under: ClassVar[PrivacyModel] = WEvent(epsilon=2, w=4)
    attack: ClassVar = Attack(model=under, one=[100] * 4 + [900], other=[100, 101, 101, 101, 901], event=low)
    trials: ClassVar = 10_000

    interval: int = 1

    def begin(self) -> None:
        self.epsilon, self.bins = float(self.model.epsilon), self.curator.bins
        self.decide_budget, self.publish_budget = self.epsilon / 4, self.epsilon * 3 / 4
        self.rho = int(self.curator.draw(self.bins / (self.decide_budget / 2))[0])  # line 1
        self.count = 1  # C
        self.spread = spread("recent", self.model.window)
        self.spent: dict[int, float] = {}  # of the publishing budget, since the warm-up

    def decide(self, snapshot: Snapshot) -> Release:
        if snapshot.t <= self.model.window:
            return self.warm(snapshot)
        distance = np.abs(self.curator.look(snapshot) - self.last.values).sum()  # line 3, d times
        nu = int(self.curator.draw(self.bins * 2 * self.count / (self.decide_budget / 2))[0])
        if distance + nu <= self.bins * self.count / self.publish_budget + self.rho:  # line 4
            return self.republish(snapshot)  # line 10
        e = self.publish_budget / self.count
        recent = sum(spent for t, spent in self.spent.items() if t > snapshot.t - self.model.window)
        if recent + e > self.publish_budget:
            return self.republish(snapshot)  # line 5: abort
        self.spent[snapshot.t] = e
        return self.release(snapshot, e)

    def warm(self, snapshot: Snapshot) -> Release:
        """Every m-th unit of the first window, for epsilon m / w."""
        if (snapshot.t - 1) % self.interval:
            return self.republish(snapshot)
        return self.release(snapshot, self.epsilon * self.interval / self.model.window)

    def release(self, snapshot: Snapshot, e: float) -> Release:
        """Lines 6 to 8."""
        values = self.noisy(snapshot, 1 / e)
        if snapshot.t > 1:
            self.spread.add(snapshot.t, self.last.values, values)
            best = optimal_count(self.spread.variance(snapshot.t), self.publish_budget)
            self.count = min(max(math.floor(best), 1), self.model.window)
        return self.say(snapshot, values, Kind.FRESH)
