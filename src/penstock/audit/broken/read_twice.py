"""RG whose group is not emptied when a count is published at once: the count is published again with the group."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.attack import Attack, Outcome
from penstock.audit.gathering import Gathering
from penstock.types import Kind, Release, Snapshot


def low_and_low(outcome: Outcome) -> bool:
    """Both releases that contain the first unit are low."""
    alone, together = outcome.values[:, 0]
    return bool(outcome.kinds[1, 0] == Kind.GROUPED and alone <= 100 and together <= 200)


@dataclass(kw_only=True)
class ReadTwice(Gathering):
    """The first unit is paid for once and read twice."""

    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M16"
    attack: ClassVar = Attack(model=Gathering.under, one=[100, 100], other=[101, 100], event=low_and_low)
    trials: ClassVar = 10_000

    def at_once(self, snapshot: Snapshot, count: int) -> Release:
        release = super().at_once(snapshot, count)
        self.group.append(count)
        return release
