"""A stream whose counts are all at hand."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from numpy.typing import ArrayLike

from penstock.errors import BadCounts, BadInput
from penstock.types import Ints, Snapshot, as_array, as_counts


class Stream:
    """Counts of consecutive time units, one row each. ``presence`` lists the users present at each, for m-context.

    ``shape`` tells the domain that the bins lie in, one after another, such as the sides of a grid.

    >>> [snapshot.t for snapshot in Stream([[3, 0], [4, 1]])]
    [1, 2]
    """

    def __init__(
        self,
        counts: ArrayLike,
        *,
        presence: Sequence[Sequence[str]] | None = None,
        name: str = "",
        shape: tuple[int, ...] | None = None,
    ) -> None:
        rows = as_array(counts)
        if rows.ndim != 2 or rows.size == 0:
            raise BadCounts(f"a stream needs one row of counts a time unit; got an array of shape {rows.shape}.")
        if presence is not None and len(presence) != len(rows):
            raise BadInput(
                f"presence covers {len(presence)} time units and counts {len(rows)}; give both for all units."
            )
        self.counts: Ints = as_counts(rows.reshape(-1)).reshape(rows.shape)
        self.presence = presence
        self.name = name
        self.shape = (self.bins,) if shape is None else shape
        if math.prod(self.shape) != self.bins:
            raise BadInput(f"a domain of shape {self.shape} does not have {self.bins} bins; give the one they lie in.")

    @property
    def bins(self) -> int:
        return int(self.counts.shape[1])

    def __len__(self) -> int:
        return len(self.counts)

    def rows(self) -> Iterator[Ints]:
        """The counts of each time unit, from the first one on."""
        return iter(self.counts)

    def __iter__(self) -> Iterator[Snapshot]:
        return self.after(0)

    def after(self, t: int) -> Iterator[Snapshot]:
        """The snapshots that follow time unit ``t``."""
        for i in range(t, len(self.counts)):
            yield Snapshot(i + 1, self.counts[i], None if self.presence is None else self.presence[i])

    def __repr__(self) -> str:
        return f"Stream({self.name or 'unnamed'}, steps={len(self)}, bins={self.bins})"
