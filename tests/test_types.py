"""A snapshot takes whole counts only, keeps them to itself, and says nothing about them when it refuses."""

import copy
import pickle
import traceback
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.errors import BadCounts, BadInput, BadPresence, Sealed
from penstock.models import EventLevel
from penstock.noise import ScriptedNoise
from penstock.queries import Counts
from penstock.types import LARGEST_COUNT, Kind, Release, Snapshot

fixed = settings(derandomize=True, deadline=None, max_examples=150)
good_counts = st.lists(st.integers(0, LARGEST_COUNT), min_size=1, max_size=6)

RULE = r"^every count must be a whole number from 0 to 2\*\*53; clean the row and pass it again\.$"


def held(snapshot: Snapshot) -> list[int]:
    """The counts a snapshot holds, through the one door there is: a paid question, without noise."""
    curator = Curator(EventLevel(epsilon=1), snapshot.bins, noise=ScriptedNoise())
    curator.begin_unit(snapshot)
    counts: list[int] = curator.ask(snapshot, Counts(), Epsilon(1)).tolist()
    return counts


def release(values: Any) -> Release:
    """A release of these values at t=1."""
    array = np.array(values, np.int64)
    return Release(1, array, np.zeros(len(array), np.int8), np.zeros(len(array)), Epsilon(1))


@fixed
@given(good_counts, st.sampled_from(["list", "<i8", ">i8", "<u8", "object", "float"]))
def test_whole_counts_come_in_exactly(counts: list[int], dtype: str) -> None:
    """From lists and from arrays of any kind of number, up to 2**53 and to the last unit."""
    given_as: ArrayLike = counts if dtype == "list" else np.array(counts, dtype)
    assert held(Snapshot(1, given_as)) == counts


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.float16, np.float32, np.float64, np.longdouble])
def test_every_width_of_number_is_taken(dtype: type) -> None:
    """Whole numbers are whole numbers, whatever holds them, in strides and backwards too."""
    row: NDArray[Any] = np.array([3, 0, 7, 0, 1], dtype)
    assert held(Snapshot(1, row)) == [3, 0, 7, 0, 1]
    assert held(Snapshot(1, row[::-2])) == [1, 7, 3]


@pytest.mark.parametrize(
    "bad",
    [
        [3, -1],
        [-1.0],
        [0.5, 2.0],
        [float("nan"), 1.0],
        [float("inf")],
        [float("-inf"), 0.0],
        [LARGEST_COUNT + 1],
        [0, LARGEST_COUNT + 2.0],
        [2**63 - 1],
        [2**63],
        [2**64],
        [2**70, 1],
        [-(2**70), 1],
        [10**400],
        np.array([LARGEST_COUNT + 1], object),
        np.array([2**64 - 1], np.uint64),
        np.array([-1], np.int8),
        [Fraction(1, 2)],
        [Decimal("0.5")],
        [Decimal("NaN")],
    ],
)
def test_numbers_that_are_no_counts_are_refused(bad: ArrayLike) -> None:
    """Negative, fractional, not finite, or above 2**53, in every dress."""
    with pytest.raises(BadCounts):
        Snapshot(1, bad)


def test_the_largest_count_is_two_to_the_53() -> None:
    """2**53 is a count, one more is not."""
    assert held(Snapshot(1, [LARGEST_COUNT, 0])) == [2**53, 0]
    with pytest.raises(BadCounts, match=RULE):
        Snapshot(1, [2**53 + 1, 0])


@pytest.mark.parametrize(
    "bad",
    [
        ["1", "2"],
        [b"1"],
        np.array(["5"], object),
        [None],
        [1, None],
        [1j],
        [True, False],
        np.array([1, 2], "M8[s]"),
        [object()],
        [{}],
    ],
)
def test_what_is_no_number_is_refused(bad: Any) -> None:
    """Text is not read, truth values are not counted, dates are not numbers."""
    with pytest.raises(BadCounts):
        Snapshot(1, bad)


@pytest.mark.parametrize("bad", [[], 5, [[1, 2], [3, 4]], [[1], [1, 2]], np.zeros((0, 3)), [[]], np.zeros((1, 1, 1))])
def test_counts_are_one_row(bad: Any) -> None:
    """Neither empty, nor a single number, nor a table, nor ragged."""
    with pytest.raises(BadCounts):
        Snapshot(1, bad)


