"""The nearest whole numbers that add up: for many groups of bins at once, and where wanted without any below 0.

"Nearest" is by least squares, each bin weighted by the variance of its noise, so that the noisiest give way most:
x_i = max(0, y_i - lambda * v_i), with the one lambda for each group that makes the sum right.
"""

from __future__ import annotations

import numpy as np

from penstock.types import Floats, Ints, Mask

PASSES = 3  # a float holds a correction to 53 bits; what is then left over is corrected again
LEAST_WEIGHT = 1e-12  # of the largest; bins without noise keep their values for as long as others can give way
LARGEST_SHIFT = 2.0**62


def fitted(
    values: Ints,
    groups: Ints,
    totals: Ints,
    *,
    variances: Floats,
    parts: Floats | None = None,
    non_negative: bool = True,
) -> Ints:
    """The nearest whole numbers whose sum over each group is exactly its total.

    Bin i has the value ``values[i] + parts[i]`` and belongs to ``groups[i]``, which runs from 0 to the last of
    ``totals``; no group is empty. ``variances`` are finite; values, and totals, add up to less than 2**62. If
    ``non_negative``, totals are 0 or more, and so is every result. Fractions are rounded by the largest remainders in
    each group; of equal ones the first bin is rounded up.

    >>> groups, totals = np.array([0, 0, 0, 1, 1]), np.array([10, 4])
    >>> fitted(np.array([9, 4, -1, 3, 3]), groups, totals, variances=np.ones(5))
    array([8, 2, 0, 2, 2])
    >>> fitted(np.array([9, 4, -1, 3, 3]), groups, totals, variances=np.ones(5), non_negative=False)
    array([ 9,  3, -2,  2,  2])
    """
    whole, part, weights = values, np.zeros(len(values)) if parts is None else parts, scaled(variances)
    for _ in range(PASSES):
        whole, part = _shifted(whole, part, groups, totals, weights, non_negative)
    return _rounded(whole, part, groups, totals)


def scaled(variances: Floats) -> Floats:
    """Variances as parts of the largest, none of them 0; all 1 if nothing has any noise."""
    largest = variances.max(initial=0.0)
    return np.maximum(variances / largest, LEAST_WEIGHT) if largest > 0 else np.ones_like(variances)


def _shifted(
    whole: Ints, part: Floats, groups: Ints, totals: Ints, weights: Floats, non_negative: bool
) -> tuple[Ints, Floats]:
    """Values with the right sums, as far as floats can tell, each split into a whole number and a part of one."""
    order = np.lexsort((-(whole + part) / weights, groups))
    group, w, p, v = groups[order], whole[order], part[order], weights[order]
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    kept = _kept(w, p, v, group, starts, totals) if non_negative else np.ones(len(w), np.bool_)
    excess = np.add.reduceat(np.where(kept, w, 0), starts) - totals + np.add.reduceat(np.where(kept, p, 0.0), starts)
    multiplier = excess / np.add.reduceat(np.where(kept, v, 0.0), starts)
    shift = np.clip(p - multiplier[group] * v, -LARGEST_SHIFT, LARGEST_SHIFT)
    floor = np.floor(shift)
    moved, rest = w + floor.astype(np.int64), shift - floor
    gone = (moved < 0) | (totals[group] == 0) if non_negative else np.zeros(len(w), np.bool_)
    back = np.argsort(order)
    return np.where(gone, 0, moved)[back], np.where(gone, 0.0, rest)[back]


def _kept(w: Ints, p: Floats, v: Floats, group: Ints, starts: Ints, totals: Ints) -> Mask:
    """Which bins stay above 0. In each group they come in the order in which they would fall to it, the last first.

    The first k of them stay if the k-th is still above 0 when all of the excess is taken from the first k.
    """
    excess = _running(w, group, starts) - totals[group] + _running(p, group, starts)
    kept: Mask = (w + p) / v > excess / np.maximum(_running(v, group, starts), v)
    kept[starts] = True
    return kept


def _running(x: Ints | Floats, group: Ints, starts: Ints) -> Ints | Floats:
    """Sums from the beginning of each group on."""
    total = np.cumsum(x)
    return total - (total[starts] - x[starts])[group]


def _rounded(whole: Ints, part: Floats, groups: Ints, totals: Ints) -> Ints:
    order = np.lexsort((-part, groups))
    group = groups[order]
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    missing = totals - np.add.reduceat(whole[order], starts)
    each, more = np.divmod(missing, np.diff(starts, append=len(whole)))
    rank = np.arange(len(whole)) - starts[group]
    result = np.empty_like(whole)
    result[order] = whole[order] + each[group] + (rank < more[group])
    return result
