"""The ledger watches windows of w - 2 units."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.broken.wrong_window import HastyLedger, WrongWindow
from penstock.checks import Kernel
from penstock.curator import Curator


class HastierLedger(HastyLedger):
    """Forgets two units too early."""

    early = 2


class HastierCurator(Curator):
    """A curator who keeps such a ledger."""

    ledger_type = HastierLedger


@dataclass(kw_only=True)
class WrongerWindow(WrongWindow):
    """Found by recounting the charges."""

    kernel: ClassVar = Kernel(curator=HastierCurator)
