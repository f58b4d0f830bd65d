"""SPAS whose warm-up takes the whole epsilon of the first window, after which a new budget begins."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.ledger import Ledger
from penstock.mechanisms.spas import SPAS
from penstock.types import Release, Snapshot


class FreshLedger(Ledger):
    """Turns over a new leaf after the first window."""

    def advance(self, t: int, present: Sequence[str] | None) -> None:
        super().advance(t, present)
        if t == self.model.window + 1:
            self._meter.forget(0)


class FreshCurator(Curator):
    """A curator who keeps such a ledger."""

    ledger_type = FreshLedger


@dataclass(kw_only=True)
class WarmUpForAll(SPAS, Planted):
    """Found by recounting the charges: windows across the border hold parts of both budgets."""

    proven_for: ClassVar = SPAS.proven_for
    caught_by: ClassVar = "never_overspends"
    saying: ClassVar = r"but paid 1\.66"
    mutant: ClassVar = "M6"
    kernel: ClassVar = Kernel(curator=FreshCurator)
    warm_up: int = 2

    def warm(self, snapshot: Snapshot) -> Release:
        if snapshot.t % self.warm_up:
            return self.release(snapshot, self.model.epsilon / math.ceil(self.model.window / self.warm_up))
        return self.republish(snapshot)
