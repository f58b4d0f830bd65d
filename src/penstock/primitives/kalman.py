"""A Kalman filter over noisy measurements of slowly moving counts, one for each bin. It sees published values only."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from penstock.types import Floats, Mask

FORGETTING = 0.03  # of a measurement's variance, added before it: so nothing older than some dozens counts for much
SURPRISING = 16.0  # four deviations, squared: what is so far off says that the bin has moved, and is seldom noise
ANYTHING = np.array(np.inf)  # is possible where nothing is known
LEAST_VARIANCE = 1e-12  # noise that rounds to nothing still leaves something to divide by


class Kalman:
    """Every bin is a random walk that is measured now and then.

    ``drift`` is the variance a bin gains in a time unit. If it is None the filter finds out by itself: it forgets a
    little at each measurement, and starts again from one that surprises it. A first measurement is taken as it is.

    >>> filter = Kalman(1, drift=3)
    >>> filter.correct(np.array([10]), variance=6, noise_sd=2)
    >>> filter.predict(); filter.predict()
    >>> filter.correct(np.array([16]), variance=6, noise_sd=2)  # gain (6 + 2 * 3) / (6 + 2 * 3 + 6)
    >>> filter.values, filter.noise_sd.round(3)
    (array([14.]), array([1.491]))
    """

    def __init__(self, bins: int, drift: float | None) -> None:
        self.values: Floats = np.zeros(bins)
        self._drift, self._t = drift, 0
        self._uncertainty = np.full(bins, ANYTHING)  # before the first measurement
        self._noise = np.zeros(bins)  # the variance of the drawn noise that the values carry

    @property
    def noise_sd(self) -> Floats:
        """How much drawn noise the values carry: each is a mean of measurements, so it can be followed through."""
        carried: Floats = np.sqrt(self._noise)
        return carried

    def predict(self, units: int = 1) -> None:
        """So many time units go by."""
        self._t += units
        if self._drift is not None:
            self._uncertainty += self._drift * units

    def predict_to(self, t: int) -> None:
        """Time has come to unit ``t``, whoever saw the units before it."""
        self.predict(t - self._t)

    def correct(
        self, measured: ArrayLike, variance: ArrayLike, noise_sd: ArrayLike, which: Mask | slice = slice(None)
    ) -> None:
        """Take in measurements of the bins in ``which``. ``variance`` is how little to trust them."""
        variance = np.maximum(np.asarray(variance, np.float64), LEAST_VARIANCE)
        strayed, drawn = np.asarray(measured, np.float64) - self.values[which], np.asarray(noise_sd, np.float64)
        before = self._uncertainty[which]
        if self._drift is None:
            before = before + FORGETTING * variance
            before = np.where(strayed**2 > SURPRISING * (before + variance), ANYTHING, before)
        after = 1 / (1 / before + 1 / variance)
        gain = after / variance
        self.values[which] += gain * strayed
        self._noise[which] = (1 - gain) ** 2 * self._noise[which] + (gain * drawn) ** 2
        self._uncertainty[which] = after

    def set_uncertainty(self, variance: float) -> None:
        """Declare how uncertain all values are now."""
        self._uncertainty[:] = variance

    def save(self) -> dict[str, Any]:
        return {"t": self._t, "rows": np.array([self.values, self._uncertainty, self._noise])}

    def load(self, saved: dict[str, Any]) -> None:
        self._t = saved["t"]
        self.values, self._uncertainty, self._noise = (np.array(row) for row in saved["rows"])
