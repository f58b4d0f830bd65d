"""Every question one may ask of a snapshot, with its sensitivity.

Values and sensitivities are whole numbers, so that adding whole noise is exact. A reference (an earlier release, or
anything computed from releases) is public and is rounded to whole numbers first. Where many large numbers are added
each is first cut at a public bound that keeps the sum inside 64 bits; a cut moves no two numbers further apart.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.errors import BadInput
from penstock.models import PrivacyModel
from penstock.types import LARGEST_COUNT, Ints
from penstock.uncopied import Unchanging

LARGEST_SUM = 2**62
LARGEST_REFERENCE = 2**60
AT_ONCE = 2**16  # numbers to compute with, so that many references need no more memory than one

Bins = NDArray[np.intp]


class Query(Unchanging, ABC):
    """A vector of whole numbers per snapshot that one record moves by at most one, in L1. All but its value is public.

    A query states a sensitivity, so queries are written in the kernel, in this file and in ``penstock.points``, and
    nowhere else. They have slots, all of them private, so that what was asked for cannot be changed on the way.
    """

    __slots__ = ("_content",)

    _known: ClassVar[set[type[Query]]] = set()

    def __init_subclass__(cls) -> None:
        if cls.__module__ not in (__name__, "penstock.points"):
            raise BadInput("a query states a sensitivity and belongs to the kernel; ask one of penstock.queries.")
        cls._known.add(cls)

    def __init__(self, *content: NDArray[Any]) -> None:
        self._content = content

    @property
    def content(self) -> tuple[NDArray[Any], ...]:
        """Copies of the public vectors it was made with."""
        return tuple(vector.copy() for vector in self._content)

    def sensitivity(self, model: PrivacyModel) -> int:
        """How far the value moves between neighbours."""
        return model.sensitivity

    def touches(self, bins: Bins | None) -> Bins | None:
        """Which bins the value depends on (None: all of them)."""
        return bins

    @abstractmethod
    def size(self, bins: Bins | None, width: int) -> int:
        """How many numbers the value has, asked of ``bins`` (None: all) of a snapshot with ``width`` bins."""

    @abstractmethod
    def __call__(self, counts: Ints, bins: Bins | None) -> Ints:
        """The true value over ``bins``."""


class Counts(Query):
    """The histogram itself."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__()

    def size(self, bins: Bins | None, width: int) -> int:
        return width if bins is None else len(bins)

    def __call__(self, counts: Ints, bins: Bins | None) -> Ints:
        return counts if bins is None else counts[bins]


class Distance(Query):
    """The L1 distance to a public reference: one number. The triangle inequality bounds what a record moves it by."""

    __slots__ = ("_reference",)

    def __init__(self, reference: ArrayLike) -> None:
        self._reference = as_reference(reference)
        super().__init__(self._reference)

    def size(self, bins: Bins | None, width: int) -> int:
        require_width("the reference", self._reference, width)
        return 1

    def __call__(self, counts: Ints, bins: Bins | None) -> Ints:
        total: Ints = _apart(counts, self._reference, bins).sum(keepdims=True)
        return total


class Distances(tuple[Distance, ...]):
    """The distances to each row of a table: queries that differ in their references alone, rounded all at once."""

    __slots__ = ()

    def __new__(cls, references: ArrayLike) -> Self:
        rows = as_reference(references)
        made = super().__new__(cls, [Distance.__new__(Distance) for _ in rows])
        for query, row in zip(made, rows, strict=True):
            query._reference, query._content = row, (row,)
        return made


class EuclideanDistance(Distance):
    """The L2 distance, rounded down; L2 is never more than L1, and rounding whole steps down keeps them whole steps."""

    __slots__ = ()

    def __call__(self, counts: Ints, bins: Bins | None) -> Ints:
        return np.array([math.isqrt(_sum_of_squares(_apart(counts, self._reference, bins)))])


class LargestDistance(Distance):
    """How far the bin that is farthest from a public reference is from it; never more than L1 either."""

    __slots__ = ()

    def __call__(self, counts: Ints, bins: Bins | None) -> Ints:
        largest: Ints = _apart(counts, self._reference, bins).max(keepdims=True, initial=0)
        return largest


class GroupSums(Query):
    """The sum of each group of bins. ``labels`` gives every bin's group, or -1 for none; groups are public.

    Groups are numbered from 0; if told, there are ``number`` of them, and the last ones may be empty.
    """

    __slots__ = ("_groups",)

    def __init__(self, labels: ArrayLike, number: int | None = None) -> None:
        self._groups = Groups(labels, number)
        super().__init__(self._groups.labels)

    def size(self, bins: Bins | None, width: int) -> int:
        require_width("the list of labels", self._groups.labels, width)
        return self._groups.number

    def __call__(self, counts: Ints, bins: Bins | None) -> Ints:
        return self._groups.sums(_cut(counts), bins)

    def touches(self, bins: Bins | None) -> Bins | None:
        return self._groups.members(bins)


class GroupDistances(Query):
    """The L1 distance to a public reference, within each group of bins."""

    __slots__ = ("_groups", "_reference")

    def __init__(self, labels: ArrayLike, reference: ArrayLike) -> None:
        self._groups = Groups(labels)
        self._reference = as_reference(reference)
        super().__init__(self._groups.labels, self._reference)

    def size(self, bins: Bins | None, width: int) -> int:
        require_width("the list of labels", self._groups.labels, width)
        require_width("the reference", self._reference, width)
        return self._groups.number

    def __call__(self, counts: Ints, bins: Bins | None) -> Ints:
        return self._groups.sums(_apart(counts, self._reference, None), bins)

    def touches(self, bins: Bins | None) -> Bins | None:
        return self._groups.members(bins)


