"""A store whose ledger does not count what a lost step may have spent."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.broken.forgotten_loss import ForgottenLoss


@dataclass(kw_only=True)
class UnbookedLoss(ForgottenLoss):
    """Found in what is stored: the window that ends with a lost unit is not full."""

    caught_by: ClassVar = "verify"
    saying: ClassVar = r"has not booked what its step at t=3 may have cost \(lost\)"
