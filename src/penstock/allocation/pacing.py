"""How often to publish: as often as is best for what the stream may be, going by what was published."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.allocation.risk import WINDOWS, Objective, paces, risks
from penstock.allocation.watch import Experience, alarms, in_time, pays
from penstock.primitives.dynamics import Dynamics, dynamics
from penstock.primitives.season import PERIODS
from penstock.primitives.trust import dominant, shares
from penstock.types import Floats, Ints

EVENED = 0.5, 1.0  # of estimates' leaning to slow models that plans take back; and if counts are large, at first
LARGE = 100.0  # in units of the noise that epsilon buys; small is one
HOURS = 3  # of a season that releases come at, at least
LEAST = 3  # releases in a window, so that a jump that no watch sees is not missed for long


class Table(NamedTuple):
    """Logarithms of errors by pace and model, with a watch and without, and how much plans take back of leaning."""

    unwatched: Floats
    watched: Floats
    leaning: Floats


class Pacing:
    """The expected error of every pace in every bin, and the pace that is best for all of them.

    Estimates take slow models for more likely; plans take every pace for as likely to be the best one, on a scale of
    logarithms. ``fixed`` is a pace that is not up for choice. If streams at rest are ``watched``, jumps cost less, but
    all bins share the yeses of a watch. While ``sharing``, readings that follow each other are to share what they cost.
    """

    def __init__(
        self,
        bins: int,
        window: int,
        objective: Objective,
        *,
        endless: bool,
        fixed: int = 0,
        watched: bool = True,
        may_share: bool = False,
    ) -> None:
        models, windows = dynamics(window), WINDOWS if endless else 1
        self._window, self._paces = window, paces(window)
        self._power = 2 if objective == "rmse" else 1  # of errors that are added up
        self._watched, self._alarms = watched, alarms(models, window)
        known = risks(window, objective, windows=windows, shared=(False, True) if may_share else (False,))
        self._tables = [self._table(unwatched, watched, models) for unwatched, watched in known]
        self.sharing = False
        self._allowed = self._paces >= min(LEAST, window)
        self._fixed = fixed
        self.best = fixed or window
        self.last = 0  # the unit of the last measurement
        self.experience = Experience(window)
        self.errors = np.zeros((bins, len(self._paces)))

    @property
    def every(self) -> int:
        """How many units lie between releases."""
        evenly = -(-self._window // self.best)
        return evenly if self._fixed else off_beat(evenly)

    def update(self, t: int, weights: Floats, levels: Floats, importance: Floats) -> None:
        """Expect errors as the models do, by their weights; what was expected in earlier windows fades.

        The first measurement says nothing about how the stream moves, nor does a second one of the same unit.
        """
        gap, self.last = t - self.last, t
        if self._fixed or gap in (0, t):
            return
        table = self._tables[self.sharing]
        likely = dominant(shares(weights * np.exp(self._evened(t, levels)[:, np.newaxis] * table.leaning)))
        fresh = max(-math.expm1(-gap / self._window), gap / t)
        self.experience.fade(gap)
        others = self.experience.expected(likely @ self._alarms) * (1 - 1 / len(likely))
        self.errors += fresh * (np.exp(likely @ self._expected(table, others).T) - self.errors)
        expected = np.where(self._allowed, importance @ self.errors, np.inf)
        self.best = int(self._paces[expected.argmin()])

    def _evened(self, t: int, levels: Floats) -> Floats:
        """How much of the leaning plans take back: the larger a count is beside its noise, the further it may move.

        That is a guess, for want of anything better, and fades when a window has been seen.
        """
        large = np.interp(np.log(np.maximum(levels, 1)), (0, math.log(LARGE)), (0, 1))
        evened: Floats = EVENED[0] + (EVENED[1] - EVENED[0]) * math.exp(-t / self._window) * large
        return evened

    def _table(self, unwatched: Floats, watched: Floats, models: Dynamics) -> Table:
        table = Table(unwatched, watched, np.zeros(models.size))
        usual = models.burst == 0  # bursts come and go before a pace could follow them
        even = _evenly(self._paces, self._expected(table, 0.0).argmin(axis=0), models.flat * usual)
        return table._replace(leaning=np.log(np.where(usual, even / models.prior, 1.0)))

    def _expected(self, table: Table, others: float) -> Floats:
        """The logarithms of errors if a watch is shared with other bins that need so many yeses in a window."""
        unwatched, watched, _ = table
        there = in_time(self._alarms + others) if self._watched else 0.0
        found: Floats = unwatched + np.log1p(there * np.expm1(self._power * (watched - unwatched))) / self._power
        return found

    def save(self) -> dict[str, Any]:
        kept = {"errors": self.errors, "best": self.best, "last": self.last, "sharing": self.sharing}
        return kept | {"experience": self.experience.save()}

    def load(self, saved: dict[str, Any]) -> None:
        self.errors, self.best, self.last = np.array(saved["errors"]), saved["best"], saved["last"]
        self.sharing = saved["sharing"]
        self.experience.load(saved["experience"])


@lru_cache(maxsize=1024)
def can_rest(window: int) -> bool:
    """Whether releases can be so seldom in a window that a watch between them is worth its price.

    >>> [window for window in range(1, 30) if can_rest(window)][0]
    16
    """
    allowed = (pace for pace in paces(window).tolist() if pace >= min(LEAST, window))
    return any(pays(pace, off_beat(-(-window // pace))) for pace in allowed)


@lru_cache(maxsize=1024)
def off_beat(every: int) -> int:
    """So many units or a few more, after which no season is met at one or two of its hours only, again and again.

    Who measures every noon knows nothing of the night, and does not know that.

    >>> [off_beat(every) for every in (1, 2, 3, 6, 10, 12, 24, 40, 60)]
    [1, 2, 3, 8, 10, 13, 25, 40, 61]
    """
    return next(units for units in count(every) if (HOURS * np.gcd(units, PERIODS) <= PERIODS).all())


def _evenly(paces: Ints, best: NDArray[np.intp], flat: Floats) -> Floats:
    """Weights of models such that every pace is best for as many, on a scale of logarithms."""
    widths = np.gradient(np.log(paces)) if len(paces) > 1 else np.ones(1)
    totals = np.bincount(best, flat, len(paces))
    even: Floats = widths[best] * flat / np.where(totals[best] > 0, totals[best], 1)
    even /= even.sum()
    return even
