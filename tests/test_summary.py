"""What many runs come to: means with intervals, ratios to the best without luck, and standings."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from penstock.bench.metrics import Outcome
from penstock.bench.scenario import Promise, Scenario
from penstock.bench.summary import FLOOR, NEAR, Cell, Errors, estimated, geometric

HERE = Promise("w-event", "1", 120)
THERE = Promise("w-event", "0.1", 120)
CELL = Cell("flu", HERE)
SIZES = st.floats(1e-3, 1e6)


def run(mae: float, publications: float = 1, used: float = 1) -> Outcome:
    nothing = math.nan
    return Outcome(mae, nothing, nothing, nothing, nothing, nothing, nothing, publications, used, 1)


def errors_of(figures: Mapping[str, Sequence[float]], cell: Cell = CELL) -> Errors:
    """The errors of mechanisms in one cell, one for each seed."""
    return Errors(outcomes({cell: figures}), "mae")


def outcomes(cells: Mapping[Cell, Mapping[str, Sequence[float]]]) -> dict[Scenario, dict[int, Outcome]]:
    return {
        Scenario(*cell, mechanism): {seed: run(mae) for seed, mae in enumerate(figures)}
        for cell, mechanisms in cells.items()
        for mechanism, figures in mechanisms.items()
    }


@st.composite
def boards(draw: st.DrawFn, sizes: st.SearchStrategy[float] = SIZES) -> dict[Cell, dict[str, list[float]]]:
    """Every mechanism in every cell, with as many seeds."""
    seeds = draw(st.integers(1, 4))
    runs = st.lists(sizes, min_size=seeds, max_size=seeds)
    cells = draw(st.lists(st.builds(Cell, st.sampled_from("xyz"), st.sampled_from([HERE, THERE])), min_size=1))
    mechanisms = draw(st.lists(st.sampled_from(["spas", "ba", "bd", "rg"]), min_size=1, unique=True))
    return {cell: {mechanism: draw(runs) for mechanism in mechanisms} for cell in cells}


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=40))
def test_intervals_are_those_of_student(figures: list[float]) -> None:
    found, sample = estimated(np.array(figures)), np.array(figures)
    reach = stats.t.ppf(0.975, len(figures) - 1) * sample.std(ddof=1) / math.sqrt(len(figures))
    assert found.value == pytest.approx(sample.mean())
    assert found.high - found.value == pytest.approx(reach, rel=6e-3, abs=1e-9)
    assert found.value - found.low == pytest.approx(reach, rel=6e-3, abs=1e-9)
    assert found.runs == len(figures)


def test_the_interval_of_a_known_case() -> None:
    """The spread of 1, 2, 3 is 1, and Student's point for 2 degrees of freedom 4.303."""
    found = errors_of({"spas": [1, 2, 3]}).mean(CELL, "spas")
    assert found == pytest.approx((2, 2 - 4.303 / math.sqrt(3), 2 + 4.303 / math.sqrt(3), 3))


def test_one_seed_has_no_interval() -> None:
    errors = errors_of({"spas": [6.0], "ba": [2.0]})
    assert errors.mean(CELL, "spas") == (6, 6, 6, 1)
    assert errors.ratio(CELL, "spas") == pytest.approx((3, 3, 3, 1))
    assert errors.ratio(CELL, "ba") == pytest.approx((1, 1, 1, 1))


def test_the_best_of_a_seed_is_found_on_the_other_seeds() -> None:
    """Without the first or the last seed bd is best; without the middle one ba is, which is bad in the middle."""
    errors = errors_of({"ba": [1, 4, 1], "bd": [1.9, 1.9, 1.9]})
    best = [1.9, 4, 1.9]
    assert errors.ratio(CELL, "ba").value == pytest.approx(geometric(np.array([1, 4, 1]) / best))
    assert errors.ratio(CELL, "bd").value == pytest.approx(geometric(np.array([1.9, 1.9, 1.9]) / best))
    assert errors.best(CELL) == "bd"
    assert [errors.best(CELL, without=seed) for seed in range(3)] == ["bd", "ba", "bd"]


