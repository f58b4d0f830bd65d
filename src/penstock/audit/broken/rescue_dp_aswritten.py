"""RescueDP as it is in print (Wang et al. 2016): every region has a budget of its own."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.audit.permissive import Printed
from penstock.checks import Subject
from penstock.epsilon import Epsilon
from penstock.models import PrivacyModel, WEvent
from penstock.primitives.grouping import small_together
from penstock.primitives.kalman import Kalman
from penstock.primitives.pid import PID
from penstock.queries import GroupSums
from penstock.streams import Stream
from penstock.types import Floats, Kind, Mask, Release, Snapshot

REGIONS = 8
REMEMBERED = 3  # releases that predict the next one, and changes that the controller averages


class ManyRegions(Subject):
    """A stream with more bins than are usual in checks, each of which goes round at its own pace."""

    def streams(self, seed: int = 1) -> Iterator[Stream]:
        yield Stream(200 + np.outer(np.arange(self.steps()), np.arange(REGIONS)) % 50)


@dataclass(kw_only=True)
class RescueDPAsWritten(Printed):
    """Found by recounting the charges: regions that are sampled at different units add up for whoever moves about.

    Each unit is charged what its dearest region costs.
    """

    caught_by: ClassVar = "never_overspends"
    saying: ClassVar = r"but paid 2\."
    mutant: ClassVar = "RescueDP as printed"
    under: ClassVar[PrivacyModel] = WEvent(epsilon=1, w=40)

    @classmethod
    def subject(cls) -> Subject:
        return ManyRegions(cls, cls.under, cls.kernel)

    def begin(self) -> None:
        bins = self.curator.bins
        self.filter, self.pid = Kalman(bins, 1e5), PID(0.9, 0.1, 0, REMEMBERED, loops=bins)
        self.history = np.zeros((REMEMBERED, bins))
        self.interval, self.due = np.ones(bins), np.ones(bins, np.int64)
        self.spent = np.zeros((self.model.window, bins))  # at each of the last units, of each region's budget

    def decide(self, snapshot: Snapshot) -> Release:
        self.filter.predict_to(snapshot.t)
        self.spent[snapshot.t % self.model.window] = 0.0
        left, due = float(self.model.epsilon) - self.spent.sum(axis=0), self.due <= snapshot.t
        parts = np.minimum(0.2 * np.log(self.interval + 1), 0.6)
        budgets = np.minimum(parts * left, float(self.model.epsilon) / 5)
        labels = small_together(self.history, due, small=30, apart=25, alike=0.5)
        for number in range(labels.max() + 1):
            self.measure(snapshot, labels == number, float(budgets[labels == number].min()))
        self.pace(snapshot.t, due, left)
        return self.say(snapshot, self.filter.values, np.where(due, Kind.ESTIMATED, Kind.REPUBLISHED))

    def measure(self, snapshot: Snapshot, group: Mask, e: float) -> None:
        """The sum of a group of regions, shared out and filtered; each of them pays for it."""
        total = self.curator.ask(snapshot, GroupSums(np.where(group, 0, -1)), Epsilon(e))
        size = int(group.sum())
        self.filter.correct(np.full(size, total[0] / size), 2 / (e * size) ** 2, 1 / (e * size), group)
        self.spent[snapshot.t % self.model.window, group] = e

    def pace(self, t: int, due: Mask, left: Floats) -> None:
        """A region that changes by more than the noise of all it has left is sampled sooner, else later."""
        change = self.pid.update(t, np.abs(self.filter.values - self.history[-1])[due], due)
        self.history = np.vstack([self.history[1:], self.filter.values])
        self.interval[due] = np.maximum(1, self.interval[due] + 10 * (1 - (change * left[due]) ** 2))
        self.due[due] = t + np.rint(np.minimum(self.interval[due], 1e6)).astype(np.int64)
