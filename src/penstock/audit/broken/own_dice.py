"""Decides by randomness of its own, which nobody has keyed, charged or recorded."""

import random
from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.planted import Planted
from penstock.types import Release, Snapshot


@dataclass(kw_only=True)
class OwnDice(Planted):
    """Found by running it twice with the same seed."""

    caught_by: ClassVar = "same_seed_same_output"
    saying: ClassVar = "the same seed"

    def decide(self, snapshot: Snapshot) -> Release:
        return super().decide(snapshot) if random.random() < 0.5 else self.republish(snapshot)
