"""A volley that goes back to its beginning after each reading, so that one price buys any number of readings."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.audit.volleying import Volleying
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.primitives.volley import Volley
from penstock.types import Floats, Ints, Snapshot

READINGS = 200


class RestartedVolley(Volley):
    """Forgets that it was read."""

    def read(self, snapshot: Snapshot) -> Ints:
        before = self._save() if self.running else None
        answer = super().read(snapshot)
        if before is not None:
            self._load(*before)
        return answer


class RestartedCurator(Curator):
    """Hands out such volleys."""

    def volley(self) -> Volley:
        return self._issue(RestartedVolley(self._desk, len(self._handles)))


@dataclass(kw_only=True)
class RestartedForOneBin(Volleying):
    """Found in the stream of a single bin; histograms are published without a fault."""

    caught_by: ClassVar = "every_draw_is_paid"
    saying: ClassVar = "what is learnt about the fullest set"
    kernel: ClassVar = Kernel(curator=RestartedCurator)

    def reading(self, snapshot: Snapshot, volley: Volley) -> Floats:
        """The mean of many readings, whose noise is nearly gone."""
        means: Floats = np.mean([volley.read(snapshot) for _ in range(READINGS)], axis=0)
        return means
