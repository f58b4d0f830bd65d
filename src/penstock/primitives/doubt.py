"""Whether estimates of sums are as good as they say: they are compared with the sums of the readings themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.primitives.dynamics import STILL
from penstock.primitives.hearing import NOISE
from penstock.types import Floats, Mask

PROOF = 600.0  # units over which they are compared
FEW = 4  # sums that do not overlap are too few to doubt by
DOUBT = 2.0  # deviations that the two must differ by more than they should before estimates are doubted
KEPT = ("raw", "single", "differed", "foretold", "compared")


class Doubt:
    """Of ``bins``, about sums of up to ``width`` units. Only units that were each read by themselves are compared."""

    def __init__(self, bins: int, width: int) -> None:
        self.raw = np.zeros((width + 1, bins))  # the sums of readings
        self.single, self.compared = np.zeros((2, bins), np.int64)  # readings of one unit, in a row; sums of these
        self.differed, self.foretold = np.zeros((2, bins))  # squares: how far off, and should be

    def add(self, read: Floats, alone: Mask) -> None:
        """Another unit was read, in some bins ``alone``."""
        self.raw[1:] = self.raw[:-1] + read
        self.single = np.where(alone, self.single + 1, 0)

    def checked(self, found: Floats, spread: Floats, units: int) -> tuple[Floats, Floats]:
        """Estimates and their variances, leaning on readings where they are further from these than they should be.

        An estimate that knows its variance is off its readings by that of the noise, less its own.
        """
        width = len(self.raw) - 1
        units, kept, apart = min(units, width), 1 - 1 / PROOF, self.raw[-1] - found
        noise, alone = NOISE * units, self.single >= units
        self.differed = np.where(alone, kept * self.differed + apart**2, self.differed)
        self.foretold = np.where(alone, kept * self.foretold + np.maximum(noise - spread, STILL), self.foretold)
        self.compared = self.compared + alone
        number = np.maximum(PROOF * (1 - kept**self.compared), 1)
        allowed = 1 + DOUBT * np.sqrt(2 * width / number)
        share = np.maximum(1 - allowed * self.foretold / np.maximum(self.differed, STILL), 0.0)
        share *= alone & (self.compared > FEW * width)
        error = np.maximum(spread, self.differed / number - noise + 2 * spread)
        doubted = (1 - share) ** 2 * error + share**2 * noise + 2 * share * (1 - share) * spread
        return found + share * apart, np.where(share > 0, doubted, spread)

    def save(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in KEPT}

    def load(self, saved: dict[str, Any]) -> None:
        for name in KEPT:
            setattr(self, name, np.array(saved[name]))
