"""Stopping cleanly when told to: finish the time unit at hand, take back what was only announced, and go."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

from penstock.streams import Calendar, Source
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
    ends it after that unit.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
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

    def snapshots(self, calendar: Calendar) -> Iterator[Snapshot]:
        """The snapshots of the source, as long as nobody says stop."""
        self._waiting = False
        items = self._source.snapshots(calendar)
        while self.signal is None:
            try:
                self._waiting = True
                snapshot = next(items, None)
                self._waiting = False
            except Told:
                return
            finally:
                self._waiting = False
            if snapshot is None:
                return
            yield snapshot
