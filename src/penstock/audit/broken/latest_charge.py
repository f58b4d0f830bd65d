"""A pool that is read with noise for what its latest member has paid, however little the others have."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from penstock.audit.everything import Everything
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.primitives.pool import Pool
from penstock.types import Snapshot


class ForgivingPool(Pool):
    """Every member counts as if it had paid what the last one has."""

    def absorb(self, snapshot: Snapshot, e: Epsilon, bins: ArrayLike | None = None) -> None:
        super().absorb(snapshot, e, bins)
        self._least[self._chosen(bins)] = e.nano


class ForgivingCurator(Curator):
    """Hands out such pools."""

    def pool(self, reads: int = 1) -> Pool:
        return self._issue(ForgivingPool(self._desk, len(self._handles), reads))


@dataclass(kw_only=True)
class LatestCharge(Everything):
    """Found by pricing the sum at every unit that is in it."""

    caught_by: ClassVar = "every_draw_is_paid"
    saying: ClassVar = "also by later sums"
    kernel: ClassVar = Kernel(curator=ForgivingCurator)
