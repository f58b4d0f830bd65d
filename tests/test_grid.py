"""Points are snapped to a public grid exactly: cells against fractions, near edges, far away, and as text."""

import math
import time
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.epsilon import as_fraction
from penstock.errors import BadInput
from penstock.grid import MOST_CELLS, Axis, Grid, as_points, exactly, plainly

fixed = settings(derandomize=True, deadline=None, max_examples=100)

STEPS = [Fraction(text) for text in ("1", "1/3", "0.1", "2/7", "1e-9", "3e-12", "2.5e6", "0.125", "1/1024")]
LOWS = [Fraction(text) for text in ("0", "-1", "-7.3", "1e15", "-1e15", "0.1", "1e-7", "-123456789.125")]


@st.composite
def axes(draw: st.DrawFn) -> Axis:
    """Of any offset, step and length."""
    step = draw(st.sampled_from(STEPS) | st.fractions(Fraction(1, 10**9), 10**6))
    far = 2**50 * step - 10**7 * step  # further away floats do not tell cells apart
    low = draw(st.sampled_from(LOWS) | st.fractions(-(10**16), 10**16, max_denominator=10**6))
    cells = draw(st.integers(2, 50) | st.integers(2, 10**7))
    start = max(min(low, far), -far)
    return Axis(start, start + cells * step, step)


def nudged(value: float, ulps: int) -> float:
    """So many floats further."""
    for _ in range(abs(ulps)):
        value = math.nextafter(value, math.copysign(math.inf, ulps))
    return value


@st.composite
def places(draw: st.DrawFn, axis: Axis) -> float:
    """A float in or about the domain: mostly at an edge between cells, or a few floats beside it."""
    edge = axis.low + axis.step * draw(st.integers(-3, 3 + min(axis.cells, 10**7)))
    near = nudged(float(edge), draw(st.integers(-4, 4)))
    anywhere = st.floats(float(axis.low - axis.length), float(axis.high + axis.length))
    return draw(st.just(near) | anywhere | st.floats(allow_nan=False, allow_infinity=False))


