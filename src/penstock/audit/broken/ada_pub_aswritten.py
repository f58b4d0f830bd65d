"""AdaPub as it is in public code (Wang et al. 2019): a record is compared again and again while its cluster goes on."""

from dataclasses import dataclass
from statistics import median
from typing import ClassVar

import numpy as np

from penstock.audit.attack import Attack, Outcome
from penstock.audit.permissive import Printed
from penstock.models import PrivacyModel, WEvent
from penstock.primitives.grouping import bands
from penstock.primitives.pid import PID
from penstock.types import Floats, Kind, Release, Snapshot

FINE = 64  # noise of a deviation is a multiple of 1 / FINE, because a deviation is no whole number


def low_and_long(outcome: Outcome) -> bool:
    """The first unit is published low, and all later ones join its cluster."""
    return bool(outcome.values[0, 0] <= 100 and (outcome.kinds[1:] == Kind.ESTIMATED).all())


@dataclass(kw_only=True)
class AdaPubAsWritten(Printed):
    """Every comparison tells something about the first unit, and only one of them is paid for.

    ``publish_share``  epsilon p, for the groups of bins; the rest is epsilon c, for the clusters
    ``pivots``         how far apart the pivots are that bins are grouped between
    """

    caught_by: ClassVar = "audit"
    mutant: ClassVar = "AdaPub as printed"
    under: ClassVar[PrivacyModel] = WEvent(epsilon=3, w=1)
    attack: ClassVar = Attack(model=under, one=[100] * 7, other=[101] + [100] * 6, event=low_and_long)
    trials: ClassVar = 25_000

    publish_share: float = 0.8
    pivots: float = 20.0

    def begin(self) -> None:
        self.epsilon, bins = float(self.model.epsilon), self.curator.bins
        self.clusters: list[list[int]] = [[] for _ in range(bins)]  # the counts in the open cluster of each bin
        self.looks: list[list[float]] = [[] for _ in range(bins)]  # and what was published of them
        self.pid = PID(0.9, 0.1, 0.0, 5, bins)

    def decide(self, snapshot: Snapshot) -> Release:
        counts, perturbed = self.curator.look(snapshot), self.perturbed(snapshot)
        change = np.abs(self.last.values - perturbed) / np.maximum(perturbed, 1.0)
        thresholds = np.maximum(1.0, self.pid.update(snapshot.t, change) ** 2 / self.epsilon)
        for j, (cluster, looks) in enumerate(zip(self.clusters, self.looks, strict=True)):
            if not self.goes_on([*cluster, int(counts[j])], float(thresholds[j])):
                cluster.clear()
                looks.clear()
            cluster.append(int(counts[j]))
            looks.append(float(perturbed[j]))
        alone = np.array([len(cluster) == 1 for cluster in self.clusters])
        smoothed = np.array([median(looks) for looks in self.looks])
        return self.say(snapshot, smoothed, np.where(alone, Kind.FRESH, Kind.ESTIMATED))

    def perturbed(self, snapshot: Snapshot) -> Floats:
        """The sum of each group of bins with noise, shared out."""
        labels = bands(self.last.values, self.pivots)
        scale = self.model.window / (self.publish_share * self.epsilon)
        sums = np.bincount(labels, self.curator.look(snapshot)) + self.curator.draw(scale, int(labels.max()) + 1)
        shared: Floats = (sums / np.bincount(labels))[labels]
        return shared

    def goes_on(self, cluster: list[int], threshold: float) -> bool:
        """Whether a cluster with the current count in it is still alike: no noise is on the threshold."""
        if len(cluster) == 1:
            return True
        scale = 2 * self.model.window / ((1 - self.publish_share) * self.epsilon)
        mean = sum(cluster) / len(cluster)
        strays = sum(abs(count - mean) for count in cluster)
        return strays + int(self.curator.draw(FINE * scale)[0]) / FINE < threshold
