"""The law of points, and every verb of a curator about them: none answers with too little noise."""

import copy
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.checks.witness import Witness
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.errors import BadInput, PenstockError, Sealed
from penstock.grid import Grid
from penstock.laws import LAWS, described, model_of
from penstock.models import EventLevel, PrivacyModel, UserLevel, WEvent
from penstock.noise import ScriptedNoise, SimulationNoise
from penstock.points import MOST_CELLS, CellSums, Cumulative, Points
from penstock.population import Population
from penstock.primitives.segment import SegmentPlan
from penstock.queries import Counts, Distance, EuclideanDistance, GroupDistances, GroupSums, LargestDistance, Query
from penstock.spatial import SpatialNeighbourhood
from penstock.types import Snapshot, unseal

fixed = settings(derandomize=True, deadline=None, max_examples=40)

SIZE, CELLS = 4, 8
E = Epsilon("0.5")
PLAIN: list[PrivacyModel] = [EventLevel(epsilon=1), WEvent(epsilon=1, w=2), UserLevel(epsilon=1, horizon=3)]


def law(radius: Any = 2, grid: str | None = f"0..{CELLS}/1", epsilon: Any = 1) -> SpatialNeighbourhood:
    return SpatialNeighbourhood(epsilon=epsilon, radius=radius, grid=grid)


def points(cells: Any, grid: str = f"0..{CELLS}/1") -> Points:
    return Points(np.asarray(cells) + 0.5, grid, size_is_public=True)


# ---- the law --------------------------------------------------------------------------------------------------------


@fixed
@given(st.fractions(Fraction(1, 10**6), 100) | st.decimals("0.000001", 100, allow_nan=False), st.booleans())
def test_a_law_is_read_as_it_is_written(radius: Any, on_a_grid: bool) -> None:
    stated = law(radius, "0..100/1/3" if on_a_grid else None, "0.3")
    assert model_of(described(stated)) == stated
    assert Fraction(str(stated.radius)) == Fraction(radius)
    assert {type(value) for value in described(stated).values()} <= {str, int, type(None)}
    assert "spatial-neighbourhood" in LAWS


def test_the_same_radius_is_the_same_law() -> None:
    assert len({law(radius) for radius in ("0.50", 0.5, "1/2", Fraction(1, 2), "5e-1")}) == 1
    assert model_of(described(law("domain"))) == law("domain")


@pytest.mark.parametrize("radius", [0, -1, "0", "-1/2", "nan", math.nan, math.inf, None, True, "all", "DOMAIN", "", []])
def test_a_radius_is_above_0(radius: Any) -> None:
    with pytest.raises(BadInput):
        law(radius)


def test_a_radius_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(BadInput):
        law(10**5000, None)


@pytest.mark.parametrize("grid", ["0..8/1", "0..5/1,0..4/1"])
def test_a_radius_lies_inside_the_domain(grid: str) -> None:
    inside, outside = {"0..8/1": ("8", "8.000001"), "0..5/1,0..4/1": ("6.4", "6.41")}[grid]
    assert law(inside, grid).reach == Grid.of(grid).cells - 1
    with pytest.raises(BadInput, match="larger than the domain"):
        law(outside, grid)
    with pytest.raises(BadInput, match="larger than the domain"):
        law(outside, None).on(grid)


@pytest.mark.parametrize("wrong", [{"neighbours": "add-remove"}, {"per_unit": 2}, {"grid": 5}, {"epsilon": 0}])
def test_other_neighbours_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        SpatialNeighbourhood(**({"epsilon": 1, "radius": 1} | wrong))


def test_without_a_grid_nobody_knows_how_far_a_point_moves() -> None:
    for told in (lambda: law(1, None).reach, lambda: law(1, None).sensitivity, lambda: law(1, None).snapped_to):
        with pytest.raises(BadInput, match="say which"):
            told()


@pytest.mark.parametrize(
    ("radius", "reach"), [("1e-9", 1), (1, 1), ("1.0000001", 2), (7, 7), ("7.5", 7), (8, 7), ("domain", 7)]
)
def test_the_reach_is_rounded_up(radius: Any, reach: int) -> None:
    assert law(radius).reach == law(radius).sensitivity == reach


def test_it_lasts_for_one_unit() -> None:
    assert not law().is_over(1)
    assert law().is_over(2)
    curator = Curator(law(), 2, noise=ScriptedNoise())
    curator.begin_unit(points([1, 2]))
    for again in (points([1, 2]), Snapshot(2, [1, 2])):
        with pytest.raises(PenstockError):
            curator.begin_unit(again)


