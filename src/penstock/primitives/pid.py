"""A feedback controller over published values: how far off, for how long, and getting worse or better."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.parameters import at_least_one, of_kind, within
from penstock.types import Floats, Mask

LONGEST_REACH = 1000


class PID:
    """Proportional, integral and derivative terms of an error, for each of several loops by itself.

    ``proportional`` weighs the latest error, ``integral`` the mean of the last ``reach`` of them, ``derivative`` the
    slope from the one before.

    >>> pid = PID(proportional=1, integral=0.5, derivative=2, reach=2)
    >>> pid.update(1, np.array([4.0]))
    array([6.])
    >>> pid.update(3, np.array([2.0]))  # 2 + 0.5 * (4 + 2) / 2 + 2 * (2 - 4) / (3 - 1)
    array([1.5])
    """

    def __init__(self, proportional: float, integral: float, derivative: float, reach: int, loops: int = 1) -> None:
        at_least_one("reach", reach)
        within("reach", reach, 0, LONGEST_REACH + 1)
        weights = {"proportional": proportional, "integral": integral, "derivative": derivative}
        self._weights = [of_kind(name, weight, float) for name, weight in weights.items()]
        self._errors = np.zeros((reach, loops))  # the latest one last
        self._seen = np.zeros(loops, np.int64)
        self._times = np.zeros(loops, np.int64)

    def update(self, t: int, errors: Floats, which: Mask | slice = slice(None)) -> Floats:
        """The control output of the loops in ``which``, given their errors at unit ``t``."""
        proportional, integral, derivative = self._weights
        recent = np.concatenate((self._errors[1:, which], errors[np.newaxis]))
        seen = self._seen[which] + 1
        means = recent.sum(axis=0) / np.minimum(seen, len(recent))
        output: Floats = proportional * errors + integral * means
        if derivative:
            slopes = (errors - self._errors[-1, which]) / (t - self._times[which])
            output += derivative * np.where(seen > 1, slopes, 0.0)
        self._errors[:, which], self._seen[which], self._times[which] = recent, seen, t
        return output

    def save(self) -> dict[str, Any]:
        return {"errors": self._errors.copy(), "seen": self._seen.copy(), "times": self._times.copy()}

    def load(self, saved: dict[str, Any]) -> None:
        self._errors, self._seen = np.array(saved["errors"]), np.array(saved["seen"])
        self._times = np.array(saved["times"])
