"""Sums of the last units as an estimator has them, also where a unit is missing. It sees published values only."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.primitives.estimator import Estimate
from penstock.primitives.sums import SlidingSums, Sums
from penstock.types import Floats


class Summing:
    """Follows the sums of ``width`` units of ``bins``, which are measured at every unit as well as can be."""

    def __init__(self, bins: int, width: int, *, pooling: bool, seasons: bool, shrinking: bool) -> None:
        self._sums = SlidingSums(bins, width, pooling=pooling, seasons=seasons, shrinking=shrinking)
        self._found = Sums(np.zeros(bins), np.zeros(bins))
        self._scale = np.ones(bins)
        self._t = 0

    @staticmethod
    def numbers(width: int) -> int:
        """How many are kept of every bin, about."""
        return 150 * (width + 1) + 700

    def observe(self, t: int, measured: Floats, scale: Floats) -> None:
        """Take in a measurement; units before it that nobody measured are taken to be what was expected of them."""
        for _ in range(self._t + 1, t if self._t else 0):
            self._sums.update(self._sums.expected)
        if not self._t:  # one for all bins and units: levels and sums are kept in it
            self._scale = np.full_like(scale, np.median(scale))
        self._found, self._t = self._sums.update(measured / self._scale), t

    def at(self, t: int) -> Estimate:
        """What is known of the sum that ends with the last measurement."""
        mean, deviation = self._found.mean * self._scale, self._found.deviation * self._scale
        return Estimate(mean, mean, deviation, deviation)

    def save(self) -> dict[str, Any]:
        return {"sums": self._sums.save(), "found": list(self._found), "scale": self._scale, "t": self._t}

    def load(self, saved: dict[str, Any]) -> None:
        self._sums.load(saved["sums"])
        self._found = Sums(*(np.array(each) for each in saved["found"]))
        self._scale, self._t = np.array(saved["scale"]), saved["t"]
