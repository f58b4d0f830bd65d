"""Every question against generated neighbours and against Python's whole numbers."""

import itertools
import math
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.errors import BadInput
from penstock.models import EventLevel, PrivacyModel
from penstock.noise import ScriptedNoise, SimulationNoise
from penstock.primitives.grouper import Deviation
from penstock.primitives.segment import SegmentPlan
from penstock.queries import (
    LARGEST_REFERENCE,
    LARGEST_SUM,
    Bins,
    Counts,
    Distance,
    Distances,
    EuclideanDistance,
    GroupDistances,
    GroupSums,
    LargestDistance,
    Query,
    as_reference,
    single_values,
)
from penstock.types import LARGEST_COUNT, Ints, Snapshot

fixed = settings(derandomize=True, deadline=None, max_examples=250)

models = st.builds(
    EventLevel,
    epsilon=st.just(1),
    neighbours=st.sampled_from(["add-remove", "replace"]),
    per_unit=st.integers(1, 3),
)
seeds = st.integers(0, 2**32)
DISTANCES = ["distance", "euclidean", "largest"]
KINDS = ["counts", *DISTANCES, "group sums", "group distances"]


def made(kind: str, labels: Any, reference: Any) -> Query:
    """The query of this kind."""
    queries: dict[str, Query] = {
        "counts": Counts(),
        "distance": Distance(reference),
        "euclidean": EuclideanDistance(reference),
        "largest": LargestDistance(reference),
        "group sums": GroupSums(labels),
        "group distances": GroupDistances(labels, reference),
    }
    return queries[kind]


@st.composite
def questions(draw: st.DrawFn) -> tuple[str, list[int], list[int], list[int], Bins | None]:
    """A kind of query, counts, labels, a reference and some bins; counts small or close to the largest."""
    size = draw(st.integers(1, 8))
    count = st.one_of(st.integers(0, 5), st.integers(LARGEST_COUNT - 5, LARGEST_COUNT - 3))
    counts = draw(st.lists(count, min_size=size, max_size=size))
    labels = draw(st.lists(st.integers(-1, 3), min_size=size, max_size=size))
    public = st.one_of(st.integers(-5, 8), st.integers(-(2**62), 2**62))
    reference = draw(st.lists(public, min_size=size, max_size=size))
    bins = draw(st.none() | st.lists(st.integers(0, size - 1), unique=True))
    return draw(st.sampled_from(KINDS)), counts, labels, reference, None if bins is None else np.array(bins, np.intp)


def slowly(
    kind: str, counts: list[int], labels: list[int], reference: list[int], bins: list[int], most: int
) -> list[int]:
    """The same value in Python's whole numbers, every term cut at ``most``."""
    near = [max(min(r, LARGEST_REFERENCE), -LARGEST_REFERENCE) for r in reference]
    apart = [min(abs(c - r), most) for c, r in zip(counts, near, strict=True)]
    cut = [min(c, most) for c in counts]
    if kind == "counts":
        return [counts[j] for j in bins]
    if kind == "distance":
        return [sum(apart[j] for j in bins)]
    if kind == "largest":
        return [max((apart[j] for j in bins), default=0)]
    if kind == "euclidean":
        return [math.isqrt(sum(apart[j] ** 2 for j in bins))]
    values = cut if kind == "group sums" else apart
    return [sum(values[j] for j in bins if labels[j] == group) for group in range(max(labels) + 1)]


@fixed
@given(questions())
def test_values_are_those_of_whole_numbers(
    question: tuple[str, list[int], list[int], list[int], Bins | None],
) -> None:
    """Few bins are never cut: each value is exact, for any bins, groups and public reference."""
    kind, counts, labels, reference, bins = question
    query = made(kind, labels, np.array(reference))
    asked = list(range(len(counts))) if bins is None else bins.tolist()
    most = LARGEST_SUM // max(len(asked) if kind in DISTANCES else len(counts), 1)
    value = query(np.array(counts), bins)
    assert value.dtype == np.int64
    assert value.shape == (query.size(bins, len(counts)),)  # one noise draw an entry
    assert value.tolist() == slowly(kind, counts, labels, reference, asked, most)


