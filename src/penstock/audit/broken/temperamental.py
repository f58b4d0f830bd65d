"""Raises when an answer is even: an outage that everybody can see."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.planted import Planted
from penstock.types import Release, Snapshot


@dataclass(kw_only=True)
class Temperamental(Planted):
    """Found by running it with many different noises."""

    caught_by: ClassVar = "one_release_a_step"
    saying: ClassVar = "ArithmeticError"

    def decide(self, snapshot: Snapshot) -> Release:
        release = super().decide(snapshot)
        if release.values[0] % 2 == 0:
            raise ArithmeticError("even")
        return release
