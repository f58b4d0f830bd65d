"""What is published about points: exact without noise, in order, inside the domain, paid for, and no more than that."""

import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from penstock.checks.witness import Witness
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.errors import BadInput, BadRow, BudgetExceeded
from penstock.grid import MOST_CELLS, Grid
from penstock.models import EventLevel
from penstock.noise import ScriptedNoise, SimulationNoise
from penstock.points import CellSums, Cumulative
from penstock.population import Population
from penstock.primitives.isotonic import isotonic
from penstock.proofs import PROVED, fingerprint, proof_of
from penstock.queries import GroupSums, Query
from penstock.static import (
    CumulativeHistogram,
    Median,
    PlainHistogram,
    Points,
    Publication,
    SortedPoints,
    SpatialNeighbourhood,
    publish,
    read_points,
)
from penstock.types import Floats, Release, unseal

fixed = settings(derandomize=True, deadline=None, max_examples=50)

ALL: list[Publication] = [
    SortedPoints(),
    SortedPoints(group=3),
    CumulativeHistogram(),
    PlainHistogram(),
    PlainHistogram(histogram="quadtree(split=4)"),
    PlainHistogram(histogram="adaptive"),
    Median(),
]
TEN = "0..10/1"


def law(epsilon: Any = 1, radius: Any = 2) -> SpatialNeighbourhood:
    return SpatialNeighbourhood(epsilon=epsilon, radius=radius)


def points(values: Any, grid: str = TEN) -> Points:
    return Points(values, grid, size_is_public=True)


def told(values: Any, publication: Publication, noise: Any = None, grid: str = TEN, **options: Any) -> Release:
    return publish(points(values, grid), publication, law(**options), noise=noise or ScriptedNoise())


rows = st.lists(st.floats(-1, 11), min_size=1, max_size=30)


# ---- the questions --------------------------------------------------------------------------------------------------


def apart(query: Query, one: Any, other: Any) -> int:
    return int(np.abs(query(np.sort(one), None) - query(np.sort(other), None)).sum())


