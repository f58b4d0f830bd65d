"""A bank of filters, one for every bin and model: where each bin is, and how it moves. It sees published values only.

Every model keeps its own level, and is believed as far as it foretold the measurements. Bins lend each other what they
have learnt about models, not about levels. All in units of the noise that epsilon buys.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from penstock.primitives import mixture
from penstock.primitives.dynamics import DAMPING, Dynamics
from penstock.primitives.posterior import posterior
from penstock.primitives.reach import Reach
from penstock.primitives.trust import Trusting, dominant
from penstock.types import Floats, Mask

SURPRISING = 12.0  # noise scales between estimate and measurement (more, of many bins) at which a bin starts again
KEPT = ("level", "variance", "velocity", "crossed", "velocity_variance", "weights", "lent")
NEXT_TO_NOTHING = 1e-9  # so that a level that stands still has a logarithm
FIRST_VELOCITY = 4.0  # the variance of a velocity that nothing is known of, in what it gains in a unit


class Belief(NamedTuple):
    """What models say of the unit that was measured, mixed: of the count, and of the level under it.

    Deviations are geometric means over models, which a few far-fetched ones do not spoil; a ``spread`` is that of the
    whole mixture.
    """

    mean: Floats
    median: Floats
    deviation: Floats
    spread: Floats
    level: Floats
    skew: Floats  # from the mean of levels and their seasons to the median
    velocity: Floats
    level_deviation: Floats  # of a count around its level
    level_spread: Floats
    drift: Floats  # deviations that a level gains in a unit
    drift_spread: Floats
    seasonal: Floats  # the part of the mixture that has a season


class Correction(NamedTuple):
    """What a measurement does to filters: how likely it was, where level and count are found, and how surely."""

    evidence: Floats
    level: Floats  # measured from where it was expected, as is the count
    level_variance: Floats
    found: Floats
    found_variance: Floats
    reaches: Floats  # the evidence of every reach, for each bin and model, if that of the noise is not known


class Passage(NamedTuple):
    """What so many units do to a level that has a velocity, and to what is uncertain about both."""

    reach: float  # how far a velocity carries
    kept: float  # of the velocity
    level: float  # variances gained, for each that the velocity gains in a unit
    mixed: float
    velocity: float


@lru_cache(maxsize=1024)
def passage(gap: int) -> Passage:
    """Of ``gap`` units."""
    kept = DAMPING ** np.arange(gap + 1)
    reach = np.cumsum(kept) - 1
    before, far = kept[:-1], reach[:-1]
    sums = (np.sum(1 + far**2), np.sum(far * before), np.sum(before**2))
    return Passage(float(reach[-1]), float(kept[-1]), *(float(each) for each in sums))


class Bank(Trusting):
    """Filters for ``bins`` x models. Measurements may be one a bin, or one for each model of it as well."""

    def __init__(self, bins: int, models: Dynamics, *, pooling: bool = True) -> None:
        super().__init__(bins, models.prior, pooling=pooling)
        self.models = models
        shape = bins, models.size
        self.level, self.variance = np.zeros(shape), np.zeros(shape)
        moving = bins, len(range(*models.trends.indices(models.size)))
        self.velocity, self.crossed, self.velocity_variance = (np.zeros(moving) for _ in range(3))

    def begin(self, measured: Floats, scale: Floats) -> Belief:
        """Take a first measurement as it is."""
        self._restart(np.broadcast_to(measured, self.level.shape), scale, slice(None))
        return self._taken(measured, scale)

    def update(self, measured: Floats, scale: Floats, gap: int, season: Floats, reach: Reach | None = None) -> Belief:
        """Take in a measurement, ``gap`` units after the last; ``season`` is what it adds to the level of each bin.

        Its noise is Laplace noise of this ``scale``, or that of a volley, whose ``reach`` becomes better known.
        """
        self.advance(gap)
        expected = self.level + self.models.seasonal * season
        found = self.correct(measured - expected, scale, gap, reach)
        if reach:
            reach.learn(found.reaches)
        self.trust(found.evidence)
        belief = self._mixed(expected + found.found, found.found_variance, self.models.seasonal * season)
        return self._checked(belief, measured[:, :1], scale, season)

    def advance(self, gap: int) -> None:
        """Units go by: levels become less certain, and those with a velocity move."""
        models, over = self.models, passage(gap)
        trends, gained = models.trends, models.velocity[models.trends]
        self.variance += gap * models.level
        self.level[:, trends] += over.reach * self.velocity
        carried = 2 * over.reach * self.crossed + over.reach**2 * self.velocity_variance
        self.variance[:, trends] += carried + over.level * gained
        self.crossed = over.kept * (self.crossed + over.reach * self.velocity_variance) + over.mixed * gained
        self.velocity_variance = over.kept**2 * self.velocity_variance + over.velocity * gained
        self.velocity *= over.kept

    def correct(self, surprise: Floats, scale: Floats, gap: int, reach: Reach | None = None) -> Correction:
        """Move every filter by what the measurement says."""
        models, trends, sudden = self.models, self.models.trends, self.models.sudden
        surprise = np.broadcast_to(surprise, self.level.shape)
        found = _corrected(surprise, self.variance, models.around, scale, reach, slice(None))
        wider, farther = self.variance[:, sudden] + models.jump[sudden], (models.around + models.burst)[sudden]
        happened = _corrected(surprise[:, sudden], wider, farther, scale, reach, sudden)
        units = np.where(models.burst[sudden] > 0, 1, gap)  # a burst before this one is over
        nothing = units * np.log1p(-models.rate[sudden])
        _put(found, sudden, _either(Correction(*(part[:, sudden] for part in found)), happened, nothing))
        before = self.variance[:, trends]
        moving, certain = self.crossed / before, (before - found.level_variance[:, trends]) / before
        self.velocity += moving * found.level[:, trends]
        self.velocity_variance -= moving * self.crossed * certain
        self.crossed -= self.crossed * certain
        self.level += found.level
        self.variance = found.level_variance
        return found

    def _mixed(self, count: Floats, variance: Floats, season: Floats) -> Belief:
        models, likely = self.models, dominant(self.weights)

        def mean(of: Floats) -> Floats:
            return np.asarray(np.einsum("bm,bm->b", likely, of))

        def spread(of: Floats, variances: Floats, middle: Floats) -> Floats:
            whole: Floats = np.sqrt(mean(variances + np.square(of - middle[:, np.newaxis])))
            return whole

        middle, level, around = mean(count), mean(self.level), self.variance + models.around
        seasoned = self.level + season
        return Belief(
            middle,
            mixture.median(likely, count, variance),
            np.exp(0.5 * mean(np.log(variance))),
            spread(count, variance, middle),
            level,
            mixture.median(likely, seasoned, around) - mean(seasoned),
            np.einsum("bm,bm->b", likely[:, models.trends], self.velocity),
            np.exp(0.5 * mean(np.log(around))),
            spread(self.level, around, level),
            np.exp(0.5 * (likely @ np.log(models.level + NEXT_TO_NOTHING))),
            np.sqrt(likely @ (models.level + models.velocity)),
            likely @ models.seasonal,
        )

    def _checked(self, belief: Belief, measured: Floats, scale: Floats, season: Floats) -> Belief:
        """Bins of which no model had an idea start again from what was measured, and may do so at every unit."""
        limit = SURPRISING + np.log(len(self.level))
        lost: Mask = np.abs(belief.mean - measured[:, 0]) > limit * scale[:, 0]
        if not lost.any():
            return belief
        self._restart((measured - self.models.seasonal * season)[lost], scale[lost], lost)
        self.weights[lost] /= 2
        self.weights[lost, np.argmax(self.models.level)] += 0.5
        again = self._taken(measured, scale)
        again = again._replace(level=again.level - belief.seasonal * season[:, 0], seasonal=belief.seasonal)
        return Belief(*(np.where(lost, new, old) for new, old in zip(again, belief, strict=True)))

    def _restart(self, level: Floats, scale: Floats, which: Mask | slice) -> None:
        self.level[which] = level
        self.variance[which] = 2 * scale**2 + self.models.around
        self.velocity[which] = self.crossed[which] = 0
        self.velocity_variance[which] = FIRST_VELOCITY * self.models.velocity[self.models.trends]

    def _taken(self, measured: Floats, scale: Floats) -> Belief:
        """What is believed of measurements that are taken as they are."""
        none, measured, noise = np.zeros(len(measured)), measured[:, 0], np.sqrt(2) * scale[:, 0]
        return Belief(measured, measured, noise, noise, measured, none, none, noise, noise, none, none, none)

    def move_seasonal(self, by: Floats) -> None:
        """Another season is used from now on: levels under it are moved so that the sum stays."""
        self.level += self.models.seasonal * by

    def save(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in KEPT}

    def load(self, saved: dict[str, Any]) -> None:
        for name in KEPT:
            setattr(self, name, np.array(saved[name]))


def _corrected(
    surprise: Floats, variance: Floats, around: Floats, scale: Floats, reach: Reach | None, models: slice
) -> Correction:
    whole = variance + around
    if reach:
        found, reaches = reach.posterior(surprise, whole, models)
    else:
        found, reaches = posterior(surprise, whole, scale), np.empty((*whole.shape, 0))
    gain = variance / whole
    left = variance * (1 - gain * (1 - found.variance / whole))
    return Correction(found.evidence, gain * found.mean, left, found.mean, found.variance, reaches)


def _either(usual: Correction, happened: Correction, nothing: Floats) -> Correction:
    """Something may have happened or ``nothing``, by its log-probability: mean and variance of both."""
    something = np.log(-np.expm1(nothing))
    unusual = happened.evidence + something
    evidence = np.logaddexp(usual.evidence + nothing, unusual)
    reaches = np.logaddexp(usual.reaches + nothing[:, np.newaxis], happened.reaches + something[:, np.newaxis])
    share = np.exp(unusual - evidence)
    level = _merged(share, usual.level, usual.level_variance, happened.level, happened.level_variance)
    count = _merged(share, usual.found, usual.found_variance, happened.found, happened.found_variance)
    return Correction(evidence, *level, *count, reaches)


def _merged(share: Floats, mean: Floats, variance: Floats, other: Floats, others: Floats) -> tuple[Floats, Floats]:
    apart = other - mean
    return mean + share * apart, variance + share * (others - variance + (1 - share) * apart**2)


def _put(whole: Correction, where: slice, part: Correction) -> None:
    for old, new in zip(whole, part, strict=True):
        old[:, where] = new
