"""SPAS whose first window is not booked, so that the second one begins with a budget that is spent already."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.ledger import Ledger
from penstock.mechanisms.spas import SPAS


class LateLedger(Ledger):
    """Begins to book when a window is over."""

    def add(self, e: Epsilon, envelope: str, *, within: Epsilon | None = None) -> None:
        if self.t > self.model.window:
            super().add(e, envelope, within=within)


class LateCurator(Curator):
    """A curator who keeps such a ledger."""

    ledger_type = LateLedger


@dataclass(kw_only=True)
class WarmUpForFree(SPAS, Planted):
    """Found by comparing what was drawn with what was charged."""

    proven_for: ClassVar = SPAS.proven_for
    caught_by: ClassVar = "every_draw_is_paid"
    saying: ClassVar = "were paid for at t=1"
    mutant: ClassVar = "M6"
    kernel: ClassVar = Kernel(curator=LateCurator)
