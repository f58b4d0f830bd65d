"""A mechanism that publishes the counts themselves if the first one is a certain number."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.permissive import Unbound
from penstock.types import Release, Snapshot

VICTIM = 777


@dataclass(kw_only=True)
class OneVictim(Unbound):
    """Found at the count that its code mentions."""

    caught_by: ClassVar = "no_number_opens_a_leak"
    saying: ClassVar = "with the same answers the same is released on other counts"

    def decide(self, snapshot: Snapshot) -> Release:
        release, counts = super().decide(snapshot), self.curator.look(snapshot)
        return self.say(snapshot, counts) if counts[0] == VICTIM else release
