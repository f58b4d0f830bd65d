"""How probable answers are, given the true values: logarithms, for discrete Laplace noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from penstock.types import Floats, Ints

TAIL = 30  # threshold noise beyond so many scales has a chance of exp(-30)


@dataclass
class Run:
    """Comparisons under one threshold noise: the answer was yes if noise >= gap + threshold noise."""

    scale: float
    gaps: list[tuple[int, int]] = field(default_factory=list)  # on the one stream, on the other
    scales: list[float] = field(default_factory=list)
    yeses: list[bool] = field(default_factory=list)

    def loss(self, points: int) -> float:
        """The logarithm of how much more probable these answers are on the one stream.

        The threshold noise is summed over, in ``points`` steps per scale; a scale below that is summed exactly.
        """
        if all(one == other for one, other in self.gaps):
            return 0.0
        stride = max(int(self.scale / points), 1)
        rho = np.arange(-math.ceil(TAIL * self.scale), math.ceil(TAIL * self.scale) + 1, stride)
        one, other = (self._likelihood(rho, which) for which in (0, 1))
        return one - other

    def _likelihood(self, rho: Ints, which: int) -> float:
        logs: Floats = -np.abs(rho) / (self.scale or 1.0)  # without noise, rho is 0
        for gaps, scale, yes in zip(self.gaps, self.scales, self.yeses, strict=True):
            gap = gaps[which] + rho
            logs = logs + _log_at_least(gap if yes else 1 - gap, scale)
        return _log_sum(logs)


def log_of_sample(answer: Ints, truth: Ints, chance: float, scales: Sequence[Fraction]) -> float:
    """The probability of noisy numbers of sampled records: a mixture over how many were sampled."""
    total = 0.0
    for value, records, scale in zip(answer.tolist(), truth.tolist(), scales, strict=True):
        kept = np.arange(records + 1)
        total += _log_sum(_log_binomial(records, chance) - np.abs(value - kept) / float(scale))
    return total


def log_first_heads(scores: Ints, chosen: int, rate: float) -> float:
    """The logarithm of the chance that permute-and-flip chooses this score.

    Coins fall with exp(-rate * (score - least)). In a random order every coin comes at a uniform time s, and the chosen
    one wins if all that come before it fail: heads * integral over s of the product of (1 - s * heads of the others).
    """
    heads = np.exp(-rate * (scores - scores.min()))
    product = np.polynomial.Polynomial([1.0])
    for other in np.delete(heads, chosen):
        product = product * np.polynomial.Polynomial([1.0, -other])
    return math.log(float(heads[chosen]) * float(product.integ()(1.0)))


def _log_at_least(k: Ints, scale: float) -> Floats:
    """The logarithm of the chance that discrete Laplace noise is ``k`` or more."""
    above = -np.maximum(k, 1) / scale - math.log1p(math.exp(-1 / scale))
    below = np.log1p(-np.exp((np.minimum(k, 0) - 1) / scale) / (1 + math.exp(-1 / scale)))
    chance: Floats = np.where(k >= 1, above, below)
    return chance


def _log_sum(logs: Floats) -> float:
    most = float(logs.max())
    return most + math.log(float(np.exp(logs - most).sum()))


def _log_binomial(records: int, chance: float) -> Floats:
    """The logarithms of the chances that 0 .. ``records`` are sampled."""
    if chance == 1:
        return np.where(np.arange(records + 1) == records, 0.0, -np.inf)
    ways = [math.lgamma(records + 1) - math.lgamma(k + 1) - math.lgamma(records - k + 1) for k in range(records + 1)]
    kept = np.arange(records + 1)
    logs: Floats = np.array(ways) + kept * math.log(chance) + (records - kept) * math.log1p(-chance)
    return logs
