"""How much a release may cost if others are to follow it: what was spent comes back when it leaves the window."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np

from penstock.types import Ints


class Rations:
    """What was spent in the last window, in nano-epsilon, and when. Where nothing comes back there is but one window.

    >>> rations = Rations(window=4, comes_back=True)
    >>> rations.spend(1, 600)
    >>> rations.fair(t=2, every=1, remaining=400)  # for units 2, 3 and 4; then 600 come back
    133
    >>> Rations(window=4, comes_back=False).fair(t=3, every=1, remaining=400)  # for units 3 and 4
    200
    """

    def __init__(self, window: int, *, comes_back: bool) -> None:
        self._window, self._comes_back = window, comes_back
        self.times: list[int] = []
        self.spent: list[int] = []

    def spend(self, t: int, nano: int) -> None:
        """Unit ``t`` cost so much, or what has cost so much is read for the last time then."""
        if self._comes_back:
            place = bisect_right(self.times, t)
            self.times.insert(place, t)
            self.spent.insert(place, nano)

    def move(self, before: int, t: int, nano: int) -> None:
        """What was to be read for the last time at unit ``before`` is so at ``t``."""
        if not (self._comes_back and nano):
            return
        held = list(zip(self.times, self.spent, strict=True))
        if (before, nano) in held:  # it has not come back meanwhile, as over a gap of a window
            place = held.index((before, nano))
            del self.times[place], self.spent[place]
        self.spend(t, nano)

    def fair(self, t: int, every: int, remaining: int, held: int = 0) -> int:
        """The most that this release and each that follows it, ``every`` so many units, can cost alike.

        Each is ``held`` for so many units: it comes back to the window that much later.
        """
        if not self._comes_back:
            return remaining // -(-max(self._window - t + 1, 1) // every)
        return int(self.offers(t, every, remaining, held)[0])

    def offers(self, t: int, every: int, remaining: int, held: int = 0) -> Ints:
        """What is fair if this release is put off by 0, 1, 2, ... units, before the next would be due in its place.

        >>> rations = Rations(window=4, comes_back=True)
        >>> rations.spend(1, 900)
        >>> rations.offers(t=4, every=2, remaining=100).tolist()  # one unit later 900 come back
        [100, 500]
        """
        self._forget(t)
        number, later = np.arange(-(-(self._window + held) // every)), np.arange(every)[:, np.newaxis]
        room = remaining + self._back_by(t + later + number * every)
        fair: Ints = (room // (number + 1)).min(axis=1)
        return fair

    def owed(self, t: int, each: int) -> int:
        """What must be left over at unit ``t`` if that and every later one are to have so much each, whatever happens.

        >>> rations = Rations(window=4, comes_back=True)
        >>> rations.spend(1, 600)
        >>> rations.owed(t=2, each=50)  # of units 2, 3 and 4; then 600 come back
        150
        """
        if not self._comes_back:
            return each * max(self._window - t + 1, 0)
        self._forget(t)
        units = np.arange(self._window)
        return max(int((each * (units + 1) - self._back_by(t + units)).max()), 0)

    def _forget(self, t: int) -> None:
        """What is out of the window that ends with unit ``t`` has come back already."""
        while self.times and self.times[0] <= t - self._window:
            del self.times[0], self.spent[0]

    def _back_by(self, times: Ints) -> Ints:
        """What has left the window by then of all that it holds now."""
        gone = np.searchsorted(np.array(self.times, np.int64), times - self._window, side="right")
        back: Ints = np.concatenate([[0], np.cumsum(np.array(self.spent, np.int64))])[gone]
        return back

    def save(self) -> dict[str, Any]:
        return {"times": np.array(self.times, np.int64), "spent": np.array(self.spent, np.int64)}

    def load(self, saved: dict[str, Any]) -> None:
        self.times, self.spent = saved["times"].tolist(), saved["spent"].tolist()