@fixed
@given(questions(), models, seeds)
def test_neighbours_move_no_query_further_than_its_sensitivity(
    question: tuple[str, list[int], list[int], list[int], Bins | None], model: PrivacyModel, seed: int
) -> None:
    """In L1 over the whole answer, add-remove and replace, one record a user or several."""
    kind, counts, labels, reference, bins = question
    query = made(kind, labels, np.array(reference))
    other = model.neighbouring([counts], np.random.default_rng(seed))[0]
    moved = np.abs(query(np.array(counts), bins) - query(other, bins)).sum()
    assert moved <= query.sensitivity(model) == model.sensitivity


@fixed
@given(questions(), seeds)
def test_a_query_depends_on_the_bins_it_says_it_touches_alone(
    question: tuple[str, list[int], list[int], list[int], Bins | None], seed: int
) -> None:
    """Charges per bin rest on this: whatever the other bins hold, the value is the same."""
    kind, counts, labels, reference, bins = question
    query = made(kind, labels, np.array(reference))
    touched = query.touches(bins)
    changed = np.random.default_rng(seed).integers(0, LARGEST_COUNT, len(counts))
    kept = slice(None) if touched is None else touched
    changed[kept] = np.array(counts)[kept]
    assert np.array_equal(query(np.array(counts), bins), query(changed, bins))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [3, 4, 511, 512, 513, 5000])
