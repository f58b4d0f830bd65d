"""The five models: what they refuse, what a record may move, and that their neighbours are neighbours."""

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.epsilon import Epsilon
from penstock.errors import BadInput, BadPresence
from penstock.models import DeltaNeighbourhood, EventLevel, MContext, Neighbours, PrivacyModel, UserLevel, WEvent
from penstock.parameters import within as lies_within
from penstock.types import LARGEST_COUNT, Ints

fixed = settings(derandomize=True, deadline=None, max_examples=200)

relations = st.sampled_from(["add-remove", "replace"])
rates = st.integers(1, 3)
lengths = st.integers(1, 6)
window_models: st.SearchStrategy[PrivacyModel] = st.one_of(
    st.builds(EventLevel, epsilon=st.just(1), neighbours=relations, per_unit=rates),
    st.builds(WEvent, epsilon=st.just(1), w=lengths, neighbours=relations, per_unit=rates),
    st.builds(UserLevel, epsilon=st.just(1), horizon=lengths, neighbours=relations, per_unit=rates),
    st.builds(DeltaNeighbourhood, epsilon=st.just(1), steps=lengths, neighbours=relations, per_unit=rates),
)
m_contexts = st.builds(MContext, epsilon=st.just(1), m=lengths, per_unit=rates)
seeds = st.integers(0, 2**32)
sizes = st.tuples(st.integers(1, 12), st.integers(1, 4))

SHAPES: list[tuple[Callable[..., PrivacyModel], str]] = [
    (WEvent, "w"),
    (UserLevel, "horizon"),
    (MContext, "m"),
    (DeltaNeighbourhood, "steps"),
]


def random_stream(seed: int, size: tuple[int, int]) -> Ints:
    """Small counts, many of them 0, so that there is not always a record to take away."""
    return np.random.default_rng(seed).integers(0, 3, size) * np.random.default_rng(seed + 1).integers(0, 2, size)


def random_presence(seed: int, steps: int, users: int = 3) -> list[list[str]]:
    """Who is there at every unit."""
    here = np.random.default_rng(seed).random((steps, users)) < 0.6
    return [[f"user{u}" for u in np.flatnonzero(row)] for row in here]


def changed_units(one: Ints, other: Ints) -> list[int]:
    """Where two streams differ."""
    return np.flatnonzero((one != other).any(axis=1)).tolist()


def one_record_apart(one: Ints, other: Ints, model: PrivacyModel) -> bool:
    """At every unit: still counts, moved by no more than the sensitivity, and of the same total under replace."""
    near = np.abs(one - other).sum(axis=1) <= model.sensitivity
    kept = (one.sum(axis=1) == other.sum(axis=1)) | (model.neighbours == "add-remove")
    return bool(near.all() and kept.all() and (other >= 0).all() and other.dtype == np.int64)


@fixed
@given(window_models, seeds, sizes)
def test_window_neighbours_agree_outside_one_protected_set(
    model: PrivacyModel, seed: int, size: tuple[int, int]
) -> None:
    """Their differences fit into one window (or the horizon), one user's records at each unit."""
    stream = random_stream(seed, size)
    before = stream.copy()
    other = model.neighbouring(stream, np.random.default_rng(seed))
    units = changed_units(stream, other)
    assert np.array_equal(stream, before)
    assert one_record_apart(stream, other, model)
    assert not units or units[-1] - units[0] < model.window
    assert not model.horizon_bound or all(t < model.window for t in units)


@fixed
@given(m_contexts, seeds, sizes)
def test_m_context_neighbours_differ_where_one_user_is_present(
    model: MContext, seed: int, size: tuple[int, int]
) -> None:
    """Only at m consecutive presences of one user."""
    stream, presence = random_stream(seed, size), random_presence(seed, size[0])
    other = model.neighbouring(stream, np.random.default_rng(seed), presence)
    runs = []
    for user in {user for here in presence for user in here}:
        own = [t for t, here in enumerate(presence) if user in here]
        runs += [set(own[i : i + model.m]) for i in range(len(own))]
    units = set(changed_units(stream, other))
    assert one_record_apart(stream, other, model)
    assert not units or any(units <= run for run in runs)


