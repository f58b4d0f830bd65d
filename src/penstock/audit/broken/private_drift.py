"""Tells its Kalman filter how much the counts vary, by looking at them."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.planted import Planted
from penstock.mechanisms.fast import FAST
from penstock.types import Release, Snapshot, unseal


@dataclass(kw_only=True)
class PrivateDrift(FAST, Planted):
    """Found by replaying its answers on other counts."""

    proven_for: ClassVar = FAST.proven_for
    caught_by: ClassVar = "non_interference"
    saying: ClassVar = "depends on the paid answers only"
    mutant: ClassVar = "M19"

    def decide(self, snapshot: Snapshot) -> Release:
        self.filter._drift = float(unseal(snapshot).var())
        return super().decide(snapshot)
