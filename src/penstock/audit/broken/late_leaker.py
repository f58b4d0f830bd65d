"""A mechanism that publishes the counts themselves, but not in the first two months of days."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.permissive import Unbound
from penstock.types import Release, Snapshot

FIRST_LEAK = 60


@dataclass(kw_only=True)
class LateLeaker(Unbound):
    """Found at the unit that its code mentions."""

    caught_by: ClassVar = "no_number_opens_a_leak"
    saying: ClassVar = "with the same answers the same is released on other counts"

    def decide(self, snapshot: Snapshot) -> Release:
        release = super().decide(snapshot)
        return self.say(snapshot, self.curator.look(snapshot)) if snapshot.t >= FIRST_LEAK else release
