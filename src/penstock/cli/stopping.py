"""Stopping cleanly when told to: finish the time unit at hand, take back what was only announced, and go."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

from penstock.streams import Calendar, Candidate
from penstock.types import Snapshot

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


Handler = Callable[[int, FrameType | None], None]


def handled(handler: Handler) -> dict[int, Any]:
    """Have the signals that stop a process handled by this. Returns what handled them before; not those under nohup."""
    heeded = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    return {number: signal.signal(number, handler) for number in heeded}


@contextmanager
def undisturbed() -> Iterator[None]:
    """A signal that comes now waits until this is done: what is half drawn would be lost, and its budget with it."""
    came: list[int] = []
    before = handled(lambda number, frame: came.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


class Told(Exception):
    """A signal came while nothing was being drawn."""


class StoppableSource:
    """A source that ends when the process is told to stop.

    A signal that comes while the source waits for input ends it at once; one that comes while a unit is being drawn
    ends it after that unit. ``show`` is shown every snapshot before it is handed on.
    """

    def __init__(self, source: Candidate, show: Callable[[Snapshot], None] = lambda snapshot: None) -> None:
        self._source = source
        self._show = show
        self._waiting = False
        self.signal: int | None = None
        self.bins, self.live = source.bins, source.live

    def __enter__(self) -> Self:
        self._before = handled(self._told)
        self._waiting = True  # until the first snapshot is asked for, nothing can be half drawn
        return self

    def close(self) -> None:
        """Let go of the input."""
        self._source.close()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        self.close()
        for number, handler in self._before.items():
            signal.signal(number, handler)
        return kind is Told

    def _told(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        if self._waiting:
            self._waiting = False
            raise Told

    def first(self, calendar: Calendar) -> Snapshot | None:
        """The first snapshot, which is still to come; None if there is none, or somebody says stop."""
        return self._awaited(lambda: self._source.first(calendar))

    def snapshots(self, calendar: Calendar) -> Iterator[Snapshot]:
        """The snapshots of the source, as long as nobody says stop."""
        self._waiting = False
        items = self._source.snapshots(calendar)
        while (snapshot := self._awaited(lambda: next(items, None))) is not None:
            self._show(snapshot)
            yield snapshot

    def _awaited(self, read: Callable[[], Snapshot | None]) -> Snapshot | None:
        """What is read, unless somebody says stop before it is there."""
        if self.signal is not None:
            return None
        try:
            self._waiting = True
            snapshot = read()
            self._waiting = False
        except Told:
            return None
        finally:
            self._waiting = False
        return snapshot
