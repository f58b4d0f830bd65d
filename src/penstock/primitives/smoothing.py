"""What several noisy looks at counts that hardly change say together. Each bin has looks of its own, as many as it has.

``looks`` has a row a look, the latest one last; of column j the first ``lengths[j]`` rows count. A smoother tells the
value of every bin, and how wide its noise is as a part of that of one look.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from penstock.types import Floats, Ints

Smoother = Callable[[Floats, Ints], tuple[Floats, Floats]]

NOTHING, INFINITE = np.array(0.0), np.array(np.inf)  # which numpy takes up sooner than numbers


def average(looks: Floats, lengths: Ints) -> Floats:
    """The mean of each column."""
    counted = np.arange(len(looks))[:, np.newaxis] < lengths
    means: Floats = np.add.reduce(np.where(counted, looks, NOTHING)) / lengths
    return means


def mean(looks: Floats, lengths: Ints) -> tuple[Floats, Floats]:
    """The mean.

    >>> mean(np.array([[4.0, 1.0], [8.0, 0.0]]), np.array([2, 1]))
    (array([6., 1.]), array([0.70710678, 1.        ]))
    """
    return average(looks, lengths), 1 / np.sqrt(lengths)


def median(looks: Floats, lengths: Ints) -> tuple[Floats, Floats]:
    """The median. Its Laplace noise is narrower than that of the mean from three looks on, by which it is bounded.

    >>> median(np.array([[4.0, 1.0], [8.0, 0.0], [90.0, 0.0]]), np.array([3, 1]))[0]
    array([8., 1.])
    """
    counted = np.arange(len(looks))[:, np.newaxis] < lengths
    ordered, columns = np.where(counted, looks, INFINITE), np.arange(len(lengths))
    ordered.sort(axis=0)
    middle = (ordered[(lengths - 1) // 2, columns] + ordered[lengths // 2, columns]) / 2
    return middle, 1 / np.sqrt(lengths)


def james_stein(looks: Floats, lengths: Ints) -> tuple[Floats, Floats]:
    """The latest look, shrunk towards the mean: of its distance a part of 1 / length is left.

    >>> james_stein(np.array([[4.0, 1.0], [8.0, 0.0]]), np.array([2, 1]))[0]
    array([7., 1.])
    """
    centre = average(looks, lengths)
    latest = looks[lengths - 1, np.arange(len(lengths))]
    n = lengths.astype(np.float64)
    own, other = (2 * n - 1) / n**2, (n - 1) / n**2  # the weights of the latest look, and of each of the others
    return centre + (latest - centre) / n, np.sqrt(own**2 + (n - 1) * other**2)


SMOOTHERS: Mapping[str, Smoother] = {"mean": mean, "median": median, "james-stein": james_stein}
