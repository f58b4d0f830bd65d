"""What a bin is asked several times in a unit costs as much as its dearest question, and not their sum."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from penstock.audit.everything import Everything
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.desk import Desk, live
from penstock.epsilon import Epsilon
from penstock.ledger import Ledger
from penstock.models import PrivacyModel
from penstock.noise import Noise
from penstock.queries import Bins
from penstock.types import Ints


class GenerousDesk(Desk):
    """Takes the largest of what a bin owes."""

    def charge_each(self, nano: Ints, envelope: str, bins: Bins) -> None:
        before, dearest = self._paid_by_bin.get(None, (np.zeros(self.bins, np.int64), 0))
        after = before.copy()
        np.maximum.at(after, bins, nano)
        if after.max() > dearest:
            self.ledger.add(Epsilon.of_nano(int(after.max()) - dearest), envelope)
        self._paid_by_bin[None] = after, int(after.max())


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
