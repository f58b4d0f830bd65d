"""What a planted failure is, and where to find them all.

A check that cannot fail proves nothing. So each check has at least one mechanism, or one kernel, that breaks the
promise it guards; the tests demand that the check finds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit import broken
from penstock.audit.attack import Attack
from penstock.catalogue import found_in
from penstock.checks import Kernel, Subject
from penstock.mechanisms.base import Mechanism
from penstock.models import PrivacyModel, WEvent
from penstock.publisher import Publisher
from penstock.types import Release, Snapshot


@dataclass(kw_only=True)
class Planted(Mechanism):
    """A mechanism with a fault, or an honest one on a faulty kernel. By itself it publishes like Uniform."""

    proven_for: ClassVar[tuple[type[PrivacyModel], ...]] = (WEvent,)
    caught_by: ClassVar[str]  # the name of the check, "verify" if a store finds it, or "audit" if it takes an attack
    saying: ClassVar[str] = ""  # words of the check's verdict, so that it is caught for its own fault
    mutant: ClassVar[str] = ""  # its number among the mutants, or whose printed algorithm it is
    under: ClassVar[PrivacyModel] = WEvent(epsilon=1, w=5)
    kernel: ClassVar[Kernel] = Kernel()
    publisher: ClassVar[type[Publisher]] = Publisher
    attack: ClassVar[Attack | None] = None  # on a pair of streams under the model of the attack
    trials: ClassVar[int] = 20_000  # runs on each of the two streams

    @classmethod
    def subject(cls) -> Subject:
        """What to hand to a check."""
        return Subject(cls, cls.under, cls.kernel)

    def decide(self, snapshot: Snapshot) -> Release:
        return self.publish(snapshot, self.model.epsilon / self.model.window)


def planted() -> dict[str, type[Planted]]:
    """Every planted failure by its file name."""
    return {key: found for key, found in found_in(broken).items() if issubclass(found, Planted)}