@given(boards(), st.floats(0.01, 100))
def test_ratios_do_not_depend_on_the_unit_of_errors(cells: dict[Cell, dict[str, list[float]]], factor: float) -> None:
    scaled = {cell: {key: [factor * each for each in of[key]] for key in of} for cell, of in cells.items()}
    one, other = Errors(outcomes(cells), "mae"), Errors(outcomes(scaled), "mae")
    for cell in cells:
        for mechanism in cells[cell]:
            assert one.ratio(cell, mechanism) == pytest.approx(other.ratio(cell, mechanism), rel=1e-6)


@given(st.lists(SIZES, min_size=1, max_size=5), st.floats(1.01, 1000))
def test_so_many_times_the_best_on_every_seed(figures: list[float], times: float) -> None:
    assume(min(figures) > FLOOR * times * max(figures))
    errors = errors_of({"ba": [times * each for each in figures], "spas": figures})
    assert errors.ratio(CELL, "ba") == pytest.approx((times, times, times, len(figures)))
    assert errors.ratio(CELL, "spas") == pytest.approx((1, 1, 1, len(figures)))
    assert errors.compared(CELL, "ba", "spas").value == pytest.approx(times)


@given(boards())
def test_comparing_the_other_way_round_is_the_reciprocal(cells: dict[Cell, dict[str, list[float]]]) -> None:
    errors = Errors(outcomes(cells), "mae")
    cell, one, other = errors.cells[0], errors.mechanisms[0], errors.mechanisms[-1]
    forth, back = errors.compared(cell, one, other), errors.compared(cell, other, one)
    assert forth.value * back.value == pytest.approx(1)
    assert forth.low <= forth.value * (1 + 1e-9)
    assert forth.value <= forth.high * (1 + 1e-9)


@given(st.lists(SIZES, min_size=1), SIZES)
def test_geometric_means(figures: list[float], factor: float) -> None:
    assert geometric([factor * each for each in figures]) == pytest.approx(factor * geometric(figures))
    assert min(figures) <= geometric(figures) * (1 + 1e-9)
    assert geometric(figures) <= max(figures) * (1 + 1e-9)


def test_a_geometric_mean_that_is_known() -> None:
    assert geometric([1, 10, 100]) == pytest.approx(10)


def test_of_equals_the_first_is_best_and_both_are_near() -> None:
    errors = errors_of({"ba": [5, 7], "spas": [7, 5], "uniform": [60, 60]})
    assert errors.best(CELL) == "ba"
    standings = {each.mechanism: each for each in errors_of({"ba": [5, 5], "spas": [5, 5]}).standings()}
    assert [standings[key].first for key in ("ba", "spas")] == [1, 0]
    assert all(each.near == 1 and each.ratio == pytest.approx(1) for each in standings.values())


def test_errors_of_nothing_at_all() -> None:
    """Two that are exact are alike, and what is not exact is far behind, but not infinitely."""
    errors = errors_of({"ba": [0, 0], "spas": [0, 0], "uniform": [1, 1]})
    assert errors.ratio(CELL, "ba") == (1, 1, 1, 2)
    assert errors.ratio(CELL, "spas") == (1, 1, 1, 2)
    assert 1000 < errors.ratio(CELL, "uniform").value < math.inf


@given(boards(st.one_of(SIZES, st.just(0.0))))
def test_standings_are_whole(cells: dict[Cell, dict[str, list[float]]]) -> None:
    errors = Errors(outcomes(cells), "mae")
    standings = errors.standings()
    assert sorted(each.mechanism for each in standings) == sorted(errors.mechanisms)
    assert [each.ratio for each in standings] == sorted(each.ratio for each in standings)
    assert sum(each.first for each in standings) == pytest.approx(1)
    for each in standings:
        ratios = {cell: errors.ratio(cell, each.mechanism).value for cell in errors.cells}
        assert each.ratio == pytest.approx(geometric(ratios.values()))
        assert each.worst == max(ratios.values()) == ratios[each.worst_at]
        assert each.near == pytest.approx(np.mean([ratio <= NEAR for ratio in ratios.values()]))


