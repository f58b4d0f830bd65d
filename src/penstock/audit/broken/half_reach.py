"""The noise of a volley reaches half as far as was paid for."""

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.audit.attack import Attack
from penstock.audit.halved import Halved
from penstock.audit.volleying import LEVEL, Volleying, low
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.models import PrivacyModel, WEvent
from penstock.noise import Noise


class HalvedCurator(Curator):
    """Draws at half of any scale."""

    def __init__(self, *arguments: Any, noise: Noise, **options: Any) -> None:
        super().__init__(*arguments, noise=Halved(noise), **options)


@dataclass(kw_only=True)
class HalfReach(Volleying):
    """A volley tells twice what was paid."""

    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M1"
    under: ClassVar[PrivacyModel] = WEvent(epsilon=1, w=3)
    kernel: ClassVar = Kernel(curator=HalvedCurator)
    attack: ClassVar = Attack(model=under, one=[LEVEL] * 3, other=[LEVEL + 1] * 3, event=low)
    trials: ClassVar = 10_000
