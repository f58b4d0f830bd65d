"""PeGaSus that leaves the unit open which has closed a group: it takes part in the comparisons of the next one, too."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.audit.broken.never_closed import OpenCurator, OpenGrouper
from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.mechanisms.pegasus import PeGaSus
from penstock.types import Ints, Mask


class RedrawnGrouper(OpenGrouper):
    """Draws a threshold for the next group at once, that nobody pays for."""

    def _compare(self, counts: Ints, limits: Ints, joining: Mask) -> Mask:
        joined = super()._compare(counts, limits, joining)
        self._rho[~joined] = self._desk.noise.laplace(self._scales[0], int(np.count_nonzero(~joined)))
        return joined


class RedrawingCurator(OpenCurator):
    """Hands out such groupers."""

    grouper_type = RedrawnGrouper


@dataclass(kw_only=True)
class LeftOpen(PeGaSus, Planted):
    """Found because a comparison draws more than it says."""

    proven_for: ClassVar = PeGaSus.proven_for
    caught_by: ClassVar = "every_draw_is_paid"
    saying: ClassVar = "extend says it draws"
    mutant: ClassVar = "M17"
    kernel: ClassVar = Kernel(curator=RedrawingCurator)
