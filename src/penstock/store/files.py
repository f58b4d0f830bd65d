"""The files beside a store: its key, its head, and a lock for every stream."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from penstock.disk import sync_folder, take_lock, write_all
from penstock.errors import KeyMissing, StoreDamaged, StoreError, StoreInUse, StoreRolledBack
from penstock.sealing import KEY_BYTES, new_key
from penstock.store.faults import plainly

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

    def take_place_of(self, other: KeyFile) -> None:
        """Be the key from now on, durably."""
        self.path.replace(other.path)
        sync_folder(other.path.parent)

    def read(self) -> bytes:
        """The key."""
        try:
            key = bytes.fromhex(self.path.read_text(encoding="ascii"))
        except FileNotFoundError:
            raise KeyMissing(
                f'the key file {self.path} is missing; put it back, or if it is lost for good run "penstock key lost",'
                " which gives up what was sealed."
            ) from None
        except OSError as fault:  # it may be there, so that it must not be given up
            raise StoreError(
                f"the key file {self.path} cannot be read: {fault.strerror}; mend that and run again."
            ) from fault
        except ValueError as fault:
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
        write_all(handle, text.encode("ascii"))
        os.fsync(handle)
    finally:
        os.close(handle)
    fresh.rename(path)
    sync_folder(path.parent)


def require_one_name(path: Path) -> None:
    """Refuse a database that has a second name (a hard link): what undoes a torn transaction is known by the first."""
    with plainly(path):
        names = path.stat().st_nlink
    if names > 1:
        raise StoreError(
            f"the store {path} has another name (a hard link), which is no copy and can spoil both; delete the other"
            ' name, and make copies with "penstock backup".'
        )


class Head(NamedTuple):
    """How far a stream has been published. ``mark`` stands for its name, ``number`` for its place in the file."""

    t: int
    link: bytes
    number: int
    mark: str


class HeadFile:
    """How far each stream has been published, outside the database: an old copy of the store is then known as one.

    A text file of lines of equal length, two a stream that are written in turn, so that a torn write spoils neither the
    other line nor another stream. A stream has one writer, so no other process touches its lines. The first line names
    the store, and the place of its database when the two were made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def exists(self) -> bool:
        """Whether there is such a file."""
        with plainly(self.path):
            return self.path.exists()

    def make(self, store: str, database: Path, heads: Sequence[Head] = ()) -> None:
        """A new head file for the store of this identity; refused if another process has made one meanwhile."""
        places = {_place(head): head for head in heads}
        lines = [
            _written(places[at]) if at in places else " " * (LINE - 1) + "\n"
            for at in range(1, 1 + max(places, default=0))
        ]
        write_durably(self.path, _line(HEADER, store, name_mark(str(database))) + "".join(lines))
        self.read(store)

    def require_unused(self, database: Path) -> None:
        """Refuse a new store the head file of another one, unless it is what is left of a first attempt to make it."""
        if not self.exists():
            return
        first, *lines = self._lines() or [None]
        if first is None or first[0] != HEADER:
            raise StoreDamaged(f"{self.path} is there and is not a head file; name another one with --head.")
        if lines:
            raise StoreRolledBack(
                f"the head file {self.path} belongs to a store that is gone, or lies elsewhere; put that back, name"
                " another head file with --head, or move this one away if the new store is about other people."
            )
        if first[2:] != [name_mark(str(database))]:
            raise StoreError(
                f"the head file {self.path} belongs to another store; two stores cannot share one, so name another"
                " with --head, or move this one away if its store is gone."
            )

    def read(self, store: str) -> dict[str, Head]:
        """The head of every stream, by the mark of its name."""
        first, *lines = self._lines() or [None]
        self._require_of(store, first)
        heads: dict[str, Head] = {}
        for fields in filter(None, lines):
            head = _read(fields)
            heads[head.mark] = max(head, heads.get(head.mark, head))
        return heads

    def write(self, store: str, heads: Iterable[Head], is_ours: Callable[[Head], bool]) -> None:
        """Note, durably, how far streams have been published.

        ``is_ours`` tells whether what is noted of a stream is part of this store. If it is not, another store has noted
        it, and is left alone. Everything is written again even if it seems to be there, because a write that failed
        before may be in memory and not on the disk.
        """
        handle = os.open(self.path, os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)  # let go of by closing
            self._require_of(store, _fields(os.pread(handle, LINE, 0)))
            for head in heads:
                self._require_following(handle, head, is_ours)
                write_all(handle, _written(head).encode("ascii"), _place(head) * LINE)
            os.fsync(handle)
        finally:
            os.close(handle)

    def _require_following(self, handle: int, head: Head, is_ours: Callable[[Head], bool]) -> None:
        """Refuse to note what does not follow on what is noted."""
        both = os.pread(handle, 2 * LINE, (2 * head.number - 1) * LINE)
        known = max((_read(fields) for fields in map(_fields, (both[:LINE], both[LINE:])) if fields), default=None)
        if known is not None and not (known.t <= head.t and (known == head or is_ours(known))):
            raise StoreRolledBack(
                f"the head file {self.path} was written by another store, or by a copy of this one; two stores cannot"
                ' share one, so use one of them only, or name another with --head and run "penstock ledger adopt".'
            )

    def _require_of(self, store: str, first: list[str] | None) -> None:
        if first is None or first[:2] != [HEADER, store]:
            raise StoreDamaged(
                f"{self.path} is not the head file of this store; put the right one back, or move it away and run"
                ' "penstock ledger adopt".'
            )

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


def _read(fields: Sequence[str]) -> Head:
    number, t, link, mark = fields
    return Head(int(t), bytes.fromhex(link), int(number), mark)


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
            if not take_lock(self._handle):
                raise StoreInUse(
                    f'another process is publishing the stream "{name}" from this store; wait for it to end, or stop'
                    " it."
                )
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        os.close(self._handle)
