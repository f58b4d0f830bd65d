"""MA(2) as it is in print (Li, Quan, Yu): which moving average is nearest to the counts is found out without noise."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.audit.attack import Attack, Outcome
from penstock.audit.permissive import Printed
from penstock.models import MContext, PrivacyModel
from penstock.types import Floats, Ints, Kind, Release, Snapshot

USERS = [f"user {i}" for i in range(12)]
ONE, OTHER = [[0, 12], [12, 0], [8, 4]], [[0, 12], [12, 0], [9, 3]]


def averages(past: Ints) -> Floats:
    """The last release, and the mean of the last two."""
    means: Floats = np.add.accumulate(past[::-1][:2]) / [[1], [2]][: len(past)]
    return means


def nearest(counts: Ints, candidates: Floats) -> int:
    """The candidate with the least mean absolute error."""
    return int(np.abs(counts - candidates).sum(axis=1).argmin())


def turned(outcome: Outcome) -> bool:
    """The mean of two is repeated where the counts of the other stream are nearer to the last release."""
    candidates = averages(outcome.values[:2])
    last, mean = np.rint(candidates)
    repeated = outcome.kinds[2, 0] == Kind.REPUBLISHED and (outcome.values[2] == mean).all() and (mean != last).any()
    return bool(repeated and nearest(np.array(OTHER[2]), candidates) == 0)


@dataclass(kw_only=True)
class MAAsWritten(Printed):
    """Found by an attack: what is repeated tells exactly on which side of the middle the counts are.

    Distances are taken d times, so that they are whole numbers; repeated means are rounded.
    """

    proven_for: ClassVar = (MContext,)
    caught_by: ClassVar = "audit"
    mutant: ClassVar = "MA(2) as printed"
    under: ClassVar[PrivacyModel] = MContext(epsilon=2, m=1)
    attack: ClassVar = Attack(model=under, one=ONE, other=OTHER, event=turned, presence=[USERS] * 3)
    trials: ClassVar = 2_000

    def begin(self) -> None:
        self.first = float(self.model.epsilon) / (2 * self.model.window)  # epsilon t,1
        self.past = np.zeros((0, self.curator.bins), np.int64)
        self.paid: dict[str, list[float]] = {}  # epsilon t,2 at the latest presences of everybody

    def decide(self, snapshot: Snapshot) -> Release:
        """Algorithm 1."""
        context, present = self.model.window - 1, snapshot.present or ()
        spent = max((sum(self.paid.get(user, [])[-context:]) for user in present), default=0.0) if context else 0.0
        second = (float(self.model.epsilon) / 2 - spent) / 2  # epsilon t,2
        release = self.near_or_new(snapshot, second)
        for user in present:
            self.paid.setdefault(user, []).append(second if release.is_new else 0.0)
        self.past = np.vstack([self.past, release.values])
        return release

    def near_or_new(self, snapshot: Snapshot, second: float) -> Release:
        """Algorithm 2."""
        m, counts, bins = self.model.window, self.curator.look(snapshot), self.curator.bins
        if len(self.past):
            candidates = averages(self.past)
            chosen = candidates[nearest(counts, candidates)]  # line 1
            noise = int(self.curator.draw(bins * 2 / (m * self.first / 2))[0])
            if np.abs(counts - chosen).sum() + noise <= bins * 2 / (m * second):  # lines 2 and 3
                return self.say(snapshot, chosen, Kind.REPUBLISHED)
        return self.say(snapshot, self.noisy(snapshot, 2 * m / (self.first + second)), Kind.FRESH)
