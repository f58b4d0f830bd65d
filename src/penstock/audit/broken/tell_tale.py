"""Publishes noisy values, and beside them intervals around the counts themselves."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from penstock.audit.planted import Planted
from penstock.types import Release, Snapshot, unseal


@dataclass(kw_only=True)
class TellTale(Planted):
    """Found by replaying its answers on other counts: intervals are public, and compared like values."""

    intervals: ClassVar = True
    caught_by: ClassVar = "non_interference"
    saying: ClassVar = "the release at t=1 depends on the paid answers only"

    def decide(self, snapshot: Snapshot) -> Release:
        release, counts = super().decide(snapshot), unseal(snapshot)
        return replace(release, low=np.minimum(release.values, counts), high=np.maximum(release.values, counts))
