"""What counted hits prove about a chance, and about the privacy loss between two chances (Clopper and Pearson 1934)."""

from __future__ import annotations

import math

from penstock.errors import BadInput
from penstock.parameters import at_least_one, within


def interval(hits: int, trials: int, alpha: float) -> tuple[float, float]:
    """Bounds of a chance that gave so many hits: either one is wrong with probability alpha / 2 at most.

    >>> low, high = interval(0, 100, 0.05)
    >>> low, round(high, 4)
    (0.0, 0.0362)
    """
    at_least_one("trials", trials)
    within("alpha", alpha, 0, 1)
    if not 0 <= hits <= trials:
        raise BadInput("hits are counted among the trials; there cannot be fewer than none or more than all.")
    low = _quantile(alpha / 2, hits, trials - hits + 1) if hits else 0.0
    high = _quantile(1 - alpha / 2, hits + 1, trials - hits) if hits < trials else 1.0
    return low, high


def loss_above(hits: int, trials: int, other_hits: int, other_trials: int, alpha: float) -> float:
    """The privacy loss that the hits of two neighbours prove, with confidence 1 - alpha.

    That is ln(lower bound of the first chance / upper bound of the other). Each bound may be wrong with probability
    alpha / 2, so both hold with 1 - alpha.

    >>> round(loss_above(500, 1000, 100, 1000, 0.001), 3)
    1.2
    """
    low, _ = interval(hits, trials, alpha)
    _, high = interval(other_hits, other_trials, alpha)
    return math.log(low / high) if low else -math.inf


def require_scipy() -> None:
    """Refuse to begin what cannot be judged."""
    _quantile(0.5, 1, 1)


def _quantile(chance: float, hits: float, misses: float) -> float:
    try:
        from scipy.stats import beta
    except ImportError:
        raise BadInput("the audit needs scipy; install penstock[audit].") from None
    return float(beta.ppf(chance, hits, misses))
