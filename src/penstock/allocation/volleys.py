"""How many readings of a single count share a volley: where releases are frequent, several do with far less noise.

A volley counts in every window that meets it, so the longer it is, the more windows pay for two at their ends; of the
sizes that can be had, the one with the least noise is taken. Public numbers, all of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from penstock.epsilon import Epsilon
from penstock.primitives.volley import VolleyPlan

SIZES = (2, 3, 4, 5, 6, 8, 10, 12)  # readings that are considered; more would not do much better, and bind longer
WORTH = 0.85  # of the noise of a reading alone that a volley has at most, as it binds


def wider(size: int) -> float:
    """The deviation of the noise of each of so many readings that share e, in that of a single one for e.

    >>> [round(wider(size), 2) for size in (1, 2, 12)]  # and if each paid for itself: 1, 2, 12
    [1.0, 1.41, 5.51]
    """
    return math.sqrt((size + 1) * (size + 2) / 6)


def quietest(alone: Epsilon, every: int, window: int, fair: Callable[[int], int]) -> VolleyPlan:
    """The volley whose readings, ``every`` so many units, have the least noise; or one ``alone``, if that is as good.

    ``fair`` says what a volley of so many readings may cost, in nano-epsilon.
    """
    plans = [VolleyPlan(1, alone)]
    prices = {size: fair(size) for size in SIZES if size * every <= window}
    plans += [VolleyPlan(size, Epsilon.of_nano(nano)) for size, nano in prices.items() if nano]
    best = min(plans, key=_noise)
    return best if _noise(best) <= WORTH * _noise(plans[0]) else plans[0]


def _noise(plan: VolleyPlan) -> float:
    return wider(plan.size) / plan.e.nano


@lru_cache(maxsize=1024)
def steady(window: int, every: int, *, comes_back: bool) -> float:
    """The deviation of noise of a reading, in that of one for all of epsilon, if all volleys have the best size."""
    sizes = [size for size in (1, *SIZES) if size == 1 or size * every <= window]
    return min(wider(size) * _in_window(window, every, size, comes_back=comes_back) for size in sizes)


def _in_window(window: int, every: int, size: int, *, comes_back: bool) -> int:
    """How many volleys meet a window at most, if they follow one another and are read every so many units."""
    held = (size - 1) * every if comes_back else 0
    return -(-(window + held) // (size * every))
