"""Keeps a note of every time unit it ever saw."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.planted import Planted
from penstock.types import Release, Snapshot


@dataclass(kw_only=True)
class Hoarder(Planted):
    """Found by watching its memory."""

    caught_by: ClassVar = "bounded_memory"
    saying: ClassVar = "memory stays flat"

    def begin(self) -> None:
        self.kept: list[int] = []

    def decide(self, snapshot: Snapshot) -> Release:
        self.kept.append(snapshot.t)
        return super().decide(snapshot)
