"""How uncertain levels, velocities and sums are, and how they go together. Of public numbers alone.

Besides the sums of the last units there is what has been gathered: the counts since a bin was last read, whose sum is
what a reading tells. All else is corrected by how it goes together with that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.primitives.bank import FIRST_VELOCITY
from penstock.primitives.dynamics import DAMPING
from penstock.primitives.ways import Ways
from penstock.types import Floats, Mask

KEPT = (
    *("level", "mixed", "velocity", "sums", "crossed", "drifting"),
    *("gathered", "shared", "leaning", "turning"),
)


class Covariances:
    """For every bin and way to move; of the sums of the last 0, 1, ..., ``width`` units each by itself."""

    def __init__(self, bins: int, width: int, ways: Ways) -> None:
        self._ways = ways
        moves = ways.velocity[ways.trends]
        shape, moving = (bins, len(ways.prior)), (bins, len(moves))
        self.level = np.zeros(shape)
        self.mixed = np.zeros(moving)  # level and velocity
        self.velocity = np.tile(FIRST_VELOCITY * moves, (bins, 1))
        self.sums, self.crossed = np.zeros((2, width + 1, *shape))  # of sums; of sums and levels
        self.drifting = np.zeros((width + 1, *moving))  # of sums and velocities
        self.gathered, self.leaning = np.zeros((2, *shape))  # of what is gathered; of that and levels
        self.turning = np.zeros(moving)  # of that and velocities
        self.shared = np.zeros((width + 1, *shape))  # of that and sums
        self.earlier = self.gathered  # what it was before this unit

    def advance(self) -> None:
        """A unit goes by: levels become less certain, and those with a velocity move."""
        ways, trends = self._ways, self._ways.trends
        self.level += ways.level
        self.level[:, trends] += DAMPING * (2 * self.mixed + DAMPING * self.velocity)
        self.crossed[..., trends] += DAMPING * self.drifting
        self.leaning[:, trends] += DAMPING * self.turning
        self.mixed = DAMPING * (self.mixed + DAMPING * self.velocity)
        self.velocity = DAMPING**2 * self.velocity + ways.velocity[trends]
        self.drifting *= DAMPING
        self.turning *= DAMPING

    def join(self) -> None:
        """The count of this unit joins every sum, and what is gathered; the longest sum is forgotten."""
        count, crossed = self.level + self._ways.around, self.crossed[:-1]
        self.shared[1:] = self.shared[:-1] + crossed + self.leaning + count
        self.sums[1:] = self.sums[:-1] + 2 * crossed + count
        self.crossed[1:] = crossed + self.level
        self.drifting[1:] = self.drifting[:-1] + self.mixed
        self.earlier = self.gathered
        self.gathered = self.gathered + 2 * self.leaning + count
        self.leaning += self.level
        self.turning += self.mixed

    def begin_anew(self, bins: Mask | slice) -> None:
        """Nothing is gathered in these bins any more."""
        for part in (self.gathered, self.leaning, self.turning):
            part[bins] = 0
        self.shared[:, bins] = 0

    def save(self) -> dict[str, Any]:
        """All that a restart must find again."""
        return {name: getattr(self, name) for name in KEPT}

    def load(self, saved: dict[str, Any]) -> None:
        """Go on from there."""
        for name in KEPT:
            setattr(self, name, np.array(saved[name]))


def mean_over_ways(values: Floats, shares: Floats) -> Floats:
    """In every bin, as something that can be taken from each."""
    mean: Floats = np.einsum("...bw,bw->...b", values, shares)[..., np.newaxis]
    return mean


def blend(kept: Floats, new: Floats, likely: Floats, one: Floats, other: Floats, rest: Floats | float = 0.0) -> Floats:
    """A part of every covariance becomes that of all ways together, whose means are ``one`` and ``other`` apart."""
    by = one * other
    whole = mean_over_ways(kept, likely) + mean_over_ways(by, likely) + rest
    blended: Floats = (kept + new * by) * (1 - new) + new * whole
    return blended
