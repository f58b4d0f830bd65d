"""Errors by every measure, against their definitions written out; and rows judged in pieces as if they were whole."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.bench.metrics import (
    ERRORS,
    RANGES,
    REQUESTS,
    RULES,
    Judge,
    Outcome,
    _edges,
    publications,
    random_boxes,
    spending,
)
from penstock.post.sliding import sliding_sums
from penstock.types import Ints

SHAPES = [(1,), (3,), (2, 3), (2, 2, 2)]


def made(shape: tuple[int, ...], units: int, seed: int) -> tuple[Ints, Ints]:
    """What was published, and what was true."""
    rng = np.random.default_rng(seed)
    size = units, math.prod(shape)
    return rng.integers(-20, 60, size), rng.integers(0, 40, size)


def judged(
    values: Ints, counts: Ints, shape: tuple[int, ...], width: int = 1, *, summed: bool = False, clipped: bool = False
) -> dict[str, float]:
    judge = Judge(shape, int(counts.max()), width=width, summed=summed, clipped=clipped)
    judge.add(values, counts)
    return dict(zip(ERRORS, judge.errors(), strict=True))


@given(st.sampled_from(SHAPES), st.integers(1, 20), st.integers(0, 99))
def test_single_counts(shape: tuple[int, ...], units: int, seed: int) -> None:
    values, counts = made(shape, units, seed)
    found = judged(values, counts, shape)
    pairs = list(zip(values.ravel().tolist(), counts.ravel().tolist(), strict=True))
    squared = [(a - b) ** 2 for a, b in pairs]
    assert found["mae"] == pytest.approx(np.mean([abs(a - b) for a, b in pairs]))
    assert found["mre"] == pytest.approx(np.mean([abs(a - b) / (b or 1) for a, b in pairs]))
    assert found["rmse"] == pytest.approx(math.sqrt(np.mean(squared)))
    assert found["sse"] == pytest.approx(sum(squared) / units)


@given(st.sampled_from(SHAPES[1:]), st.integers(1, 6), st.integers(0, 99), st.booleans())
def test_ranges_are_sums_over_boxes(shape: tuple[int, ...], units: int, seed: int, clipped: bool) -> None:
    """Clipped, a sum below 0 is read as 0; its parts are not."""
    values, counts = made(shape, units, seed)
    found = judged(values, counts, shape, clipped=clipped)
    absolute, relative = [], []
    for low, high in zip(*random_boxes(shape, RANGES), strict=True):
        box = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
        for published, true in zip(values.reshape(-1, *shape), counts.reshape(-1, *shape), strict=True):
            read = max(int(published[box].sum()), 0) if clipped else int(published[box].sum())
            off = abs(read - int(true[box].sum()))
            absolute.append(off)
            relative.append(off / max(int(true[box].sum()), 1))
    assert found["range_error"] == pytest.approx(np.mean(absolute))
    assert found["range_relative"] == pytest.approx(np.mean(relative))


def test_one_bin_has_no_ranges() -> None:
    found = judged(*made((1,), 5, 1), (1,))
    assert math.isnan(found["range_error"])
    assert math.isnan(found["range_relative"])


@given(st.sampled_from(SHAPES), st.integers(1, 20), st.integers(1, 4), st.integers(0, 99))
def test_answers_below_nothing_are_read_as_nothing(shape: tuple[int, ...], units: int, width: int, seed: int) -> None:
    """Counts, or sums over units: never the parts of a sum."""
    values, counts = made(shape, units, seed)
    clipped = judged(values, counts, shape, width, clipped=True)
    sums = np.maximum(sliding_sums(values, width), 0)
    again = judged(sums, counts, shape, width, summed=True)
    for measure in ("mae", "mre", "rmse", "sse", "requests"):
        assert clipped[measure] == pytest.approx(again[measure], nan_ok=True)


def test_boxes_lie_in_the_domain_and_are_not_empty() -> None:
    low, high = random_boxes((5, 1, 96), RANGES)
    assert ((low >= 0) & (low < high) & (high <= [5, 1, 96])).all()
    assert len({tuple(box) for box in np.hstack([low, high])}) > RANGES / 2


def test_requests_count_units_whose_value_lies_in_a_range() -> None:
    """Values that keep their order but lose their times are perfect for this task, and for no other."""
    _, counts = made((1,), 400, 1)
    shuffled = np.random.default_rng(2).permutation(counts)
    assert judged(shuffled, counts, (1,))["requests"] == 0
    assert judged(shuffled, counts, (1,))["mae"] > 1
    assert judged(counts + 1000, counts, (1,))["requests"] == pytest.approx(1.0, abs=0.05)
    assert math.isnan(judged(*made((3,), 9, 1), (3,))["requests"])


@given(st.integers(1, 40), st.integers(0, 99))
def test_requests_by_their_definition(units: int, seed: int) -> None:
    values, counts = made((1,), units, seed)
    off = []
    for low, high in _edges(int(counts.max())):
        published, true = (int(((rows >= low) & (rows < high)).sum()) for rows in (values, counts))
        off.append(abs(published - true) / max(true, 1))
    assert judged(values, counts, (1,))["requests"] == pytest.approx(np.mean(off))
    assert len(off) == REQUESTS


def test_edges_differ_and_every_count_can_be_asked_for() -> None:
    low, high = _edges(3).T
    assert (low < high).all()
    assert {int(edge) for edge in low} == {0, 1, 2, 3}
    assert {int(edge) for edge in high} == {1, 2, 3, 4}


@given(st.sampled_from(SHAPES), st.integers(2, 30), st.integers(1, 5), st.integers(0, 99), st.data())
def test_pieces_come_to_the_same_as_the_whole(
    shape: tuple[int, ...], units: int, width: int, seed: int, data: st.DataObject
) -> None:
    values, counts = made(shape, units, seed)
    cuts = sorted(data.draw(st.sets(st.integers(1, units - 1), max_size=4)))
    judge = Judge(shape, int(counts.max()), width=width)
    for piece in zip(np.split(values, cuts), np.split(counts, cuts), strict=True):
        judge.add(*piece)
    assert judge.errors() == pytest.approx(tuple(judged(values, counts, shape, width).values()), nan_ok=True)


@given(st.integers(1, 30), st.integers(1, 6), st.integers(0, 99))
def test_sums_over_units(units: int, width: int, seed: int) -> None:
    values, counts = made((2,), units, seed)
    found = judged(values, counts, (2,), width)
    off = [np.abs((values - counts)[max(t - width + 1, 0) : t + 1].sum(axis=0)).mean() for t in range(units)]
    assert found["mae"] == pytest.approx(np.mean(off))


def test_spending_is_the_mean_over_all_full_windows() -> None:
    charged = np.array([1.0, 0.0, 0.0, 2.0])
    assert spending(charged, 4.0, 2) == pytest.approx((1 + 0 + 2) / 3 / 4)
    assert spending(charged, 4.0, 9) == pytest.approx(3 / 4)
    assert publications(charged > 0, 2) == 1.0
    assert publications(charged > 0, 9) == 2.0


def test_figures_are_kept_to_some_digits() -> None:
    outcome = Outcome(*(1 / 3 for _ in Outcome._fields)).rounded()
    assert outcome.mae == 0.333333
    assert outcome == outcome.rounded()


def test_every_figure_has_its_rule() -> None:
    assert tuple(RULES) == Outcome._fields
    assert "0 divide by 1" in RULES["mre"]