class Groups:
    """A public partition of bins, summed without a loop."""

    def __init__(self, labels: ArrayLike, number: int | None = None) -> None:
        self.labels = np.array(labels)
        row = self.labels.ndim == 1 and self.labels.dtype.kind in "iu"
        if not row or (least := self.labels.min(initial=0)) < -1:
            raise BadInput("labels must give each bin the number of its group, or -1 for none.")
        self._everywhere = bool(least == 0)
        least_number = int(self.labels.max(initial=-1)) + 1
        self.number = least_number if number is None else max(least_number, operator.index(number))

    def sums(self, values: Ints, bins: Bins | None) -> Ints:
        """The sum of ``values`` over each group, or over the part of it that lies in ``bins``."""
        chosen = self.members(bins)
        labels, values = (self.labels, values) if chosen is None else (self.labels[chosen], values[chosen])
        sums: Ints = np.zeros(self.number, np.int64)
        np.add.at(sums, labels, values)
        return sums

    def members(self, bins: Bins | None) -> Bins | None:
        """The bins that are in some group."""
        if self._everywhere:
            return bins
        grouped = self.labels >= 0
        return np.flatnonzero(grouped) if bins is None else bins[grouped[bins]]


def known_query(query: Query) -> Query:
    """Refuse what merely looks like a query."""
    if type(query) not in Query._known:
        raise BadInput("only the queries of penstock.queries can be asked.")
    return query


def single_values(queries: Sequence[Query], counts: Ints) -> Ints:
    """The values of queries that have one number each. Those of a table are computed together, some rows at a time."""
    if type(queries) is not Distances:
        return np.array([query(counts, None)[0] for query in queries])
    references, some = [query._reference for query in queries], max(AT_ONCE // len(counts), 1)
    parts = (np.array(references[i : i + some]) for i in range(0, len(references), some))
    return np.concatenate([_apart(counts, part, None).sum(axis=1) for part in parts])


def as_bins(bins: ArrayLike | None, width: int) -> Bins | None:
    """The numbers of the chosen bins, given as numbers or as a mask; None means all."""
    if bins is None:
        return None
    chosen = np.array(bins)
    if chosen.shape == (0,):
        return np.empty(0, np.intp)
    if chosen.dtype == np.bool_ and chosen.shape == (width,):
        return chosen.nonzero()[0]
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or not ((chosen >= 0) & (chosen < width)).all():
        raise BadInput(f"bins are chosen by their numbers, 0 to {width - 1}, or by a mask of all of them.")
    seen = np.zeros(width, np.bool_)
    seen[chosen] = True
    if np.count_nonzero(seen) < len(chosen):
        raise BadInput("a bin is chosen twice; ask about each bin once.")
    return chosen.astype(np.intp, copy=False)


def place_among(chosen: Bins | None, width: int) -> Ints:
    """The place of every bin among those chosen (None: all), -1 where it is not."""
    if chosen is None:
        return np.arange(width)
    place = np.full(width, -1)
    place[chosen] = np.arange(len(chosen))
    return place


def joined(groups: Ints, place: Ints) -> GroupSums:
    """The sums of groups of cells, of bins that have these places among the cells (-1: none)."""
    return GroupSums(np.where(place < 0, -1, groups[place]), int(groups.max(initial=-1)) + 1)


def require_width(name: str, values: NDArray[Any], width: int) -> None:
    """Refuse a public vector that does not cover the snapshot's bins."""
    if values.shape != (width,):
        raise BadInput(f"{name} has shape {values.shape} and the snapshot {width} bins; give one entry a bin.")


def as_reference(values: ArrayLike) -> Ints:
    """Public values rounded to whole numbers, small enough to subtract."""
    array = np.asarray(values)
    if array.dtype.kind == "f":
        array = np.rint(np.nan_to_num(array.astype(np.float64)))
    elif array.dtype.kind == "u":
        array = np.minimum(array.astype(np.uint64), np.uint64(LARGEST_REFERENCE)).astype(np.int64)
    else:
        array = array.astype(np.int64, copy=False)
    bounded = np.asarray(np.maximum(array, -LARGEST_REFERENCE))  # a copy, whatever came in
    reference: Ints = np.minimum(bounded, LARGEST_REFERENCE, out=bounded).astype(np.int64, copy=False)
    return reference


def _apart(counts: Ints, reference: Ints, bins: Bins | None) -> Ints:
    apart = counts - reference if bins is None else counts[bins] - reference[bins]
    return _cut(np.abs(apart, out=apart), LARGEST_REFERENCE + LARGEST_COUNT)


def _sum_of_squares(values: Ints) -> int:
    """Exact, whatever the values: from digits of 21 bits, and 2**20 values at a time, so that 64 bits are enough."""
    total = 0
    for start in range(0, len(values), 2**20):
        piece = values[start : start + 2**20]
        digits = [(piece >> shift) & (2**21 - 1) for shift in (0, 21, 42)]
        total += sum(int(np.dot(a, b)) << 21 * (i + j) for i, a in enumerate(digits) for j, b in enumerate(digits))
    return total


def _cut(values: Ints, bound: int = LARGEST_COUNT) -> Ints:
    """Cut every value so that the sum of a row stays below LARGEST_SUM; ``bound`` is what a value can be at most."""
    most = LARGEST_SUM // max(values.shape[-1], 1)
    return values if bound <= most else np.minimum(values, most)
