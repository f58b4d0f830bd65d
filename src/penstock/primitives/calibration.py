"""How far to trust stated spreads: as far as earlier forecasts came true. It sees published values only."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.primitives.posterior import posterior
from penstock.primitives.trust import shares
from penstock.types import Floats

WIDER = np.array([0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6])  # so many times what was stated
EXPECTED = np.log([0.02, 0.2, 0.35, 0.22, 0.12, 0.06, 0.03])  # before anything is known
KEPT = 0.97  # of what earlier forecasts say, at every measurement
LENIENT = 0.85  # of that factor, where measurements are weighed against forecasts: a wide interval is no wrong forecast
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
        """What spreads are to be multiplied by: the mean of what may be right."""
        logs = self.evidence + LENT * self.evidence.mean(axis=0) + EXPECTED
        found: Floats = shares(np.exp(logs - logs.max(axis=1, keepdims=True))) @ WIDER
        return found

    def factor_now(self, spread: Floats, scale: Floats) -> Floats:
        """The same for what was just measured, which is at most as far off as its noise, whatever was foretold."""
        factor = self.factor
        found: Floats = factor * np.sqrt(_kept(factor, spread, scale))
        return found

    def corrected(self, guesses: Floats, deviation: Floats, measured: Floats, scale: Floats) -> tuple[Floats, Floats]:
        """Guesses at what was just measured, and their deviation: nearer to that where forecasts have been worse."""
        factor = np.maximum(LENIENT * self.factor, 1.0)
        kept = _kept(factor, deviation, scale)
        return measured + kept * (guesses - measured), factor * np.sqrt(kept) * deviation

    def save(self) -> dict[str, Any]:
        return {"evidence": self.evidence}

    def load(self, saved: dict[str, Any]) -> None:
        self.evidence = np.array(saved["evidence"])


def _kept(factor: Floats, spread: Floats, scale: Floats) -> Floats:
    """How much of its distance to a measurement an estimate keeps if the forecast in it was so much worse than stated.

    Both have a spread: that which is left after the measurement, and that of noise with this scale.
    """
    noise = 2 * np.square(scale)
    part: Floats = noise / (noise + (np.square(factor) - 1) * np.minimum(np.square(spread), noise))
    return part
