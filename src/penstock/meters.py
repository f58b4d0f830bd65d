"""The two ways a charge can meet the people it concerns: windows of time, and runs of presence.

A meter answers one question exactly: over all protected sets that contain the current time unit, how much has the
fullest one paid? Amounts are whole nano-epsilon. A charge is dated by the data it reads, which is always the current
unit, so it is enough to watch the sets that end now: earlier ones were checked when they ended, later ones will be.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BadPresence

Rows = NDArray[np.intp]
NOBODY: Rows = np.empty(0, np.intp)
NOWHERE = np.int64(-1)


class Meter(Protocol):
    """What the ledger needs to know of a family of protected sets."""

    total: int

    @property
    def leaving(self) -> int:
        """How much of the total is certain to leave with the next unit, or all of it if who comes is not known."""

    def advance(self, present: Rows) -> None: ...
    def add(self, nano: int) -> None: ...
    def open(self, key: int, nano: int) -> None: ...
    def touch(self, key: int) -> None: ...
    def if_touched(self, key: int) -> int: ...
    def close(self, key: int, last: int) -> None: ...
    def recount(self) -> int: ...
    def fullest(self) -> int: ...
    def forget(self, assumed: int) -> None: ...
    def save(self) -> dict[str, Any]: ...
    def load(self, saved: dict[str, Any]) -> None: ...


class WindowMeter:
    """Every run of ``window`` consecutive time units is a protected set."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.t = 0
        self.total = 0
        self._dated: dict[int, int] = {}  # last unit a charge concerns -> nano; older than the window is folded away
        self._open: dict[int, int] = {}

    @property
    def leaving(self) -> int:
        return self._dated.get(self.t + 1 - self.window, 0)

    def advance(self, present: Rows) -> None:
        """Move to the next unit; what the window leaves behind is forgotten."""
        self.t += 1
        self.total -= self._dated.pop(self.t - self.window, 0)

    def add(self, nano: int) -> None:
        """A point charge at the current unit (negative: a reservation handed back)."""
        self.total += nano
        self._dated[self.t] = self._dated.get(self.t, 0) + nano

    def open(self, key: int, nano: int) -> None:
        """A span charge from the current unit on: it counts once in every window that meets the span."""
        self.total += nano
        self._open[key] = nano

    def touch(self, key: int) -> None:
        """A span counts in every window it meets, whether it reads in it or not."""

    def if_touched(self, key: int) -> int:
        return self.total

    def close(self, key: int, last: int) -> None:
        """The span has ended at unit ``last``. If it was forgotten, it is part of what was assumed."""
        nano = self._open.pop(key, 0)
        if last <= self.t - self.window:
            self.total -= nano
        else:
            self._dated[last] = self._dated.get(last, 0) + nano

    def recount(self) -> int:
        """The total, added up afresh."""
        return sum(self._dated.values()) + sum(self._open.values())

    def fullest(self) -> int:
        """The fullest protected set that can still be reached: the window that ends now."""
        return self.recount()

    def forget(self, assumed: int) -> None:
        """Nothing is known of the past: the window is taken to have paid ``assumed`` at the current unit."""
        self.total, self._dated, self._open = assumed, {self.t: assumed}, {}

    def save(self) -> dict[str, Any]:
        return {"t": self.t, "total": self.total, "dated": list(self._dated.items()), "open": list(self._open.items())}

    def load(self, saved: dict[str, Any]) -> None:
        self.t, self.total = saved["t"], saved["total"]
        self._dated, self._open = dict(saved["dated"]), dict(saved["open"])