@settings(fixed, max_examples=25)
@given(st.one_of(window_models, m_contexts))
def test_neighbours_use_the_whole_law(model: PrivacyModel) -> None:
    """Over many draws some neighbour differs at every unit of a full window, and some by the full sensitivity."""
    stream = np.full((8, 3), 9)
    here = [["ann"]] * 8
    others = [model.neighbouring(stream, np.random.default_rng(seed), here) for seed in range(300)]
    units = [changed_units(stream, other) for other in others]
    assert max(int(np.abs(other - stream).sum(axis=1).max()) for other in others) == model.sensitivity
    assert {t for changed in units for t in changed} == set(range(model.window if model.horizon_bound else 8))
    assert max(changed[-1] - changed[0] + 1 for changed in units if changed) == min(model.window, 8)


def test_a_record_is_added_or_removed_unless_there_is_no_room_for_it() -> None:
    """Both ways where both are possible, and the only one where the bin is empty or full."""
    ways = {
        count: {
            int(EventLevel(epsilon=1).neighbouring([[count]], np.random.default_rng(seed))[0, 0]) - count
            for seed in range(30)
        }
        for count in (0, 9, LARGEST_COUNT)
    }
    assert ways == {0: {1}, 9: {-1, 1}, LARGEST_COUNT: {-1}}


@pytest.mark.parametrize(
    ("neighbours", "per_unit", "sensitivity"),
    [("add-remove", 1, 1), ("add-remove", 4, 4), ("replace", 1, 2), ("replace", 3, 6)],
)
def test_sensitivity_is_one_a_record_added_and_two_a_record_replaced(
    neighbours: Neighbours, per_unit: int, sensitivity: int
) -> None:
    """Times the records a user may have in one unit; nothing else matters."""
    models: list[PrivacyModel] = [
        EventLevel(epsilon=1, neighbours=neighbours, per_unit=per_unit),
        WEvent(epsilon=2, w=7, neighbours=neighbours, per_unit=per_unit),
        UserLevel(epsilon=3, horizon=9, neighbours=neighbours, per_unit=per_unit),
        DeltaNeighbourhood(epsilon=4, steps=2, neighbours=neighbours, per_unit=per_unit),
    ]
    assert {model.sensitivity for model in models} == {sensitivity}


def test_what_each_model_declares() -> None:
    """Windows, defaults and the relation that is implied."""
    assert [EventLevel(epsilon=1).window, WEvent(epsilon=1, w=5).window] == [1, 5]
    assert [UserLevel(epsilon=1, horizon=8).window, MContext(epsilon=1, m=3).window] == [8, 3]
    assert DeltaNeighbourhood(epsilon=1, steps=4).window == 4
    assert MContext(epsilon=1, m=3).sensitivity == DeltaNeighbourhood(epsilon=1, steps=4).sensitivity == 2
    assert WEvent(epsilon=0.1, w=5) == WEvent(epsilon="0.1", w=5) != WEvent(epsilon=0.1, w=6)
    assert WEvent(epsilon=0.1, w=5).epsilon == Epsilon("0.1")
    with pytest.raises(FrozenInstanceError):
        WEvent(epsilon=1, w=5).epsilon = 2  # type: ignore[misc]


@pytest.mark.parametrize("epsilon", [0, "0", 0.0, 1e-10])
def test_no_budget_is_refused(epsilon: Any) -> None:
    """Below one nano-epsilon nothing may be learnt, so nothing can be published."""
    with pytest.raises(BadInput, match=r"^epsilon must be above 0; choose how much may be learnt"):
        WEvent(epsilon=epsilon, w=3)


@pytest.mark.parametrize("epsilon", [-1, float("nan"), float("inf"), 10**7, "much"])
def test_what_is_no_budget_is_refused(epsilon: Any) -> None:
    """By the budget itself."""
    with pytest.raises(BadInput, match=r"\.$"):
        EventLevel(epsilon=epsilon)


