"""PeGaSus whose groups never close: the unit that ends a group begins the next one, under the old threshold noise."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.mechanisms.pegasus import PeGaSus
from penstock.primitives.grouper import Grouper
from penstock.types import Ints, Mask, Snapshot


class OpenGrouper(Grouper):
    """Opens a group with a unit that has been compared already, so that it takes part in two series of comparisons."""

    def extend(self, snapshot: Snapshot, thresholds: ArrayLike) -> Mask:
        joined = super().extend(snapshot, thresholds)
        self._open = self._length < self.max_length
        return joined

    def _compare(self, counts: Ints, limits: Ints, joining: Mask) -> Mask:
        joined = super()._compare(counts, limits, joining)
        self._members[0, ~joined] = counts[~joined]
        return joined


class OpenCurator(Curator):
    """Hands out such groupers."""

    grouper_type: ClassVar[type[Grouper]] = OpenGrouper

    def grouper(self, e: Epsilon, max_length: int = 64) -> Grouper:
        return self._issue(self.grouper_type(self._desk, len(self._handles), e, max_length))


@dataclass(kw_only=True)
class NeverClosed(PeGaSus, Planted):
    """Found because it compares after a yes without a threshold of its own."""

    proven_for: ClassVar = PeGaSus.proven_for
    caught_by: ClassVar = "every_draw_is_paid"
    saying: ClassVar = "were paid for"
    mutant: ClassVar = "M17"
    kernel: ClassVar = Kernel(curator=OpenCurator)