class PresenceMeter:
    """Every run of ``m`` consecutive presences of one user is a protected set.

    Row r holds what one user's last m presences have paid, as a ring: O(users x m) in all. A span concerns those who
    are present when it reads data. It is kept on the user's *latest* such presence, so that a ring holds it once, and
    for as long as any of them can still be reached. A user who is absent is not concerned.
    """

    def __init__(self, m: int) -> None:
        self.m = m
        self.total = 0
        self._assumed = 0  # what a user not seen before is taken to have paid already
        self._unknown = 0  # what those present are taken to have paid if it is not known who they are
        self._here = NOBODY
        self._paid = np.zeros((0, m), np.int64)
        self._slot = np.zeros(0, np.int64)
        self._open: dict[int, tuple[int, NDArray[np.int64]]] = {}  # key -> nano, the slot of each user that holds it

    @property
    def leaving(self) -> int:
        return self.total

    def advance(self, present: Rows) -> None:
        """The users in ``present`` are here in the next unit; each one's oldest presence leaves the ring."""
        self._make_room(int(present.max(initial=-1)) + 1)
        self._here, self._unknown = present, 0
        slot = self._slot[present] = (self._slot[present] + 1) % self.m
        self._paid[present, slot] = 0
        for _, held in self._open.values():
            held[present[held[present] == slot]] = NOWHERE
        self.total = self._fullest(present)

    def add(self, nano: int) -> None:
        """A point charge on everybody present."""
        self.total += nano if len(self._here) else 0  # first: if the rest is interrupted, too much is booked
        self._paid[self._here, self._slot[self._here]] += nano

    def open(self, key: int, nano: int) -> None:
        """A span charge on everybody who is present when it reads."""
        self._open[key] = (nano, np.full(len(self._slot), NOWHERE))
        self.touch(key)

    def touch(self, key: int) -> None:
        """The span reads the data of the current unit."""
        nano, held = self._open[key]
        moved = self._here[held[self._here] != NOWHERE]
        self._paid[moved, held[moved]] -= nano
        held[self._here] = self._slot[self._here]
        self._paid[self._here, self._slot[self._here]] += nano
        self.total = max(self._fullest(self._here), self._unknown)

    def if_touched(self, key: int) -> int:
        """What the total would be."""
        nano, held = self._open[key]
        paid = self._paid[self._here].sum(axis=1) + nano * (held[self._here] == NOWHERE)
        return max(int(paid.max(initial=0)), self._unknown)

    def close(self, key: int, last: int) -> None:
        """The span has ended; what it cost stays in the rings."""
        self._open.pop(key, None)  # if presence was lost meanwhile, it is part of what everybody is taken to have paid

    def recount(self) -> int:
        """The total, added up afresh."""
        return max(self._fullest(self._here), self._unknown)

    def fullest(self) -> int:
        """The fullest protected set that can still be reached: the rings of all users, absent ones too."""
        return self._fullest(np.arange(len(self._slot)))

    def forget(self, assumed: int) -> None:
        """The rings are lost: from now on everybody is taken to have paid ``assumed`` at the presence before."""
        blank = PresenceMeter(self.m).save()
        self.load(blank | {"assumed": assumed, "unknown": assumed, "total": assumed})

    def save(self) -> dict[str, Any]:
        return {
            "total": self.total,
            "assumed": self._assumed,
            "unknown": self._unknown,
            "here": self._here.copy(),
            "paid": self._paid.copy(),
            "slot": self._slot.copy(),
            "open": [[key, nano, held.copy()] for key, (nano, held) in self._open.items()],
        }

    def load(self, saved: dict[str, Any]) -> None:
        self.total, self._assumed, self._unknown = saved["total"], saved["assumed"], saved["unknown"]
        self._here, self._paid, self._slot = saved["here"], saved["paid"], saved["slot"]
        self._open = {key: (nano, held) for key, nano, held in saved["open"]}

    def _fullest(self, rows: Rows) -> int:
        return int(self._paid[rows].sum(axis=1).max(initial=0))

    def _make_room(self, users: int) -> None:
        """Rows for users not seen before; doubling keeps the cost per step flat."""
        if users <= len(self._slot):
            return
        grown = max(users, 2 * len(self._slot)) - len(self._slot)
        fresh = np.zeros((grown, self.m), np.int64)
        if self.m > 1:
            fresh[:, -1] = self._assumed  # leaves the ring at the m-th presence from now
        self._paid = np.concatenate([self._paid, fresh])
        self._slot = np.concatenate([self._slot, np.full(grown, NOWHERE)])
        for key, (nano, held) in self._open.items():
            self._open[key] = (nano, np.concatenate([held, np.full(grown, NOWHERE)]))


class Roll:
    """Who is who under m-context: ids are kept as keyed hashes only, at most ``limit`` of them."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._key = os.urandom(32)
        self._row: dict[bytes, int] = {}
        self._marked: tuple[Sequence[str], list[bytes]] = ((), [])  # the latest list of users, and their hashes

    def check(self, present: Sequence[str] | None) -> None:
        """Refuse what ``rows`` would refuse."""
        marks = self._marks(present)
        if len(self._row) + sum(mark not in self._row for mark in marks) > self.limit:
            raise BadPresence(
                f"more than the declared {self.limit} users have been present; raise max_users (--max-users)."
            )

    def rows(self, present: Sequence[str] | None) -> Rows:
        """A row number for every user present; new users get new rows."""
        return np.array([self._row.setdefault(mark, len(self._row)) for mark in self._marks(present)], np.intp)

    def _marks(self, present: Sequence[str] | None) -> list[bytes]:
        if present is None:
            raise BadPresence(
                "m-context needs the users present in every time unit; pass Stream(counts, presence=...), or give each"
                " snapshot present=[...]."
            )
        if present is not self._marked[0] or not isinstance(present, tuple):  # a unit is looked at several times
            self._marked = present, [hmac.digest(self._key, user.encode(), hashlib.sha256)[:16] for user in present]
        return self._marked[1]

    def save(self) -> dict[str, Any]:
        return {"key": self._key, "marks": np.frombuffer(b"".join(self._row), np.uint8)}

    def load(self, saved: dict[str, Any]) -> None:
        self._key, marks = saved["key"], saved["marks"].tobytes()
        self._marked = ((), [])
        self._row = {marks[i : i + 16]: i // 16 for i in range(0, len(marks), 16)}