@fixed
@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.data())
def test_sensitivities_are_never_exceeded_and_are_attained(row: list[int], data: st.DataObject) -> None:
    which, to = data.draw(st.integers(0, len(row) - 1)), data.draw(st.integers(0, 9))
    moved, way = [*row[:which], to, *row[which + 1 :]], abs(to - row[which])
    labels = data.draw(st.lists(st.integers(-1, 3), min_size=10, max_size=10))
    model = law(radius=max(way, 1)).on(TEN)
    assert apart(Cumulative(10), row, moved) == way <= Cumulative(10).sensitivity(model) == max(way, 1)
    assert apart(CellSums(10), row, moved) == (2 if way else 0)
    assert apart(CellSums(10, labels), row, moved) <= CellSums(10, labels).sensitivity(model) == 2
    groups = GroupSums(np.arange(len(row)) // data.draw(st.integers(1, 13)))
    assert apart(groups, row, moved) == way <= groups.sensitivity(model)


@fixed
@given(rows)
def test_questions_are_answered_as_one_would_count(values: list[float]) -> None:
    held = unseal(points(values))
    cells = [min(max(math.floor(value), 0), 9) for value in values]
    assert held.tolist() == sorted(cells)
    assert Cumulative(10)(held, None).tolist() == [sum(cell < edge for cell in cells) for edge in range(1, 10)]
    assert CellSums(10)(held, None).tolist() == [cells.count(cell) for cell in range(10)]


def test_questions_about_too_few_cells_are_refused_whatever_the_points_are() -> None:
    """A question that works for some points and fails for others tells which they are, and nobody has paid for that."""

    def outcome(values: list[int]) -> str:
        curator = Curator(law().on(TEN), 2, noise=ScriptedNoise())
        curator.begin_unit(points(values))
        try:
            curator.ask(points(values), CellSums(2), Epsilon(1))
        except Exception as fault:
            return f"{type(fault).__name__}, {curator.charged()} charged"
        return "answered"

    assert outcome([0, 1]) == outcome([0, 9])


# ---- isotonic regression --------------------------------------------------------------------------------------------


@fixed
@given(st.lists(st.integers(-(2**40), 2**40) | st.floats(-1e3, 1e3), min_size=1, max_size=60))
def test_isotonic_regression(values: list[float]) -> None:
    found = isotonic(np.array(values, np.float64))
    assert (np.diff(found) >= 0).all()
    np.testing.assert_allclose(found, isotonic_regression(values).x, rtol=1e-9, atol=1e-6)


# ---- what is published ----------------------------------------------------------------------------------------------


@fixed
@given(rows, st.integers(1, 40))
def test_without_noise_it_is_the_truth(values: list[float], group: int) -> None:
    held = unseal(points(values))
    means = [held[start : start + group].mean() for start in range(0, len(held), group)]
    counts = np.bincount(held, minlength=10)
    assert told(values, SortedPoints()).values.tolist() == held.tolist()
    grouped = told(values, SortedPoints(group=group)).values
    assert grouped.tolist() == np.repeat(np.rint(means), group)[: len(held)].tolist()
    for publication in (CumulativeHistogram(), PlainHistogram(), PlainHistogram(histogram="quadtree")):
        assert told(values, publication).values.tolist() == counts.tolist()
    assert told(values, Median()).values.tolist() == [held[math.ceil(len(held) / 2) - 1]]


@pytest.mark.parametrize("publication", ALL, ids=repr)
@pytest.mark.parametrize("grid", [TEN, "-1..1/1", "5..5.2/0.1"])
def test_what_is_published_is_possible(publication: Publication, grid: str) -> None:
    """One point or many, far inside or outside: values, names and widths of noise, as many as there are."""
    line = Grid.of(grid).line
    for seed, size in enumerate((1, 2, 3, 40)):
        values = np.random.default_rng(seed).normal(0, 5, size)
        for epsilon in ("0.01", "1", "1000000"):
            noise, radius = SimulationNoise(seed), min(2, float(line.length))
            release = told(values, publication, noise, grid, epsilon=epsilon, radius=radius)
            names = publication.names(line_grid := Grid.of(grid), size)
            assert len(names) == len(set(names)) == len(release.values) == len(release.noise_sd)
            assert release.charged == Epsilon(epsilon)
            assert (release.noise_sd >= 0).all()
            assert len(publication.told(release.values, line_grid)) == len(release.values)
            if isinstance(publication, (SortedPoints, Median)):
                assert (np.diff(release.values) >= 0).all()
                assert release.values.min() >= 0
                assert release.values.max() < line.cells
            if isinstance(publication, CumulativeHistogram):
                assert release.values.sum() == size
                assert release.values.min() >= 0


def test_what_it_says_is_in_units_of_the_data() -> None:
    grid = Grid.of("-1..1/0.5")
    assert SortedPoints().told(np.array([0, 3]), grid) == [{"point": 1, "value": -0.75}, {"point": 2, "value": 0.75}]
    assert Median().told(np.array([2]), grid) == [{"median": 0.25}]
    for histogram in (CumulativeHistogram(), PlainHistogram()):
        said = histogram.told(np.array([7, 0, 0, 9]), grid)
        assert said[0] == {"from": -1.0, "to": -0.5, "count": 7}
        assert said[3] == {"from": 0.5, "to": 1.0, "count": 9}
    plane = Grid.of("0..2/1,0..6/3")
    cell = {"from 1": 1.0, "to 1": 2.0, "from 2": 0.0, "to 2": 3.0, "count": 5}
    assert PlainHistogram().told(np.array([0, 0, 5, 0]), plane)[2] == cell
    assert PlainHistogram().names(plane, 9)[2] == "1..2 & 0..3"
    counted = publish(
        Points([[1.5, 1.0], [9.0, -9.0]], plane, size_is_public=True), PlainHistogram(), law(), noise=ScriptedNoise()
    )
    assert counted.values.tolist() == [0, 0, 2, 0]


@pytest.mark.parametrize("grid", ["0..2/0.001", "1600000000000..1600000000004/1", "1000000000..1000000001/0.0001"])
def test_names_of_cells_differ(grid: str) -> None:
    """A store keeps numbers under their names."""
    names = PlainHistogram().names(Grid.of(grid), 1)
    assert len(set(names)) == len(names) == Grid.of(grid).cells


@pytest.mark.parametrize("publication", ALL[:4], ids=repr)
def test_points_in_a_plane_have_no_order(publication: Publication) -> None:
    plane = Points([[1, 1], [2, 3]], "0..4/1,0..4/1", size_is_public=True)
    if isinstance(publication, PlainHistogram):
        assert publish(plane, publication, law(), noise=ScriptedNoise()).values.sum() == 2
    else:
        with pytest.raises(BadInput, match="one axis"):
            publish(plane, publication, law())


def test_points_on_the_finest_of_grids_are_published_where_they_lie() -> None:
    """However many there are."""
    far = float(MOST_CELLS - 100)
    assert told([far] * 5000, SortedPoints(), grid=f"0..{MOST_CELLS}/1").values.tolist() == [int(far)] * 5000


# ---- what it costs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("publication", ALL, ids=repr)
@settings(fixed, max_examples=15)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=9), st.sampled_from([1, 3, "domain"]), st.data())
def test_no_publication_tells_more_than_epsilon(
    publication: Publication, row: list[int], radius: Any, data: st.DataObject
) -> None:
    model = law(2, radius).on(TEN)
    which, way = data.draw(st.integers(0, len(row) - 1)), data.draw(st.sampled_from([-1, 1])) * model.reach
    moved = [*row[:which], min(max(row[which] + way, 0), 9), *row[which + 1 :]]
    one, other = np.array([sorted(row)]), np.array([sorted(moved)])
    witness = Witness(SimulationNoise(data.draw(st.integers(0, 2**32))), model, one, other, distrust=True)
    curator = Curator(model, len(row), noise=witness, answers=witness.answer)
    assert publication.released(curator, points(one[0] + 0.5)).charged == Epsilon(2)
    assert all(move.moved <= move.allowed for move in witness.moves)
    assert abs(witness.loss) <= 2 * (1 + 1e-9)


