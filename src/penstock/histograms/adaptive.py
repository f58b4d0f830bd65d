"""Adaptive: look first, then measure as finely as is worth it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from penstock.epsilon import Epsilon
from penstock.histograms.base import Histogram, Measured, Shape, levelled, require_split, variance
from penstock.histograms.laplace import Laplace
from penstock.parameters import above, within
from penstock.primitives.projection import fitted
from penstock.primitives.purse import Purse
from penstock.primitives.tree import Evidence, Tree, tree_over
from penstock.queries import LARGEST_SUM
from penstock.types import Floats, Ints, Kind, Mask


@dataclass(frozen=True)
class Adaptive(Histogram):
    """Noisy sums of a tree tell where the records are; there cells are measured alone, elsewhere many together.

    In the manner of adaptive grids (Qardaji et al. 2013) on a tree. A part of the budget asks for the sums of all
    levels above the cells. By these, which are public then, nodes are divided while they hold enough to be worth the
    noise of their parts. The rest of the budget asks for the sums of what came of it, one question about parts that do
    not overlap. In the end all levels are made to agree, and nothing is below 0. Best for skewed and sparse data.

    ``look``   the part of the budget for the first look
    ``worth``  a node is divided if it holds so many records for each of its parts, times the noise of one
    ``split``  into how many parts a node is divided along each dimension
    """

    look: float = 0.3
    worth: float = 0.7
    split: int = 4

    def validate(self) -> None:
        within("look", self.look, 0, 1)
        above("worth", self.worth, 0)
        require_split(self.split)

    def measure(self, ask: Purse, shape: Shape, e: Epsilon) -> Measured:
        tree = tree_over(shape, self.split, ask.cells)
        looking = e.share(self.look)
        if looking.nano < len(tree.parents) or not tree.parents:
            return Laplace().measure(ask, shape, e)
        evidence, found = looked(tree, ask, levelled(looking, tree.sizes[1:]))
        rest = variance(ask, e - looking)
        cut = self.cut(tree, shared_out(evidence, found), math.sqrt(rest))
        evidence, found = cut.refined(evidence, found, ask(e - looking, cut.labels), rest)
        return Measured(shared_out(evidence, found)[0], Kind.GROUPED, cut.noise_sd(evidence))

    def cut(self, tree: Tree, sums: Sequence[Ints], noise: float) -> Cut:
        """Divide nodes from the root on while they hold enough; what is not divided any further is a part."""
        reached = [np.ones(1, np.bool_)]
        parts: list[Mask] = []
        label, count = np.full(1, -1), 0
        for level in reversed(range(len(tree.sizes))):
            divided = np.zeros(tree.sizes[level], np.bool_)
            if level:
                pieces = np.bincount(tree.parents[level - 1], minlength=tree.sizes[level])
                divided = reached[0] & (sums[level] > self.worth * noise * pieces)
            part = reached[0] & ~divided
            label = np.where(part, count + np.cumsum(part) - 1, label)
            count += int(part.sum())
            parts.insert(0, part)
            if level:
                reached.insert(0, divided[tree.parents[level - 1]])
                label = label[tree.parents[level - 1]]
        return Cut(tree, reached, parts, label)


class Cut(NamedTuple):
    """Where a tree is cut off: on each level the nodes that are reached, and the parts; and the part of every cell."""

    tree: Tree
    reached: list[Mask]
    parts: list[Mask]
    labels: Ints

    def refined(
        self, evidence: Evidence, found: list[Floats], measured: Ints, noise: float
    ) -> tuple[Evidence, list[Floats]]:
        """What is known when the sums of the parts are measured, too. Nothing is known of nodes below them."""
        variances: list[Floats] = []
        values: list[Floats] = []
        begin = 0
        for level, (reached, part) in reversed(list(enumerate(zip(self.reached, self.parts, strict=True)))):
            own, value = np.where(reached, evidence.measured[level], np.inf), found[level].copy()
            sums = measured[begin : begin + int(part.sum())]
            begin += len(sums)
            both = 1 / (1 / own[part] + 1 / noise)
            value[part] = both * (value[part] / own[part] + sums / noise)
            own[part] = both
            variances.insert(0, own)
            values.insert(0, value)
        return Evidence(self.tree, variances), values

    def noise_sd(self, evidence: Evidence) -> Floats:
        """About how wide the noise of each cell is: its share of what its part's sum has before levels agree."""
        carried = np.concatenate(
            [evidence.variances[level][part] for level, part in reversed([*enumerate(self.parts)])]
        )
        shared: Floats = (np.sqrt(carried) / np.bincount(self.labels))[self.labels]
        return shared


def looked(tree: Tree, ask: Purse, budgets: Sequence[Epsilon]) -> tuple[Evidence, list[Floats]]:
    """A first look: the sums of all nodes above the cells."""
    sums = [ask(e, tree.labels(level)).astype(np.float64) for level, e in enumerate(budgets, start=1)]
    evidence = Evidence(tree, [np.inf, *(variance(ask, e) for e in budgets)])
    return evidence, [np.zeros(tree.sizes[0]), *sums]


def shared_out(evidence: Evidence, found: Sequence[Floats]) -> list[Ints]:
    """The sums of all nodes, level by level from the root: whole numbers that add up, none of them below 0."""
    tree, known = evidence.tree, evidence.gathered(found)
    sums = [np.rint(np.clip(known[-1], 0, LARGEST_SUM)).astype(np.int64)]
    for level in reversed(range(len(tree.parents))):
        parents, variances = tree.parents[level], evidence.variances[level]
        off = sums[0] - tree.above(level, known[level])
        wanted = known[level] + evidence.shares(level) * off[parents]
        whole = np.floor(wanted)
        usable = np.where(np.isfinite(variances), variances, 1.0)
        sums.insert(0, fitted(whole.astype(np.int64), parents, sums[0], variances=usable, parts=wanted - whole))
    return sums
