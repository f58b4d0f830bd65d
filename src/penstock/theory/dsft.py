"""DSFT and DSAT (Li et al. 2015), repaired: what their theorems say of the noise that is drawn here.

A comparison at unit i answers "below" if q + nu < T + rho. q is the L1 distance of the counts to the last release, T
the threshold times the public number of records, rounded up; rho is drawn once a run with scale s1 / u and nu for every
comparison with scale s1 / v (``SegmentPlan``). All are whole numbers, in counts.
"""

from __future__ import annotations

import math

import numpy as np

from penstock.epsilon import Epsilon, Number, as_fraction
from penstock.errors import BadInput
from penstock.parameters import at_least_one, within
from penstock.theory import sums
from penstock.theory.ranges import noise_sd as noise_sd_of
from penstock.types import Floats

SQRT_2 = math.sqrt(2)
EULER = 0.5772  # the mean distance from log n to the largest of n exponential numbers
LEAST_SHARE = 0.01


def decision_noise(u: Epsilon, v: Epsilon, sensitivity: int = 1) -> list[float]:
    """The standard deviations of rho and nu."""
    return [noise_sd_of(u, sensitivity), noise_sd_of(v, sensitivity)]


def repeated_bound(
    threshold: int, u: Epsilon, v: Epsilon, beta: float, *, sensitivity: int = 1, at_once: int = 1
) -> float:
    """Theorems 5.1 and 5.2: what a range count is off by at most at a unit that repeats, with probability 1 - beta.

    Whatever bins it covers, a range count is off by q at most. If "below" was answered, q <= T - 1 + rho - nu; so the
    chance that a unit is compared, repeats, and is off by more than T - 1 + h is at most P(rho - nu > h). Nothing is
    assumed about the stream. For DSAT the threshold is the steered one of that unit, which is public.

    ``at_once`` is for unions: the bound then holds for so many comparisons together. One unit of a window
    needs it as well, because runs that drew a high threshold last longer: unit t can lie in any of
    1 + (t - 2) // c runs. A unit that cannot afford a comparison repeats without one, and has no bound.

    >>> repeated_bound(100, Epsilon("0.1"), Epsilon("0.05"), 0.05)
    150.0
    """
    within("beta", beta, 0, 1)
    at_least_one("at_once", at_once)
    both_sides = 2 * beta / at_once  # rho - nu is as likely above h as below -h
    if both_sides >= 1:
        return max(threshold - 1, 0)
    return max(threshold - 1 + sums.half_width(decision_noise(u, v, sensitivity), 1 - both_sides), 0)


def least_records(alpha: Number, beta: float, u: Epsilon, v: Epsilon, sensitivity: int = 1) -> int:
    """Theorem 5.3: how many records there have to be, so that rho - nu stays within that part of them.

    The noise of a decision is then at most alpha n, with probability 1 - beta: small beside distances of a few alpha.

    >>> least_records("0.01", 0.05, Epsilon("0.1"), Epsilon("0.05"))
    6500
    """
    within("beta", beta, 0, 1)
    part = as_fraction(alpha)
    if part <= 0:
        raise BadInput(f"alpha must be above 0; got {alpha}.")
    return math.ceil(as_fraction(sums.half_width(decision_noise(u, v, sensitivity), 1 - beta)) / part)


def variance(share: float, bins: int, releases: int, sensitivity: int) -> float:
    """What Theorem 5.4 minimises: a / k^2 + b / (1 - k)^2, where k is the part of epsilon that decides; for epsilon 1.

    Decisions vary by a / k^2 (rho and nu, if each has one half of the budget), the L1 distance between the counts and
    a release of U bins by b / (1 - k)^2.
    """
    a, b = _weights(bins, releases, sensitivity)
    return a / share**2 + b / (1 - share) ** 2


def best_share(bins: int, releases: int, sensitivity: int, window: int) -> float:
    """Theorem 5.4: the k with the least sum of both variances, k = 1 / (1 + (b / a)^(1/3)).

    It is cut at 1 - C / N, so that a release is left at least epsilon / N, which Baseline would have.

    >>> round(best_share(27648, 10, 1, 1000), 3), round(best_share(27648, 10, 2, 1000), 3)
    (0.089, 0.135)
    """
    a, b = _weights(bins, releases, sensitivity)
    return min(1 / (1 + math.cbrt(b / a)), 1 - releases / window)


def usual_share(bins: int, releases: int, window: int) -> float:
    """The k that DSFT and DSAT use: with the least error of a count, k = 1 / (1 + 2 sqrt(U)), or 0.01 if that is more.

    A release is off by C / (1 - k) in each bin; a change that is hidden by the noise of a comparison, of scale C / k,
    is shared by all U bins. 1 / (1 - k) + 1 / (4 U k) is least there; the weight of 1/4 was found by measurement. Cut
    at 1 - C / N like ``best_share``.

    >>> [round(usual_share(bins, 10, 1000), 3) for bins in (1, 20, 27648)]
    [0.333, 0.101, 0.01]
    """
    return min(max(1 / (1 + 2 * math.sqrt(bins)), LEAST_SHARE), 1 - releases / window)


def release_noise(noise_sd: Floats, metric: str = "l1") -> tuple[float, float]:
    """What the noise of a release adds to the distance of the counts to it, if it is Laplace: mean, standard deviation.

    Both are for many bins if the distance is no sum. What is not known of the noise of a bin is taken for none.

    >>> release_noise(np.full(100, 10 * 2**0.5))
    (1000.0, 100.0)
    """
    scales = np.nan_to_num(noise_sd) / SQRT_2
    length, largest = float(np.sqrt(np.square(scales).sum())), float(scales.max())
    if metric == "largest":
        return largest * (math.log(len(scales)) + EULER), largest * math.pi / math.sqrt(6)
    if metric == "l2":
        return SQRT_2 * length, math.sqrt(2.5) * largest
    return float(scales.sum()), length


def _weights(bins: int, releases: int, sensitivity: int) -> tuple[int, int]:
    return 8 * sensitivity**2 * (1 + 4 * (releases - 1) ** 2), bins * releases**2
