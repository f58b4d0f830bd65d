"""Keeps a count in its state and publishes from it a step later: the release itself looks clean when it is made."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.planted import Planted
from penstock.mechanisms.base import state
from penstock.types import Release, Snapshot, unseal


@dataclass(kw_only=True)
class HiddenState(Planted):
    """Found because the public state differs when the answers are replayed on other counts."""

    caught_by: ClassVar = "non_interference"
    saying: ClassVar = "the state after"
    seen: int = state(0)

    def decide(self, snapshot: Snapshot) -> Release:
        self.seen = int(unseal(snapshot)[0])
        return super().decide(snapshot)
