"""Range queries: how far off the sum of some bins is, if a release bought its noise with ``e``.

Each bin carries discrete Laplace noise of scale s1 / e, independent of all others. These are also the errors of
``Uniform`` and ``Baseline`` (e = epsilon / w), and the first half of Theorem 5.1 of Li et al. 2015: the error
of DSFT at a unit that publishes (e = epsilon 2 / C), whose noise is drawn after all that led there.
"""

from __future__ import annotations

import numpy as np

from penstock.desk import sd_of, spendable
from penstock.epsilon import Epsilon
from penstock.parameters import at_least_one, within
from penstock.theory import sums
from penstock.types import Floats


def noise_sd(e: Epsilon, sensitivity: int = 1) -> float:
    """The standard deviation of the noise in one bin."""
    at_least_one("sensitivity", sensitivity)
    return sd_of(sensitivity, spendable(e).nano)


def squared_error(bins: int, e: Epsilon, sensitivity: int = 1) -> float:
    """The expected squared error of the sum of so many bins: m times 2 p / (1 - p)^2, with p = exp(-e / s1).

    >>> round(squared_error(10, Epsilon("0.1")), 1)
    1998.3
    """
    return float(np.square(_noise_sds(bins, e, sensitivity)).sum())


def absolute_error(bins: int, e: Epsilon, sensitivity: int = 1) -> float:
    """The expected absolute error of the sum of so many bins.

    >>> round(absolute_error(1, Epsilon("0.1")), 2), round(absolute_error(10, Epsilon("0.1")), 2)
    (9.98, 35.22)
    """
    return sums.expected_absolute(_noise_sds(bins, e, sensitivity))


def bound(bins: int, e: Epsilon, beta: float, sensitivity: int = 1) -> float:
    """What the error of the sum of so many bins does not exceed, with probability 1 - beta.

    >>> bound(1, Epsilon("0.1"), 0.05), bound(10, Epsilon("0.1"), 0.05)
    (30.0, 89.0)
    """
    within("beta", beta, 0, 1)
    return sums.half_width(_noise_sds(bins, e, sensitivity), 1 - beta)


def _noise_sds(bins: int, e: Epsilon, sensitivity: int) -> Floats:
    at_least_one("bins", bins)
    return np.full(bins, noise_sd(e, sensitivity))
