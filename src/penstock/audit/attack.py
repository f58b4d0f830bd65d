"""An attack: two neighbouring streams, and what to look for in what is published about them.

A mechanism is epsilon-differentially private if nothing that can be published is more than exp(epsilon) times as
probable on the one stream as on the other. An attack names a pair for which that is nearly, or no longer, so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BadInput
from penstock.models import MContext, Presence, PrivacyModel
from penstock.points import Points
from penstock.spatial import SpatialNeighbourhood
from penstock.types import Floats, Ints, Release, Snapshot

Rows = Sequence[int] | Sequence[Sequence[int]] | Ints


@dataclass(frozen=True)
class Outcome:
    """What everybody sees of one run: values, kinds and widths of noise, a row for every time unit, and its charges."""

    values: Ints
    kinds: NDArray[np.int8]
    noise_sd: Floats
    charged: Ints  # nano-epsilon

    @staticmethod
    def of(releases: Sequence[Release]) -> Outcome:
        """Of these releases."""
        columns = zip(*((each.values, each.kind, each.noise_sd, each.charged.nano) for each in releases), strict=True)
        return Outcome(*(np.array(column) for column in columns))

    def since(self, unit: int) -> Outcome:
        """What comes after so many time units."""
        return Outcome(*(column[unit:] for column in vars(self).values()))


Event = Callable[[Outcome], bool]


@dataclass(frozen=True, kw_only=True)
class Attack:
    """``one`` and ``other`` are neighbours under the model; ``event`` is more probable on ``one``.

    Rows are the counts of a time unit, or a single number if there is one bin; of points, their cells in order. Units
    before the first difference are the same for both, so that what is published there tells nothing: ``given`` may ask
    for anything there, and only runs that begin so are counted.
    """

    model: PrivacyModel
    one: Rows
    other: Rows
    event: Event | None = None
    given: Event | None = None
    presence: Presence | None = None

    def __post_init__(self) -> None:
        if min(rows.min(initial=0) for rows in self.streams) < 0:
            raise BadInput("the streams of an attack hold counts, which are not negative.")
        if self.streams[0].shape != self.streams[1].shape or not (self.streams[0] != self.streams[1]).any():
            raise BadInput("an attack compares two streams of the same shape that differ somewhere.")
        if not self._are_neighbours():
            raise BadInput(
                f"the two streams of an attack are no neighbours under {self.model}; let them differ by less."
            )

    @cached_property
    def streams(self) -> tuple[Ints, Ints]:
        """Both streams, one row a time unit."""
        one, other = (np.asarray(rows, np.int64) for rows in (self.one, self.other))
        return one.reshape(len(one), -1), other.reshape(len(other), -1)

    @property
    def bins(self) -> int:
        """How many bins a row has."""
        return len(self.streams[0][0])

    @cached_property
    def prefix(self) -> int:
        """How many time units come before the first difference."""
        return int(np.argmax((self.streams[0] != self.streams[1]).any(axis=1)))

    def snapshots(self, which: int) -> list[Snapshot]:
        """The stream as a mechanism gets it."""
        rows = self.streams[which]
        if isinstance(self.model, SpatialNeighbourhood):
            grid = self.model.snapped_to
            return [Points(grid.line.centre(row), grid, size_is_public=True) for row in rows]
        here = [None] * len(rows) if self.presence is None else self.presence
        return [Snapshot(t, row, present) for t, (row, present) in enumerate(zip(rows, here, strict=True), start=1)]

    def _are_neighbours(self) -> bool:
        """Whether they differ within one protected set, and at each of its units by the records of one person."""
        one, other = self.streams
        units = np.flatnonzero((one != other).any(axis=1)).tolist()
        return all(self._one_person(other[t] - one[t]) for t in units) and self._protected(units)

    def _one_person(self, change: Ints) -> bool:
        if np.abs(change).sum() > self.model.sensitivity:
            return False
        if isinstance(self.model, SpatialNeighbourhood):
            return self._one_point(self.model.snapped_to.cells)
        if self.model.neighbours == "replace":
            return bool(change.sum() == 0)
        return bool((change >= 0).all() or (change <= 0).all())

    def _one_point(self, cells: int) -> bool:
        """Whether both have all points in order, on the grid, and all but one in common."""
        one, other = (Counter(rows[0].tolist()) for rows in self.streams)
        inside = max(rows.max() for rows in self.streams) < cells
        in_order = all((np.diff(rows[0]) >= 0).all() for rows in self.streams)
        return bool(inside and in_order and (one - other).total() == 1)

    def _protected(self, units: list[int]) -> bool:
        """Whether some protected set holds all of these units."""
        if self.model.is_over(units[-1] + 1):
            return False
        if not isinstance(self.model, MContext):
            return bool(units[-1] - units[0] < self.model.window)
        presence = self.presence or ()
        for user in {user for here in presence for user in here}:
            present = [t for t, here in enumerate(presence) if user in here]
            met = [i for i, t in enumerate(present) if t in units]
            if len(met) == len(units) and met[-1] - met[0] < self.model.m:
                return True
        return False
