"""Opens the snapshot by itself and nudges the release by what it saw."""

from dataclasses import dataclass, replace
from typing import ClassVar

from penstock.audit.planted import Planted
from penstock.types import Release, Snapshot, unseal


@dataclass(kw_only=True)
class Leaker(Planted):
    """Adds one where the count is odd; found by replaying its answers on other counts."""

    caught_by: ClassVar = "non_interference"
    saying: ClassVar = "the release at"

    def decide(self, snapshot: Snapshot) -> Release:
        release = super().decide(snapshot)
        return replace(release, values=release.values + unseal(snapshot) % 2)
