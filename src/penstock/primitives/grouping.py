"""Which bins to treat alike, judged by what was published of them. Groups are public and cost nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.types import Floats, Ints, Mask

NONE = -1  # the label of a bin that is in no group


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
    _, labels = np.unique(np.floor(values / width), return_inverse=True)
    return labels.reshape(-1).astype(np.int64)


def small_together(history: Floats, which: Mask, small: float, apart: float, alike: float) -> Ints:
    """Groups among the bins in ``which``, so that what is too small to be measured alone is measured together.

    ``history`` has a row for each of the last releases. A bin whose mean is above ``small`` stays alone. The others are
    put in order, and the order is cut where neighbours are ``apart`` or further, where their histories correlate with
    ``alike`` or less, and where the running sum passes a multiple of ``small``.

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
    full = np.diff(np.floor(np.cumsum(np.minimum(ordered, small)) / small), prepend=0.0) > 0
    alone = ordered > small
    cut = parted | unlike | full | alone
    labels = np.full(len(means), NONE, np.int64)
    labels[order] = np.cumsum(cut) - 1  # the first one is always a cut
    return labels


def _neighbours_correlate(history: Floats) -> Floats:
    """Pearson's correlation of each column with the one before; 1 where one of them does not move, and at the first."""
    centred = history - history.mean(axis=0)
    products = (centred[:, 1:] * centred[:, :-1]).sum(axis=0)
    sizes = np.sqrt((centred**2).sum(axis=0))
    both = sizes[1:] * sizes[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.where(both > 0, products / both, 1.0)
    return np.concatenate([[1.0], correlation])
