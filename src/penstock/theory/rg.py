"""RG (Chen et al. 2015): what retroactive grouping could save, on counts that rest and with a monitor that never errs.

The first unit is published. Then groups follow, each ``growth`` times as large as the one before. All units of a group
but its last one repeat the release before it; the last one publishes the mean of the group, whose noise is that of
a release over the group's size. ``noise_sd`` is that of a release, sqrt(2) s1 / e2 for large noise.

A repeated value brings the *same* noise again. Single units do not mind, but in a sum over a sliding window a noise
that occurs k times has k^2 of its variance.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from penstock.parameters import above, at_least_one
from penstock.types import Floats, Ints

LARGEST_GROUP = 2**40


def group_error(counts: ArrayLike, before: float, noise_before: float, noise_sd: float) -> float:
    """Theorem 6: the average expected squared error of a group of these true counts.

    All but the last repeat a release whose true value was ``before`` and whose noise has the standard deviation
    ``noise_before``; the last publishes the group's mean. (Rounding the mean to a whole number is left out.)

    >>> group_error([7, 7, 7, 7], before=7, noise_before=5.0, noise_sd=10.0)
    20.3125
    """
    group = np.asarray(counts, np.float64)
    size = len(group)
    approximation = np.square(group[:-1] - before).sum() + (group[-1] - group.mean()) ** 2
    return float((approximation + (size - 1) * noise_before**2 + (noise_sd / size) ** 2) / size)


def unit_error(units: int, noise_sd: float = 1.0, *, growth: float = 2.0, max_length: int = LARGEST_GROUP) -> float:
    """Theorem 7: the expected squared error of a bin in one unit, averaged over the first units of a resting stream.

    >>> round(unit_error(63), 4), round(unit_error(1000), 4)
    (0.0615, 0.004)
    """
    begins, sizes = _schedule(units, growth, max_length)
    in_force = np.diff(begins, append=units)
    return noise_sd**2 * float((in_force / np.square(sizes)).sum()) / units


def closed_form(groups: int, noise_sd: float = 1.0) -> float:
    """Theorem 7 for a growth of 2 and l whole groups, which are 2^(l+1) - 1 units: (2 - 2^-l)^2 / (2^(l+1) - 1).

    >>> round(closed_form(5), 4)
    0.0615
    """
    at_least_one("groups", groups)
    return noise_sd**2 * (2 - 2.0**-groups) ** 2 / (2.0 ** (groups + 1) - 1)


def sliding_error_as_printed(
    units: int, width: int, noise_sd: float = 1.0, *, growth: float = 2.0, max_length: int = LARGEST_GROUP
) -> float:
    """What the paper gives for sums over a sliding window: ``width`` times ``unit_error``.

    It counts repeated values as if each had noise of its own, which is too little: see ``sliding_error``.
    """
    at_least_one("width", width)
    return width * unit_error(units, noise_sd, growth=growth, max_length=max_length)


def sliding_error(
    units: int, width: int, noise_sd: float = 1.0, *, growth: float = 2.0, max_length: int = LARGEST_GROUP
) -> float:
    """The expected squared error of the sum of a bin over the last ``width`` units, averaged over the units.

    The first sums have fewer units, as ``post.SlidingSum`` makes them. Publishing always has at most ``width`` times
    the variance of a release.

    >>> [round(error(63, 15), 2) for error in (sliding_error, sliding_error_as_printed)]
    [3.52, 0.92]
    """
    at_least_one("width", width)
    begins, sizes = _schedule(units, growth, max_length)
    ends = [*begins[1:].tolist(), units]
    spans = zip(begins.tolist(), ends, sizes.tolist(), strict=True)
    total = sum(_squared_overlaps(begin, end, width, units) / size**2 for begin, end, size in spans)
    return float(noise_sd**2 * total / units)


def _schedule(units: int, growth: float, max_length: int) -> tuple[Ints, Floats]:
    """When each release begins to be in force, the first one at 0, and of how many units it is the mean."""
    at_least_one("units", units)
    at_least_one("max_length", max_length)
    above("growth", growth, 1)
    begins, sizes = [0], [1]
    while (size := min(math.ceil(growth * sizes[-1]), max_length)) < units - begins[-1]:
        begins.append(begins[-1] + size)
        sizes.append(size)
    return np.array(begins, np.int64), np.array(sizes, np.float64)


def _squared_overlaps(begin: int, end: int, width: int, units: int) -> float:
    """How often sums have the release of begin .. end - 1 in them, squared, over all sums that have it."""
    last = np.arange(begin, min(end + width - 1, units))  # the last unit of each sum
    often = np.minimum(last + 1, end) - np.maximum(last - width + 1, begin)
    return float(np.square(often).sum())
