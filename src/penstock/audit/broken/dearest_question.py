"""What a bin is asked several times in a unit costs as much as its dearest question, and not their sum."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from penstock.audit.everything import Everything
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.desk import Account, Desk, live
from penstock.epsilon import Epsilon
from penstock.ledger import Ledger
from penstock.models import PrivacyModel
from penstock.noise import Noise
from penstock.queries import Bins
from penstock.types import Ints


class GenerousDesk(Desk):
    """Takes the largest of what a bin owes."""

    def charge_each(self, nano: Ints, envelope: str, bins: Bins) -> None:
        before = self._accounts.get(None) or Account.empty(self.bins)
        paid = before.paid.copy()
        np.maximum.at(paid, bins, nano)
        after = Account(paid, int(paid.max()))
        if after.dearest > before.dearest:
            self.ledger.add(Epsilon.of_nano(after.dearest - before.dearest), envelope)
        self._accounts[None] = after


class GenerousCurator(Curator):
    """A curator at such a desk."""

    def __init__(self, model: PrivacyModel, bins: int, *, noise: Noise, answers: Any = live, **options: Any) -> None:
        super().__init__(model, bins, noise=noise, answers=answers, **options)
        ledger: Ledger = self._ledger
        self._desk = GenerousDesk(model, bins, ledger, noise, answers)


@dataclass(kw_only=True)
class DearestQuestion(Everything):
    """Found by pricing all answers of a unit."""

    caught_by: ClassVar = "every_draw_is_paid"
    saying: ClassVar = "were paid for at"
    kernel: ClassVar = Kernel(curator=GenerousCurator)
