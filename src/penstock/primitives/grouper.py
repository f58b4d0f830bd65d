"""Grouping neighbouring time units whose counts are alike, on sealed values (the test of PeGaSus).

Per bin: a group opens with a noisy threshold. As long as the deviation of the group, with the current count in it,
stays below, the count joins; otherwise the group closes *and the current count is closed as a group of its own*, so
that every count takes part in exactly one comparison series. That series is a sparse-vector segment with one yes:
threshold noise of scale D / (e/2) and query noise of scale D / (e/4), D the deviation's sensitivity, cost
e/2 + 2 * e/4 = e, charged at every unit that joins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from penstock.desk import Desk, Handle, Question, scale_of, spendable
from penstock.epsilon import Epsilon
from penstock.errors import BadInput
from penstock.models import PrivacyModel
from penstock.parameters import at_least_one
from penstock.primitives.stacking import stacked
from penstock.queries import LARGEST_SUM
from penstock.types import Ints, Mask, Snapshot

LARGEST_LIMIT = 2.0**62  # above every deviation, which is below 2**62


@dataclass(frozen=True)
class Deviation:
    """How far a run of counts strays from its own mean, sum |c - mean|, rounded down to multiples of 1 / grid.

    A record more or less moves one column by less than 2; on the grid that is 2 * grid, and 1 more for the rounding.
    Counts, and their distances from the mean, are cut where 64 bits would not hold the sum of so many; how many there
    are is public.
    """

    grid: int = 64

    def sensitivity(self, model: PrivacyModel) -> int:
        return (2 * self.grid + 1) * model.sensitivity

    def __call__(self, members: Ints, lengths: Ints) -> Ints:
        """Of each column of ``members``, of which the first ``lengths[j]`` entries of column j are taken."""
        members, n = members[: np.maximum.reduce(lengths, initial=0)], np.maximum(lengths, 1)
        taken = np.arange(len(members))[:, np.newaxis] < lengths
        kept = np.minimum(members, LARGEST_SUM // n) * taken
        astray = np.abs(kept * n - np.add.reduce(kept))  # n times the distance from the mean
        astray = np.minimum(astray, LARGEST_SUM // (self.grid * n)) * taken
        deviation: Ints = self.grid * np.add.reduce(astray) // n
        return deviation


class Grouper(Handle):
    """Groups of at most ``max_length`` units, one open group a bin at most."""

    __slots__ = ("_deviation", "_e", "_length", "_max_length", "_members", "_open", "_rho", "_scales")

    def __init__(self, desk: Desk, number: int, e: Epsilon, max_length: int = 64) -> None:
        super().__init__(desk, number)
        self._e = spendable(e)
        self._max_length = at_least_one("max_length", max_length)
        self._deviation = Deviation()
        sensitivity = self._deviation.sensitivity(desk.model)
        self._scales = [scale_of(sensitivity, (e / 2).nano), scale_of(sensitivity, (e / 4).nano)]
        self._length = np.zeros(desk.bins, np.int64)
        self._open = np.zeros(desk.bins, np.bool_)
        self._rho = np.zeros(desk.bins, np.int64)
        self._members = np.zeros((1, desk.bins), np.int64)  # as many rows as the longest group has, which is public

    @property
    def e(self) -> Epsilon:
        """What each unit pays."""
        return self._e

    @property
    def max_length(self) -> int:
        """How many units a group has at most."""
        return self._max_length

    @property
    def length(self) -> Ints:
        """How many units the group of the current unit has so far, per bin. Public."""
        return self._length.copy()

    @property
    def open(self) -> Mask:
        """Whether that group goes on, per bin. Public."""
        return self._open.copy()

    def extend(self, snapshot: Snapshot, thresholds: ArrayLike) -> Mask:
        """Let the current unit in. True where it opened or joined a group, False where it closed one and is alone."""
        counts, limits = self._desk.counts(snapshot), self._limits(thresholds)
        self._desk.charge(self._e, "monitor", None)
        joining = self._open.copy()
        # each bin draws once: threshold noise where it opens, query noise where it compares
        question = Question("extend", None, self._desk.bins, None, (self._number, limits, joining), hides=True)
        joined = self._desk.answer(question, lambda: self._compare(counts, limits, joining))
        self._length = (joining & joined) * self._length + 1
        self._open = joined & (self._length < self._max_length)
        return joined

    def _limits(self, thresholds: ArrayLike) -> Ints:
        """The thresholds on the grid of the deviation, rounded up, one a bin."""
        given = np.asarray(thresholds, np.float64)
        if given.shape not in ((), (self._desk.bins,)) or np.isnan(given).any():
            raise BadInput(f"thresholds are one number, or one for each of the {self._desk.bins} bins.")
        limits = np.minimum(np.maximum(np.ceil(given * self._deviation.grid), -LARGEST_LIMIT), LARGEST_LIMIT)
        return np.full(self._desk.bins, limits, np.int64)

    def _compare(self, counts: Ints, limits: Ints, joining: Mask) -> Mask:
        noise = self._desk.noise.laplace_each(self._scales, joining.astype(np.intp))
        lengths = joining * self._length + 1
        self._members = stacked(self._members, counts, lengths)
        astray = self._deviation(self._members, lengths)
        joined = ~joining | (astray + noise < limits + self._rho)
        self._rho = np.where(joining, self._rho, noise)
        return joined

    def _retire(self, last: int | None = None) -> None:
        """Close every group and forget its members."""
        self._open[:] = False
        self._rho[:] = 0
        self._members = np.zeros((1, self._desk.bins), np.int64)

    def _save(self) -> tuple[dict[str, Any], dict[str, Any]]:
        public = {"length": self._length.copy(), "open": self._open.copy()}
        return public, {"rho": self._rho.copy(), "members": self._members.copy()}

    def _load(self, public: dict[str, Any], sealed: dict[str, Any] | None) -> None:
        self._length, self._open = public["length"], public["open"]
        if sealed is None:
            self._retire()
        else:
            self._rho, self._members = sealed["rho"], sealed["members"]
