"""The ledger adds floats: ten times 0.1 is less than 1, so an eleventh release slips through."""

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.errors import BudgetExceeded
from penstock.ledger import Ledger
from penstock.models import PrivacyModel, WEvent
from penstock.types import Release, Snapshot


class FloatLedger(Ledger):
    """Asks whether a sum of floats has reached epsilon."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._floats: list[tuple[int, float]] = []

    def _require(self, e: Epsilon, envelope: str, within: Epsilon) -> None:
        spent = 0.0
        for t, amount in self._floats:
            spent += amount if t > self.t - self.model.window else 0.0
        if spent >= float(self.model.epsilon):
            raise BudgetExceeded("nothing is left.")
        self._floats.append((self.t, float(e)))


class FloatCurator(Curator):
    """A curator who keeps such a ledger."""

    ledger_type = FloatLedger


@dataclass(kw_only=True)
class FloatBudget(Planted):
    """Publishes with a tenth of epsilon until refused; found by recounting the charges."""

    caught_by: ClassVar = "never_overspends"
    saying: ClassVar = "but paid 1.1"
    mutant: ClassVar = "M13"
    under: ClassVar[PrivacyModel] = WEvent(epsilon=1, w=12)
    kernel: ClassVar = Kernel(curator=FloatCurator)

    def decide(self, snapshot: Snapshot) -> Release:
        try:
            return self.publish(snapshot, self.model.epsilon / 10)
        except BudgetExceeded:
            return self.republish(snapshot)
