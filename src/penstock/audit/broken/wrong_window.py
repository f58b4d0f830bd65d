"""The ledger watches windows of w - 1 units, so that a charge comes back one unit too early."""

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.ledger import Ledger
from penstock.meters import WindowMeter
from penstock.types import Release, Snapshot


class HastyLedger(Ledger):
    """Forgets a unit too early."""

    early: ClassVar[int] = 1

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._meter = WindowMeter(self.model.window - self.early)


class HastyCurator(Curator):
    """A curator who keeps such a ledger."""

    ledger_type = HastyLedger


@dataclass(kw_only=True)
class WrongWindow(Planted):
    """Spends what the ledger says is left; found by recounting the charges."""

    caught_by: ClassVar = "never_overspends"
    saying: ClassVar = "but paid 2"
    mutant: ClassVar = "M7"
    kernel: ClassVar = Kernel(curator=HastyCurator)

    def decide(self, snapshot: Snapshot) -> Release:
        left = self.curator.remaining()
        return self.publish(snapshot, left) if left else self.republish(snapshot)
