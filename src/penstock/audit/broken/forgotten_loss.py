"""A ledger that does not count what a lost step may have spent."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.ledger import Ledger


class ForgetfulLedger(Ledger):
    """Books nothing for a lost step."""

    def lose(self, most: Epsilon) -> None:
        """Nothing is booked."""


class ForgetfulCurator(Curator):
    """A curator who keeps such a ledger."""

    ledger_type = ForgetfulLedger


@dataclass(kw_only=True)
class ForgottenLoss(Planted):
    """Found by pricing the answers of the lost step."""

    caught_by: ClassVar = "lost_steps_are_paid"
    saying: ClassVar = "paid for by its successor"
    kernel: ClassVar = Kernel(curator=ForgetfulCurator)