def exact_cell(axis: Axis, value: float) -> int:
    """What is written of the number, divided as a fraction."""
    return min(max((Fraction(repr(value)) - axis.low) // axis.step, 0), axis.cells - 1)


def snapped(grid: str, values: Any) -> list[int] | None:
    """The cells, or None if that is refused."""
    try:
        return [int(cell) for cell in Grid.of(grid).cell_of(values)]
    except BadInput:
        return None


# ---- snapping -------------------------------------------------------------------------------------------------------


@fixed
@given(st.data())
def test_cells_are_those_of_fractions(data: st.DataObject) -> None:
    axis = data.draw(axes())
    values = data.draw(st.lists(places(axis), min_size=1, max_size=8))
    assert Grid((axis,)).cell_of(values).tolist() == [exact_cell(axis, value) for value in values]


@fixed
@given(st.data())
def test_points_within_the_radius_lie_within_the_reach(data: st.DataObject) -> None:
    axis = data.draw(axes())
    radius = axis.step * data.draw(st.sampled_from([Fraction(1, 7), Fraction(1), Fraction(5, 2), Fraction(2)]))
    x = data.draw(places(axis))
    y = float(as_fraction(x) + data.draw(st.sampled_from([-1, 1])) * radius)
    y = nudged(y, data.draw(st.integers(-2, 2)))
    if math.isfinite(y):
        apart = abs(as_fraction(x) - as_fraction(y))
        grid = Grid((axis,))
        here, there = grid.cell_of([x, y]).tolist()
        assert abs(here - there) <= grid.reach(min(apart, axis.length)), (x, y)


@fixed
@given(st.integers(1, 64 * 40))
def test_the_reach_is_attained(parts: int) -> None:
    """Some two points that lie so far apart are so many cells apart: the reach is no larger than it need be."""
    grid, way = Grid.of("0..50/1"), parts / 64
    start = 0.0 if way == int(way) else 127 / 128
    here, there = grid.cell_of([start, start + way]).tolist()
    assert there - here == grid.reach(Fraction(parts, 64)) == math.ceil(way)


@pytest.mark.parametrize("low", ["1e15", "-1e15", "123456789012.3", "0", "1/3", "-2e-7", "1e-300"])
@pytest.mark.parametrize("step", ["0.1", "1/3", "1", "0.125", "1e-7", "7e-301"])
def test_all_floats_beside_edges(low: str, step: str) -> None:
    start = max(min(Fraction(low), (2**50 - 30) * Fraction(step)), -(2**50) * Fraction(step))
    axis = Axis(start, start + 30 * Fraction(step), Fraction(step))
    values = [nudged(float(axis.low + k * axis.step), by) for k in range(-1, 32) for by in range(-2, 3)]
    assert axis.cell_of(np.array(values)).tolist() == [exact_cell(axis, value) for value in values]


@pytest.mark.parametrize(
    ("grid", "value", "cell"),
    [
        ("0..1/0.1", 0.3, 3),  # 0.3 / 0.1 is 2.9999999999999996 in floats
        ("0..1/0.1", 0.7, 7),
        ("0..1/1/3", 1 / 3, 0),  # 0.3333333333333333 is written, which is less
        ("0..1/1/3", 0.33333333333333337, 1),
        ("0..10/1", -0.0, 0),
        ("0..10/1", 10.0, 9),
        ("0..10/1", -1e308, 0),
        ("0..10/1", 1.7e308, 9),
        ("-3..-1/0.5", -1.5, 3),
        ("-3..-1/0.5", math.nextafter(-1.5, -2), 2),
        ("1000000000000000..1000000000000008/1", 1e15 + 3.875, 3),
        ("4503599627370496..4503599627370576/8", 2.0**52 + 15, 1),
    ],
)
def test_edges(grid: str, value: float, cell: int) -> None:
    assert Grid.of(grid).cell_of([value]).tolist() == [cell]


@pytest.mark.parametrize(
    ("grid", "values", "cells"),
    [
        ("0..1e-320/1e-323", [5e-324 * 1012, 5e-324 * 1013], [500, 500]),  # the smallest floats have few digits
        ("0..2e-400/1e-400", [0.0, 1.0], [0, 1]),
        ("-1e308..1e308/1e307", [7e307, 8e307], [17, 18]),  # the way from end to end is no float
        ("0..1e400/5e399", [1.0], [0]),
    ],
)
def test_what_floats_cannot_hold_is_snapped_exactly_or_refused(grid: str, values: Any, cells: list[int]) -> None:
    assert snapped(grid, values) in (None, cells)


@pytest.mark.parametrize("others", [[], [2**63], [0.5]], ids=["alone", "beside larger ones", "beside a float"])
def test_whole_numbers_above_2_to_the_53_are_snapped_exactly_or_refused(others: list[float]) -> None:
    """Two of them that lie less than a step apart may not come to lie two cells apart: the radius would not be kept."""
    start, one, other = 2**59 + 3, 576460752303474466, 576460752303475392
    exact = [(value - start) // 1000 for value in (one, other)]
    found = snapped(f"{start}..{start + 100_000}/1000", [one, other, *others])
    assert found is None or found[:2] == exact


def test_points_on_edges_take_no_longer() -> None:
    """Whole numbers on whole steps are what most data are; and time must not tell how many lie there."""
    started = time.process_time()
    Grid.of("0..100000/1").cell_of(np.arange(20_000.0))
    assert time.process_time() - started < 0.1


@fixed
@given(st.data())
def test_the_middle_of_a_cell_lies_in_it(data: st.DataObject) -> None:
    """What is published as the middle of a cell is snapped to it again."""
    axis = data.draw(axes())
    cells = np.array(data.draw(st.lists(st.integers(0, axis.cells - 1), min_size=1)))
    assert axis.cell_of(axis.centre(cells)).tolist() == cells.tolist()


# ---- several axes ---------------------------------------------------------------------------------------------------


@fixed
@given(st.lists(st.integers(2, 7), min_size=1, max_size=3), st.data())
def test_cells_are_numbered_row_by_row(shape: list[int], data: st.DataObject) -> None:
    grid = Grid.of(",".join(f"0..{cells}/1" for cells in shape))
    places = [data.draw(st.floats(-1, cells + 1)) for cells in shape]
    cells = [min(max(math.floor(place), 0), cells - 1) for place, cells in zip(places, shape, strict=True)]
    assert grid.cell_of([places]).tolist() == [np.ravel_multi_index(cells, grid.shape)]
    assert grid.cells == math.prod(shape)


def test_in_a_plane_a_small_step_may_lead_anywhere() -> None:
    grid = Grid.of("0..3/1,0..4/1")
    assert grid.reach(Fraction(1, 10)) == 11
    assert grid.contains(Fraction(5))
    assert not grid.contains(Fraction(501, 100))
    with pytest.raises(BadInput):
        _ = grid.line


# ---- as text --------------------------------------------------------------------------------------------------------


@fixed
@given(
    low=st.integers(-(10**12), 10**12),
    exponent=st.integers(-9, 6),
    step=st.fractions(Fraction(1, 999), 999, max_denominator=9999),
    times=st.integers(2, 99),
)
@example(low=-5, exponent=-1, step=Fraction(1, 3), times=2)
def test_grids_are_read_as_they_are_written(low: int, exponent: int, step: Fraction, times: int) -> None:
    start = low * Fraction(10) ** exponent
    start = start if abs(start) < 2**49 * step else Fraction(low, 10**9) + step / 3
    axis = Axis(start, start + step * step.denominator * times, step)
    assert Axis.parsed(str(axis)) == axis
    grid = Grid((axis, axis)) if axis.cells < 2**15 else Grid((axis,))
    assert Grid.of(str(grid)) == grid
    assert hash(Grid.of(str(grid))) == hash(grid)


@fixed
@given(st.fractions(-9, 9, max_denominator=12), st.fractions(Fraction(1, 9), 9, max_denominator=12), st.integers(2, 9))
def test_grids_whose_ends_have_no_last_digit_are_read_as_they_are_written(
    low: Fraction, step: Fraction, n: int
) -> None:
    """A store writes them down, and has to read them again."""
    axis = Axis(low, low + n * step, step)
    assert Axis.parsed(str(axis)) == axis


@fixed
@given(st.fractions(-(10**9), 10**9) | st.decimals(-(10**9), 10**9, allow_nan=False).map(Fraction))
def test_numbers_are_read_as_they_are_written(value: Fraction) -> None:
    assert exactly(plainly(value)) == value
    assert "e" not in plainly(value).lower()


@pytest.mark.parametrize(
    "text",
    [
        *("", "0..10", "10/1", "0..10/0", "0..10/-1", "10..0/1", "5..5/1", "0..10/3", "0..1/1", "0..10/20", "a..b/c"),
        *("0..inf/1", "nan..1/1", "0..10/1/0", "0..10/nan", "0..10/1,", ",0..10/1", "0..10/1,0..10", "0-10/1"),
        *("0..1e999/1", "0..1/1e-999", "0..10/", "../", "..10/1", "0../1", f"0..{2**53 + 1}/1", "0..1e10/1,0..1e10/1"),
        *("0..1e1001/5e1000", "0..10/1/1/1/1", "0..10/True", "0..10/1;0..10/1", "0..10/1/", "0..10//1", "0..1/1e-10"),
        *("1e15..1000000000000010/0.1", "-1e16..0/1", "0..1e250/5e249", "0..2e-250/1e-250"),
    ],
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        Grid.of(text)


@pytest.mark.parametrize("given", [None, 5, 0.5, b"0..10/1", ["0..10/1"], ()])
def test_what_is_no_text_is_refused(given: Any) -> None:
    with pytest.raises(BadInput):
        Grid.of(given)


def test_a_grid_has_an_axis_and_not_too_many_cells() -> None:
    with pytest.raises(BadInput):
        Grid(())
    largest = Grid.of(f"0..{MOST_CELLS}/1")
    assert largest.cell_of([2.0**53, -1, MOST_CELLS - 1.5]).tolist() == [MOST_CELLS - 1, 0, MOST_CELLS - 2]
    for more in (f"0..{MOST_CELLS + 1}/1", f"0..{MOST_CELLS}/1,0..2/1"):
        with pytest.raises(BadInput):
            Grid.of(more)


@fixed
@given(axes())
def test_edges_are_the_floats_nearest_to_them(axis: Axis) -> None:
    """Whoever sorts data into the published bins by their published bounds finds what was counted."""
    few = Axis(axis.low, axis.low + axis.step * min(axis.cells, 40), axis.step)
    assert few.edges() == [float(few.low + k * few.step) for k in range(few.cells + 1)]


# ---- what points are ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        *([], [[]], 5.0, "12", "x", ["x"], [None], [1j], {1: 2}, [[1], [2, 3]], [[1, 2]], [[[1]]], np.zeros((0, 1))),
        *([math.nan], [math.inf, 1], [-math.inf], [1, "two"], object(), [object()]),
    ],
)
def test_what_are_no_points_is_refused(values: Any) -> None:
    with pytest.raises(BadInput) as refused:
        as_points(values, 1)
    assert not any(value in str(refused.value) for value in ("12", "two", "nan", "inf,"))


@pytest.mark.parametrize(
    "values",
    [["1.5"], [b"1"], [True, False], np.array([1 + 2j]), np.array(["2020-01-01"], "M8[D]"), [10**400]],
    ids=["text", "bytes", "truths", "complex", "dates", "too large"],
)
def test_what_merely_can_be_made_a_number_is_refused(values: Any) -> None:
    """As counts are: what was meant by it is anybody's guess."""
    with pytest.raises(BadInput):
        as_points(values, 1)


def test_masked_points_are_refused_or_left_out() -> None:
    """Somebody has said that the second one is not to be used."""
    masked = np.ma.MaskedArray([1.0, 9.0], mask=[False, True])
    with suppress(BadInput):
        assert as_points(masked, 1).tolist() == [[1.0]]
