"""Streams that are made row by row, because all of their rows together would be too many to hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Protocol

import numpy as np

from penstock.parameters import at_least_one, not_negative, of_kind
from penstock.types import Ints, Snapshot


class Repeatable(Protocol):
    """Counts of consecutive time units that can be gone through again and again: a ``Stream``, or ``Rows``.

    ``shape`` tells the domain that the bins lie in, one after another: (bins,), or the sides of a grid.
    """

    name: str
    shape: tuple[int, ...]

    @property
    def bins(self) -> int: ...
    def __len__(self) -> int: ...
    def rows(self) -> Iterator[Ints]: ...
    def __iter__(self) -> Iterator[Snapshot]: ...
    def after(self, t: int) -> Iterator[Snapshot]: ...


class Rows:
    """A stream whose rows are made when they are asked for, and the same ones every time.

    ``make`` begins anew whenever it is called; each row that it yields is an array of its own. Made of a function of
    a module with ``functools.partial``, the stream can be sent to another process.

    >>> from functools import partial
    >>> counting = Rows(partial(map, np.atleast_1d, range(3)), steps=3, shape=(1,), name="counting")
    >>> [int(row[0]) for row in counting.rows()], [snapshot.t for snapshot in counting.after(1)]
    ([0, 1, 2], [2, 3])
    """

    def __init__(self, make: Callable[[], Iterator[Ints]], *, steps: int, shape: tuple[int, ...], name: str) -> None:
        at_least_one("steps", steps)
        self._make = make
        self._steps = steps
        self.shape = shape
        self.name = name

    @property
    def bins(self) -> int:
        return math.prod(self.shape)

    def __len__(self) -> int:
        return self._steps

    def rows(self) -> Iterator[Ints]:
        """The counts of each time unit, from the first one on."""
        return islice(self._make(), self._steps)

    def __iter__(self) -> Iterator[Snapshot]:
        return self.after(0)

    def after(self, t: int) -> Iterator[Snapshot]:
        """The snapshots that follow time unit ``t``; those before are made too, as later ones depend on them."""
        for unit, row in enumerate(islice(self.rows(), t, None), t + 1):
            yield Snapshot(unit, row)

    def __repr__(self) -> str:
        return f"Rows({self.name}, steps={len(self)}, bins={self.bins})"


def seeded(seed: int) -> np.random.Generator:
    """Numbers to make a stream of; they are the same every time, for which the seed has to be a number."""
    not_negative("seed", of_kind("seed", seed, int))
    return np.random.default_rng(seed)
