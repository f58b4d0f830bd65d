"""Dynamic allocation that adds up what a user has paid over one presence too few."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.ledger import Ledger
from penstock.mechanisms.adj import Adj
from penstock.meters import PresenceMeter
from penstock.models import MContext, PrivacyModel


class ShortLedger(Ledger):
    """Watches m - 1 presences."""

    def cap(self, **envelopes: Epsilon) -> None:
        super().cap(**envelopes)
        shorter = self.model.window - 1
        self._meter = PresenceMeter(shorter)
        self._caps = {name: (PresenceMeter(shorter), limit) for name, (_, limit) in self._caps.items()}


class ShortCurator(Curator):
    """A curator who keeps such a ledger."""

    ledger_type = ShortLedger


@dataclass(kw_only=True)
class ShortMemory(Adj, Planted):
    """Found by recounting the charges."""

    proven_for: ClassVar = Adj.proven_for
    caught_by: ClassVar = "never_overspends"
    saying: ClassVar = r"but paid 1\.09"
    mutant: ClassVar = "M21"
    under: ClassVar[PrivacyModel] = MContext(epsilon=1, m=4, per_unit=100)
    kernel: ClassVar = Kernel(curator=ShortCurator)
