"""The files beside a store: its key, its head, and a lock for every stream."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from penstock.errors import KeyMissing, StoreDamaged, StoreError, StoreInUse, StoreRolledBack
from penstock.sealing import KEY_BYTES, new_key

LINE = 128  # bytes of a line of the head file; it never straddles a disk sector
HEADER = "penstock-head"


class KeyFile:
    """The key of the sealed state, as one line of hexadecimal digits that only its owner can read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def make(self) -> bytes:
        """The key in the file, which is made if it is not there."""
        if not self.path.exists():
            write_durably(self.path, new_key().hex() + "\n")
        return self.read()

    def following(self) -> KeyFile:
        """Where the next key waits while everything is sealed anew."""
        return KeyFile(self.path.with_name(self.path.name + ".next"))

    def read(self) -> bytes:
        """The key."""
        try:
            key = bytes.fromhex(self.path.read_text(encoding="ascii"))
        except FileNotFoundError:
            raise KeyMissing(
                f'the key file {self.path} is missing; put it back, or if it is lost for good run "penstock key lost",'
                " which gives up what was sealed."
            ) from None
        except (OSError, ValueError) as fault:
            raise KeyMissing(f"{self.path} is not a key file that can be read; put the right one back.") from fault
        if len(key) != KEY_BYTES:
            raise KeyMissing(f"the key file {self.path} holds no key of {KEY_BYTES} bytes; restore it.")
        return key


def mark_of(key: bytes) -> str:
    """What the store remembers of its key: enough to tell another one, and nothing more."""
    return hashlib.sha256(b"penstock key" + key).hexdigest()[:16]


def write_durably(path: Path, text: str) -> None:
    """A small new file, for its owner only: there as a whole or not at all."""
    if not path.parent.is_dir():
        raise StoreError(f"there is no folder {path.parent} to put {path.name} into; make it and run again.")
    fresh = path.with_name(path.name + ".new")
    with suppress(FileNotFoundError):
        fresh.unlink()
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(handle, text.encode("ascii"))
        os.fsync(handle)
    finally:
        os.close(handle)
    fresh.rename(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Head(NamedTuple):
    """How far a stream has been published. ``mark`` stands for its name, ``number`` for its place in the file."""

    t: int
    link: bytes
    number: int
    mark: str


class HeadFile:
    """How far each stream has been published, outside the database: an old copy of the store is then known as one.

    A text file of lines of equal length, two a stream that are written in turn, so that a torn write spoils neither the
    other line nor another stream. A stream has one writer, so nobody else touches its lines.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None

    def make(self, store: str, heads: Sequence[Head] = ()) -> None:
        """A new head file for the store of this identity."""
        places = {_place(head): head for head in heads}
        lines = [
            _written(places[at]) if at in places else " " * (LINE - 1) + "\n"
            for at in range(1, 1 + max(places, default=0))
        ]
        write_durably(self.path, _line(HEADER, store) + "".join(lines))

    def require_unused(self) -> None:
        """Refuse to begin anew where a store has been published from that is gone."""
        if not self.path.exists():
            return
        first, *lines = self._lines() or [None]
        if first is None or first[0] != HEADER:
            raise StoreDamaged(f"{self.path} is there and is not a head file; name another one with --head.")
        if lines:
            raise StoreRolledBack(
                f"the head file {self.path} belongs to a store that is gone; put that back, or move the head file away"
                " if the new store is about other people."
            )

    def read(self, store: str) -> dict[str, Head]:
        """The head of every stream, by the mark of its name."""
        first, *lines = self._lines() or [None]
        if first != [HEADER, store]:
            raise StoreDamaged(
                f"{self.path} is not the head file of this store; put the right one back, or move it away and run"
                ' "penstock ledger adopt".'
            )
        heads: dict[str, Head] = {}
        for number, t, link, mark in filter(None, lines):
            head = Head(int(t), bytes.fromhex(link), int(number), mark)
            heads[mark] = max(head, heads.get(mark, head))
        return heads

    def write(self, heads: Iterable[Head]) -> None:
        """Note, durably, how far streams have been published."""
        if self._handle is None:
            self._handle = os.open(self.path, os.O_WRONLY)
        for head in heads:
            os.pwrite(self._handle, _written(head).encode("ascii"), _place(head) * LINE)
        os.fsync(self._handle)

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _lines(self) -> list[list[str] | None]:
        """The fields of every line; None for one that was never written or is torn."""
        data = self.path.read_bytes()
        return [_fields(data[at : at + LINE]) for at in range(0, len(data), LINE)]


def name_mark(name: str) -> str:
    """What stands for a name where only so many characters fit."""
    return hashlib.sha256(name.encode()).hexdigest()[:16]


def _place(head: Head) -> int:
    """The number of the line of a head: two for every stream, in turn."""
    return 2 * head.number - 1 + head.t % 2


def _written(head: Head) -> str:
    return _line(str(head.number), str(head.t), head.link.hex(), head.mark)


def _line(*fields: str) -> str:
    text = " ".join(fields)
    return f"{text} {name_mark(text)}".ljust(LINE - 1) + "\n"


def _fields(line: bytes) -> list[str] | None:
    text, _, check = line.decode("ascii", errors="replace").strip().rpartition(" ")
    return text.split(" ") if text and check == name_mark(text) else None


class WriterLock:
    """The right to write to one stream. The operating system takes it back when the process ends, however it ends."""

    def __init__(self, folder: Path, number: int, name: str) -> None:
        folder.mkdir(exist_ok=True)
        self._handle = os.open(folder / f"{number}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.release()
            raise StoreInUse(
                f'another process is publishing the stream "{name}" from this store; wait for it to end, or stop it.'
            ) from None

    def release(self) -> None:
        os.close(self._handle)
