"""Takes any snapshot at any time, so that one time unit can be published, and paid for, twice."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.types import Snapshot


class EasyGoingCurator(Curator):
    """Renumbers whatever comes."""

    def begin_unit(self, snapshot: Snapshot) -> None:
        object.__setattr__(snapshot, "t", self.ledger.t + 1)
        super().begin_unit(snapshot)


@dataclass(kw_only=True)
class EasyGoing(Planted):
    """Found by offering it snapshots that do not fit."""

    caught_by: ClassVar = "refuses_bad_snapshots"
    saying: ClassVar = "that does not fit"
    kernel: ClassVar = Kernel(curator=EasyGoingCurator)
