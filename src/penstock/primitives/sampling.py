"""How many records to look at, if looking at fewer of them makes the look cheaper."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from penstock.types import Floats

RATES: Floats = np.arange(1, 101) / 100
HUGE = 100.0  # a budget that leaves no noise at all; beyond it exp() would not fit


def best_rate(records: float, bins: int, e: float) -> float:
    """Of 1% .. 100%, the sampling rate with the least expected squared error of all bins together.

    >>> best_rate(records=3, bins=1, e=0.01), best_rate(records=10**6, bins=50, e=1)
    (1.0, 1.0)
    """
    return float(RATES[np.argmin(expected_errors(records, bins, e))])


def expected_errors(records: float, bins: int, e: float) -> Floats:
    """The expected squared error of all bins together, at every rate.

    A sample drawn at rate b is off by N (1 - b) / b for N records, and by 2 / (b e')^2 in every bin for its noise; e
    buys e' = ln(1 + (exp(e) - 1) / b). Both terms fall with b, so the last one is always the least.
    """
    errors: Floats = max(records, 1.0) * (1 - RATES) / RATES + _of_noise(bins, e)
    return errors


@lru_cache(maxsize=64)
def _of_noise(bins: int, e: float) -> Floats:
    """What noise adds, which stays the same for as long as a stream has the same bins and budget."""
    bought = np.log1p(np.expm1(min(e, HUGE)) / RATES)
    errors: Floats = bins * 2 / (RATES * bought) ** 2
    errors.setflags(write=False)
    return errors
