"""The nearest row of numbers that never falls (pool adjacent violators)."""

from __future__ import annotations

import numpy as np

from penstock.types import Floats


def isotonic(values: Floats) -> Floats:
    """Least squares: neighbours that are out of order are replaced by their mean, until none are.

    >>> isotonic(np.array([1.0, 4.0, 2.0, 3.0, 9.0]))
    array([1., 3., 3., 3., 9.])
    """
    means: list[float] = []
    sizes: list[int] = []
    for value in values.tolist():
        mean, size = value, 1
        while means and means[-1] >= mean:
            size += sizes[-1]
            mean += (means.pop() - mean) * (sizes.pop() / size)
        means.append(mean)
        sizes.append(size)
    return np.repeat(np.array(means, np.float64), sizes)
