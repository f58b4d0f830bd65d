"""PeGaSus that leaves the unit open which has closed a group: it takes part in the comparisons of the next one, too."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.mechanisms.pegasus import PeGaSus
from penstock.primitives.grouper import Grouper
from penstock.types import Ints, Mask, Snapshot


class OpenGrouper(Grouper):
    """Opens a group with a unit that has been compared already, under a threshold that nobody pays for."""

    def extend(self, snapshot: Snapshot, thresholds: ArrayLike) -> Mask:
        joined = super().extend(snapshot, thresholds)
        self._open = self._length < self.max_length
        return joined

    def _compare(self, counts: Ints, limits: Ints, joining: Mask) -> Mask:
        joined = super()._compare(counts, limits, joining)
        self._members[0, ~joined] = counts[~joined]
        self._rho[~joined] = self._desk.noise.laplace(self._scales[0], int(np.count_nonzero(~joined)))
        return joined


class OpenCurator(Curator):
    """Hands out such groupers."""

    def grouper(self, e: Epsilon, max_length: int = 64) -> Grouper:
        return self._issue(OpenGrouper(self._desk, len(self._handles), e, max_length))


@dataclass(kw_only=True)
class LeftOpen(PeGaSus, Planted):
    """Found because a comparison draws more than it says."""

    proven_for: ClassVar = PeGaSus.proven_for
    caught_by: ClassVar = "every_draw_is_paid"
    saying: ClassVar = "extend says it draws"
    mutant: ClassVar = "M17"
    kernel: ClassVar = Kernel(curator=OpenCurator)