def test_many_large_counts_do_not_overflow(kind: str, size: int) -> None:
    """Terms are cut at a public bound, so that the sum is that of Python's whole numbers, and stays below 2**62."""
    rng = np.random.default_rng(size)
    counts = rng.integers(LARGEST_COUNT - 100, LARGEST_COUNT + 1, size)
    labels, reference = rng.integers(-1, 2, size), -rng.integers(2**59, 2**61, size)
    value = made(kind, labels, reference)(counts, None)
    lists = (counts.tolist(), labels.tolist(), reference.tolist(), list(range(size)))
    assert value.tolist() == slowly(kind, *lists, LARGEST_SUM // size)
    assert (value >= 0).all()
    assert value.max() <= LARGEST_SUM


@fixed
@given(seeds, models, st.integers(600, 3000), st.sampled_from(KINDS))
def test_cutting_moves_no_neighbours_apart(seed: int, model: PrivacyModel, size: int, kind: str) -> None:
    """Where terms are cut the sensitivity still holds."""
    rng = np.random.default_rng(seed)
    most = LARGEST_SUM // size
    counts = np.minimum(most + rng.integers(-2, 3, size), LARGEST_COUNT - 3)
    query = made(kind, rng.integers(-1, 3, size), rng.integers(-2, 3, size))
    other = model.neighbouring([counts], rng)[0]
    assert np.abs(query(counts, None) - query(other, None)).sum() <= model.sensitivity


@pytest.mark.parametrize("kind", DISTANCES)
def test_no_neighbour_at_all_moves_a_distance_further(kind: str) -> None:
    """Every small histogram, every public reference, every record that comes, goes or moves; and the bound is met."""
    moves = [(0, 1), (1, 0), (0, -1), (-1, 0), (1, -1), (-1, 1)]
    met = set()
    for reference in itertools.product(range(-2, 5), repeat=2):
        query = made(kind, [0, 0], np.array(reference))
        values = {counts: int(query(np.array(counts), None)[0]) for counts in itertools.product(range(6), repeat=2)}
        for (a, b), (i, j) in itertools.product(values, moves):
            if (a + i, b + j) in values:
                moved, records = abs(values[a, b] - values[a + i, b + j]), abs(i) + abs(j)
                assert moved <= records
                met.add((moved, records))
    assert (1, 1) in met
    assert ((2, 2) in met) == (kind != "largest")


@pytest.mark.parametrize("kind", DISTANCES)
def test_a_distance_over_no_bins_is_nothing(kind: str) -> None:
    """One number still, because noise is drawn for one."""
    nothing = made(kind, [0, 0], [5, 5])(np.array([1, 2]), np.empty(0, np.intp))
    assert nothing.dtype == np.int64
    assert nothing.tolist() == [0]


@fixed
@given(questions())
def test_distances_are_in_order(question: tuple[str, list[int], list[int], list[int], Bins | None]) -> None:
    """The largest of any bin is at most L2, which is at most L1; a single bin has one distance only."""
    _, counts, labels, reference, bins = question
    near = np.clip(reference, -100, 100)
    small = np.minimum(counts, 1000)
    l1, l2, largest = (int(made(kind, labels, near)(small, bins)[0]) for kind in DISTANCES)
    assert largest <= l2 <= l1
    if len(counts) == 1:
        assert largest == l2 == l1


@st.composite
def series(draw: st.DrawFn) -> tuple[Ints, Ints, int]:
    """Columns of counts of various lengths, and a grid."""
    units, columns = draw(st.integers(1, 7)), draw(st.integers(1, 4))
    lengths = draw(st.lists(st.integers(1, units), min_size=columns, max_size=columns))
    rng = np.random.default_rng(draw(seeds))
    members = rng.integers(0, draw(st.sampled_from([2, 10, 10**9, LARGEST_COUNT])), (units, columns))
    return members, np.array(lengths), draw(st.sampled_from([1, 3, 64]))


@fixed
@given(series())
def test_deviation_is_the_floor_of_the_exact_one(given_series: tuple[Ints, Ints, int]) -> None:
    """Sum |c - mean| over each column in fractions, times the grid, rounded down; what is large is cut."""
    members, lengths, grid = given_series
    for j, length in enumerate(lengths.tolist()):
        column = [min(int(c), LARGEST_SUM // length) for c in members[:length, j]]
        mean, most = Fraction(sum(column), length), Fraction(LARGEST_SUM // (grid * length), length)
        assert Deviation(grid)(members, lengths)[j] == grid * sum(min(abs(c - mean), most) for c in column) // 1


@pytest.mark.parametrize("length", [2, 100, 10_000])
def test_deviation_sees_a_jump_of_the_largest_counts(length: int) -> None:
    """Cut or not, it is far from 0, and inside 64 bits."""
    members = np.zeros((length, 1), np.int64)
    members[length // 2 :] = LARGEST_COUNT
    assert Deviation()(members, np.array([length]))[0] > 2**40


@fixed
@given(questions(), st.integers(1, 3), st.integers(-3, 3), seeds)
def test_where_records_are_replaced_no_query_moves_further_if_they_are_added_or_removed(
    question: tuple[str, list[int], list[int], list[int], Bins | None], per_unit: int, added: int, seed: int
) -> None:
    """So the noise covers all three kinds of change, and a statement may say so."""
    kind, counts, labels, reference, bins = question
    query, model = (
        made(kind, labels, np.array(reference)),
        EventLevel(epsilon=1, neighbours="replace", per_unit=per_unit),
    )
    other, rng = np.array(counts), np.random.default_rng(seed)
    for _ in range(min(abs(added), per_unit)):
        other[rng.integers(len(other))] += int(np.sign(added))
    other = np.clip(other, 0, LARGEST_COUNT)
    assert np.abs(query(np.array(counts), bins) - query(other, bins)).sum() <= query.sensitivity(model)


@fixed
@given(series(), models, seeds)
def test_neighbours_move_deviations_no_further_than_the_sensitivity(
    given_series: tuple[Ints, Ints, int], model: PrivacyModel, seed: int
) -> None:
    """One unit differs; the moves of all columns together count, for records may lie in several."""
    members, lengths, grid = given_series
    other = model.neighbouring(members, np.random.default_rng(seed))
    deviation = Deviation(grid)
    moved = np.abs(deviation(members, lengths) - deviation(other, lengths)).sum()
    assert moved <= deviation.sensitivity(model) == (2 * grid + 1) * model.sensitivity


@pytest.mark.parametrize(
    "labels",
    [[0.0, 1.0], ["a", "b"], [[0, 1]], [0, -2], 5, [], [True, False], np.zeros((2, 2), int), [None, 0]],
)
def test_labels_that_are_no_groups_are_refused(labels: Any) -> None:
    """Whole numbers, one row, -1 for none."""
    with pytest.raises(BadInput, match="labels must give each bin the number of its group, or -1 for none"):
        GroupSums(labels)
    with pytest.raises(BadInput, match="labels must give"):
        GroupDistances(labels, [0, 0])


@pytest.mark.parametrize("kind", [*DISTANCES, "group distances"])
@pytest.mark.parametrize("shape", [(), (1,), (2,), (4,), (3, 1), (1, 3), (3, 3), (3, 1, 1)])
def test_a_reference_has_one_entry_a_bin(kind: str, shape: tuple[int, ...]) -> None:
    """A column would be compared with every bin in turn: one record would move the sum once for each row."""
    refused_unpaid(made(kind, [0, 0, 0], np.zeros(shape)))


@pytest.mark.parametrize("kind", ["group sums", "group distances"])
@pytest.mark.parametrize("size", [1, 2, 4, 30])
def test_labels_are_one_a_bin(kind: str, size: int) -> None:
    """Neither fewer nor more."""
    refused_unpaid(made(kind, np.zeros(size, int), [0, 0, 0]))


def refused_unpaid(query: Query) -> None:
    """The curator refuses the query for three bins, however it is asked, before anything is paid or drawn."""
    curator = Curator(EventLevel(epsilon=1), 3, noise=ScriptedNoise([1]))
    segment, snapshot = curator.segment(SegmentPlan(1, Epsilon(0.1), Epsilon(0.1))), Snapshot(1, [5, 5, 5])
    curator.begin_unit(snapshot)
    for bins in (None, [0, 1]):
        with pytest.raises(BadInput, match="give one entry a bin"):
            curator.ask(snapshot, query, Epsilon(0.1), bins)
    with pytest.raises(BadInput, match="give one entry a bin"):
        curator.nearest(snapshot, [query, Distance([0, 0, 0])], Epsilon(0.1))
    with pytest.raises(BadInput, match="give one entry a bin"):
        segment.above(snapshot, query, 1, then=Epsilon(0.1))
    assert curator.remaining() == Epsilon(1)


@pytest.mark.parametrize("kind", ["group sums", "group distances"])
def test_labels_are_copied_in(kind: str) -> None:
    """Who reuses the array of labels changes neither the groups nor the bins that pay for them."""
    labels = np.array([0, 0, 1])
    query = made(kind, labels, [0, 0, 0])
    labels[:] = -1
    assert query(np.array([1, 2, 3]), None).tolist() == [3, 3]
    assert query.touches(None) is None


@pytest.mark.parametrize(
    ("public", "whole"),
    [
        ([1.5, 2.5, -0.4], [2, 2, 0]),
        ([float("nan"), float("inf"), float("-inf")], [0, 2**60, -(2**60)]),
        ([1e300, -1e300, 2.0**61], [2**60, -(2**60), 2**60]),
        ([2**62, -(2**62), 7], [2**60, -(2**60), 7]),
        (np.array([1, 2], np.int8), [1, 2]),
        (np.array([1, 2**64 - 1], np.uint64), [1, 2**60]),
        (np.array([1.5, 3.5], np.float32), [2, 4]),
    ],
)
def test_a_reference_is_rounded_publicly(public: Any, whole: list[int]) -> None:
    """To whole numbers small enough to subtract, from any kind of number."""
    assert as_reference(public).tolist() == whole


def test_more_values_than_are_squared_at_once_count_once_each() -> None:
    size = 2**20 + 3
    counts = np.zeros(size, np.int64)
    counts[[0, 2**20 - 1, 2**20, size - 1]] = [12, 16, 15, 60]
    exact = math.isqrt(12**2 + 16**2 + 15**2 + 60**2)
    assert EuclideanDistance(np.zeros(size, np.int64))(counts, None).tolist() == [exact]


def test_queries_are_written_in_the_kernel_alone() -> None:
    """Each states a sensitivity, which the noise is made for."""
    with pytest.raises(BadInput, match="a query states a sensitivity and belongs to the kernel"):
        type("Mine", (Query,), {})


def test_a_reference_is_copied_in() -> None:
    """Later changes of the array it came from do not matter."""
    public: NDArray[np.int64] = np.array([1, 2])
    query = Distance(public)
    public[:] = 100
    assert query(np.array([1, 2]), None).tolist() == [0]


# ---- distances to many references -----------------------------------------------------------------------------------


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[int], list[list[int]]]:
    """Counts, and rows to compare them with."""
    size = draw(st.integers(1, 5))
    count, public = st.integers(0, 9) | st.just(LARGEST_COUNT), st.integers(-9, 9) | st.integers(-(2**62), 2**62)
    rows = st.lists(st.lists(public, min_size=size, max_size=size), min_size=1, max_size=7)
    return draw(st.lists(count, min_size=size, max_size=size)), draw(rows)


@fixed
@given(tables(), st.sampled_from([1, 4, 2**16]))
def test_a_table_is_as_many_distances(case: tuple[list[int], list[list[int]]], at_once: int) -> None:
    """By whatever number of rows they are computed; and as queries they are told from single ones by nothing."""
    counts, rows = np.array(case[0]), case[1]
    alone, together = [Distance(row) for row in rows], Distances(rows)
    with mock.patch("penstock.queries.AT_ONCE", at_once):
        assert single_values(together, counts).tolist() == [query(counts, None)[0] for query in alone]
    for query, single in zip(together, alone, strict=True):
        assert type(query) is Distance
        assert [part.tolist() for part in query.content] == [part.tolist() for part in single.content]
        assert query(counts, None).tolist() == single(counts, None).tolist()


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3,), (2, 1), (2, 2), (2, 4), (2, 3, 1), (2, 1, 3), (2, 3, 3)])
def test_a_table_has_one_entry_a_bin(shape: tuple[int, ...]) -> None:
    """In every row, and one row at least; anything else is refused before it is paid for."""
    curator, snapshot = Curator(EventLevel(epsilon=1), 3, noise=ScriptedNoise([1])), Snapshot(1, [5, 5, 5])
    curator.begin_unit(snapshot)
    with pytest.raises(BadInput, match=r"give one entry a bin|one query or more"):
        curator.nearest(snapshot, Distances(np.zeros(shape)), Epsilon(0.1))
    assert curator.remaining() == Epsilon(1)


def test_a_table_is_copied_in() -> None:
    """Later changes of the array it came from do not matter."""
    public: NDArray[np.int64] = np.array([[1, 2], [3, 4]])
    table = Distances(public)
    public[:] = 100
    assert single_values(table, np.array([1, 2])).tolist() == [0, 4]


@fixed
@given(tables(), seeds)
def test_of_a_table_the_nearest_is_chosen_as_among_single_queries(
    case: tuple[list[int], list[list[int]]], seed: int
) -> None:
    """With the same noise the same one, for the same charge."""
    chosen = []
    for kind in (Distances, lambda rows: [Distance(row) for row in rows]):
        curator, snapshot = (
            Curator(EventLevel(epsilon=1), len(case[0]), noise=SimulationNoise(seed)),
            Snapshot(1, case[0]),
        )
        curator.begin_unit(snapshot)
        chosen.append((curator.nearest(snapshot, kind(case[1]), Epsilon("0.25")), curator.remaining()))
    assert chosen[0] == chosen[1]
