"""Counts its steps in an attribute that is not part of the state."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.planted import Planted
from penstock.types import Release, Snapshot


@dataclass(kw_only=True)
class Forgetful(Planted):
    """Publishes every third step it remembers; found by saving and loading it."""

    caught_by: ClassVar = "resumes_exactly"
    saying: ClassVar = "a restart before"

    def begin(self) -> None:
        self.steps = 0

    def decide(self, snapshot: Snapshot) -> Release:
        self.steps += 1
        return super().decide(snapshot) if self.steps % 3 == 1 else self.republish(snapshot)
