"""Which bins to treat alike, judged by what was published of them. Groups are public and cost nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.types import Floats, Ints, Mask

NONE = -1  # the label of a bin that is in no group
RESTING = 1e-9  # a history that varies by so small a part is rounding


def equal_parts(scores: NDArray[np.generic], groups: int) -> Ints:
    """Bins in the order of their scores, cut into ``groups`` parts of nearly equal size (fewer if bins are fewer).

    >>> equal_parts(np.array([50, 3, 70, 1]), 2)
    array([1, 0, 1, 0])
    """
    labels = np.zeros(len(scores), np.int64)
    if groups > 1:
        order = np.argsort(scores, kind="stable")
        labels[order] = np.arange(len(scores)) * min(groups, len(scores)) // len(scores)
    return labels


def bands(values: Floats | Ints, width: float) -> Ints:
    """Bins whose values fall into the same band of the given width.

    >>> bands(np.array([1, 30, 4, 33]), 10)
    array([0, 1, 0, 1])
    """
    floors = np.floor(values / width)
    order = floors.argsort()
    ordered, labels = floors[order], np.zeros(len(values), np.int64)
    labels[order[1:]] = (ordered[1:] > ordered[:-1]).cumsum()
    return labels


def spread_in(band: float, sizes: Ints) -> Floats:
    """The variance of members around the mean of their group, if they lie anywhere in a band; 0 for a group of one."""
    spread: Floats = np.multiply(sizes > 1, band**2 / 12, dtype=np.float64)
    return spread


def small_together(history: Floats, which: Mask, small: float, apart: float, alike: float) -> Ints:
    """Groups among the bins in ``which``, so that what is too small to be measured alone is measured together.

    ``history`` has a row for each of the last releases. A bin whose mean is above ``small`` stays alone. The others are
    put in order and grouped from the least on: a group ends before a bin that is ``apart`` or further from its
    neighbour, whose history correlates with the neighbour's by ``alike`` or less, or with which the sum would reach
    ``small``.

    >>> history = np.array([[90.0, 4, 5, 0], [92, 6, 7, 9]])
    >>> small_together(history, np.array([True, True, True, True]), small=30, apart=25, alike=0.5)
    array([1, 0, 0, 0])
    """
    means = history.mean(axis=0)
    chosen = np.flatnonzero(which)
    order = chosen[np.argsort(means[chosen], kind="stable")]
    ordered = np.maximum(means[order], 0.0)
    parted = np.diff(ordered, prepend=-np.inf) >= apart
    unlike = _neighbours_correlate(history[:, order]) <= alike
    starts = _starts(ordered, parted | unlike, small)
    labels = np.full(len(means), NONE, np.int64)
    labels[order] = np.cumsum(starts) - 1
    return labels


def _starts(ordered: Floats, cut: Mask, most: float) -> Mask:
    """Where groups start, if each runs on to the next cut, or until its sum would reach ``most``.

    Where the next group would start is known from every place at once; that of the first one is followed by doubling.
    """
    here, sums = np.arange(len(ordered)), np.cumsum(ordered)
    full = np.maximum(np.searchsorted(sums, sums - ordered + most), here + 1)
    cuts = np.append(np.flatnonzero(cut), len(ordered))
    following = np.append(np.minimum(full, cuts[np.searchsorted(cuts, here, side="right")]), len(ordered))
    starts = np.zeros(len(ordered) + 1, np.bool_)
    starts[0] = True
    for _ in range(len(ordered).bit_length()):
        starts[following[starts]] = True
        following = following[following]
    return starts[:-1]


def _neighbours_correlate(history: Floats) -> Floats:
    """Pearson's correlation of each column with the one before; 1 where one of them does not move, and at the first."""
    means = history.mean(axis=0)
    centred = history - means
    sizes = np.sqrt((centred**2).sum(axis=0))
    moves = sizes > RESTING * np.maximum(np.abs(means), 1.0)
    directions = centred / np.where(moves, sizes, 1.0)
    products = (directions[:, 1:] * directions[:, :-1]).sum(axis=0)
    return np.concatenate([[1.0], np.where(moves[1:] & moves[:-1], products, 1.0)])
