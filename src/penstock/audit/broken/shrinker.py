"""Calls a value fresh that it has shrunk towards zero."""

from dataclasses import dataclass, replace
from typing import ClassVar

from penstock.audit.planted import Planted
from penstock.types import Release, Snapshot


@dataclass(kw_only=True)
class Shrinker(Planted):
    """Found by running it without noise."""

    caught_by: ClassVar = "exact_without_noise"
    saying: ClassVar = "without noise is the count"

    def decide(self, snapshot: Snapshot) -> Release:
        release = super().decide(snapshot)
        return replace(release, values=release.values * 9 // 10)
