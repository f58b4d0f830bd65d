"""Publishes intervals that its own values lie outside of."""

from dataclasses import dataclass, replace
from typing import ClassVar

from penstock.audit.planted import Planted
from penstock.types import Release, Snapshot


@dataclass(kw_only=True)
class SelfEffacing(Planted):
    """Found by looking at what a release says."""

    intervals: ClassVar = True
    caught_by: ClassVar = "one_release_a_step"
    saying: ClassVar = "holds the value"

    def decide(self, snapshot: Snapshot) -> Release:
        release = super().decide(snapshot)
        return replace(release, low=release.values + 1, high=release.values + 2)
