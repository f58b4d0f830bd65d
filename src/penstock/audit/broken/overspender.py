"""Spends the whole epsilon at every step, on a ledger that never refuses."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.ledger import Ledger
from penstock.types import Release, Snapshot


class PermissiveLedger(Ledger):
    """Books whatever it is told to."""

    def _require(self, e: Epsilon, envelope: str, within: Epsilon) -> None:
        """Everything is fine."""


class PermissiveCurator(Curator):
    """A curator who keeps such a ledger."""

    ledger_type = PermissiveLedger


@dataclass(kw_only=True)
class Overspender(Planted):
    """Found by recounting the charges."""

    caught_by: ClassVar = "never_overspends"
    saying: ClassVar = "but paid 5"
    kernel: ClassVar = Kernel(curator=PermissiveCurator)

    def decide(self, snapshot: Snapshot) -> Release:
        return self.publish(snapshot, self.model.epsilon)
