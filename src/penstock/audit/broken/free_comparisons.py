"""A sparse vector whose runs are not charged: only its yeses cost something."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.watching import Watching
from penstock.charges import Span
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.ledger import Ledger
from penstock.primitives.segment import SegmentPlan


class AbsentMindedLedger(Ledger):
    """Opens spans that weigh nothing."""

    def open(self, e: Epsilon, envelope: str) -> Span:
        return super().open(Epsilon(0), envelope)


class AbsentMindedCurator(Curator):
    """A curator who keeps such a ledger."""

    ledger_type = AbsentMindedLedger


@dataclass(kw_only=True)
class FreeComparisons(Watching):
    """Found by pricing the comparisons from the noise they drew."""

    caught_by: ClassVar = "every_draw_is_paid"
    saying: ClassVar = "what is learnt about the fullest set"
    mutant: ClassVar = "M5"
    kernel: ClassVar = Kernel(curator=AbsentMindedCurator)
    plan: ClassVar = SegmentPlan(1, Epsilon("0.2"), Epsilon("0.1"))