@fixed
@given(
    st.lists(st.integers(10_000, LARGEST_COUNT), max_size=4),
    st.one_of(
        st.integers(max_value=-10_000),
        st.integers(LARGEST_COUNT + 2, 10**30),
        st.floats(10_000, 10**9).filter(lambda x: x != int(x)),
        st.floats(allow_nan=False).filter(lambda x: not 0 <= x <= LARGEST_COUNT and abs(x) > 9999),
    ),
)
def test_a_refusal_contains_no_count(good: list[int], bad: float) -> None:
    """Neither in the message nor in the chain of errors behind it: error texts are public."""
    with pytest.raises(BadCounts) as refusal:
        Snapshot(1, np.array([*good, bad], object))
    told = "".join(traceback.format_exception_only(refusal.value)) + repr(refusal.value.args)
    assert refusal.value.__cause__ is None
    assert refusal.value.__context__ is None or refusal.value.__suppress_context__
    assert all(str(value) not in told and str(abs(value)) not in told for value in [*good, bad])


def test_a_refusal_says_the_same_whatever_the_counts() -> None:
    """A message that varies with the counts tells something about them, be it the length of the longest."""
    with pytest.raises(BadCounts) as short:
        Snapshot(1, ["1", "2"])
    with pytest.raises(BadCounts) as long:
        Snapshot(1, ["1", "2000000"])
    assert str(short.value) == str(long.value)


@fixed
@given(good_counts)
def test_repr_hides_the_counts(counts: list[int]) -> None:
    """What is printed depends on the time and the number of bins alone."""
    assert repr(Snapshot(3, counts)) == f"Snapshot(t=3, bins={len(counts)}, sealed)" == str(Snapshot(3, counts))


@pytest.mark.parametrize("copied_out", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_snapshot_is_never_copied_out(copied_out: Any) -> None:
    """Pickling would put raw counts wherever the pickle goes."""
    with pytest.raises(Sealed, match="cannot be copied or pickled"):
        copied_out(Snapshot(1, [1]))


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.uint8])
def test_the_counts_are_copied_in(dtype: type) -> None:
    """Whoever changes the array afterwards changes nothing, and the array itself stays as it was."""
    row: NDArray[Any] = np.array([5, 6, 7], dtype)
    snapshot = Snapshot(1, row)
    row[:] = 0
    assert held(snapshot) == [5, 6, 7]
    before = row.copy()
    held(Snapshot(1, row))
    assert row.flags.writeable
    assert np.array_equal(row, before)


@pytest.mark.parametrize("name", ["t", "bins", "present"])
def test_a_snapshot_is_frozen(name: str) -> None:
    """Its time decides whether it may be asked about, so nobody moves an old one to the present."""
    with pytest.raises(AttributeError):
        setattr(Snapshot(1, [5]), name, 2)


@pytest.mark.parametrize("t", [0, -1])
def test_time_starts_at_one(t: int) -> None:
    """There is no unit 0."""
    with pytest.raises(BadInput, match=f"got t={t}"):
        Snapshot(t, [1])


def test_presence_lists_each_user_once() -> None:
    """From any iterable; a user listed twice is refused without being named."""
    assert Snapshot(1, [1]).present is None
    assert Snapshot(1, [1], present=(user for user in ["ann", "bob"])).present == ("ann", "bob")
    with pytest.raises(BadPresence, match="listed twice") as refusal:
        Snapshot(1, [1], present=["ann", "bob", "ann"])
    assert "ann" not in str(refusal.value)


def test_a_release_cannot_be_changed() -> None:
    """Its values are read-only and its fields are fixed."""
    fresh = release([1, 2])
    with pytest.raises(ValueError, match="read-only"):
        fresh.values[0] = 9
    with pytest.raises(AttributeError):
        fresh.t = 2  # type: ignore[misc]


def test_releases_are_the_same_if_they_say_the_same() -> None:
    """Every field counts."""
    one = release([1, 2])
    assert one.same_as(release([1, 2]))
    others = [
        release([1, 3]),
        Release(2, one.values, one.kind, one.noise_sd, one.charged),
        Release(1, one.values, np.full(2, Kind.GROUPED, np.int8), one.noise_sd, one.charged),
        Release(1, one.values, one.kind, one.noise_sd + 1, one.charged),
        Release(1, one.values, one.kind, one.noise_sd, Epsilon(2)),
    ]
    assert not any(one.same_as(other) for other in others)
