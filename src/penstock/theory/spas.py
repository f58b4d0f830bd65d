"""SPAS (Li et al. 2025): how many releases a window deserves.

Of the w units of a window c publish, with noise of variance N = 2 (c s1 / epsilon_p)^2 in a bin. Of the others a part
theta drifts away unseen; the rest stays within N. ``variance`` is that of the difference between two noisy releases, so
what drifts is off by ``variance`` - N.
"""

from __future__ import annotations

import math

from penstock.errors import BadInput

HALF = 0.5


def window_error(
    count: float, window: int, variance: float, publish_budget: float, sensitivity: int = 1, theta: float = HALF
) -> float:
    """The squared error of a bin, added up over a window with ``count`` releases.

    theta (w - c) Var + ((1 - 2 theta) w + 2 theta c) N. At theta = 1, where all that is not published drifts, it is
    exact for counts that are independent from unit to unit. A variance below N, which no two releases have, means
    nothing.

    >>> [round(window_error(c, 10, 500.0, 1.0)) for c in (5, 10, 20)]
    [1500, 2000, 13500]
    """
    _check(variance, publish_budget, theta)
    noise = 2 * (count * sensitivity / publish_budget) ** 2
    return theta * (window - count) * variance + ((1 - 2 * theta) * window + 2 * theta * count) * noise


def optimal_count(
    variance: float, publish_budget: float, sensitivity: int = 1, window: int = 1, theta: float = HALF
) -> float:
    """Theorem 1: the count with the least ``window_error``, not rounded and not cut.

    (sqrt((1 - 2 theta)^2 w^2 + 3 theta^2 Var (epsilon_p / s1)^2) - (1 - 2 theta) w) / (6 theta). At theta = 1/2, which
    the mechanism uses, that is epsilon_p sqrt(3 Var) / (6 s1), and the window does not matter.

    >>> round(optimal_count(500.0, 1.0), 3), round(optimal_count(500.0, 1.0, window=10, theta=0.25), 3)
    (6.455, 3.931)
    """
    _check(variance, publish_budget, theta)
    root = publish_budget * math.sqrt(3 * variance)
    if theta == HALF:
        return root / (6 * sensitivity)
    bounded, drifting = (1 - 2 * theta) * window, theta * root / sensitivity
    whole = math.hypot(bounded, drifting)
    if bounded > 0:  # the difference of two numbers that may be nearly the same, without taking it
        return drifting / (6 * theta) * (drifting / (whole + bounded))
    return (whole - bounded) / (6 * theta)


def _check(variance: float, publish_budget: float, theta: float) -> None:
    if not (0 <= variance < math.inf and 0 < publish_budget < math.inf and 0 < theta <= 1):
        raise BadInput("a variance is 0 or more, a budget above 0, and theta above 0 and at most 1; mend them.")
