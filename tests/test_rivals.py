"""Two writers of one stream, two stores with one head: whatever became of the locks, one of them stops in time."""

import errno
import os
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from sqlite3 import connect
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from in_process import Crash, crash_at, penstock
from penstock import static
from penstock.errors import KeyMissing, StoreDamaged, StoreInUse, StoreRolledBack
from penstock.store import Archive
from penstock.store.verify import verify, verify_file
from penstock.types import Cause, Published

LAW, BINS = ps.WEvent(epsilon=1, w=4), ("a", "b")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "db"


def unit(t: int) -> ps.Snapshot:
    return ps.Snapshot(t, (10 * t, 7))


def opened(store: ps.Store, name: str = "s", model: ps.PrivacyModel = LAW, **options: Any) -> ps.Publisher:
    return ps.Publisher(ps.Uniform(model=model), store, name, bins=BINS, **options)


def publish(path: Path, until: int, at: Callable[[str], None] = lambda point: None, **options: Any) -> None:
    with ps.Store(path, at=at, **options) as store, opened(store) as publisher:
        for t in range(publisher.t + 1, until + 1):
            publisher.publish(unit(t))


def unlock(path: Path) -> None:
    """What a careless clean-up does: the files that writers have locked are gone."""
    shutil.rmtree(path.with_name(f"{path.name}.locks"), ignore_errors=True)


def checked(path: Path, name: str = "s") -> list[Published]:
    with Archive(path) as archive:
        verify_file(archive)
        verify(archive, name)
        return list(archive.published(archive.account(name)))


@pytest.mark.parametrize("ahead", [False, True])
def test_whoever_was_overtaken_is_refused(path: Path, ahead: bool) -> None:
    drawn: list[str] = []
    with ps.Store(path, at=drawn.append) as store, ps.Store(path) as second:
        first = opened(store)
        first.publish(unit(1), ahead=unit(2) if ahead else None)
        drawn.clear()
        unlock(path)
        with opened(second) as rival:
            rival.publish(unit(rival.t + 1))
            with pytest.raises(StoreInUse, match="another process"):
                first.publish(unit(2))
            assert ("draw" in drawn) == ahead  # what was announced for it may be drawn, and is spent as lost
            rival.publish(unit(rival.t + 1))
        first.close()
    causes = [release.cause for release in checked(path)]
    assert causes == [Cause.DECIDED, *[Cause.LOST] * ahead, Cause.DECIDED, Cause.DECIDED]


def test_a_stream_cannot_be_declared_anew_behind_the_back_of_its_writer(path: Path) -> None:
    with ps.Store(path) as store, ps.Store(path) as second, opened(store) as first:
        unlock(path)
        opened(second, model=ps.WEvent(epsilon=9, w=4)).close()
        with pytest.raises(StoreInUse):
            first.publish(unit(1))
    assert checked(path) == []


def test_a_key_cannot_be_changed_behind_the_back_of_a_writer(path: Path) -> None:
    publish(path, 1)
    with ps.Store(path) as store, ps.Store(path) as second:
        first = opened(store)
        unlock(path)
        second.rotate_key()
        with pytest.raises(StoreInUse):
            first.publish(unit(2))
    publish(path, 2)


@dataclass
class Writer:
    """One of several processes that believe to be alone."""

    path: Path
    draws: Counter[int]
    publisher: ps.Publisher | None = None
    store: ps.Store | None = None
    shown: list[Published] = field(default_factory=list)

    def at(self, point: str) -> None:
        if point == "draw" and self.publisher is not None:
            self.draws[self.publisher.t + 1] += 1

    def act(self, what: str) -> None:
        unlock(self.path)
        with suppress(StoreInUse):
            if what == "kill":
                if self.store is not None:
                    self.store.close()
                self.store = self.publisher = None
            elif what == "close":
                if self.publisher is not None:
                    self.publisher.close()
                self.publisher = None
            elif self.publisher is None:
                self.store = self.store or ps.Store(self.path, at=self.at)
                self.publisher = opened(self.store)
            else:
                t = self.publisher.t + 1
                self.shown.append(self.publisher.publish(unit(t), ahead=unit(t + 1) if what == "ahead" else None))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["publish", "ahead", "close", "kill"])), max_size=30))