@pytest.mark.parametrize(("model", "name"), SHAPES)
@pytest.mark.parametrize("length", [0, -1, 2.0, 1.5, "3", None, True, float("nan")])
def test_a_protected_set_has_a_whole_length(model: Callable[..., PrivacyModel], name: str, length: Any) -> None:
    """One unit at least; a float is no length, even if it is whole."""
    with pytest.raises(BadInput, match=rf"^{name} must be a whole number of 1 or more; got"):
        model(epsilon=1, **{name: length})


@pytest.mark.parametrize("neighbours", ["addremove", "Replace", "", None])
def test_an_unknown_relation_is_refused(neighbours: Any) -> None:
    """There are two, spelt one way."""
    with pytest.raises(BadInput, match=r'^neighbours must be "add-remove" or "replace"; got'):
        EventLevel(epsilon=1, neighbours=neighbours)


@pytest.mark.parametrize("per_unit", [0, -2, 1.0, True])
def test_per_unit_is_a_whole_number(per_unit: Any) -> None:
    """A user who has no record in any unit needs no protection."""
    with pytest.raises(BadInput, match=r"^per_unit must be a whole number of 1 or more; got"):
        EventLevel(epsilon=1, per_unit=per_unit)


def test_m_context_replaces_and_bounds_its_users() -> None:
    """Presence is public there, so records are changed, never added; and memory is declared."""
    with pytest.raises(BadInput, match=r'^under m-context presence is public, so neighbours must be "replace"'):
        MContext(epsilon=1, m=2, neighbours="add-remove")
    with pytest.raises(BadInput, match=r"^max_users must be a whole number of 1 or more; got 0\."):
        MContext(epsilon=1, m=2, max_users=0)


def test_numbers_of_numpy_become_plain_ones() -> None:
    """So a law reads, hashes and is stored alike, however it was written."""
    model = WEvent(epsilon=1, w=np.int64(3), per_unit=np.int32(2))  # type: ignore[arg-type]
    assert (type(model.w), type(model.per_unit)) == (int, int)
    assert repr(model) == repr(WEvent(epsilon=1, w=3, per_unit=2))


def test_rules_that_protect_nobody_are_no_part_of_a_model() -> None:
    """What happens at a horizon, and how much memory there is: a stream may be taken up with other ones."""
    stops, repeats = UserLevel(epsilon=1, horizon=3), UserLevel(epsilon=1, horizon=3, on_horizon="republish")
    assert (stops, hash(stops), repr(stops)) == (repeats, hash(repeats), repr(repeats))
    few, many = MContext(epsilon=1, m=3, max_users=5), MContext(epsilon=1, m=3)
    assert (few, hash(few), repr(few)) == (many, hash(many), repr(many))


def test_the_abstract_model_is_no_law() -> None:
    """One of the five must be chosen."""
    with pytest.raises(BadInput, match="PrivacyModel is abstract"):
        PrivacyModel(epsilon=1)


@pytest.mark.parametrize("presence", [None, [["ann"]], [["ann"]] * 4])
def test_m_context_neighbours_need_presence_at_every_unit(presence: list[list[str]] | None) -> None:
    """One list a unit."""
    with pytest.raises(BadPresence, match="one list a unit"):
        MContext(epsilon=1, m=2).neighbouring(np.ones((3, 2)), np.random.default_rng(1), presence)


def test_where_nobody_is_present_nothing_differs() -> None:
    """There is nobody to protect."""
    same = MContext(epsilon=1, m=2).neighbouring(np.ones((3, 2)), np.random.default_rng(1), [[], [], []])
    assert same.tolist() == [[1, 1]] * 3


def test_within_is_strict() -> None:
    """A part that takes nothing or everything is none; floats are read through their text."""
    lies_within("share", 0.5, 0, 1)
    for share in (0, 1, 1.0, -1, "1e0", 2):
        with pytest.raises(BadInput, match="share must lie between 0 and 1"):
            lies_within("share", share, 0, 1)
