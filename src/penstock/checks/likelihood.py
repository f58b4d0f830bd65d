"""How probable answers are, given the true values: logarithms, for discrete Laplace noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np

from penstock.types import Floats, Ints

TAIL = 30  # threshold noise beyond so many scales has a chance of exp(-30)
MOST_PLACES = 2**15
DIGITS = Context(prec=60)  # differences of logarithms of sums that have powers of 64 in them


@dataclass
class Run:
    """Comparisons under one threshold noise: the answer was yes if noise >= gap + threshold noise."""

    scale: float  # of the threshold noise, and what was drawn
    rho: int = 0
    gaps: list[tuple[int, int]] = field(default_factory=list)  # on the one stream, on the other
    scales: list[float] = field(default_factory=list)
    yeses: list[bool] = field(default_factory=list)

    def loss(self, points: int) -> float:
        """The logarithm of how much more probable these answers are on the one stream.

        The threshold noise is summed over, in ``points`` steps per scale; a scale below that is summed exactly.
        """
        if all(one == other for one, other in self.gaps):
            return 0.0
        rho, weights = self._places(points)
        one, other = (self._likelihood(rho, weights, which) for which in (0, 1))
        return one - other

    def _likelihood(self, rho: Ints, weights: Floats, which: int) -> float:
        logs: Floats = weights - np.abs(rho) / (self.scale or 1.0)  # without noise, rho is 0
        for gaps, scale, yes in zip(self.gaps, self.scales, self.yeses, strict=True):
            gap = gaps[which] + rho
            logs = logs + _log_at_least(gap if yes else 1 - gap, scale)
        return _log_sum(logs)

    def _places(self, points: int) -> tuple[Ints, Floats]:
        """Where threshold noise may lie, given the answers, and the logarithms of how much lies about each place.

        What is summed has bends at 0 and where a comparison is even, and falls or rises exponentially elsewhere. Away
        from 0 it matters only where an answer would be a surprise without threshold noise.
        """
        if not self.scale:
            return np.zeros(1, np.int64), np.zeros(1)
        told = zip(self.gaps, self.yeses, strict=True)
        bends = sorted({0, *(-gap for pair, yes in told for gap in pair if (gap > 0) == yes)})
        reach, step = math.ceil(TAIL * self.scale), max(int(self.scale / points), 1)
        narrowest = min(self.scales)
        if (bends[-1] - bends[0]) // step < MOST_PLACES and narrowest >= self.scale:
            places = np.arange(bends[0] - reach, bends[-1] + reach + 1, step)
            return places, np.zeros(len(places))
        fine = max(int(min(narrowest, self.scale) / points), 1)
        about = [np.arange(-reach, reach + 1, step), np.arange(-MOST_PLACES // 8, MOST_PLACES // 8) * fine]
        between = np.linspace(bends[0] - reach, bends[-1] + reach, MOST_PLACES).astype(np.int64)
        places = np.unique(np.concatenate([between, *(bend + near for bend in bends for near in about)]))
        widths = np.diff(places, prepend=places[0] - 1, append=places[-1] + 1)
        return places, np.log((widths[:-1] + widths[1:]) / 2)


@dataclass
class Shared:
    """Readings under one reach, of which a first few were made so far."""

    scale: Fraction
    noise: list[int]  # that was drawn for them; none if it was not drawn for a volley
    read: int = 0
    farthest: tuple[int, int] = (0, 0)  # the noise of them that lies farthest out, on the one stream and on the other

    def hear(self, one: int, other: int) -> int | None:
        """Another reading, with so much noise on either stream. The noise that was drawn for it, if there is any."""
        self.farthest = max(self.farthest[0], abs(one)), max(self.farthest[1], abs(other))
        self.read += 1
        return self.noise[self.read - 1] if self.read <= len(self.noise) else None

    def loss(self, points: int) -> float:
        """The logarithm of how much more probable these readings are on the one stream. Exact, whatever the points."""
        one, other = self.farthest
        rest = len(self.noise) - self.read
        return float("inf") if rest < 0 else difference_of_reaches(one, other, rest, self.scale)


def difference_of_reaches(one: int, other: int, rest: int, scale: Fraction) -> float:
    """The logarithm of how much more probable readings are whose noise goes as far as ``one`` than as ``other``.

    With q = exp(-1/scale), and ``rest`` readings not made yet, it is the sum over all reaches r from there on of q^r
    (2 r + 1)^rest, for which the others may lie anywhere within r.
    """
    with localcontext(DIGITS):
        away = Decimal(other - one) * scale.denominator / scale.numerator
        sums = [_horner(_places_left(rest, scale), 2 * far + 1) for far in (one, other)]
        return float(away + (sums[0] / sums[1]).ln())


@lru_cache(maxsize=256)
def _places_left(rest: int, scale: Fraction) -> list[Decimal]:
    """The sum over j of q^j (c + 2 j)^rest as a polynomial of c, its highest power first.

    Its coefficients are binomials times the sums over j of q^j j^k, each of which follows from those before it, as q^j
    j^k is q times q^(j-1) ((j - 1) + 1)^k. Nothing is ever subtracted.
    """
    q = (Decimal(-scale.denominator) / scale.numerator).exp()
    sums: list[Decimal] = []
    for k in range(rest + 1):
        before = sum((math.comb(k, i) * sums[i] for i in range(k)), start=Decimal(0))
        sums.append((q * before if k else Decimal(1)) / (1 - q))
    return [math.comb(rest, k) * 2**k * sums[k] for k in range(rest + 1)]


def _horner(coefficients: list[Decimal], c: int) -> Decimal:
    total = Decimal(0)
    for each in coefficients:
        total = total * c + each
    return total


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
    The product is a polynomial in s, which so many places sum exactly.
    """
    above = rate * (scores - scores.min())
    places, weights = _gauss(len(scores) // 2 + 1)
    fails: Floats = np.log1p(-np.outer(places, np.exp(-np.delete(above, chosen)))).sum(axis=1)
    return _log_sum(fails + np.log(weights)) - float(above[chosen])


def log_of_cell(cell: int, cells: int, middle: int, scale: float) -> float:
    """The logarithm of the chance that a Cauchy variable about the middle, rounded and cut to the cells, is this one.

    It is a difference of arc tangents, of which the outer ones are a right angle: what lies beyond is at the end.
    """
    low, high = ((cell - middle + side) / scale for side in (-0.5, 0.5))
    if cell == 0:
        angle = math.atan2(1.0, -high)
    elif cell == cells - 1:
        angle = math.atan2(1.0, low)
    else:
        angle = math.atan2(high - low, 1 + low * high)
    return math.log(angle / math.pi)


@lru_cache(maxsize=64)
def _gauss(number: int) -> tuple[Floats, Floats]:
    """Places between 0 and 1, and their weights, that integrate polynomials of a degree below 2 * number."""
    places, weights = np.polynomial.legendre.leggauss(number)
    return (places + 1) / 2, weights / 2


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
