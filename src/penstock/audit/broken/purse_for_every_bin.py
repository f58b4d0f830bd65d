"""Keeps a budget for every bin by itself, although a user may be in another bin at every unit."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.audit.permissive import Unbound
from penstock.types import Release, Snapshot


@dataclass(kw_only=True)
class PurseForEveryBin(Unbound):
    """The bins take turns, each with all that it has; found by recounting the charges."""

    caught_by: ClassVar = "never_overspends"
    saying: ClassVar = "but paid 2.5"
    mutant: ClassVar = "M12"

    def decide(self, snapshot: Snapshot) -> Release:
        bins = self.curator.bins
        turns = math.ceil(self.model.window / bins)  # of a bin in a window
        return self.publish(snapshot, self.model.epsilon / turns, np.arange(bins) == snapshot.t % bins)
