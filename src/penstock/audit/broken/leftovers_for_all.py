"""Adds what is left of one part of the budget to every release, and books none of it."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.ledger import Ledger
from penstock.types import Release, Snapshot


class RoundingLedger(Ledger):
    """Books no more than the share of a unit."""

    def add(self, e: Epsilon, envelope: str, *, within: Epsilon | None = None) -> None:
        super().add(min(e, self.model.epsilon / self.model.window), envelope)


class RoundingCurator(Curator):
    """A curator who keeps such a ledger."""

    ledger_type = RoundingLedger


@dataclass(kw_only=True)
class LeftoversForAll(Planted):
    """Found by comparing what was drawn with what was charged."""

    caught_by: ClassVar = "every_draw_is_paid"
    saying: ClassVar = "were paid for"
    mutant: ClassVar = "M15"
    kernel: ClassVar = Kernel(curator=RoundingCurator)

    def decide(self, snapshot: Snapshot) -> Release:
        leftover = self.model.epsilon / 8
        return self.publish(snapshot, self.model.epsilon / self.model.window + leftover)
