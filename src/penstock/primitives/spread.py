"""How much consecutive releases differ: the three running estimates SPAS may plan by, as the paper gives them.

Only the first subtracts the squared mean; the other two are mean squares. Each takes, at a release, the mean square and
the mean absolute difference to the release before. All of it is computed from published values.
"""

from __future__ import annotations

import math
from typing import Any, Literal, Protocol, get_args

import numpy as np

from penstock.errors import BadInput
from penstock.types import Ints

Way = Literal["recent", "all", "decay"]


class Spread(Protocol):
    """A running estimate of the variance between consecutive releases."""

    def add(self, t: int, before: Ints, now: Ints) -> None: ...
    def variance(self, t: int) -> float: ...
    def save(self) -> dict[str, Any]: ...
    def load(self, saved: dict[str, Any]) -> None: ...


def spread(way: Way, window: int) -> Spread:
    """The estimate of the given name."""
    if way not in get_args(Way):
        raise BadInput(f"the spread is estimated from {', '.join(get_args(Way))} releases; got {way!r}.")
    return Recent(2 * window) if way == "recent" else All() if way == "all" else Decay(window)


class Recent:
    """Over the releases of the last ``reach`` units: mean square minus squared mean. Follows the stream quickly.

    >>> recent = Recent(reach=10)
    >>> recent.add(1, np.array([0]), np.array([4])); recent.add(2, np.array([4]), np.array([6]))
    >>> recent.variance(2)
    1.0
    """

    def __init__(self, reach: int) -> None:
        self.reach = reach
        self._kept: list[tuple[int, float, float]] = []

    def add(self, t: int, before: Ints, now: Ints) -> None:
        self._kept = [kept for kept in self._kept if kept[0] > t - self.reach]
        self._kept.append((t, *_moments(before, now)))

    def variance(self, t: int) -> float:
        kept = [(square, size) for then, square, size in self._kept if then > t - self.reach]
        if not kept:
            return 0.0
        square, size = (math.fsum(column) / len(kept) for column in zip(*kept, strict=True))
        return max(square - size * size, 0.0)

    def save(self) -> dict[str, Any]:
        return {"kept": self._kept}

    def load(self, saved: dict[str, Any]) -> None:
        self._kept = [tuple(kept) for kept in saved["kept"]]


class All:
    """Over all releases so far: the running mean square. Steady, slow to follow."""

    def __init__(self) -> None:
        self._number, self._mean = 0, 0.0

    def add(self, t: int, before: Ints, now: Ints) -> None:
        square, _ = _moments(before, now)
        self._mean = (self._mean * self._number + square) / (self._number + 1)
        self._number += 1

    def variance(self, t: int) -> float:
        return self._mean

    def save(self) -> dict[str, Any]:
        return {"number": self._number, "mean": self._mean}

    def load(self, saved: dict[str, Any]) -> None:
        self._number, self._mean = saved["number"], saved["mean"]


class Decay:
    """All releases, each weighing half as much for every window it is older than: between the two others.

    A release of unit s weighs 2^-ceil((t - s) / w), so releases with the same s mod w are halved together; one sum for
    each residue makes that exact in O(w) memory.
    """

    def __init__(self, window: int) -> None:
        self.window = window
        self._t = 0
        self._squares = np.zeros(window)
        self._weights = np.zeros(window)

    def add(self, t: int, before: Ints, now: Ints) -> None:
        self._age(t)
        square, _ = _moments(before, now)
        self._squares[t % self.window] += square
        self._weights[t % self.window] += 1.0

    def variance(self, t: int) -> float:
        self._age(t)
        weight = float(self._weights.sum())
        return float(self._squares.sum()) / weight if weight else 0.0

    def _age(self, t: int) -> None:
        for passed in range(self._t, t):
            self._squares[passed % self.window] /= 2
            self._weights[passed % self.window] /= 2
        self._t = t

    def save(self) -> dict[str, Any]:
        return {"t": self._t, "squares": self._squares, "weights": self._weights}

    def load(self, saved: dict[str, Any]) -> None:
        self._t, self._squares, self._weights = saved["t"], saved["squares"], saved["weights"]


def _moments(before: Ints, now: Ints) -> tuple[float, float]:
    apart = np.abs(now - before).astype(np.float64)
    return float(np.dot(apart, apart)) / len(apart), float(apart.mean())