def test_no_unit_is_drawn_twice_however_many_write(moves: list[tuple[int, str]]) -> None:
    draws = Counter[int]()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "db"
        writers = [Writer(path, draws) for _ in range(3)]
        for who, what in [(0, "publish"), *moves]:
            writers[who].act(what)
        for writer in writers:
            writer.act("kill")
        with ps.Store(path) as store:
            opened(store).close()
        stored = checked(path)
    assert all(count == 1 for count in draws.values())
    decided = {release.t: release.link for release in stored if release.cause is Cause.DECIDED}
    shown = {release.t: release.link for writer in writers for release in writer.shown}
    assert len(shown) == sum(len(writer.shown) for writer in writers)
    assert shown.items() <= decided.items()
    assert decided.keys() <= draws.keys() <= {release.t for release in stored}


@pytest.mark.parametrize("door", [ps.Store, Archive])
def test_a_store_with_two_names_is_refused(path: Path, door: type[Archive]) -> None:
    publish(path, 1)
    os.link(path, path.with_name("other"))
    for name in (path, path.with_name("other")):
        with pytest.raises(ps.StoreError, match="hard link"):
            door(name)
    path.with_name("other").unlink()
    door(path).close()


def test_a_store_on_a_disk_that_cannot_lock_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    publish(path, 1)
    monkeypatch.setattr("fcntl.flock", fail)
    with pytest.raises(ps.StoreError, match="No locks available") as refused:
        publish(path, 2)
    assert not isinstance(refused.value, StoreInUse)  # no other process is to blame


# ---- an intent beside a release --------------------------------------------------------------------------------------


def leave_stale(path: Path, publish: Callable[..., Any], name: str = "s") -> None:
    """What two writers left behind when nothing kept them apart: a unit that is announced and has a release."""
    with suppress(Crash):
        publish(path, at=crash_at("draw"))
    with closing(connect(path)) as connection, connection:
        (row,) = connection.execute("SELECT * FROM intents").fetchall()
    publish(path)
    with closing(connect(path)) as connection, connection:
        connection.execute("INSERT INTO intents VALUES (?, ?, ?, ?, ?)", row)


def test_a_unit_that_two_may_have_drawn_is_found_and_counts_as_spent(path: Path) -> None:
    publish(path, 5)
    leave_stale(path, lambda path, **options: publish(path, 7, **options))
    assert penstock("ledger", "verify", path)[0] == 2
    with pytest.raises(StoreRolledBack, match=r"t=6 has a release and is announced.*penstock ledger adopt"):
        publish(path, 8)
    code, told = penstock("ledger", "adopt", path, "--stream", "s", "--yes")
    assert (code, "goes on after t=8" in told) == (0, True)
    publish(path, 14)
    adopted, *later = checked(path)[7:]
    assert adopted.cause is Cause.ADOPTED
    spent = [release.charged > ps.Epsilon(0) for release in later]  # no window that holds t=6 or t=8 has anything left
    assert spent == [False] * 3 + [True] * 3


def test_a_one_time_publication_that_two_may_have_drawn_is_settled_too(path: Path) -> None:
    law = static.SpatialNeighbourhood(epsilon=1, radius=2, grid="0..10/0.5")

    def keep(path: Path, at: Callable[[str], None] = lambda point: None) -> None:
        with ps.Store(path, at=at) as store:
            keeper = static.Keeper(static.Median(), law, 9, store, "s")
            if not keeper.t:
                keeper.publish(static.Points(range(9), law.snapped_to, size_is_public=True))

    leave_stale(path, keep)
    with pytest.raises(StoreRolledBack, match="announced"):
        keep(path)
    assert penstock("ledger", "adopt", path, "--stream", "s", "--yes")[0] == 0
    keep(path)
    assert [release.cause for release in checked(path)] == [Cause.LOST]


