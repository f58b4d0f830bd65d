"""Groups of bins: every bin in one group, groups numbered from 0, and the documented rule to the letter."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from penstock.primitives.grouping import NONE, bands, equal_parts, small_together
from penstock.types import Floats, Ints, Mask

thorough = settings(derandomize=True, deadline=None, max_examples=200)

ROWS = 3  # what RescueDP remembers
WHOLE = st.integers(-(2**60), 2**60)
FLOATS = st.floats(allow_nan=True, allow_infinity=True)
MULTIPLES = st.integers(-20, 60).map(lambda third: 3 * third)  # so that means of three are exact


def columns(history: Floats) -> list[list[Fraction]]:
    return [[Fraction(value) for value in column] for column in history.T.tolist()]


def correlate_beyond(one: list[Fraction], other: list[Fraction], alike: Fraction) -> bool:
    """Whether Pearson's correlation is above ``alike``, in exact arithmetic; 1 where one of them does not move."""
    mine, others = ([value - mean(column) for value in column] for column in (one, other))
    product, squares = dot(mine, others), dot(mine, mine) * dot(others, others)
    if not squares:
        return alike < 1
    assume(abs(product * product - alike * alike * squares) > squares / 10**9)  # else rounding decides
    return product * abs(product) > alike * abs(alike) * squares


