"""Cycles of public periods (a day, a week, a year), fitted to measurements of all bins. It sees published values only.

Every period has its own least-squares fit of a few waves, which forgets slowly. The one that foretold measurements best
so far is the season, as a rule only if it did so better than their mean; before any has proven itself, there is none.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.types import Floats

PERIODS = np.array([7, 12, 24, 48, 52, 96, 168, 336])
SHORT_WAVES, LONG_WAVES = (1, 2, 3, 4, 5, 0, 0, 0), (1, 2, 3, 4, 6, 7, 14, 21)  # waves in a period; 0: none
SHORT_RANKS, LONG_RANKS = (1, 2, 3, 4, 5, 1, 1, 1), (1, 2, 3, 4, 6, 1, 2, 3)  # how fine they are, for what they are of
LONG = 100  # a period from which it has both slow and fast waves: the days of a week in hours
CYCLES = 1.7  # of a period before its fit is used
SPARE = 1.5  # measurements for every number that is fitted
KEPT_LOSS = 0.98  # of how wrong a fit was, at every measurement
PROVEN = 4.5  # forecasts, at least, before a period can be the season
BETTER = 0.95  # of what the season misses, or the mean if there is none, that another must miss to take its place
TINY = 1e-9  # so that a stream that is its mean does not divide by nothing
RIDGE = 0.1  # of a measurement: what pulls waves to 0, and fine ones by their rank squared


class Season:
    """The cycle of every bin, over windows of ``window`` units.

    It is ``doubted`` whether there is any: then it has to do better than a mean. Where every unit is read, models that
    have no season show soon enough whether there is none.
    """

    def __init__(self, bins: int, window: int, *, doubted: bool = True) -> None:
        self._doubted = doubted
        waves = np.array([SHORT_WAVES if period < LONG else LONG_WAVES for period in PERIODS])
        ranks = np.array([SHORT_RANKS if period < LONG else LONG_RANKS for period in PERIODS])
        self._pull = RIDGE * np.square(ranks)
        self._used = (waves > 0) & (waves <= PERIODS[:, np.newaxis] / 2)
        self._turns = np.where(self._used, waves, 0) * 2 * np.pi / PERIODS[:, np.newaxis]
        self._size = 1 + 2 * self._used.sum(axis=1)
        self._memory = 6.0 * PERIODS + 3.0 * window
        terms = self._turns.shape[1] * 2 + 1
        self.products = np.zeros((len(PERIODS), terms, terms))
        self.moments, self.fits = np.zeros((2, len(PERIODS), terms, bins))
        self.losses, self.plain, self.forecasts = np.zeros((3, len(PERIODS)))  # of fits, and of the mean meanwhile
        self.fitted = np.zeros(len(PERIODS), np.bool_)
        self.chosen, self.releases, self.last = -1, 0, 0
        self.weight = 0.0  # of the last measurement
        self._waves = 0, self._waves_of(0)  # of the unit that was asked about last

    def at(self, t: int) -> Floats:
        """What the season adds at unit ``t``, in every bin; without its mean, which is the level's."""
        if self.chosen < 0:
            return np.zeros(self.fits.shape[2])
        basis = self._basis(t)[self.chosen]
        added: Floats = basis[1:] @ self.fits[self.chosen, 1:]
        return added

    def deviation(self, t: int) -> float:
        """How far off that may be, by the noise in it: more at hours that were never measured."""
        if self.chosen < 0:
            return 0.0
        basis = self._basis(t)[self.chosen].copy()
        basis[0] = 0
        return math.sqrt(2 * max(float(basis @ np.linalg.solve(self._ridged()[self.chosen], basis)), 0.0))

    def update(self, t: int, measured: Floats, weight: float) -> None:
        """Learn from a measurement of unit ``t``, weighted by the squared budget it had."""
        basis = self._basis(t)
        self._judge(basis, measured)
        kept = np.exp(-(t - self.last) / self._memory)[:, np.newaxis, np.newaxis]
        self.products = kept * self.products + weight * basis[:, :, np.newaxis] * basis[:, np.newaxis, :]
        self.moments = kept * self.moments + weight * basis[:, :, np.newaxis] * measured
        self.releases, self.last, self.weight = self.releases + 1, t, weight
        ripe = (t >= CYCLES * PERIODS) & (self.releases >= SPARE * self._size)
        if ripe.any():
            self.fits[ripe] = np.linalg.solve(self._ridged()[ripe], self.moments[ripe])
            self.fitted |= ripe

    def _judge(self, basis: Floats, measured: Floats) -> None:
        """How far every fit is off this time, beside the mean, and which is the season by now.

        What cannot do better than the mean is noise: a wave can be laid through that as well.
        """
        if not self.fitted.any():
            return
        off = np.abs(measured - np.einsum("pk,pkb->pb", basis, self.fits)).sum(axis=1)
        means = self.moments[:, 0] / self.products[:, :1, 0]  # with the memory that each period has
        plain = np.abs(measured - means).sum(axis=1)
        self.losses = np.where(self.fitted, KEPT_LOSS * self.losses + off, 0.0)
        self.plain = np.where(self.fitted, KEPT_LOSS * self.plain + plain, 0.0)
        self.forecasts = np.where(self.fitted, KEPT_LOSS * self.forecasts + 1, 0.0)
        beside, none = (self.plain, 1.0) if self._doubted else (self.forecasts, math.inf)
        missed = np.where(self.forecasts > PROVEN, self.losses / np.maximum(beside, TINY), np.inf)
        best, usual = int(missed.argmin()), float(missed[self.chosen]) if self.chosen >= 0 else none
        if missed[best] < BETTER * usual:
            self.chosen = best
        elif usual > none:
            self.chosen = -1

    def _basis(self, t: int) -> Floats:
        if self._waves[0] != t:
            self._waves = t, self._waves_of(t)
        return self._waves[1]

    def _waves_of(self, t: int) -> Floats:
        angles = self._turns * t
        waves = np.concatenate([np.cos(angles) * self._used, np.sin(angles) * self._used], axis=1)
        return np.concatenate([np.ones((len(PERIODS), 1)), waves], axis=1)

    def _ridged(self) -> Floats:
        """The normal equations, pulled a little towards no waves; those that a period lacks are none at all.

        Releases that always come at the same few hours cannot tell a fine wave from a coarse one: it is the coarse one.
        """
        pulled = np.where(self._used, self._pull * self.weight, 1.0)
        diagonal = np.concatenate([np.zeros((len(PERIODS), 1)), pulled, pulled], axis=1)
        ridged: Floats = self.products + diagonal[:, :, np.newaxis] * np.eye(diagonal.shape[1])
        return ridged

    def save(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in KEPT}

    def load(self, saved: dict[str, Any]) -> None:
        for name in KEPT:
            value = saved[name]
            setattr(self, name, np.array(value) if isinstance(value, np.ndarray) else value)


FITS = ("products", "moments", "fits", "losses", "plain", "forecasts", "fitted")
KEPT = (*FITS, "chosen", "releases", "last", "weight")
