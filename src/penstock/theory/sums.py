"""Sums of independent Laplace noises: how far off a sum is, on average and at most.

A release says of every bin how much noise it carries (``noise_sd``). The noise is the discrete Laplace of the curator,
P(k) proportional to exp(-|k| / scale); ``discrete=False`` means Laplace's own density instead, in any unit. One term
has closed forms. More terms are wrapped around a circle that is wide enough for all but 1e-12 of the chance; there the
distribution is a Fourier series, whose coefficients are products of the terms' own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from penstock.errors import BadInput
from penstock.parameters import LARGEST, SMALLEST, within
from penstock.types import Floats, Ints

BEYOND = 1e-12  # the chance that is wrapped around the circle
NEGLIGIBLE = 1e-9  # a coefficient below this is left out, and so are all after it
MOST_TERMS = 2**21  # of the series
WIDEST, MANY = 100, 100  # noises that are kept, and that stand for all others
LARGEST_CONFIDENCE = 1 - 1e-6  # nearer to 1 the series is not exact enough


def standard_deviation(noise_sds: ArrayLike) -> float:
    """The standard deviation of the sum."""
    return float(np.sqrt(np.square(_checked(noise_sds)).sum()))


def expected_absolute(noise_sds: ArrayLike, *, discrete: bool = True) -> float:
    """How far from 0 the sum is on average.

    >>> expected_absolute([2.0], discrete=False), round(expected_absolute([2.0] * 100, discrete=False), 2)
    (1.4142135623730951, 15.94)
    """
    return _sum_of(noise_sds, discrete).expected_absolute()


def half_width(
    noise_sds: ArrayLike, confidence: float, *, discrete: bool = True, often: ArrayLike | None = None
) -> float:
    """The least h for which the sum lies within -h .. h with at least this probability; whole for discrete noise.

    ``often`` says how many terms have each of the standard deviations; one, if it is not told.

    >>> half_width([14.1], 0.95), half_width([14.1, 14.1], 0.95), half_width([], 0.95)
    (30.0, 41.0, 0.0)
    >>> half_width([14.1], 0.95, often=[2])
    41.0
    """
    within("confidence", confidence, 0, 1)
    if confidence > LARGEST_CONFIDENCE:
        raise BadInput(f"sums are not known to {confidence}; ask for a confidence of {LARGEST_CONFIDENCE} at most.")
    return _sum_of(noise_sds, discrete, often).half_width(confidence)


def condensed(noise_sds: Floats, besides: float = 0.0, often: Ints | None = None) -> Floats:
    """Much fewer noises whose sum is hardly any different: the widest, and many equal ones for all the others.

    ``besides`` is the variance of whatever else there is many of, ``often`` how many noises there are of each.

    >>> noises = np.append(np.linspace(1, 2, 5000), 30.0)
    >>> fewer = condensed(noises)
    >>> len(fewer), round(half_width(fewer, 0.95, discrete=False) / half_width(noises, 0.95, discrete=False), 2)
    (200, 1.0)
    """
    order = np.argsort(noise_sds)[::-1]
    ordered, numbers = noise_sds[order], np.ones(len(order), np.int64) if often is None else often[order]
    before = np.cumsum(numbers) - numbers
    kept = np.clip(WIDEST - before, 0, numbers)
    rest = float(((numbers - kept) * ordered**2).sum()) + besides
    return np.append(np.repeat(ordered, kept), np.full(MANY, math.sqrt(rest / MANY)))


def tail_bound(noise_sds: ArrayLike, beta: float) -> float:
    """What the sum exceeds, on either side, with a chance of ``beta`` at most: a bound without a series.

    Lemma 5.1 of Li et al. 2015, after Chan, Shi and Song: let the terms have scales b_i, the largest of them B, let
    nu^2 >= sum b_i^2 and 0 < x < 2 sqrt(2) nu^2 / B. Then P(Z > x) <= exp(-x^2 / (8 nu^2)). Here nu is the least that
    allows x = nu sqrt(8 ln(2 / beta)). The discrete Laplace has the smaller moments of the two, so it holds for it too.

    >>> tail_bound([14.1, 14.1], 0.05) > half_width([14.1, 14.1], 0.95)
    True
    """
    within("beta", beta, 0, 1)
    scales = _scales(_checked(noise_sds), discrete=True)
    largest, nats = float(scales.max(initial=0)), math.log(2 / beta)
    nu = max(float(np.sqrt(np.square(scales).sum())), largest * math.sqrt(nats))
    return nu * math.sqrt(8 * nats)


def laplace_scale(noise_sd: float) -> float:
    """The scale of the discrete Laplace of this standard deviation: the inverse of ``noise.laplace_sd``."""
    return float(_scales(_checked([noise_sd]), discrete=True).sum())


def _checked(noise_sds: ArrayLike) -> Floats:
    """The standard deviations of the terms that are not as good as 0."""
    sds = np.asarray(noise_sds, np.float64).ravel()
    if not ((sds >= 0) & (sds <= LARGEST)).all():
        raise BadInput(f"a standard deviation lies between 0 and {LARGEST:g}; pass the noise_sd of releases.")
    return sds[sds >= SMALLEST]


def _scales(sds: Floats, *, discrete: bool) -> Floats:
    scales: Floats = 0.5 / np.arcsinh(np.sqrt(0.5) / sds) if discrete else sds * np.sqrt(0.5)
    return scales


def _sum_of(noise_sds: ArrayLike, discrete: bool, often: ArrayLike | None = None) -> _Discrete | _Continuous:
    told = np.asarray(noise_sds, np.float64).ravel()
    sds, which = np.unique(_checked(told), return_inverse=True)
    numbers = np.ones(len(told)) if often is None else np.asarray(often, np.float64)
    kind = _Discrete if discrete else _Continuous
    counted: Floats = np.bincount(which, numbers[told >= SMALLEST], len(sds)).astype(np.float64)
    return kind(_scales(sds, discrete=discrete), counted)


@dataclass(frozen=True)
class _Continuous:
    """A sum of Laplace variables: their scales, all different, and how often each occurs."""

    scales: Floats
    often: Floats

    def expected_absolute(self) -> float:
        if self.often.sum() <= 1:
            return float(self.scales.sum())
        k = np.arange(1, len(self.coefficients) + 1)
        odd = k % 2 == 1
        missing = (self.coefficients[odd] / np.square(k[odd])).sum()
        return self.circle * (0.25 - 2 / math.pi**2 * float(missing))

    def half_width(self, confidence: float) -> float:
        if self.often.sum() <= 1:
            return -float(self.scales.sum()) * math.log1p(-confidence)
        low, high = 0.0, self.circle / 2
        while (middle := (low + high) / 2) not in (low, high):
            low, high = (low, middle) if self.inside(middle) >= confidence else (middle, high)
        return high

    def inside(self, h: float) -> float:
        """P(-h <= sum <= h)."""
        return 2 * h / self.circle + float((self.weights * np.sin(self.frequencies * h)).sum())

    @cached_property
    def circle(self) -> float:
        """How far it is around: twice what the sum reaches with a chance of BEYOND, by Chernoff's bound."""
        t = np.linspace(0.02, 0.98, 49) / self.scales.max()
        nats = math.log(2 / BEYOND) + sum(
            n * self.log_moment(b, t) for b, n in zip(self.scales, self.often, strict=True)
        )
        return self.rounded_up(2 * float((nats / t).min()))

    def rounded_up(self, width: float) -> float:
        return width

    def log_moment(self, scale: float, t: Floats) -> Floats:
        """ln E exp(t X)."""
        moment: Floats = -np.log1p(-np.square(scale * t))
        return moment

    def log_coefficient(self, scale: float, x: Floats) -> Floats:
        """ln E cos(x X)."""
        coefficient: Floats = -np.log1p(np.square(scale * x))
        return coefficient

    @cached_property
    def frequencies(self) -> Floats:
        return self.first_frequencies(len(self.coefficients))

    def first_frequencies(self, terms: int) -> Floats:
        return 2 * np.pi / self.circle * np.arange(1, terms + 1, dtype=np.float64)

    @cached_property
    def coefficients(self) -> Floats:
        """E cos(x Z) at every frequency, as far as it is not negligible."""
        terms = 64
        while terms < self.most_terms and self.characteristic(self.first_frequencies(terms)[-1:])[0] > NEGLIGIBLE:
            terms *= 2
        return self.characteristic(self.first_frequencies(min(terms, self.most_terms)))

    @property
    def most_terms(self) -> int:
        return MOST_TERMS

    def characteristic(self, x: Floats) -> Floats:
        logs = sum((n * self.log_coefficient(b, x) for b, n in zip(self.scales, self.often, strict=True)), np.zeros(1))
        values: Floats = np.exp(logs)
        return values

    @cached_property
    def weights(self) -> Floats:
        return 4 / self.circle * self.coefficients / self.frequencies