@pytest.mark.parametrize("publication", ALL, ids=repr)
def test_a_population_that_has_too_little_left_is_asked_nothing(publication: Publication) -> None:
    people, noise = Population("people", epsilon=1), ScriptedNoise([5] * 99)
    publish(points([1, 2]), publication, law("0.7"), population=people)
    with pytest.raises(BudgetExceeded):
        publish(points([1, 2]), publication, law("0.300000001"), noise=noise, population=people)
    assert noise.left == 99
    publish(points([1, 2]), publication, law("0.3"), population=people)


def measured(values: Floats, publication: Publication, grid: str, radius: int) -> tuple[float, float]:
    """How wide the noise of a release is, and how wide it is said to be, without the ends."""
    exact = told(values, publication, grid=grid, radius=radius)
    noisy = told(values, publication, SimulationNoise(3), grid, radius=radius)
    return float((noisy.values - exact.values)[1:-1].std()), float(np.sqrt((noisy.noise_sd[1:-1] ** 2).mean()))


@pytest.mark.parametrize("radius", [1, 30])
@pytest.mark.parametrize("publication", ALL[:5], ids=repr)
def test_noise_is_as_wide_as_it_is_said_to_be(publication: Publication, radius: int) -> None:
    """Of numbers so far apart that none has to be put in order; rounding, which group means need, is no noise."""
    cells, size = (3000, 500) if isinstance(publication, (CumulativeHistogram, PlainHistogram)) else (3_000_000, 1)
    values: Floats = np.repeat(np.arange(3000.0), size) * (cells // 3000) + 0.5
    found, said = measured(values, publication, f"0..{cells}/1", radius)
    rounding = 1 / 12 if publication == SortedPoints(group=3) else 0
    assert found == pytest.approx(math.hypot(said, math.sqrt(rounding)), rel=0.07)


def test_noise_at_the_ends_is_as_wide_as_it_is_said_to_be() -> None:
    """Only one of the two numbers that a bin at the end is the difference of is noisy."""
    values = np.repeat([0.5, 1.5, 2.5], 300)
    found = [told(values, CumulativeHistogram(), SimulationNoise(seed), "0..3/1") for seed in range(400)]
    np.testing.assert_allclose(np.std([each.values for each in found], axis=0), found[0].noise_sd, rtol=0.12)


# ---- what is written of it ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("publication", ALL, ids=repr)
def test_parameters_are_read_as_they_are_written(publication: Publication) -> None:
    assert type(publication)(**json.loads(json.dumps(publication.parameters))) == publication


@pytest.mark.parametrize("group", [0, -1, 1.5, True, "2", 2**60])
def test_other_groups_are_refused(group: Any) -> None:
    with pytest.raises(BadInput):
        SortedPoints(group=group)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_numbers_of_a_file_that_floats_do_not_hold_are_refused(ending: str, tmp_path: Path) -> None:
    """They lie 1 apart, and their floats nearly 2: snapped from those, they would lie two cells apart."""
    path, cells = tmp_path / f"points.{ending}", ["0.99999999999999999", "1.99999999999999999"]
    if ending == "parquet":
        polars.DataFrame({"x": [Decimal(cell) for cell in cells]}).write_parquet(path)
    else:
        lines = ["x", *cells] if ending == "csv" else [f'{{"x": {cell}}}' for cell in cells]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(BadRow, match="15 digits"):
        read_points(path)


@pytest.mark.parametrize("kind", [SortedPoints, CumulativeHistogram, PlainHistogram, Median])
def test_proofs_were_read_against_the_code_as_it_is(kind: type[Publication]) -> None:
    proof = proof_of(kind)
    assert (proof.status, proof.claims, proof.reviewed) == (PROVED, ("SpatialNeighbourhood",), fingerprint(kind))


@pytest.mark.parametrize("publication", ALL, ids=repr)
def test_other_laws_and_other_data_are_refused(publication: Publication) -> None:
    with pytest.raises(BadInput, match="is for points"):
        publish(points([1]), publication, EventLevel(epsilon=1))
    with pytest.raises(BadInput, match="told as static"):
        publish(cast("Points", [1.0, 2.0]), publication, law())
    with pytest.raises(BadInput, match="larger than the domain"):
        publish(points([1]), publication, law(radius=11))
