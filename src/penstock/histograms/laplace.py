"""Laplace: every cell by itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.epsilon import Epsilon
from penstock.histograms.base import Histogram, Measured, Shape
from penstock.primitives.purse import Purse
from penstock.types import Floats, Kind


@dataclass(frozen=True)
class Laplace(Histogram):
    """Noise on every cell by itself, all of the budget in one question. Best for few cells and for small ranges."""

    def measure(self, ask: Purse, shape: Shape, e: Epsilon) -> Measured:
        return Measured(ask(e), Kind.FRESH, np.full(ask.size, ask.noise_sd(e)))

    def noises(self, shape: Shape, noise_sd: Floats, weights: Floats) -> Floats:
        counted = weights != 0
        noises: Floats = np.abs(weights[counted]) * noise_sd[counted]
        return noises
