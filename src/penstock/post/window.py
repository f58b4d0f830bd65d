"""The releases of the last units, kept so that what is done to them costs little for each new one."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from penstock.parameters import from_one_to
from penstock.post.step import LARGEST_SUM, R, Step
from penstock.types import Floats, Ints, Kind, Release

WIDEST = 10_000  # units; as many releases are held
SPARE = 16  # rows that there is room for at first


class Window:
    """The releases of the last ``width`` units; fewer at the beginning.

    Releases come in order of time; one that goes back takes the place of those from there on, so that a stream can be
    told again. A unit that is not known counts like the one before it, if that is in the window. ``total`` is the sum
    of their values, ``stale`` says how many of them are not fresh; both are kept up as releases come and go.
    """

    def __init__(self, width: int) -> None:
        from_one_to("width", width, WIDEST)
        self.width = width
        self._last = 0  # the unit of the last row
        self._begin = self._end = 0
        self._rows: NDArray[np.void] = np.empty(0, np.dtype([]))

    def __len__(self) -> int:
        return self._end - self._begin

    @property
    def values(self) -> Ints:
        """The values, a row a unit; cut by a public rule that keeps their sums inside 64 bits."""
        values: Ints = self._rows["values"][self._begin : self._end]
        return values

    @property
    def kind(self) -> NDArray[np.int8]:
        """Their kinds, likewise."""
        kind: NDArray[np.int8] = self._rows["kind"][self._begin : self._end]
        return kind

    @property
    def noise_sd(self) -> Floats:
        """The standard deviations of their noise, likewise."""
        noise_sd: Floats = self._rows["noise_sd"][self._begin : self._end]
        return noise_sd

    def tell(self, release: Release) -> None:
        """The next release, or one from before."""
        if not len(self) or not self._last - len(self) < release.t < self._last + self.width:
            self._clear(len(release.values))
        elif release.t <= self._last:
            self._end -= self._last - release.t + 1
            self._sum_up()
        elif release.t > self._last + 1:
            self._repeat(release.t - self._last - 1)
        self._append(release)
        self._forget(release.t - self.width)

    def _clear(self, bins: int) -> None:
        row = [("known", "?"), ("values", "i8", (bins,)), ("kind", "i1", (bins,)), ("noise_sd", "f8", (bins,))]
        self._rows = np.empty(SPARE, np.dtype(row, align=True))
        self._begin = self._end = 0
        self._sum_up()

    def _sum_up(self) -> None:
        self.total: Ints = self.values.sum(axis=0)
        self.stale: Ints = (self.kind != Kind.FRESH).sum(axis=0)

    def _repeat(self, times: int) -> None:
        """Units that are not known."""
        for _ in range(times):
            row = self._room()
            self._rows[row] = self._rows[row - 1]
            self._rows["known"][row] = False
            self._rows["kind"][row] = Kind.REPUBLISHED
            self._add(row, 1)

    def _append(self, release: Release) -> None:
        row, most = self._room(), LARGEST_SUM // self.width
        self._rows["known"][row] = True
        self._rows["values"][row] = np.clip(release.values, -most, most)
        self._rows["kind"][row] = release.kind
        self._rows["noise_sd"][row] = release.noise_sd
        self._add(row, 1)
        self._last = release.t

    def _room(self) -> int:
        """The number of a new row; where there is no more room, the others move to where there is."""
        if self._end == len(self._rows):
            kept = self._rows[self._begin :]
            self._rows = np.empty(len(kept) + len(kept) // 4 + SPARE, kept.dtype)
            self._rows[: len(kept)] = kept
            self._begin, self._end = 0, len(kept)
        self._end += 1
        return self._end - 1

    def _forget(self, unit: int) -> None:
        """Units up to this one leave the window, and with them what was repeated of them."""
        while self._last - len(self) < unit or not self._rows["known"][self._begin]:
            self._add(self._begin, -1)
            self._begin += 1

    def _add(self, row: int, sign: int) -> None:
        self.total = self.total + sign * self._rows["values"][row]
        self.stale = self.stale + sign * (self._rows["kind"][row] != Kind.FRESH)


class Windowed(Step):
    """Something made of the last ``width`` releases, in the place of each. Of one release it is that release."""

    def __init__(self, width: int, made: str) -> None:
        self._window = Window(width)
        self.width = width
        self.reach = width - 1
        self.keeps_intervals = width == 1
        self.says = f"{made} of {width}"

    def __call__(self, release: R) -> R:
        """What is made of the releases that end with this one, which keeps its time and its charge."""
        if self.width == 1:
            return release
        self._window.tell(release)
        return self._made(release)

    @abstractmethod
    def _made(self, release: R) -> R:
        """What is made of the window, in the place of its last release."""

    def named(self, mechanism: str) -> str:
        """What a release of this mechanism is said to come from afterwards."""
        return mechanism if self.width == 1 else super().named(mechanism)


def noise_of_sums(window: Window) -> Floats:
    """The standard deviation of the noise in ``window.total``, or a bound of it.

    What is measured in a unit has noise of its own. Repeated values have that of the unit before once more, and
    estimated ones are taken to share theirs with it. This looks at every release in the window, as the sums need not:
    taken from one unit to the next, it would depend on where the stream was taken up.
    """
    kinds, each = window.kind, window.noise_sd
    begins = (kinds == Kind.FRESH) | (kinds == Kind.GROUPED)
    ends = np.vstack([begins[1:], np.ones_like(begins[:1])])
    total = np.cumsum(each, axis=0)
    before = np.maximum.accumulate(
        np.where(begins, total - each, 0.0), axis=0
    )  # the total where the shared noise began
    noise_sd: Floats = np.sqrt((np.where(ends, total - before, 0.0) ** 2).sum(axis=0))
    return noise_sd
