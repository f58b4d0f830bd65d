"""Spends the whole epsilon at every step, on a ledger that never refuses."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.permissive import PermissiveCurator
from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.types import Release, Snapshot


@dataclass(kw_only=True)
class Overspender(Planted):
    """Found by recounting the charges."""

    caught_by: ClassVar = "never_overspends"
    saying: ClassVar = "but paid 5"
    kernel: ClassVar = Kernel(curator=PermissiveCurator)

    def decide(self, snapshot: Snapshot) -> Release:
        return self.publish(snapshot, self.model.epsilon)
