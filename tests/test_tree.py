"""Trees over cells, and what measurements on all of their levels say together, against dense linear algebra."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.primitives.tree import Evidence, Tree, tree_over
from penstock.types import Floats, Ints

fixed = settings(derandomize=True, deadline=None, max_examples=120)

SHAPES = [(1,), (1, 1), (2,), (3,), (7,), (13,), (97,), (1, 5, 1), (16, 16), (5, 7), (31, 2), (2, 3, 5), (3, 1, 3, 2)]
SHAPES += [(2, 2, 2, 2, 2), (3, 2, 1, 2, 3, 2), (2, 1, 1, 1, 1, 11)]


@st.composite
def trees(draw: st.DrawFn, most: int = 150) -> Tree:
    """Of one dimension to six, over all cells of a domain or over some, in any order."""
    shape = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 4, 5, 7, 11, 13]), min_size=1, max_size=6)))
    assume(math.prod(shape) <= most)
    cells = None
    if draw(st.booleans()):
        cells = draw(st.lists(st.integers(0, math.prod(shape) - 1), min_size=1, max_size=40, unique=True))
    return Tree(shape, draw(st.integers(2, 5)), None if cells is None else np.array(cells, np.intp))


def rows(tree: Tree) -> Floats:
    """Which cells each node sums up, level by level."""
    levels = [tree.labels(level) == np.arange(size)[:, np.newaxis] for level, size in enumerate(tree.sizes)]
    return np.concatenate(levels).astype(np.float64)


class Dense(NamedTuple):
    """The same evidence without a tree."""

    rows: Floats
    variances: Floats

    @property
    def identified(self) -> bool:
        return bool(np.linalg.matrix_rank(self.rows[np.isfinite(self.variances)]) == self.rows.shape[1])

    def covariance(self) -> Floats:
        precision = self.rows.T @ (self.rows / self.variances[:, np.newaxis])
        return np.linalg.inv(precision).astype(np.float64)

    def settled(self, measured: Floats) -> Floats:
        estimate: Floats = self.covariance() @ self.rows.T @ (measured / self.variances)
        return estimate


def by_level(tree: Tree, values: Floats) -> list[Floats]:
    return np.split(values, np.cumsum(tree.sizes)[:-1])


def same_tree(a: Tree, b: Tree) -> bool:
    alike = all(np.array_equal(x, y) for x, y in zip(a.parents, b.parents, strict=True))
    return (a.sizes, a.faces) == (b.sizes, b.faces) and alike


# ---- the tree -------------------------------------------------------------------------------------------------------


@fixed
@given(trees())
def test_every_node_has_a_parent_and_a_child(tree: Tree) -> None:
    assert tree.sizes[-1] == 1
    assert tree.sizes == sorted(set(tree.sizes), reverse=True)  # a level that merges nothing would be asked for twice
    assert len(tree.parents) == len(tree.sizes) - 1 == len(tree.faces) - 1
    for level, parents in enumerate(tree.parents):
        assert parents.shape == (tree.sizes[level],)
        assert set(parents.tolist()) == set(range(tree.sizes[level + 1]))


@fixed
@given(trees(), st.integers(0, 2**32))
def test_sums_agree_on_all_levels(tree: Tree, seed: int) -> None:
    values = np.random.default_rng(seed).integers(-1000, 1000, tree.sizes[0])
    sums: NDArray[np.float64] = values.astype(np.float64)
    for level in range(len(tree.parents)):
        sums = tree.above(level, sums)
        assert np.array_equal(sums, np.bincount(tree.labels(level + 1), values))
    assert sums.tolist() == [values.sum()]


@pytest.mark.parametrize("split", [2, 3, 4, 1025])
@pytest.mark.parametrize("shape", SHAPES)
def test_nodes_are_boxes(shape: tuple[int, ...], split: int) -> None:
    """As many cells in a node as in the box around them, and no side more than ``split`` times that of its children."""
    tree, places = Tree(shape, split), np.array(np.unravel_index(np.arange(math.prod(shape)), shape))
    for level, size in enumerate(tree.sizes):
        labels = tree.labels(level)
        for node in range(size):
            inside = places[:, labels == node]
            sides = inside.max(axis=1) - inside.min(axis=1) + 1
            assert inside.shape[1] == math.prod(sides.tolist())
            assert sides.max() <= split**level


@fixed
@given(trees())
def test_the_order_keeps_the_cells_of_a_node_together(tree: Tree) -> None:
    order = tree.order()
    assert sorted(order.tolist()) == list(range(tree.sizes[0]))
    for level, size in enumerate(tree.sizes):
        assert np.count_nonzero(np.diff(tree.labels(level)[order])) == size - 1


def together(labels: Ints) -> bytes:
    """Which cells are under one node."""
    return np.equal(labels, labels[:, np.newaxis]).tobytes()


@fixed
@given(st.integers(2, 5), st.integers(2, 99), st.integers(0, 2**32))
def test_a_part_of_the_cells_is_a_part_of_the_tree(split: int, length: int, seed: int) -> None:
    """Cells are under one node of the tree over some cells if they are under one of the tree over all."""
    rng = np.random.default_rng(seed)
    cells = rng.permutation(length)[: int(rng.integers(1, length + 1))]
    part, whole = Tree((length,), split, cells), Tree((length,), split)
    kept = {together(whole.labels(level)[cells]) for level in range(len(whole.sizes))}
    assert {together(part.labels(level)) for level in range(len(part.sizes))} == kept


def test_all_cells_named_are_the_whole_tree() -> None:
    for shape in SHAPES:
        named = np.arange(math.prod(shape), dtype=np.intp)
        assert same_tree(Tree(shape, 3, named), Tree(shape, 3))
        assert same_tree(tree_over(shape, 3, None), Tree(shape, 3))
        assert tree_over(shape, 3, None) is tree_over(shape, 3, None)


# ---- rounding -------------------------------------------------------------------------------------------------------


def require_near(tree: Tree, values: Floats) -> None:
    whole = tree.rounded(values)
    assert whole.dtype == np.int64
    for level, size in enumerate(tree.sizes):
        labels = tree.labels(level)
        off = np.bincount(labels, whole - values, minlength=size)
        assert np.abs(off).max() < 1


@fixed
@given(trees(), st.integers(0, 2**32), st.sampled_from([1, 1e3, 1e9]))
def test_rounding_moves_no_node_by_1(tree: Tree, seed: int, scale: float) -> None:
    require_near(tree, np.random.default_rng(seed).normal(0, scale, tree.sizes[0]))


@fixed
@given(trees(), st.data())
def test_rounding_moves_no_node_by_1_even_if_it_is_undecided(tree: Tree, data: st.DataObject) -> None:
    """Halves, as they come out where two levels know a sum equally well."""
    size = tree.sizes[0]
    require_near(tree, np.array(data.draw(st.lists(st.integers(-9, 9), min_size=size, max_size=size))) / 2)


def test_whole_numbers_stay() -> None:
    for shape in SHAPES:
        values = np.random.default_rng(1).integers(-(2**40), 2**40, math.prod(shape))
        assert np.array_equal(Tree(shape, 2).rounded(values.astype(np.float64)), values)


def test_no_cells_are_rounded_to_nothing() -> None:
    """A mechanism may choose no bins at all."""
    tree = Tree((3,), 2, np.empty(0, np.intp))
    assert tree.sizes == [0]
    assert tree.rounded(np.empty(0)).tolist() == []


# ---- evidence -------------------------------------------------------------------------------------------------------


def sum_variance(evidence: Evidence, weights: Floats) -> float:
    """The variance of a weighted sum, from the noises that it contains."""
    contained = zip(evidence.coefficients(weights), evidence.measured, strict=True)
    return float(sum((times[known] ** 2 * v[known]).sum() for times, v in contained for known in [np.isfinite(v)]))


def compared(tree: Tree, variances: Floats, seed: int) -> None:
    """Estimates, their variances and those of weighted sums."""
    evidence, dense = Evidence(tree, by_level(tree, variances)), Dense(rows(tree), variances)
    rng = np.random.default_rng(seed)
    measured, weights = rng.normal(0, 100, len(variances)), rng.normal(0, 1, tree.sizes[0])
    covariance = dense.covariance()
    scale = np.sqrt(np.diag(covariance)).max()
    settled = evidence.settled(by_level(tree, measured))
    assert np.abs(settled - dense.settled(measured)).max() < 1e-6 * max(100, scale)
    assert evidence.cell_variances() == pytest.approx(np.diag(covariance), rel=1e-7)
    assert sum_variance(evidence, weights) == pytest.approx(weights @ covariance @ weights, rel=1e-7)


@fixed
@given(trees(60), st.data())
def test_evidence_is_generalised_least_squares(tree: Tree, data: st.DataObject) -> None:
    nodes = sum(tree.sizes)
    logs = data.draw(st.lists(st.floats(-2, 2), min_size=nodes, max_size=nodes))
    compared(tree, 10 ** np.array(logs), data.draw(st.integers(0, 2**32)))


@fixed
@given(trees(60), st.data())
def test_one_variance_a_level_is_one_for_all_of_its_nodes(tree: Tree, data: st.DataObject) -> None:
    each = data.draw(st.lists(st.floats(0.01, 100), min_size=len(tree.sizes), max_size=len(tree.sizes)))
    compared(tree, np.repeat(each, tree.sizes), 3)
    short, long = Evidence(tree, each), Evidence(tree, by_level(tree, np.repeat(each, tree.sizes)))
    assert np.array_equal(short.cell_variances(), long.cell_variances())


def unknown(data: st.DataObject, number: int) -> NDArray[np.bool_]:
    return np.array(data.draw(st.lists(st.booleans(), min_size=number, max_size=number)), np.bool_)


@fixed
@given(trees(60), st.data())
def test_nodes_above_the_cells_may_be_unknown(tree: Tree, data: st.DataObject) -> None:
    """Infinity stands for no measurement at all."""
    variances = np.random.default_rng(5).uniform(0.5, 50, sum(tree.sizes))
    variances[tree.sizes[0] :][unknown(data, sum(tree.sizes[1:]))] = np.inf
    compared(tree, variances, 4)


@fixed
@given(trees(60), st.data())
def test_any_node_may_be_unknown_that_follows_from_the_others(tree: Tree, data: st.DataObject) -> None:
    """A cell that was not measured is its parent less its siblings, which keep what is known of them."""
    variances = np.random.default_rng(6).uniform(0.5, 50, sum(tree.sizes))
    variances[unknown(data, sum(tree.sizes))] = np.inf
    assume(Dense(rows(tree), variances).identified)
    compared(tree, variances, 4)


def test_a_cell_that_was_not_measured_takes_what_is_missing() -> None:
    """The smallest case: 10 in all, 4 in the first cell as far as is known, so 6 in the other."""
    evidence = Evidence(Tree((2,), 2), [np.array([1.0, np.inf]), 1.0])
    assert evidence.settled([np.array([4.0, 0.0]), np.array([10.0])]).tolist() == [4, 6]


def test_an_only_child_that_was_not_measured_is_its_parent() -> None:
    """Of three cells the last one is alone in its node."""
    evidence = Evidence(Tree((3,), 2), [np.array([1.0, 1.0, np.inf]), 1.0, 1.0])
    assert np.isfinite(evidence.cell_variances()).all()


def test_sums_of_nodes_are_known_though_no_cell_is() -> None:
    """All measurements lie above the cells: the sums of nodes come out as by least squares on the nodes alone."""
    tree, rng = Tree((4, 4), 2), np.random.default_rng(8)
    measured = [np.zeros(16), rng.normal(0, 9, 4), rng.normal(0, 9, 1)]
    settled = Evidence(tree, [np.inf, 3.0, 2.0]).settled(measured)
    dense = Dense(np.vstack([np.eye(4), np.ones(4)]), np.array([3.0, 3.0, 3.0, 3.0, 2.0]))
    found = np.bincount(tree.labels(1), settled)
    assert found == pytest.approx(dense.settled(np.concatenate(measured[1:])))
    assert settled == pytest.approx(found[tree.labels(1)] / 4)


@pytest.mark.parametrize(("shape", "split"), [((3,), 2), ((5,), 4), ((17,), 4), ((5, 3), 2), ((10,), 3)])
def test_cells_of_which_nothing_is_known_are_alike(shape: tuple[int, ...], split: int) -> None:
    """Only the total is known. A cell that happens to be alone in its node has no more of it than any other."""
    tree = Tree(shape, split)
    variances: list[float] = [np.inf] * (len(tree.sizes) - 1) + [1.0]
    settled = Evidence(tree, variances).settled([*(np.zeros(size) for size in tree.sizes[:-1]), np.array([90.0])])
    assert settled == pytest.approx(np.full(tree.sizes[0], 90 / tree.sizes[0]))


@fixed
@given(trees(60), st.sampled_from([1e-100, 1e-30, 1e30, 1e100]))
def test_variances_of_any_size_do_not_leave_the_floats(tree: Tree, size: float) -> None:
    """With one level exact among noisy ones, as where the budget of a level is huge."""
    for level in range(len(tree.sizes)):
        variances: Sequence[float] = [size if each == level else 1.0 for each in range(len(tree.sizes))]
        evidence = Evidence(tree, variances)
        settled = evidence.settled([np.ones(each) for each in tree.sizes])
        assert np.isfinite(settled).all()
        assert (evidence.cell_variances() >= 0).all()
        assert math.isfinite(sum_variance(evidence, np.ones(tree.sizes[0])))


@fixed
@given(trees(), st.integers(0, 2**32))
def test_the_same_in_the_same_out(tree: Tree, seed: int) -> None:
    """To the last bit, and nothing that was given is written to."""
    rng = np.random.default_rng(seed)
    measured, variances = rng.normal(0, 100, sum(tree.sizes)), rng.uniform(1, 9, sum(tree.sizes))
    given, widths = measured.copy(), variances.copy()
    outcomes = []
    for _ in range(2):
        evidence = Evidence(tree, by_level(tree, variances))
        settled = evidence.settled(by_level(tree, measured))
        outcomes.append([settled.tobytes(), evidence.cell_variances().tobytes(), tree.rounded(settled).tobytes()])
    assert outcomes[0] == outcomes[1]
    assert np.array_equal(measured, given)
    assert np.array_equal(variances, widths)