def test_several_publications_share_a_population() -> None:
    people = Population("people", epsilon=1)
    Curator(law(epsilon="0.6"), 1, population=people)
    Curator(law(2, "0..100/1", epsilon="0.4"), 9, population=people)
    with pytest.raises(PenstockError, match="left"):
        Curator(law(epsilon="1e-9"), 1, population=people)
    with pytest.raises(PenstockError, match="and radius; use another population"):
        Curator(law(3, epsilon="1e-9"), 1, population=people)
    with pytest.raises(PenstockError, match="one kind of model"):
        Curator(EventLevel(epsilon="1e-9", neighbours="replace"), 1, population=people)


# ---- points ---------------------------------------------------------------------------------------------------------


def test_points_tell_nothing() -> None:
    held = points([5, 3, 3])
    assert repr(held) == str(held) == "Points(size=3, grid=0..8/1, sealed)"
    assert unseal(held).tolist() == [3, 3, 5]
    for told in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(Sealed):
            told(held)
    for name in ("grid", "_counts", "t", "bins", "other"):
        with pytest.raises(AttributeError):
            setattr(held, name, 1)
    with pytest.raises(ValueError, match="read-only"):
        unseal(held)[0] = 1
    with pytest.raises(BadInput):
        held.attended(["a"])


def test_how_many_there_are_has_to_be_declared() -> None:
    with pytest.raises(BadInput, match="size_is_public=True"):
        Points([1, 2], "0..8/1")


# ---- what may be asked ----------------------------------------------------------------------------------------------


@dataclass
class Asked:
    """A verb: how its handle is made, and the question."""

    name: str
    ask: Callable[[Curator, Any, Any], Any]
    begin: Callable[[Curator], Any] = field(default=lambda curator: None)

    def __str__(self) -> str:
        return self.name


def of(query: Query, **options: Any) -> Callable[[Curator, Any, Any], Any]:
    return lambda curator, _, points: curator.ask(points, query, E, **options)


