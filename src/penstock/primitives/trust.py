"""How far models are believed: as far as they foretold measurements, here and in other bins."""

from __future__ import annotations

import numpy as np

from penstock.types import Floats, Mask

FORGETTING = 0.003  # of what is known about models, at every measurement
OWN_PRIOR = 5.0  # bins that the prior counts for when bins are pooled
NEGLIGIBLE = 0.001  # models below it are left out of estimates


class Trusting:
    """Has models for every bin, with weights. Pooled bins take each other's word for which models are likely.

    They lend each other what they have learnt about models, and each weighs its own evidence by that.
    """

    def __init__(self, bins: int, prior: Floats, *, pooling: bool, forgetting: float = FORGETTING) -> None:
        self._prior, self._pools, self._forgetting = prior, pooling and bins > 1, forgetting
        self.weights = np.tile(prior, (bins, 1))
        self.lent = self.weights.copy()  # the prior of each bin's models, as the other bins see it

    def trust(self, evidence: Floats, measured: Mask | slice = slice(None)) -> None:
        """Believe models by how likely each took a measurement to be, in logarithms, in the bins that were measured."""
        trusted = (1 - self._forgetting) * self.weights[measured] + self._forgetting * self.lent[measured]
        self.weights[measured] = shares(trusted * np.exp(evidence - evidence.max(axis=1, keepdims=True)))
        if self._pools:
            others = self.weights.sum(axis=0) - self.weights
            lent = (OWN_PRIOR * self._prior + others) / (OWN_PRIOR + len(others) - 1)
            self.weights = shares(self.weights * lent / self.lent)
            self.lent = lent


def shares(weights: Floats) -> Floats:
    """Of the sum of each bin."""
    whole: Floats = weights / weights.sum(axis=1, keepdims=True)
    return whole


def dominant(weights: Floats) -> Floats:
    """Weights without what is negligible, so that a thousand unlikely models do not add up to something."""
    return shares(np.where(weights < NEGLIGIBLE, 0.0, weights))
