"""A Kalman filter over noisy measurements of slowly moving counts, one for each bin. It sees published values only."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from penstock.types import Floats, Mask

LEARNING = 0.2  # how quickly a drift that is not given follows what is seen


class Kalman:
    """Every bin is a random walk that is measured now and then.

    ``drift`` is the variance a bin gains in a time unit. If it is None, each bin's is learnt from how far its
    measurements stray from what was expected, precise ones counting for more. A bin's first measurement is taken as it
    is.

    >>> filter = Kalman(1, drift=3)
    >>> filter.correct(np.array([10]), variance=6, noise_sd=2)
    >>> filter.predict(); filter.predict()
    >>> filter.correct(np.array([16]), variance=6, noise_sd=2)  # gain (6 + 2 * 3) / (6 + 2 * 3 + 6)
    >>> filter.values, filter.noise_sd.round(3)
    (array([14.]), array([1.491]))
    """

    def __init__(self, bins: int, drift: float | None) -> None:
        self.values: Floats = np.zeros(bins)
        self._drift = np.full(bins, drift if drift is not None else 0.0)
        self._learns = drift is None
        self._strayed = np.zeros(bins)  # beyond noise, in a unit, squared: a sum in which older ones count less
        self._weight = np.zeros(bins)
        self._elapsed = np.zeros(bins)  # units since the last measurement
        self._uncertainty = np.full(bins, np.inf)  # before the first measurement anything is possible
        self._noise = np.zeros(bins)  # the variance of the drawn noise that the values carry

    @property
    def noise_sd(self) -> Floats:
        """How much drawn noise the values carry: the filter is linear, so it can be followed through."""
        carried: Floats = np.sqrt(self._noise)
        return carried

    def predict(self) -> None:
        """A time unit goes by."""
        self._elapsed += 1
        self._uncertainty += self._drift

    def correct(
        self, measured: ArrayLike, variance: ArrayLike, noise_sd: ArrayLike, which: Mask | slice = slice(None)
    ) -> None:
        """Take in measurements of the bins in ``which``. ``variance`` is how far to trust them."""
        measured, variance = np.asarray(measured, np.float64), np.asarray(variance, np.float64)
        before, values = self._uncertainty[which], self.values[which]
        if self._learns:
            before = self._learnt(measured - values, variance, which)
        after = 1 / (1 / before + 1 / variance)
        gain = after / variance
        self.values[which] = values + gain * (measured - values)
        self._noise[which] = (1 - gain) ** 2 * self._noise[which] + (gain * noise_sd) ** 2
        self._uncertainty[which], self._elapsed[which] = after, 0

    def set_uncertainty(self, variance: float) -> None:
        """Declare how uncertain all values are now."""
        self._uncertainty[:] = variance

    def _learnt(self, strayed: Floats, variance: Floats, which: Mask | slice) -> Floats:
        """Update the drift by what the measurement strayed beyond noise; returns the uncertainty with it."""
        before, elapsed = self._uncertainty[which], self._elapsed[which]
        known = np.isfinite(before)
        settled = np.where(known, before - self._drift[which] * elapsed, 0.0)
        seen = (strayed**2 - variance - settled) / np.maximum(elapsed, 1)
        weight = np.where(known, 1 / (variance + settled) ** 2, 0.0)
        self._strayed[which] = (1 - LEARNING) * self._strayed[which] + LEARNING * weight * seen
        self._weight[which] = (1 - LEARNING) * self._weight[which] + LEARNING * weight
        drift = np.maximum(self._strayed[which], 0.0) / np.where(self._weight[which] > 0, self._weight[which], 1.0)
        self._drift[which] = drift
        learnt: Floats = np.where(known, settled + drift * elapsed, before)
        return learnt

    def save(self) -> dict[str, Any]:
        held = self.values, self._drift, self._strayed, self._weight, self._elapsed, self._uncertainty, self._noise
        return {"rows": np.array(held)}

    def load(self, saved: dict[str, Any]) -> None:
        rows = (np.array(row) for row in saved["rows"])
        self.values, self._drift, self._strayed, self._weight, self._elapsed, self._uncertainty, self._noise = rows