FAR = [9, 0, 4, 7]
NEAREST = [Distance(FAR), EuclideanDistance([0] * SIZE), LargestDistance([3] * SIZE)]
HALF = [Epsilon("0.5"), Epsilon("0.25"), Epsilon("0.5"), Epsilon("0.125")]
VERBS = [
    *(Asked(f"ask {type(query).__name__}", of(query)) for query in (Counts(), *NEAREST)),
    Asked("ask two points", of(Counts(), bins=[1, 3])),
    Asked("ask each", lambda curator, _, points: curator.ask(points, Counts(), HALF)),
    Asked("ask in turn", lambda curator, _, points: [curator.ask(points, Counts(), E, bins=[i]) for i in range(SIZE)]),
    Asked("ask GroupSums", of(GroupSums([0, 0, 1, -1]))),
    Asked("ask GroupDistances", of(GroupDistances([1, 0, 1, 0], FAR))),
    Asked("ask Cumulative", of(Cumulative(CELLS))),
    Asked("ask CellSums", of(CellSums(CELLS))),
    Asked("ask groups of cells", of(CellSums(CELLS, [0, 0, 1, 1, -1, 2, 2, 0]))),
    Asked("purse", lambda curator, _, points: curator.purse(points, E)(E)),
    Asked("purse of groups", lambda curator, _, points: curator.purse(points, E, labels=[0, 1, 1, 0])(E)),
    Asked("cells", lambda curator, _, points: curator.cells(points, E)(E)),
    Asked("cells in groups", lambda curator, _, points: curator.cells(points, E)(E, np.arange(CELLS) // 3)),
    Asked("nearest", lambda curator, _, points: curator.nearest(points, NEAREST, E)),
    Asked("median", lambda curator, _, points: curator.median(points, E)),
    Asked(
        "segment",
        lambda curator, segment, points: segment.above(points, Distance(FAR), 9, Epsilon("0.1")),
        lambda curator: curator.segment(SegmentPlan(1, Epsilon("0.2"), Epsilon("0.1"))),
    ),
    Asked(
        "pool",
        lambda curator, pool, points: (pool.absorb(points, E), pool.settle()),
        lambda curator: curator.pool(),
    ),
    Asked(
        "purse of a pool",
        lambda curator, pool, points: (pool.absorb(points, E), pool.purse()(E, [0, 1, 1, 0])),
        lambda curator: curator.pool(),
    ),
    Asked(
        "grouper",
        lambda curator, grouper, points: [grouper.extend(points, 3) for _ in range(2)],
        lambda curator: curator.grouper(Epsilon("0.4")),
    ),
]


def begun(model: PrivacyModel, verb: Asked, first: Snapshot, noise: Any, **options: Any) -> tuple[Curator, Any]:
    curator = Curator(model, first.bins, noise=noise, **options)
    handle = verb.begin(curator)
    curator.begin_unit(first)
    return curator, handle


rows = st.lists(st.integers(0, CELLS - 1), min_size=SIZE, max_size=SIZE)
radii = st.sampled_from([1, "2.5", 4, "domain"])


def moved(row: list[int], which: int, way: int, reach: int) -> list[int]:
    """One point moves by ``way`` cells, and no further than it may."""
    place = min(max(row[which] + max(min(way, reach), -reach), 0), CELLS - 1)
    return sorted([*row[:which], place, *row[which + 1 :]])


@pytest.mark.parametrize("verb", VERBS, ids=str)
@fixed
@given(rows, st.integers(0, SIZE - 1), st.integers(-CELLS, CELLS), radii, st.integers(0, 2**32))
def test_no_answer_costs_more_than_is_paid(
    verb: Asked, row: list[int], which: int, way: int, radius: Any, seed: int
) -> None:
    """The true values move by no more than their noise is made for, and the answers tell no more than was charged."""
    model = law(radius)
    one, other = np.array([sorted(row)]), np.array([moved(row, which, way, model.reach)])
    witness = Witness(SimulationNoise(seed), model, one, other, distrust=True)
    curator, handle = begun(model, verb, points(one[0]), witness, answers=witness.answer)
    verb.ask(curator, handle, points(one[0]))
    assert all(move.moved <= move.allowed for move in witness.moves)
    assert abs(witness.loss) <= float(curator.charged()) * (1 + 1e-6)


def test_samples_of_points_are_refused() -> None:
    curator, _ = begun(law(), VERBS[0], points([1] * SIZE), ScriptedNoise())
    with pytest.raises(BadInput):
        curator.sampled(points([1] * SIZE), "0.5", E, limit=3)
    assert not curator.charged()


def answered(model: PrivacyModel, first: Snapshot, then: Snapshot) -> list[str]:
    """Which verbs answer about ``then`` in a unit that was begun with ``first``."""
    told = []
    for verb in VERBS:
        try:
            curator, handle = begun(model, verb, first, ScriptedNoise())
            verb.ask(curator, handle, then)
        except BadInput:
            continue
        except Exception as fault:
            told.append(f"{verb} ({type(fault).__name__})")
        else:
            told.append(str(verb))
    return told


@pytest.mark.parametrize("model", PLAIN, ids=lambda model: type(model).__name__)
def test_points_are_refused_under_another_model(model: PrivacyModel) -> None:
    held = points([1, 2, 5, 7])
    assert answered(model, held, held) == []
    assert answered(model, Snapshot(1, [0] * SIZE), held) == []


def test_counts_are_refused_under_the_law_of_points() -> None:
    plain = Snapshot(1, [1, 2, 5, 7])
    assert answered(law(), plain, plain) == []
    assert answered(law(), points([0] * SIZE), plain) == []


def test_points_on_another_grid_are_refused() -> None:
    """On a finer grid a point moves by more cells, so the noise would be too narrow."""
    finer = Points([1.5, 2.5, 5.5, 7.5], "0..8/0.001", size_is_public=True)
    assert answered(law(), finer, finer) == []
    assert answered(law(), points([0] * SIZE), finer) == []


def test_a_law_without_a_grid_begins_nothing() -> None:
    for first in (points([1, 2]), Snapshot(1, [1, 2])):
        with pytest.raises(BadInput):
            Curator(law(2, None), 2).begin_unit(first)


def test_all_points_are_asked_about_together() -> None:
    """A place in their order is no bin: which point is the first depends on all of them."""
    for query in (CellSums(CELLS), Cumulative(CELLS)):
        curator, _ = begun(law(), VERBS[0], points([1] * SIZE), ScriptedNoise())
        with pytest.raises(BadInput, match="asked of all points together"):
            curator.ask(points([1] * SIZE), query, E, bins=[0])
        assert not curator.charged()


def test_cells_are_published_one_by_one_up_to_a_limit() -> None:
    query = Cumulative(MOST_CELLS)
    assert (query.size(None, 1), query.content) == (MOST_CELLS - 1, ())
    with pytest.raises(BadInput, match=f"at most {MOST_CELLS} cells"):
        Cumulative(MOST_CELLS + 1)


def test_labels_of_other_cells_are_refused_for_nothing() -> None:
    curator, _ = begun(law(), VERBS[0], points([1] * SIZE), ScriptedNoise())
    with pytest.raises(BadInput):
        curator.ask(points([1] * SIZE), CellSums(CELLS, [0, 0, 1]), E)
    assert not curator.charged()


def test_points_can_be_published_again_by_whoever_holds_them() -> None:
    """Each publication gets a set of its own, which nobody else can open any more."""
    points = Points([1.0, 2.0, 3.0], f"0..{CELLS}/1", size_is_public=True)
    first, second = points.anew(), points.anew()
    for each in (first, second):
        curator = Curator(law(), 3, noise=ScriptedNoise())
        curator.begin_unit(each)
        with pytest.raises(BadInput, match="opened already"):
            each.anew()
    assert points.anew().grid == points.grid
