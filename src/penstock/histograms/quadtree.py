"""PSD: a quadtree whose levels are all measured, and made to agree."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from penstock.epsilon import Epsilon
from penstock.histograms.base import Histogram, Measured, Shape, levelled, variance
from penstock.histograms.laplace import Laplace
from penstock.parameters import from_one_to
from penstock.primitives.purse import Purse
from penstock.primitives.tree import Evidence, tree_over
from penstock.types import Floats, Kind

MOST_PARTS = 1024


@dataclass(frozen=True)
class Quadtree(Histogram):
    """A private spatial decomposition with geometric budgets (Cormode et al. 2012). Best for large ranges.

    The sums of all nodes are asked for, a question a level. A record is in one node of each level, so the budget is
    divided among levels: in proportion to the cube root of how many nodes of the level a box can cut, which in a square
    is 2^(1/3) times as much for each finer level. Then least squares make the levels agree, which makes every sum as
    good as all questions together allow.

    ``split``  into how many parts a node is divided along each dimension; 2 is the quadtree, 4 is mostly better
    """

    split: int = 2

    def validate(self) -> None:
        from_one_to("split", self.split - 1, MOST_PARTS)

    def measure(self, ask: Purse, shape: Shape, e: Epsilon) -> Measured:
        tree = tree_over(shape, self.split, ask.cells)
        if e.nano < len(tree.sizes):
            return Laplace().measure(ask, shape, e)
        budgets = levelled(e, tree.faces)
        cells = sums = ask(budgets[0])
        off = [np.zeros(len(cells))]  # by what the levels disagree: a small number, however large the counts are
        for level, (parents, budget) in enumerate(zip(tree.parents, budgets[1:], strict=True), start=1):
            below, sums = sums, np.zeros(tree.sizes[level], np.int64)
            np.add.at(sums, parents, below)
            off.append((ask(budget, tree.labels(level)) - sums).astype(np.float64))
        evidence = Evidence(tree, [variance(ask, budget) for budget in budgets])
        values = cells + tree.rounded(evidence.settled(off))
        return Measured(values, Kind.FRESH, np.sqrt(evidence.cell_variances()))

    def sum_sd(self, shape: Shape, noise_sd: Floats, weights: Floats) -> float:
        cells = np.flatnonzero(np.isfinite(noise_sd))
        tree = tree_over(shape, self.split, None if len(cells) == len(noise_sd) else cells)
        evidence = Evidence(tree, [faces ** (-2 / 3) for faces in tree.faces])  # up to a factor
        factor = (noise_sd[cells] ** 2).sum() / evidence.cell_variances().sum()
        return math.sqrt(factor * evidence.sum_variance(weights[cells]))
