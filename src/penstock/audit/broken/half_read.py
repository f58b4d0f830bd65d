"""A pool is read with half the noise that its members have paid for."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from penstock.audit.attack import Attack
from penstock.audit.broken.half_noise import high
from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.models import PrivacyModel, WEvent
from penstock.primitives.pool import Pool
from penstock.types import Kind, Release, Snapshot


class TrustingPool(Pool):
    """Believes that everybody has paid twice as much."""

    def absorb(self, snapshot: Snapshot, e: Epsilon, bins: ArrayLike | None = None) -> None:
        super().absorb(snapshot, e, bins)
        self._least[self._chosen(bins)] *= 2


class TrustingCurator(Curator):
    """Hands out such pools."""

    def pool(self, reads: int = 1) -> Pool:
        return self._issue(TrustingPool(self._desk, len(self._handles), reads))


@dataclass(kw_only=True)
class HalfRead(Planted):
    """Publishes every unit by way of a pool."""

    caught_by: ClassVar = "audit"
    mutant: ClassVar = "M1"
    under: ClassVar[PrivacyModel] = WEvent(epsilon=2, w=1)
    kernel: ClassVar = Kernel(curator=TrustingCurator)
    attack: ClassVar = Attack(model=under, one=[100], other=[99], event=high)
    trials: ClassVar = 5_000

    def begin(self) -> None:
        self.gathered = self.curator.pool()

    def decide(self, snapshot: Snapshot) -> Release:
        self.gathered.absorb(snapshot, self.model.epsilon / self.model.window)
        return self.released(snapshot, self.gathered.settle(), Kind.FRESH, 0.0)
