"""A meter that leaves a span where each user first met it, so that their later presences come free."""

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.audit.everything import Everything
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.ledger import Ledger
from penstock.meters import NOWHERE, PresenceMeter
from penstock.models import MContext, PrivacyModel


class StayingMeter(PresenceMeter):
    """A span stays on a user's first presence that it met."""

    def touch(self, key: int) -> None:
        _, held = self._open[key]
        if not (held[self._here] != NOWHERE).all():
            super().touch(key)


class StayingLedger(Ledger):
    """Counts with such a meter."""

    def __init__(self, model: PrivacyModel, **options: Any) -> None:
        super().__init__(model, **options)
        self._meter = StayingMeter(model.window)


class StayingCurator(Curator):
    """A curator who keeps such a ledger."""

    ledger_type = StayingLedger


@dataclass(kw_only=True)
class FirstPresence(Everything):
    """Found by recounting the charges by who was present."""

    caught_by: ClassVar = "never_overspends"
    saying: ClassVar = "the fullest protected set stays within 1, but paid"
    under: ClassVar[PrivacyModel] = MContext(epsilon=1, m=4, per_unit=100)
    kernel: ClassVar = Kernel(curator=StayingCurator)
