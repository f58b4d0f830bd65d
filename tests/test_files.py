"""The files beside a store: keys, heads and locks, line by line."""

import os
import stat
from pathlib import Path

import pytest

from penstock.disk import sync_folder
from penstock.errors import KeyMissing, StoreDamaged, StoreError, StoreInUse, StoreRolledBack
from penstock.store.files import (
    LINE,
    Head,
    HeadFile,
    KeyFile,
    WriterLock,
    mark_of,
    name_mark,
    write_durably,
)

STORE = "identity"
DATABASE = Path("/stores/people.db")


def head(t: int, number: int = 1, name: str = "s") -> Head:
    return Head(t, bytes([t] * 32), number, name_mark(name))


def note(file: HeadFile, *heads: Head) -> None:
    """Write them for a store that knows everything that is noted."""
    file.write(STORE, heads, lambda known: True)


@pytest.fixture
def file(tmp_path: Path) -> HeadFile:
    made = HeadFile(tmp_path / "db.head")
    made.make(STORE, DATABASE)
    return made


def test_a_head_is_read_back_and_the_latest_counts(file: HeadFile) -> None:
    """Two lines a stream are written in turn; other streams have lines of their own."""
    assert file.read(STORE) == {}
    for t in (1, 2, 3, 7, 8):
        note(file, head(t), head(t + 1, 2, "other"))
        assert file.read(STORE) == {name_mark("s"): head(t), name_mark("other"): head(t + 1, 2, "other")}
    assert file.path.stat().st_size == 5 * LINE


def test_a_head_file_can_begin_with_heads(tmp_path: Path) -> None:
    heads = [head(0, 3, "c"), head(5, 1, "a")]
    made = HeadFile(tmp_path / "db.head")
    made.make(STORE, DATABASE, heads)
    assert made.read(STORE) == {each.mark: each for each in heads}


@pytest.mark.parametrize("line", [1, 2])
def test_a_torn_line_spoils_no_other(file: HeadFile, line: int) -> None:
    """What is left is the head before, or that of another stream."""
    note(file, head(4), head(9, 2, "other"))
    note(file, head(5))
    data = bytearray(file.path.read_bytes())
    data[line * LINE + 3] ^= 1
    file.path.write_bytes(data)
    left = head(5) if line == 1 else head(4)
    assert file.read(STORE) == {name_mark("s"): left, name_mark("other"): head(9, 2, "other")}


def test_the_head_of_another_store_is_refused(file: HeadFile) -> None:
    with pytest.raises(StoreDamaged, match="is not the head file of this store"):
        file.read("another")
    file.path.write_bytes(b"")
    with pytest.raises(StoreDamaged, match="is not the head file of this store"):
        file.read(STORE)


def test_a_new_store_begins_beside_an_unused_head_alone(file: HeadFile) -> None:
    file.require_unused(DATABASE)
    HeadFile(file.path.with_name("none")).require_unused(DATABASE)
    with pytest.raises(StoreError, match="two stores cannot share one"):
        file.require_unused(DATABASE.with_name("other.db"))
    note(file, head(1))
    with pytest.raises(StoreRolledBack, match="belongs to a store that is gone"):
        file.require_unused(DATABASE)
    for content in ("", "something else\n", "x" * 500):
        file.path.write_text(content, encoding="ascii")
        with pytest.raises(StoreDamaged, match="is there and is not a head file"):
            file.require_unused(DATABASE)


def test_what_is_noted_again_may_be_the_same_or_later(file: HeadFile) -> None:
    """What is noted is asked about only where it is not the same; nothing is written for an earlier unit."""
    asked = list[Head]()

    def is_ours(known: Head) -> bool:
        asked.append(known)
        return known.t != 3

    for each in (head(1), head(1), head(3)):
        file.write(STORE, [each], is_ours)
    assert asked == [head(1)]
    for refused in (head(2), head(4)):
        with pytest.raises(StoreRolledBack, match="written by another store, or by a copy of this one"):
            file.write(STORE, [refused], is_ours)
    assert asked == [head(1), head(3)]
    assert file.read(STORE) == {name_mark("s"): head(3)}


def test_nothing_is_noted_for_another_store(file: HeadFile) -> None:
    with pytest.raises(StoreDamaged, match="is not the head file of this store"):
        file.write("another", [head(1)], lambda known: True)
    assert file.read(STORE) == {}


def test_a_file_is_made_whole_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.with_name("key.new").write_text("left by a crash", encoding="ascii")
    write_durably(path, "text\n")
    assert path.read_text(encoding="ascii") == "text\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["key"]
    with pytest.raises(StoreError, match="there is no folder"):
        write_durably(tmp_path / "nowhere" / "key", "text\n")


def test_a_new_file_and_its_name_are_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = list[int]()
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_ino))
    write_durably(tmp_path / "file", "text\n")
    assert synced == [(tmp_path / "file").stat().st_ino, tmp_path.stat().st_ino]


def test_no_file_stays_open(tmp_path: Path) -> None:
    """The next one gets the number that is free."""

    def free() -> int:
        handle = os.open(tmp_path, os.O_RDONLY)
        os.close(handle)
        return handle

    before = free()
    sync_folder(tmp_path)
    write_durably(tmp_path / "file", "text\n")
    assert free() == before


def test_a_key_is_made_once_and_read_from_then_on(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "db.key")
    key = file.make()
    assert len(key) == 32
    assert file.make() == file.read() == key
    assert file.following().path.name == "db.key.next"
    assert len(mark_of(key)) == 16
    assert mark_of(key) != mark_of(bytes(32))


@pytest.mark.parametrize("content", ["", "no digits", "ab" * 31, "ab" * 33])
def test_a_file_that_holds_no_key_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "db.key"
    with pytest.raises(KeyMissing, match=r"is missing; put it back, or if it is lost for good run"):
        KeyFile(path).read()
    path.write_text(content, encoding="ascii")
    with pytest.raises(KeyMissing, match=r"is not a key file that can be read|holds no key of 32 bytes"):
        KeyFile(path).make()


def test_one_writer_at_a_time_holds_a_lock(tmp_path: Path) -> None:
    held = WriterLock(tmp_path / "locks", 1, "s")
    WriterLock(tmp_path / "locks", 2, "other").release()
    with pytest.raises(StoreInUse, match='another process is publishing the stream "s"'):
        WriterLock(tmp_path / "locks", 1, "s")
    held.release()
    WriterLock(tmp_path / "locks", 1, "s").release()
