"""The number that a mixture of normals is nearest to on average: its median, or as good as that."""

from __future__ import annotations

import numpy as np

from penstock.types import Floats

ROUNDS = 2  # after which the expected distance is a thousandth above the least there is, on average
SCATTER = 2 / np.pi  # of a variance: a normal is sqrt(SCATTER * variance) away from its own mean, on average


def median(weights: Floats, means: Floats, variances: Floats) -> Floats:
    """Of every row of ``weights``, which add up to one, over normals with these means and variances.

    It goes by the distance of a number from a normal, which is sqrt(SCATTER * variance + apart**2) to a tenth, and
    minimises the sum of these in Weiszfeld's way: normals that are wide, or far away, pull less. No distribution
    function is needed, so it takes a fraction of the time that the exact median would. Where normals differ in width by
    many orders of magnitude, a very narrow one with little weight can hold it near itself.

    >>> median(np.array([[0.7, 0.3]]), np.array([[5.0, 400.0]]), np.array([[4.0, 10_000.0]])).round(1)
    array([5.9])
    """
    used = weights.any(axis=0)
    if not used.all():
        weights, means, variances = weights[:, used], means[:, used], variances[:, used]
    scatter = SCATTER * variances
    middle = _pulled(weights / np.sqrt(scatter), means)
    for _ in range(ROUNDS):
        middle = _pulled(weights / np.sqrt(scatter + np.square(means - middle[:, np.newaxis])), means)
    return middle


def _pulled(pull: Floats, means: Floats) -> Floats:
    middle: Floats = np.einsum("bm,bm->b", pull, means) / pull.sum(axis=1)
    return middle
