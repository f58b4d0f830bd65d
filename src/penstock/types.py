"""What goes in and what comes out: a sealed Snapshot of raw counts, a public Release."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any, ClassVar, NoReturn, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.epsilon import Epsilon
from penstock.errors import BadCounts, BadInput, BadPresence
from penstock.uncopied import Uncopied

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

LARGEST_COUNT = 2**53  # the public rule: above it a float could not have held the count, so it is not trusted
CONFIDENCE = 0.95  # with which a true count lies between low and high of a release, by the mechanism's model


class Snapshot(Uncopied):
    """The true histogram of one time unit, sealed.

    ``t``, ``bins`` and ``label`` (what the input calls the unit: a date, a week) are public. The counts are copied in
    and cannot be changed; only the curator opens them (``claim`` and ``unseal`` are imported by the kernel and by
    nothing else, which the tests enforce). The first ledger that opens a snapshot is the only one that ever does:
    another would spend a budget of its own on the same people. ``present`` lists the ids of the users present in this
    unit and is needed under m-context only, where presence is public.
    """

    __slots__ = ("__weakref__", "_claim", "_counts", "bins", "label", "present", "t")

    _further: ClassVar[tuple[str, ...]] = ()  # what a kind of snapshot holds besides

    t: int
    bins: int
    label: str
    present: tuple[str, ...] | None
    _counts: Ints
    _claim: object | None

    def __init__(self, t: int, counts: ArrayLike, present: Iterable[str] | None = None, label: str = "") -> None:
        sealed = as_counts(counts)
        object.__setattr__(self, "t", as_unit(t))
        object.__setattr__(self, "bins", len(sealed))
        object.__setattr__(self, "label", as_label(label or str(t)))
        object.__setattr__(self, "present", None if present is None else as_presence(present))
        object.__setattr__(self, "_counts", sealed)
        object.__setattr__(self, "_claim", None)

    def attended(self, present: Iterable[str]) -> Snapshot:
        """The same snapshot with a list of the users present in it, still sealed. Refused once it was opened."""
        self._require_unopened()
        return Snapshot(self.t, self._counts, present, self.label)

    def anew(self) -> Self:
        """The same snapshot for another ledger, still sealed. Refused once it was opened, so that no mechanism can."""
        self._require_unopened()
        made = object.__new__(type(self))
        for name in ("t", "bins", "label", "present", "_counts", "_claim", *self._further):
            object.__setattr__(made, name, getattr(self, name))
        return made

    def _require_unopened(self) -> None:
        if self._claim is not None:
            raise BadInput("this snapshot was opened already; make a new one from the counts.")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a snapshot cannot be changed; make a new one.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a snapshot cannot be changed; make a new one.")

    def __repr__(self) -> str:
        return f"Snapshot(t={self.t}, bins={self.bins}, sealed)"


def as_unit(t: object) -> int:
    """The number of a time unit."""
    if isinstance(t, (int, np.integer)) and t >= 1:
        return int(t)
    raise BadInput(f"time units are numbered 1, 2, 3, ...; got t={t!r}.")


def as_label(label: str) -> str:
    """What a time unit is called: one line of printable text, because files are made of lines."""
    if label.isprintable():
        return label
    raise BadInput("what a time unit is called must be printable text; mend it.")


def claim(snapshot: Snapshot, claimant: object) -> None:
    """Give a snapshot to the ledger that opens it first, for good. For the curator alone."""
    require_unclaimed(snapshot, claimant)
    object.__setattr__(snapshot, "_claim", claimant)


def require_unclaimed(snapshot: Snapshot, claimant: object) -> None:
    """Refuse a snapshot that another ledger than the claimant's has opened."""
    if snapshot._claim is not None and snapshot._claim is not claimant:
        raise BadInput(
            "this snapshot was opened by another curator, whose ledger has paid for it; make a new Snapshot to publish"
            " the same counts again."
        )


def unseal(snapshot: Snapshot) -> Ints:
    """The raw counts. For the curator alone."""
    return snapshot._counts


def as_array(values: ArrayLike) -> NDArray[Any]:
    """Counts as numpy sees them, unless their rows differ in length."""
    try:
        return np.asarray(values)
    except ValueError:
        raise BadCounts("counts must have as many bins in every row; fill in what is missing.") from None


def as_counts(values: ArrayLike) -> Ints:
    """A private, read-only copy of ``values`` as whole numbers, or a refusal that names no value."""
    array = as_array(values)
    if array.ndim != 1 or array.size == 0:
        raise BadCounts(f"counts must be one row of at least one bin; got an array of shape {array.shape}.")
    if array.dtype.kind == "O":
        array = _narrowed(array)
    if array.dtype.kind not in "iuf":
        raise BadCounts("counts must be numbers; clean the row and pass it again.")
    if not _follows_the_rule(array):
        raise BadCounts("every count must be a whole number from 0 to 2**53; clean the row and pass it again.")
    counts: Ints = array.astype(np.int64)
    counts.setflags(write=False)
    return counts


def _narrowed(array: NDArray[np.object_]) -> Ints:
    """Python's own whole numbers, which numpy leaves alone when one of them is large."""
    if all(type(value) is int and 0 <= value <= LARGEST_COUNT for value in array):
        return array.astype(np.int64)
    raise BadCounts("every count must be a whole number from 0 to 2**53; clean the row and pass it again.")


