"""PSD: a quadtree whose levels are all measured, and made to agree."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from penstock.epsilon import Epsilon
from penstock.histograms.base import Histogram, Measured, Shape, levelled, require_split, variance
from penstock.histograms.laplace import Laplace
from penstock.primitives.purse import Purse
from penstock.primitives.tree import Evidence, Tree, tree_over
from penstock.theory.sums import condensed
from penstock.types import Floats, Kind

WIDE, NEGLIGIBLE = 10.0, 1e-6  # variances of noise
HALVINGS = 30
ROUNDED = 1 / 6  # the variance of the difference of two that are rounded


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
        require_split(self.split)

    def measure(self, ask: Purse, shape: Shape, e: Epsilon) -> Measured:
        if ask.size < 2:
            return Laplace().measure(ask, shape, e)
        tree = tree_over(shape, self.split, ask.cells)
        if e.nano < len(tree.sizes):  # too little to divide; not what one would expect of a tree
            return Laplace().measure(ask, shape, e)._replace(kind=Kind.GROUPED)
        budgets = levelled(e, tree.faces)
        cells = sums = ask(budgets[0], tree.labels(0))  # as sums, so that huge counts are cut alike on all levels
        off = [np.zeros(len(cells))]  # by what the levels disagree: a small number, however large the counts are
        for level, (parents, budget) in enumerate(zip(tree.parents, budgets[1:], strict=True), start=1):
            below, sums = sums, np.zeros(tree.sizes[level], np.int64)
            np.add.at(sums, parents, below)
            off.append((ask(budget, tree.labels(level)) - sums).astype(np.float64))
        evidence = Evidence(tree, [variance(ask, budget) for budget in budgets])
        values = cells + tree.rounded(evidence.settled(off))
        return Measured(values, Kind.FRESH, np.sqrt(with_rounding(evidence.cell_variances())))

    def noises(self, shape: Shape, noise_sd: Floats, weights: Floats) -> Floats:
        cells = np.flatnonzero(np.isfinite(noise_sd))
        if len(cells) < 2:
            return np.abs(weights[cells]) * noise_sd[cells]
        tree = tree_over(shape, self.split, None if len(cells) == len(noise_sd) else cells)
        told = float((noise_sd[cells] ** 2).mean())
        drawn = without_rounding(told)
        evidence = _as_drawn(tree, drawn)
        contained = zip(evidence.coefficients(weights[cells]), evidence.measured, strict=True)
        noises = np.concatenate([np.abs(times) * np.sqrt(variance) for times, variance in contained])
        ends = np.diff(weights[cells][tree.order()], prepend=0.0, append=0.0)  # where sums are rounded; a cell has two
        return condensed(noises, (told - drawn) * float((ends**2).sum()) / 2)


def with_rounding(variances: Floats) -> Floats:
    """The variances of cells that are rounded at both of their ends; where there is hardly any noise, hardly."""
    return variances + np.minimum(variances, ROUNDED)


def without_rounding(variance: float) -> float:
    """The variance of the noise alone."""
    return max(variance - ROUNDED, variance / 2)


def _as_drawn(tree: Tree, variance: float) -> Evidence:
    """The evidence of a release whose cells have this variance on average.

    Noise of scale 1 / r has the variance 2 / r^2, nearly, if it is wide. Else it is a bit narrower, and more so on the
    levels that have more of the budget; then r is found by halving.
    """
    roots = np.cbrt(tree.faces)  # the rates r of the levels are in proportion to these
    wide = Evidence(tree, list(roots**-2))
    factor = variance / float(wide.cell_variances().mean())
    if variance > WIDE or variance < NEGLIGIBLE:
        return Evidence(tree, list(factor * roots**-2))
    low, high = 0.0, math.sqrt(2 / factor)
    for _ in range(HALVINGS):
        rate = (low + high) / 2
        evidence = Evidence(tree, list(0.5 / np.sinh(rate * roots / 2) ** 2))
        low, high = (rate, high) if evidence.cell_variances().mean() > variance else (low, rate)
    return evidence