def mean(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def dot(one: list[Fraction], other: list[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0))


def by_the_rule(history: Floats, which: Mask, small: Fraction, apart: Fraction, alike: Fraction) -> list[int]:
    """The docstring of ``small_together``, bin by bin."""
    values = columns(history)
    means = [mean(column) for column in values]
    order = sorted(np.flatnonzero(which).tolist(), key=lambda j: means[j])
    labels, label, together = [NONE] * len(values), NONE, Fraction(0)
    for place, j in enumerate(order):
        before, held = order[place - 1], max(means[j], Fraction(0))
        ends = (
            place == 0
            or held > small
            or together + held >= small
            or held - max(means[before], Fraction(0)) >= apart
            or not correlate_beyond(values[before], values[j], alike)
        )
        label, together = label + ends, held if ends else together + held
        labels[j] = label
    return labels


@st.composite
def histories(draw: st.DrawFn, entries: st.SearchStrategy[float] = MULTIPLES) -> tuple[Floats, Mask]:
    """Anything at all."""
    bins = draw(st.integers(1, 12))
    rows = draw(st.lists(st.lists(entries, min_size=bins, max_size=bins), min_size=ROWS, max_size=ROWS))
    which = draw(st.lists(st.booleans(), min_size=bins, max_size=bins))
    return np.array(rows, np.float64), np.array(which, np.bool_)


@st.composite
def alike_histories(draw: st.DrawFn) -> tuple[Floats, Mask]:
    """Small bins that rest, or rise and fall together, so that most of them belong together."""
    bins = draw(st.integers(1, 16))
    levels = draw(
        st.lists(st.sampled_from([-3, 0, 1, 2, 3, 5, 8, 10, 11, 15, 29, 30, 31]), min_size=bins, max_size=bins)
    )
    swings = draw(st.lists(st.sampled_from([0, 0, 1, 1, 1, 2, -1]), min_size=bins, max_size=bins))
    shape = np.array(draw(st.sampled_from([[-1, 0, 1], [1, 0, -1], [2, -1, -1]])))
    which = draw(st.lists(st.sampled_from([True, True, True, False]), min_size=bins, max_size=bins))
    return (np.array(levels) + np.outer(shape, swings)).astype(np.float64), np.array(which, np.bool_)


def require_partition(labels: Ints, which: Mask | None = None) -> None:
    """Every chosen bin in a group, no other bin in one, groups numbered from 0 without a gap."""
    assert labels.dtype == np.int64
    chosen = np.ones(len(labels), np.bool_) if which is None else which
    assert np.array_equal(labels == NONE, ~chosen)
    found = sorted(set(labels[chosen].tolist()))
    assert found == list(range(len(found)))


# ---- equal parts ----------------------------------------------------------------------------------------------------


@thorough
@given(st.lists(FLOATS | WHOLE.map(float), min_size=1, max_size=40), st.integers(1, 60) | st.just(10**400))
def test_equal_parts_are_equal_and_in_order(scores: list[float], groups: int) -> None:
    given_scores = np.array(scores)
    labels = equal_parts(given_scores, groups)
    require_partition(labels)
    sizes = np.bincount(labels)
    assert len(sizes) == min(groups, len(scores))
    assert sizes.max() - sizes.min() <= 1
    assert np.array_equal(given_scores, np.array(scores), equal_nan=True)
    ranked = sorted(range(len(scores)), key=lambda j: (np.isnan(scores[j]), 0 if np.isnan(scores[j]) else scores[j], j))
    assert np.all(np.diff(labels[ranked]) >= 0)


@thorough
@given(st.lists(WHOLE, min_size=1, max_size=30), st.integers(1, 40))
def test_equal_parts_of_whole_numbers_tell_neighbouring_ones_apart(scores: list[int], groups: int) -> None:
    """Published values are whole numbers, too large for floats to tell apart."""
    labels = equal_parts(np.array(scores, np.int64), groups)
    ranked = sorted(range(len(scores)), key=lambda j: (scores[j], j))
    assert np.all(np.diff(labels[ranked]) >= 0)


def test_as_many_parts_as_bins_or_more_leave_every_bin_alone() -> None:
    scores = np.array([7, 7, 1, 9])
    for groups in (4, 5, 1000):
        assert equal_parts(scores, groups).tolist() == [1, 2, 0, 3]


def test_one_part_is_everything() -> None:
    assert equal_parts(np.array([3, 1, 2]), 1).tolist() == [0, 0, 0]
    assert equal_parts(np.array([3]), 5).tolist() == [0]


# ---- bands ----------------------------------------------------------------------------------------------------------


@thorough
@given(st.lists(st.integers(-(2**52), 2**52), min_size=1, max_size=30), st.integers(1, 2**20))
def test_bins_share_a_band_if_and_only_if_they_fall_into_it(values: list[int], width: int) -> None:
    labels = bands(np.array(values, np.int64), width)
    require_partition(labels)
    number = {floor: i for i, floor in enumerate(sorted({value // width for value in values}))}
    assert labels.tolist() == [number[value // width] for value in values]


@thorough
@given(
    st.lists(st.floats(-(2.0**60), 2.0**60), min_size=1, max_size=30),
    st.floats(1e-3, 1e18) | st.just(float("inf")),
)
def test_bands_of_anything_finite_are_narrow_and_in_order(values: list[float], width: float) -> None:
    given_values = np.array(values)
    labels = bands(given_values, width)
    require_partition(labels)
    order = np.argsort(given_values, kind="stable")
    assert np.all(np.diff(labels[order]) >= 0)
    for label in range(int(labels.max()) + 1):
        held = given_values[labels == label]
        assert held.max() - held.min() <= width * (1 + 2**-20)


def test_one_bin_is_one_band_and_equal_bins_are_one_too() -> None:
    assert bands(np.array([5]), 1e-9).tolist() == [0]
    assert bands(np.full(4, -(2**60)), 0.1).tolist() == [0, 0, 0, 0]


# ---- small ones together --------------------------------------------------------------------------------------------


@thorough
@given(
    histories() | alike_histories(),
    st.sampled_from([Fraction(1, 2), Fraction(10), Fraction(30), Fraction(1000)]),
    st.sampled_from([Fraction(1), Fraction(3), Fraction(25), Fraction(10**6)]),
    st.sampled_from([Fraction(-1), Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(1)]),
)
def test_small_ones_are_grouped_by_the_documented_rule(
    past: tuple[Floats, Mask], small: Fraction, apart: Fraction, alike: Fraction
) -> None:
    history, which = past
    labels = small_together(history, which, float(small), float(apart), float(alike))
    require_partition(labels, which)
    assert labels.tolist() == by_the_rule(history, which, small, apart, alike)


@thorough
@given(
    histories(st.floats(-(2.0**62), 2.0**62)),
    st.floats(1e-6, 1e12),
    st.floats(1e-6, 1e12),
    st.floats(-1, 1),
)
def test_small_ones_are_a_partition_whatever_was_published(
    past: tuple[Floats, Mask], small: float, apart: float, alike: float
) -> None:
    history, which = past
    before = history.copy()
    labels = small_together(history, which, small, apart, alike)
    require_partition(labels, which)
    assert np.array_equal(before, history)
    means = np.maximum(history.mean(axis=0), 0)
    for label in range(int(labels.max()) + 1):
        held = np.sort(means[labels == label])
        assert len(held) == 1 or held[-1] <= small
        assert np.all(np.diff(held) < apart)


def test_nobody_chosen_is_no_group() -> None:
    assert small_together(np.ones((3, 4)), np.zeros(4, np.bool_), 30, 25, 0.5).tolist() == [NONE] * 4


def test_one_bin_is_a_group_of_its_own() -> None:
    for value in (0.0, -5.0, 29.0, 31.0, 2.0**62):
        assert small_together(np.full((3, 1), value), np.array([True]), 30, 25, 0.5).tolist() == [0]


def test_those_that_are_not_chosen_do_not_come_between() -> None:
    """Two like bins are neighbours if the one between them is not measured now."""
    history = np.array([[4.0, 50, 5], [6, 5, 7], [8, 90, 9]])
    assert small_together(history, np.array([True, False, True]), 30, 25, 0.5).tolist() == [0, NONE, 0]


@thorough
@given(
    st.floats(0.001, 29).map(lambda value: float(np.float32(value)) / 3),
    st.lists(st.integers(0, 20), min_size=ROWS, max_size=ROWS),
)
@example(0.1, [0, 1, 2])
def test_a_bin_that_does_not_move_is_like_any_other(level: float, moving: list[int]) -> None:
    """Correlation counts as 1 where one of them does not move; most levels are no binary fractions."""
    history = np.array([[level] * ROWS, [float(value) for value in moving]]).T
    labels = small_together(history, np.array([True, True]), small=1000, apart=1000, alike=0.5)
    assert labels.tolist() == [0, 0]


@thorough
@given(st.floats(0.001, 29), st.floats(0.001, 29))
@example(0.1, 0.7)
def test_two_bins_that_do_not_move_are_like_each_other(one: float, other: float) -> None:
    history = np.tile([one, other], (ROWS, 1))
    labels = small_together(history, np.array([True, True]), small=1000, apart=1000, alike=0.5)
    assert labels.tolist() == [0, 0]


@thorough
@given(alike_histories())
@example((np.full((ROWS, 9), 11.0), np.ones(9, np.bool_)))
def test_what_is_grouped_adds_up_to_less_than_small(past: tuple[Floats, Mask]) -> None:
    """RescueDP: "regions below it are grouped, up to this sum"; the sum of a group stays below 30."""
    history, which = past
    labels = small_together(history, which, small=30, apart=25, alike=0.5)
    means = history.mean(axis=0)
    for label in range(int(labels.max()) + 1):
        held = means[labels == label]
        assert len(held) == 1 or np.maximum(held, 0).sum() < 30


@pytest.mark.parametrize("shuffle", [lambda n: np.arange(n)[::-1], lambda n: np.roll(np.arange(n), 3)])
def test_groups_follow_the_bins_however_they_are_arranged(shuffle: Callable[[int], Ints]) -> None:
    """Without ties the arrangement of the bins does not matter."""
    rng = np.random.default_rng(5)
    history = rng.uniform(0, 60, (ROWS, 30))
    which = rng.random(30) < 0.7
    order = shuffle(30)
    labels = small_together(history, which, 30, 25, 0.5)
    assert np.array_equal(small_together(history[:, order], which[order], 30, 25, 0.5), labels[order])
    scores = rng.uniform(0, 9, 30)
    assert np.array_equal(equal_parts(scores[order], 4), equal_parts(scores, 4)[order])
    assert np.array_equal(bands(scores[order], 2), bands(scores, 2)[order])
