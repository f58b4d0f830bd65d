"""RG that publishes the sum of a group with the noise of its mean."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.attack import Attack, Outcome
from penstock.audit.gathering import Gathering
from penstock.types import Kind, Release, Snapshot


def low_together(outcome: Outcome) -> bool:
    """The sum of the second and the third unit is low."""
    return bool(outcome.kinds[2, 0] == Kind.GROUPED and outcome.values[2, 0] <= 200)


@dataclass(kw_only=True)
class SumAsMean(Gathering):
    """The more units there are in a group, the less noise their sum gets."""

    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M16"
    attack: ClassVar = Attack(model=Gathering.under, one=[100] * 3, other=[100, 100, 101], event=low_together)
    trials: ClassVar = 10_000

    def together(self, snapshot: Snapshot) -> Release:
        self.group, self.size, rested = [], len(self.group), sum(self.group)
        return self.told(snapshot, rested + self.noise(1 / (self.publishing * self.size)), Kind.GROUPED)
