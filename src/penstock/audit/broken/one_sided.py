"""Prices a sparse vector as if distances could only grow, so that a comparison needs half the noise."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.watching import Watching, attacked
from penstock.epsilon import Epsilon
from penstock.models import PrivacyModel, WEvent
from penstock.primitives.segment import SegmentPlan


class OneSidedPlan(SegmentPlan):
    """A yes is worth v, and not twice v."""

    @property
    def opening(self) -> Epsilon:
        return self.u


@dataclass(kw_only=True)
class OneSided(Watching):
    """With three yeses the price lacks three times v."""

    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M4"
    under: ClassVar[PrivacyModel] = WEvent(epsilon=3, w=7)
    plan: ClassVar = OneSidedPlan(3, Epsilon("0.6"), Epsilon("0.8"))
    attack: ClassVar = attacked(under, noes=4, yeses=3)
    trials: ClassVar = 40_000
