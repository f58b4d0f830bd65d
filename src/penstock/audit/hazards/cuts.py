"""Power cuts: what is written is recorded, and the disk is put together as it may be found after a cut at any moment.

Of what was not yet durable anything may be missing: any write or part of one, any new name. What was written in between
reads as zeros. All that was shown before the cut must be in the store, the same, and the stream must go on.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np

from penstock.audit.hazards import shim
from penstock.audit.hazards.trial import DATABASE, MECHANISMS, Attempt, Outcome, Tell, Trial, empty, require

HEADER = struct.Struct("<cQqII")
SECTOR = 512  # bytes that a disk writes whole or not at all
UNITS = 4
CUTS_OF_A_RUN = 25  # before another one is recorded


class Event(NamedTuple):
    """Something that happened to a file: see ``shim.c`` for the kinds."""

    kind: str
    inode: int
    place: int
    path: str
    data: bytes


def read_events(record: Path) -> list[Event]:
    """What the shim has recorded."""
    data, at, found = record.read_bytes(), 0, list[Event]()
    while at < len(data):
        kind, inode, place, length, size = HEADER.unpack_from(data, at)
        at += HEADER.size
        path, content = data[at : at + length].decode(), data[at + length : at + length + size]
        found.append(Event(kind.decode(), inode, place, path, content))
        at += length + size
    return found


@dataclass
class Disk:
    """Files as they are on the disk, and what is still on its way there. A file keeps its number for good."""

    folder: Path
    content: dict[int, bytearray] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)  # names as programs see them
    files: dict[int, int] = field(default_factory=dict)  # by inode, which a later file may have again
    writes: dict[int, list[Event]] = field(default_factory=dict)
    renames: list[Event] = field(default_factory=list)

    @classmethod
    def of(cls, folder: Path) -> Disk:
        """All files of a folder, durable."""
        disk = cls(folder)
        for number, path in enumerate(path for path in folder.iterdir() if path.is_file()):
            disk.names[str(path)] = disk.seen[str(path)] = disk.files[path.stat().st_ino] = number
            disk.content[number] = bytearray(path.read_bytes())
        return disk

    def take(self, event: Event) -> None:
        """Follow what happened."""
        if event.kind == "c":
            if event.path not in self.seen:
                self.files[event.inode] = self.seen[event.path] = len(self.content)
                self.content[self.seen[event.path]] = bytearray()
                self.renames.append(event._replace(inode=self.seen[event.path]))
        elif event.kind in "ru":
            number = self.seen.pop(event.path)
            if event.kind == "r":
                self.seen[event.data.decode()] = number
            self.renames.append(event)
        elif event.kind in "wt":
            self.writes.setdefault(self.files[event.inode], []).append(event)
        elif event.kind == "s" and event.inode in self.files and event.path != str(self.folder):
            number = self.files[event.inode]
            for each in self.writes.pop(number, []):
                self._write(number, each, None)
        elif event.kind == "s":
            self._rename(len(self.renames))

    def cut(self, rng: np.random.Generator) -> None:
        """Lose some, all or nothing of what was on its way, in any order."""
        kept = float(rng.choice([0.0, 0.5, 1.0]))
        last = len(self.renames)
        self._rename(int(rng.integers(last + 1)) if 0 < kept < 1 else round(kept * last))
        for number, events in self.writes.items():
            for event in events:
                if rng.random() < kept:
                    self._write(number, event, rng if kept < 1 else None)

    def _rename(self, first: int) -> None:
        """Make the first names durable that are on their way: a folder keeps their order."""
        for event in self.renames[:first]:
            if event.kind == "c":
                self.names[event.path] = event.inode
                continue
            number = self.names.pop(event.path)
            if event.kind == "r":
                self.names[event.data.decode()] = number
        del self.renames[:first]

    def _write(self, number: int, event: Event, rng: np.random.Generator | None) -> None:
        """Write to the disk; with ``rng`` only some of the sectors arrive."""
        content = self.content[number]
        if event.kind == "t":
            del content[event.place :]
            content.extend(bytes(event.place - len(content)))
            return
        end = event.place + len(event.data)
        content.extend(bytes(max(end - len(content), 0)))
        for begin in range(event.place // SECTOR * SECTOR, end, SECTOR):
            if rng is None or rng.random() < 0.5:
                first, last = max(begin, event.place), min(begin + SECTOR, end)
                content[first:last] = event.data[first - event.place : last - event.place]

    def restore(self) -> None:
        """Make the folder what it is on the disk."""
        empty(self.folder)
        for name, number in self.names.items():
            Path(name).write_bytes(self.content[number])


def attempts(folder: Path, rng: np.random.Generator) -> Iterator[Attempt]:
    """Power cuts at any moment of runs that begin a stream or go on with one, without end."""
    for i in count():
        trial = Trial(folder / "recorded", MECHANISMS[i % len(MECHANISMS)])
        empty(trial.folder)
        if i % 4 >= len(MECHANISMS):
            trial.go_on(int(rng.integers(1, 7)))
        before, events = Disk.of(trial.folder), _record_run(trial, folder / "record")
        for at in rng.integers(0, len(events) + 1, CUTS_OF_A_RUN).tolist():
            cut = partial(_try, trial, deepcopy(before), events[:at], rng)
            yield Attempt(f"cut after call {at} of {len(events)}", cut)


def _record_run(trial: Trial, record: Path) -> list[Event]:
    """What a run does to its files, and, in its place among that, what it draws and shows."""
    record.unlink(missing_ok=True)

    def publish(tell: Tell) -> None:
        shim.record(trial.folder, record)
        trial.publish(UNITS, shim.note)

    require(trial.live(publish) == Outcome(), "a run fails that nothing disturbs")
    return [
        event for event in read_events(record) if not event.path.startswith(str(trial.folder / f"{DATABASE}.locks"))
    ]


def _try(trial: Trial, disk: Disk, events: Sequence[Event], rng: np.random.Generator) -> None:
    found = Trial(trial.folder, trial.mechanism, Counter(trial.drawn), dict(trial.shown))
    for event in events:
        if event.kind == "n":
            found.note(event.path)
        else:
            disk.take(event)
    disk.cut(rng)
    disk.restore()
    found.go_on()
    found.examine()
