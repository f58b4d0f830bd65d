"""How far to trust stated spreads: as far as earlier forecasts came true. It sees published values only."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.primitives.posterior import posterior
from penstock.types import Floats

WIDER = np.array([0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6])  # so many times what was stated
EXPECTED = np.log([0.02, 0.2, 0.35, 0.22, 0.12, 0.06, 0.03])  # before anything is known
KEPT = 0.97  # of what earlier forecasts say, at every measurement
LENT = 0.5  # of what the other bins' forecasts say, in the mean, as if it were one's own


class Calibration:
    """Every bin's own factor, found by which of a few would have foretold its measurements best."""

    def __init__(self, bins: int) -> None:
        self.evidence = np.zeros((bins, len(WIDER)))

    def update(self, missed: Floats, spread: Floats, scale: Floats) -> None:
        """A forecast with this spread missed a measurement, which has noise of this scale, by so much."""
        variance = np.square(spread[:, np.newaxis] * WIDER)
        found = posterior(missed[:, np.newaxis], variance, scale[:, np.newaxis]).evidence
        self.evidence = KEPT * self.evidence + found - found.max(axis=1, keepdims=True)

    @property
    def factor(self) -> Floats:
        """What spreads are to be multiplied by."""
        logs = self.evidence + LENT * self.evidence.mean(axis=0) + EXPECTED
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        found: Floats = np.exp((weights @ np.log(WIDER)) / weights.sum(axis=1))
        return found

    def factor_now(self, spread: Floats, scale: Floats) -> Floats:
        """The same for what was just measured, which is at most as far off as its noise, whatever was foretold."""
        factor, noise = self.factor, 2 * np.square(scale)
        known = np.minimum(np.square(spread), noise)
        bounded: Floats = factor * np.sqrt(noise / (np.square(factor) * known + noise - known))
        return bounded

    def save(self) -> dict[str, Any]:
        return {"evidence": self.evidence}

    def load(self, saved: dict[str, Any]) -> None:
        self.evidence = np.array(saved["evidence"])
