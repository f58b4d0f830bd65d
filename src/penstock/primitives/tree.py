"""A public hierarchy over the cells of a histogram, and what measurements on all of its levels say together.

Level 0 are the cells, the last level is one node. Where the domain is a product (ages by regions), the dimension with
the most nodes is merged first, so that nodes keep to one value of the short dimensions for as long as they can. No
step loops over nodes; each takes the levels one by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from penstock.queries import Bins
from penstock.types import Floats, Ints


class Tree:
    """Cells of a domain of this shape, merged ``split`` by ``split`` along each dimension. Nothing in it is secret.

    ``cells`` are the numbers of the cells that exist, if not all do; nodes without any are left out.

    >>> Tree((4, 4), 2).sizes
    [16, 4, 1]
    >>> Tree((8, 2), 2).sizes
    [16, 8, 4, 1]
    """

    def __init__(self, shape: tuple[int, ...], split: int, cells: Bins | None = None) -> None:
        shape = tuple(length for length in shape if length > 1) or (1,)
        self.sizes = [math.prod(shape) if cells is None else len(cells)]
        self.parents: list[Ints] = []  # of each node of a level, its number in the next
        self.faces = [_faces(shape)]
        nodes, belongs = np.arange(self.sizes[0]) if cells is None else cells, np.arange(self.sizes[0])
        while len(nodes) > 1:
            factors = _factors(shape, split)
            nodes, above = np.unique(_merged(nodes, shape, factors), return_inverse=True)
            shape, belongs = _coarser(shape, factors), above.reshape(-1)[belongs]
            if len(nodes) < self.sizes[-1]:  # else it would be measured twice
                self.parents.append(belongs)
                self.sizes.append(len(nodes))
                self.faces.append(_faces(shape))
                belongs = np.arange(len(nodes))

    def labels(self, level: int) -> Ints:
        """The node of every cell on a level."""
        labels = np.arange(self.sizes[0])
        for parents in self.parents[:level]:
            labels = parents[labels]
        return labels

    def above(self, level: int, values: Floats | Ints) -> Floats:
        """The sums of the values of a level over the children of each node of the next."""
        sums = np.zeros(self.sizes[level + 1])
        np.add.at(sums, self.parents[level], values)
        return sums

    def cells(self, level: int) -> Ints:
        """How many cells each node of a level has."""
        return np.bincount(self.labels(level), minlength=self.sizes[level])

    def order(self) -> Ints:
        """The cells in an order in which those of every node come together."""
        place = np.arange(self.sizes[-1])
        for parents in reversed(self.parents):
            place = np.argsort(np.argsort(place[parents], kind="stable"), kind="stable")
        return np.argsort(place, kind="stable")

    def rounded(self, values: Floats) -> Ints:
        """Whole numbers, such that neither a cell nor the sum of any node is off by 1 or more."""
        order, whole = self.order(), np.empty(len(values), np.int64)
        running = np.floor(np.cumsum(values[order]) + 0.5).astype(np.int64)
        whole[order] = np.diff(running, prepend=0)
        return whole


@lru_cache(maxsize=8)
def whole_tree(shape: tuple[int, ...], split: int) -> Tree:
    """The tree over all cells of a domain, made once."""
    return Tree(shape, split)


def tree_over(shape: tuple[int, ...], split: int, cells: Bins | None) -> Tree:
    """The tree over the given cells of a domain (None: all)."""
    return whole_tree(shape, split) if cells is None else Tree(shape, split, cells)


class Evidence:
    """What measurements on the nodes of a tree say together, by generalised least squares.

    ``variances`` are those of the measurements, one for every node of every level or one a level; infinity stands for
    none at all. Going up, the measurement of a node and the sum over its children are weighed by their variances.
    Children of which nothing is known take what is left of their parent, cell for cell.
    """

    def __init__(self, tree: Tree, variances: Sequence[Floats | float]) -> None:
        self.tree = tree
        self.measured = [np.broadcast_to(v, n) for v, n in zip(variances, tree.sizes, strict=True)]
        self.variances: list[Floats] = [np.array(self.measured[0])]  # of what is known of a node from below it
        self._below: list[Floats] = []  # of the sum over the children of each node of the next level
        for level in range(len(tree.parents)):
            self._below.append(tree.above(level, self.variances[level]))
            precision = 1 / self.measured[level + 1] + 1 / self._below[level]
            self.variances.append(np.divide(1.0, precision, where=precision > 0, out=np.full(len(precision), np.inf)))

    def gathered(self, measured: Sequence[Floats | Ints]) -> list[Floats]:
        """What is known of each node from itself and from below it, by level."""
        known = [np.where(np.isfinite(self.variances[0]), measured[0], 0.0)]
        for level in range(len(self.tree.parents)):
            variance = self.variances[level + 1]
            own = _part(variance, self.measured[level + 1]) * measured[level + 1]
            known.append(own + _part(variance, self._below[level]) * self.tree.above(level, known[level]))
        return known

    def shares(self, level: int) -> Floats:
        """What part of the sum of their parent the nodes of a level take of whatever that is found to be off by."""
        below = self._below[level][self.tree.parents[level]]
        shares = _part(self.variances[level], below)
        if np.isfinite(below).all():
            return shares
        cells = np.where(np.isinf(self.variances[level]), self.tree.cells(level), 0)
        unknown = self.tree.above(level, cells)[self.tree.parents[level]]
        return np.where(np.isfinite(below), shares, cells / np.maximum(unknown, 1))

    def settled(self, measured: Sequence[Floats | Ints]) -> Floats:
        """The estimates of all cells; those of nodes are their sums."""
        known = self.gathered(measured)
        value = known[-1]
        for level in reversed(range(len(self.tree.parents))):
            parents = self.tree.parents[level]
            off = value - self.tree.above(level, known[level])
            value = known[level] + self.shares(level) * off[parents]
        return value

    def cell_variances(self) -> Floats:
        """The variance of each cell's estimate."""
        variance = self.variances[-1]
        for level in reversed(range(len(self.tree.parents))):
            parents, share, unknown = self.tree.parents[level], self.shares(level), np.isinf(self.variances[level])
            own = np.where(unknown, 0.0, self.variances[level])
            above = variance[parents] + np.where(unknown, self.tree.above(level, own)[parents], 0.0)
            variance = own * (1 - share) + share**2 * above
        return variance

    def coefficients(self, weights: Floats) -> list[Floats]:
        """How often each measurement, level by level, is contained in a weighted sum of the cells' estimates.

        Going up, that sum is some multiple of each node, and of what is known of its children by themselves so often as
        theirs differs from it. Going down, what is known of a node is made of its measurement and of its children.
        """
        multiples = [np.asarray(weights, np.float64)]
        for level in range(len(self.tree.parents)):
            multiples.append(self.tree.above(level, multiples[level] * self.shares(level)))
        known, contained = multiples[-1], []
        for level in reversed(range(len(self.tree.parents))):
            parents, variance = self.tree.parents[level], self.variances[level + 1]
            contained.append(known * _part(variance, self.measured[level + 1]))
            inherited = known * _part(variance, self._below[level])
            known = multiples[level] + (inherited - multiples[level + 1])[parents]
        return [np.where(np.isfinite(self.measured[0]), known, 0.0), *reversed(contained)]


def _part(a: Floats | Ints, b: Floats) -> Floats:
    """a / b, and 0 where b is infinite."""
    return np.divide(a, b, where=np.isfinite(b), out=np.zeros(np.broadcast(a, b).shape))


def _faces(shape: tuple[int, ...]) -> float:
    """How many nodes lie at a face of the domain, over all of its dimensions: so many can a box cut, times two."""
    nodes = math.prod(shape)
    return sum(nodes / length for length in shape)


def _factors(shape: tuple[int, ...], split: int) -> tuple[int, ...]:
    """Which dimensions are merged next: the longest, and those that are not shorter by as much as it would shrink."""
    return tuple(split if length > 1 and length * split > max(shape) else 1 for length in shape)


def _coarser(shape: tuple[int, ...], factors: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(-(-length // factor) for length, factor in zip(shape, factors, strict=True))


def _merged(nodes: Ints, shape: tuple[int, ...], factors: tuple[int, ...]) -> Ints:
    """The number of the coarser node that each node is in."""
    places = [place // factor for place, factor in zip(np.unravel_index(nodes, shape), factors, strict=True)]
    return np.ravel_multi_index(places, _coarser(shape, factors)).astype(np.int64)
