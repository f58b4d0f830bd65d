"""The best guess of every bin at every unit, from measurements now and then. It sees published values only.

A bank of filters follows every bin; a season, if there is one, is taken off before and put on again; bins that are
alike correct each other. All in units of the noise that epsilon buys.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.primitives.bank import Bank, Belief, passage
from penstock.primitives.calibration import Calibration
from penstock.primitives.dynamics import dynamics
from penstock.primitives.reach import Reach
from penstock.primitives.relative import relative_median
from penstock.primitives.season import Season
from penstock.primitives.shrinkage import Shrinkage
from penstock.types import Floats

REACH = 2.12  # deviations of Laplace noise that leave out one in twenty; a normal has lighter tails than estimates


class Estimate(NamedTuple):
    """Counts, how far they are off as a rule, and the deviation that their intervals are made from."""

    mean: Floats
    median: Floats
    deviation: Floats
    spread: Floats

    def times(self, unit: float) -> Estimate:
        """The same in another unit."""
        return Estimate(*(each * unit for each in self))

    def made_for(self, objective: str) -> Floats:
        """What is to be published if this error is to be small: "mae", "rmse" or "mre"."""
        return {"mae": self.median, "rmse": self.mean}[objective] if objective != "mre" else self.relative_median

    @property
    def relative_median(self) -> Floats:
        """The counts whose relative error is smallest, in units of one."""
        return np.minimum(relative_median(self.mean, self.deviation), np.maximum(self.median, 0))

    @property
    def interval(self) -> tuple[Floats, Floats]:
        """Between what the counts lie with a probability of 95 %; not below zero."""
        low, high = (np.maximum(self.mean + sign * REACH * self.spread, 0) for sign in (-1, 1))
        return low, high


class Estimator:
    """Follows ``bins`` through windows of so many units. What may be left out are its parts."""

    def __init__(
        self, bins: int, window: int, *, pooling: bool = True, seasons: bool = True, shrinking: bool = True
    ) -> None:
        self.bank = Bank(bins, dynamics(window), pooling=pooling)
        self._season = Season(bins, window) if seasons else None
        self._shrinkage = Shrinkage(bins) if shrinking else None
        self._calibration = Calibration(bins)
        self._belief: Belief | None = None
        self._found: tuple[int, Estimate] | None = None  # asked for last: the watch wants to know it, then the release
        self._t = 0  # of the last measurement
        self._scale = np.ones(bins)  # of its noise
        self._reach: Reach | None = None  # of the noise of the latest volley

    @staticmethod
    def numbers(window: int) -> int:
        """How many are kept of every bin, about."""
        return 4 * dynamics(window).size + 460

    def expect(self, size: int, scale: float) -> None:
        """A volley of so many readings begins. They share a price, which buys a single one noise of this scale."""
        self._reach = Reach.of(scale, size)

    def observe(self, t: int, measured: Floats, scale: Floats, *, volley: bool = False) -> None:
        """Take in a measurement of unit ``t`` with noise of these scales: a reading of the volley, or one alone."""
        column, noise = measured[:, np.newaxis], scale[:, np.newaxis]
        if self._belief is None:
            self._belief = self.bank.begin(column, noise)
        else:
            foreseen = self._later(self._belief, t)
            self._calibration.update(measured - foreseen.mean, foreseen.spread, scale)
            reach, season = self._reach if volley else None, self._seasonal(t)[:, np.newaxis]
            belief = self.bank.update(column, noise, t - self._t, season, reach)
            guesses = np.stack([belief.mean, belief.median])
            (mean, median), deviation = self._calibration.corrected(guesses, belief.deviation, measured, scale)
            self._belief = belief._replace(mean=mean, median=median, deviation=deviation)
        self._t, self._scale, self._found = t, scale, None
        self._learn_season(t, measured, float(np.mean(scale) ** -2))
        if self._shrinkage:
            new = np.minimum(np.square(self._belief.deviation / scale) / 2, 1)  # what is left of the noise is its own
            self._shrinkage.fit(self._belief.mean, self._belief.deviation, new)

    def at(self, t: int) -> Estimate:
        """What is known of unit ``t``, which is that of the last measurement or comes after it."""
        if self._found is None or self._found[0] != t:
            self._found = t, self._improved(t)
        return self._found[1]

    def _improved(self, t: int) -> Estimate:
        assert self._belief is not None
        if t == self._t:
            estimate = self._now(self._belief)
            factor = self._calibration.factor_now(estimate.spread, self._scale)
        else:
            estimate, factor = self._later(self._belief, t), self._calibration.factor
        estimate = estimate._replace(spread=factor * estimate.spread)
        if self._shrinkage is None:
            return estimate
        mean, deviation = self._shrinkage.improved(estimate.mean, estimate.deviation)
        median = self._shrinkage.medians(estimate.median, estimate.deviation)
        return Estimate(mean, median, deviation, deviation * estimate.spread / estimate.deviation)

    @property
    def weights(self) -> Floats:
        """How likely every model is, in every bin."""
        return self.bank.weights

    @property
    def levels(self) -> Floats:
        """Where the bins are, without their seasons."""
        assert self._belief is not None
        return self._belief.level

    def _now(self, belief: Belief) -> Estimate:
        return Estimate(belief.mean, belief.median, belief.deviation, belief.spread)

    def _later(self, belief: Belief, t: int) -> Estimate:
        gap = t - self._t
        mean = belief.level + passage(gap).reach * belief.velocity + belief.seasonal * self._seasonal(t)
        deviation = np.sqrt(np.square(belief.level_deviation) + gap * np.square(belief.drift))
        seasonal = belief.seasonal * (self._season.deviation(t) if self._season else 0.0)
        variance = np.square(belief.level_spread) + gap * np.square(belief.drift_spread) + np.square(seasonal)
        return Estimate(mean, mean + belief.skew, deviation, np.sqrt(variance))

    def _seasonal(self, t: int) -> Floats:
        return self._season.at(t) if self._season else np.zeros(len(self.bank.level))

    def _learn_season(self, t: int, measured: Floats, weight: float) -> None:
        """A season that changes takes over from the old one where it stands, so that nothing jumps."""
        if self._season is None or self._belief is None:
            return
        before = self._season.at(t), self._season.chosen
        self._season.update(t, measured, weight)
        if self._season.chosen != before[1]:
            moved = before[0] - self._season.at(t)
            self.bank.move_seasonal(moved[:, np.newaxis])
            self._belief = self._belief._replace(level=self._belief.level + self._belief.seasonal * moved)

    def save(self) -> dict[str, Any]:
        return {
            "bank": self.bank.save(),
            "calibration": self._calibration.save(),
            "season": self._season and self._season.save(),
            "shrinkage": self._shrinkage and self._shrinkage.save(),
            "belief": self._belief and list(self._belief),
            "t": self._t,
            "scale": self._scale,
            "reach": self._reach and self._reach.save(),
        }

    def load(self, saved: dict[str, Any]) -> None:
        self.bank.load(saved["bank"])
        self._calibration.load(saved["calibration"])
        if self._season:
            self._season.load(saved["season"])
        if self._shrinkage:
            self._shrinkage.load(saved["shrinkage"])
        self._belief = saved["belief"] and Belief(*(np.array(each) for each in saved["belief"]))
        self._t, self._scale, self._found = saved["t"], np.array(saved["scale"]), None
        self._reach = saved["reach"] and Reach.load(saved["reach"])
