"""Without the key of the sealed state the whole ledger starts anew."""

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.ledger import Ledger
from penstock.types import Release, Snapshot


class ShortLedger(Ledger):
    """Takes up the time of a saved state and, without a key, none of its charges."""

    def load(self, public: dict[str, Any], sealed: dict[str, Any] | None) -> None:
        if sealed is None:
            self._t = public["t"]
        else:
            super().load(public, sealed)


class ShortCurator(Curator):
    """A curator who keeps such a ledger."""

    ledger_type = ShortLedger


@dataclass(kw_only=True)
class Amnesiac(Planted):
    """Spends half of what seems to be left; found by restarting without the key and recounting."""

    caught_by: ClassVar = "resumes_soundly"
    saying: ClassVar = "without the key the fullest set"
    kernel: ClassVar = Kernel(curator=ShortCurator)

    def decide(self, snapshot: Snapshot) -> Release:
        half = self.curator.remaining() / 2
        return self.publish(snapshot, half) if half else self.republish(snapshot)