def _follows_the_rule(array: NDArray[Any]) -> bool:
    if array.dtype == np.int64 and array.flags.c_contiguous:
        return bool(array.view(np.uint64).max() <= LARGEST_COUNT)  # a negative number reads as a huge one
    if array.dtype.kind != "f":
        return bool(array.min() >= 0 and array.max() <= LARGEST_COUNT)
    if array.dtype.itemsize < 8:
        array = array.astype(np.float64)
    within = (array >= 0) & (array <= LARGEST_COUNT)  # NaN fails both
    return bool(within.all() and (array == np.floor(array)).all())


def as_presence(users: Iterable[str]) -> tuple[str, ...]:
    """The users present, each once."""
    if isinstance(users, str):
        raise BadPresence("the users present are a list of names; put a single one into a list, too.")
    present = tuple(users)
    if not all(isinstance(user, str) for user in present) or not _is_unicode("".join(present)):
        raise BadPresence("users are named by text; turn their ids into text first.")
    spelled = tuple(user if user.isascii() else unicodedata.normalize("NFC", user) for user in present)
    if len(set(spelled)) != len(spelled):  # the same characters, however they are put together, are the same user
        raise BadPresence("a user is listed twice in one time unit; list each user present once.")
    return spelled


def _is_unicode(text: str) -> bool:
    """Whether text can be written down; halves of characters cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class Kind(IntEnum):
    """Where a published value comes from."""

    FRESH = 0  # measured in this unit: the count and drawn noise, and nothing else
    REPUBLISHED = 1  # not measured in this unit: made of other releases, as a rule the one before
    GROUPED = 2  # a measurement of several bins or units together
    ESTIMATED = 3  # from measurements of several units


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """One published histogram. Everything in it is public.

    ``kind`` and ``noise_sd`` are given per bin; ``noise_sd`` is the standard deviation of the noise in the value,
    which for a republished bin is that of the release it repeats (its further drift is unknown). ``charged`` is what
    the time unit cost. Between ``low`` and ``high``, both included, the true count of each bin lies with a probability
    of ``CONFIDENCE`` by the mechanism's own model of the stream; None where a mechanism has none, or has nothing to go
    by in this unit.
    """

    t: int
    values: Ints
    kind: NDArray[np.int8]
    noise_sd: Floats
    charged: Epsilon
    low: Ints | None = field(default=None, kw_only=True)
    high: Ints | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self.values.setflags(write=False)
        if self.low is not None and self.high is not None:
            self.low.setflags(write=False)
            self.high.setflags(write=False)
        elif self.low is not self.high:
            raise BadInput("an interval has two ends; give a release both low and high, or neither.")

    @property
    def is_new(self) -> bool:
        """Whether any of its values is not just repeated."""
        return bool((self.kind != Kind.REPUBLISHED.value).any())

    def same_as(self, other: Release) -> bool:
        """Whether both releases say exactly the same."""
        return (
            (self.t, self.charged) == (other.t, other.charged)
            and np.array_equal(self.values, other.values)
            and np.array_equal(self.kind, other.kind)
            and np.array_equal(self.noise_sd, other.noise_sd)
            and _same_ends(self.low, other.low)
            and _same_ends(self.high, other.high)
        )

    @staticmethod
    def zeros(bins: int) -> Release:
        """What stands for the last release before there is one."""
        kinds = np.full(bins, Kind.REPUBLISHED.value, np.int8)
        return Release(0, np.zeros(bins, np.int64), kinds, np.zeros(bins), Epsilon.of_nano(0))

    def saved(self) -> list[Any]:
        """What it says, as plain data; ends of intervals are left out where there are none."""
        ends = [] if self.low is None else [self.low, self.high]
        return [self.t, self.values, self.kind, self.noise_sd, self.charged, *ends]

    @staticmethod
    def restored(saved: Sequence[Any]) -> Release:
        """The release that was saved."""
        low, high = saved[5:] or (None, None)
        return Release(*saved[:5], low=low, high=high)


def _same_ends(one: Ints | None, other: Ints | None) -> bool:
    """Whether two ends of intervals say the same."""
    return one is other if one is None or other is None else np.array_equal(one, other)


class Cause(StrEnum):
    """Why a time unit has the release it has."""

    DECIDED = "decided"  # the mechanism decided so
    REFUSED = "refused"  # the mechanism asked for more than was left; republished
    FAILED = "failed"  # the step failed; its charge is spent, republished
    LOST = "lost"  # the process died in the step; its charge is spent, republished
    MISSING = "missing"  # there was no input for this unit; republished
    OVER = "over"  # the horizon is over; nothing was read, republished
    ADOPTED = "adopted"  # published from a newer copy of the store, which is gone; values unknown, budget spent


@dataclass(frozen=True, slots=True, eq=False)
class Published(Release):
    """A release as it left the store, with where it comes from. ``label`` is what the input calls the time unit.

    ``remaining`` is what was left to spend in the unit, ``sequence`` counts the charges booked so far, ``link`` is the
    head of the stream's chain: whoever keeps the releases can tell whether a store is the one they came from.
    """

    stream: str
    label: str
    cause: Cause
    remaining: Epsilon
    sequence: int
    mechanism: str
    version: str
    link: str