def test_what_was_not_run_and_what_makes_no_sense_is_left_out() -> None:
    other = Cell("flu", THERE)
    told = outcomes({CELL: {"ba": [1, 1], "spas": [2, 2]}, other: {"ba": [3, 3], "spas": [math.nan, 3]}})
    told |= outcomes({CELL: {"rg": [math.nan, math.nan]}})
    errors = Errors(told, "mae")
    assert errors.has(CELL, "spas")
    assert not errors.has(other, "spas")
    assert not errors.has(other, "rg")
    standings = {each.mechanism: each for each in errors.standings()}
    assert list(standings) == ["ba", "spas"]
    assert standings["spas"].ratio == pytest.approx(2)
    assert standings["ba"].first == 1
    assert Errors(told, "requests").standings() == []


def test_costs_are_means_over_cells_and_seeds() -> None:
    told = {
        Scenario(*CELL, "spas"): {0: run(1, 2, 0.5), 1: run(1, 4, 0.7)},
        Scenario("flu", THERE, "spas"): {0: run(1, 9, 1), 1: run(1, 9, 1)},
    }
    (standing,) = Errors(told, "mae").standings()
    assert (standing.publications, standing.used) == pytest.approx((6, 0.8))


def test_figures_come_in_the_order_of_seeds() -> None:
    told = {Scenario(*CELL, "spas"): {2: run(30), 0: run(10), 1: run(20)}}
    assert Errors(told, "mae").of(CELL, "spas").tolist() == [10, 20, 30]


def test_an_error_of_nothing_counts_as_a_part_of_the_middle_one() -> None:
    errors = errors_of({"spas": [0.0, 0.0], "ba": [5.0, 5.0], "bd": [20.0, 20.0]})
    assert errors.ratio(CELL, "ba").value == pytest.approx(1 / FLOOR)
    assert errors.ratio(CELL, "bd").value == pytest.approx(4 / FLOOR)
    assert errors.ratio(CELL, "spas").value == 1


def test_only_seeds_that_all_have_are_compared() -> None:
    errors = errors_of({"spas": [1.0, 2.0, 4.0], "ba": [3.0, 6.0]})
    assert errors.ratio(CELL, "ba").value == pytest.approx(3)
    assert errors.mean(CELL, "spas").runs == 2


def test_cells_in_which_few_were_run_do_not_count() -> None:
    """Who is alone there would be the best of one."""
    runs = {0: Outcome(*[2.0] * 10), 1: Outcome(*[3.0] * 10)}
    outcomes = {Scenario("a", CELL.promise, key): runs for key in ("spas", "ba", "bd")}
    outcomes |= {Scenario("b", CELL.promise, "spas"): runs}
    errors = Errors(outcomes, "mae")
    assert [cell.stream for cell in errors.cells] == ["a"]
    assert errors.deserted == 1
    assert {standing.cells for standing in errors.standings()} == {1}
    assert Errors({what: runs for what in outcomes if what.mechanism == "spas"}, "mae").deserted == 0


def test_who_was_not_run_everywhere_comes_last() -> None:
    low, high = ({seed: Outcome(*[error] * 10) for seed in range(2)} for error in (1.0, 2.0))
    outcomes = {Scenario(stream, CELL.promise, key): high for stream in "ab" for key in ("spas", "ba")}
    outcomes |= {Scenario("a", CELL.promise, "bd"): low}
    assert [standing.mechanism for standing in Errors(outcomes, "mae").standings()][-1] == "bd"