@dataclass(frozen=True)
class _Discrete(_Continuous):
    """A sum of discrete Laplace variables. The circle has an odd number of places, so its series is finite."""

    def expected_absolute(self) -> float:
        if self.often.sum() <= 1:
            return float((1 / np.sinh(1 / self.scales)).sum())
        places, half = self.circle, self.frequencies / 2
        signs = 1 - 2.0 * (np.arange(1, len(half) + 1) % 2)
        waves = (signs * np.cos(half) - 1) / np.square(np.sin(half))
        return (places - 1 / places) / 4 + float((self.coefficients * waves).sum()) / places

    def half_width(self, confidence: float) -> float:
        if not len(self.scales):
            return 0.0
        inside = self.inside if self.often.sum() > 1 else self.inside_alone
        return float(_first_whole(lambda h: inside(h) >= confidence))

    def inside_alone(self, h: float) -> float:
        """P(-h <= X <= h) of a single term."""
        rate = 1 / float(self.scales[0])
        return 1 - 2 * math.exp(-(h + 1) * rate) / (1 + math.exp(-rate))

    def inside(self, h: float) -> float:
        return super().inside(h + 0.5)

    def rounded_up(self, width: float) -> float:
        return 2.0 * math.ceil(width / 2) + 1

    @property
    def most_terms(self) -> int:
        return min(int(self.circle) // 2, MOST_TERMS)

    def log_moment(self, scale: float, t: Floats) -> Floats:
        moment: Floats = -np.log1p(-np.square(np.sinh(t / 2) / np.sinh(0.5 / scale)))
        return moment

    def log_coefficient(self, scale: float, x: Floats) -> Floats:
        coefficient: Floats = -np.log1p(np.square(np.sin(x / 2) / np.sinh(0.5 / scale)))
        return coefficient

    @cached_property
    def weights(self) -> Floats:
        return 2 / self.circle * self.coefficients / np.sin(self.frequencies / 2)


def _first_whole(holds: Callable[[float], bool]) -> int:
    """The least whole number from 0 on for which ``holds`` turns true."""
    high = 1
    while not holds(high):
        high *= 2
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
