"""Hands out one buffer again and again, so that every earlier release turns into the latest."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from penstock.audit.planted import Planted
from penstock.types import Release, Snapshot


@dataclass(kw_only=True)
class Aliaser(Planted):
    """Found by looking at old releases again."""

    caught_by: ClassVar = "nothing_changes_afterwards"
    saying: ClassVar = "never changes after"

    def begin(self) -> None:
        self.buffer = np.zeros(self.curator.bins, np.int64)

    def decide(self, snapshot: Snapshot) -> Release:
        release = super().decide(snapshot)
        self.buffer[:] = release.values
        return replace(release, values=self.buffer.view())