# ---- heads and keys --------------------------------------------------------------------------------------------------


def test_two_stores_cannot_share_a_head(path: Path) -> None:
    one, two, head = path.with_name("one"), path.with_name("two"), path.with_name("both")
    with ps.Store(one, head=head) as store:
        with pytest.raises(ps.StoreError, match="cannot share one"):
            ps.Store(two, head=head)
        assert not two.exists()
        opened(store).publish(unit(1))
        with pytest.raises(StoreRolledBack, match="belongs to a store"):
            ps.Store(two, head=head)
    publish(one, 3, head=head)
    publish(two, 3)
    with pytest.raises(StoreDamaged, match="not the head file of this store"):
        publish(two, 4, head=head)


def test_a_copy_that_is_continued_beside_its_original_stops_before_it_shows_anything(path: Path) -> None:
    head, copy = path.with_name("head"), path.with_name("copy")
    publish(path, 3, head=head)
    shutil.copy(path, copy)
    with ps.Store(path, head=head) as store, ps.Store(copy, key=path.with_name("db.key"), head=head) as other:
        first, second = opened(store), opened(other)
        first.publish(unit(4))
        with pytest.raises(StoreRolledBack, match="cannot share"):
            second.publish(unit(4))
        first.publish(unit(5))
        with pytest.raises(StoreRolledBack, match="cannot share"):
            list(second.releases())


def test_a_head_that_vanishes_or_changes_hands_is_missed_at_once(path: Path) -> None:
    head = path.with_name("db.head")
    publish(path.with_name("other"), 2)
    with ps.Store(path) as store, opened(store) as publisher:
        publisher.publish(unit(1))
        head.rename(path.with_name("aside"))
        with pytest.raises(ps.StoreError, match=r"db\.head"):
            publisher.publish(unit(2))
        shutil.copy(path.with_name("other.head"), head)
        with pytest.raises(StoreDamaged, match="not the head file of this store"):
            list(publisher.releases())
        path.with_name("aside").rename(head)
        assert [release.t for release in publisher.releases()] == [1, 2]


def test_what_is_left_of_a_store_that_was_never_finished_is_used(path: Path) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise Crash

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("penstock.store.schema.upgrade", refuse)
        with suppress(Crash):
            ps.Store(path)
    assert path.with_name("db.head").exists()
    publish(path, 2)
    assert len(checked(path)) == 2


@pytest.fixture
def stingy(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A system that takes fewer bytes than it is given, as it may."""
    write, taken = os.pwrite, list[int]()

    def pwrite(handle: int, data: bytes, at: int) -> int:
        taken.append(write(handle, data[: max(len(data) // 2, 1)], at))
        return taken[-1]

    monkeypatch.setattr(os, "pwrite", pwrite)
    monkeypatch.setattr(os, "write", lambda handle, data: pwrite(handle, data, 0))
    return taken


def test_keys_and_heads_are_written_to_their_last_byte(path: Path, stingy: list[int]) -> None:
    publish(path, 3)
    assert len(stingy) > 10
    head = path.with_name("db.head").read_bytes()
    assert [len(line) for line in head.splitlines(keepends=True)] == [128] * 3
    assert len(bytes.fromhex(path.with_name("db.key").read_text())) == 32


def test_a_disk_that_takes_nothing_is_no_endless_wait(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "pwrite", lambda handle, data, at: 0)
    with pytest.raises(ps.StoreError, match="nothing was written"):
        ps.Store(path)


def test_a_key_that_cannot_be_read_for_a_moment_is_not_given_up(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(path, 2)
    key = path.with_name("db.key").read_bytes()

    def fail(*_: Any, **__: Any) -> str:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Path, "read_text", fail)
        with pytest.raises(ps.StoreError, match="run again") as refused:
            publish(path, 3)
        assert not isinstance(refused.value, KeyMissing)
        assert penstock("key", "lost", path)[0] == 2
    assert path.with_name("db.key").read_bytes() == key
    publish(path, 3)
