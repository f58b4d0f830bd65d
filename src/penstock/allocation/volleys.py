"""How many readings of a single count share a volley: where releases are frequent, several do with far less noise.

A volley counts in every window that meets it, so the longer it is, the more windows pay for two at their ends; of the
sizes that can be had, the one with the least noise is taken. Public numbers, all of it.
"""

from __future__ import annotations

import math
from functools import lru_cache

SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12)  # readings that are considered; more would not do much better, and bind longer
WORTH = 0.01  # a longer one has to have so much less noise for each reading that it is longer


def wider(size: int) -> float:
    """The deviation of noise of each of so many readings that share e, in that of a single one for e."""
    return 1.0 if size == 1 else math.sqrt((size + 1) * (size + 2) / 6)


def in_window(window: int, every: int, size: int, *, comes_back: bool) -> int:
    """How many volleys meet a window at most, if they follow one another and are read every so many units."""
    held = (size - 1) * every if comes_back else 0
    return -(-(window + held) // (size * every))


@lru_cache(maxsize=1024)
def steady(window: int, every: int, *, comes_back: bool) -> float:
    """The deviation of noise of a reading, in that of one for all of epsilon, if all volleys have the best size."""
    return min(
        wider(size) * in_window(window, every, size, comes_back=comes_back) for size in SIZES if size * every <= window
    )
