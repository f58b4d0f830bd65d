"""Ways to spend a budget twice that were found and closed: old copies, interruptions, lost keys, strangers."""

import os
import shutil
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

import penstock as ps
from penstock.charges import Fact, recount
from penstock.errors import OutOfOrder, PenstockError, StoreDamaged, StoreError, StoreRolledBack
from penstock.primitives.segment import SegmentPlan
from penstock.queries import Distance
from penstock.session import Session
from penstock.store import Archive
from penstock.store.copying import copy
from penstock.store.record import unpack
from penstock.types import Cause

BINS = ("a", "b")
LAW = ps.WEvent(epsilon=1, w=4)


class Crash(BaseException):
    """The process is gone."""


def unit(t: int) -> ps.Snapshot:
    return ps.Snapshot(t, (10 * t, 7))


def opened(store: ps.Store, name: str = "s", epsilon: str | int = 1, **options: Any) -> ps.Publisher:
    return ps.Publisher(ps.Uniform(model=ps.WEvent(epsilon=epsilon, w=4)), store, name, bins=BINS, **options)


def published(path: Path, name: str, units: int, **options: Any) -> None:
    with ps.Store(path) as store, opened(store, name, **options) as publisher:
        for t in range(publisher.t + 1, units + 1):
            publisher.publish(unit(t))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "db"


def put_back(path: Path) -> None:
    shutil.copy(path.with_name("copy"), path)


def saved(path: Path) -> None:
    with Archive(path) as archive:
        copy(archive, path.with_name("copy"))


def test_an_old_copy_frees_no_budget_of_a_population(path: Path) -> None:
    """A stream that joined after the copy was made has spent what the copy thinks is free."""
    people = {"population": "p"}
    with ps.Store(path) as store:
        opened(store, "x", "0.4", population_epsilon=1, **people).close()
    saved(path)
    published(path, "z", 3, epsilon="0.6", **people)
    put_back(path)
    with ps.Store(path) as store, pytest.raises(StoreRolledBack):
        opened(store, "x", 1, **people)


def test_an_old_copy_does_not_change_the_law_of_a_stream(path: Path) -> None:
    with ps.Store(path) as store:
        opened(store, "x", "0.4", population="p", population_epsilon=1).close()
    saved(path)
    published(path, "x", 3, epsilon="0.4", population="p")
    put_back(path)
    with ps.Store(path) as store:
        before = store.streams()
        for options in ({}, {"epsilon": 5, "adopt": 0}):
            with pytest.raises(PenstockError):
                opened(store, "x", **options)
        assert store.streams() == before


def test_adopting_one_stream_without_a_head_trusts_no_other(path: Path) -> None:
    published(path, "a", 3)
    published(path, "b", 1)
    saved(path)
    published(path, "a", 8)
    published(path, "b", 5)
    put_back(path)
    path.with_name("db.head").unlink()
    with ps.Store(path) as store:
        with pytest.raises(PenstockError):
            opened(store, "a", adopt=0)
        opened(store, "a", adopt=8).close()
        for options in ({}, {"adopt": 0}):
            with pytest.raises(PenstockError):
                opened(store, "b", **options)
        with opened(store, "b", adopt=5) as publisher:
            assert publisher.t == 5


def test_an_adoption_that_fails_trusts_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def user(store: ps.Store, **options: Any) -> ps.Publisher:
        mechanism = ps.Uniform(model=ps.UserLevel(epsilon=1, horizon=5))
        return ps.Publisher(mechanism, store, "a", bins=BINS, **options)

    def full(*_: object) -> None:
        raise StoreError("the disk is full.")

    with ps.Store(path) as store, user(store) as publisher:
        publisher.publish(unit(1))
        saved(path)
        publisher.publish(unit(2))
    put_back(path)
    path.with_name("db.head").unlink()
    monkeypatch.setattr(ps.Store, "adopt", full)
    with ps.Store(path) as store:
        for options in ({"adopt": 4}, {}):
            with pytest.raises(PenstockError):
                user(store, **options)


@dataclass(kw_only=True)
class Watcher(ps.Mechanism):
    """Opens a span at unit 1, reads it again at ``again`` and spends all that is left there and after."""

    proven_for: ClassVar = (ps.WEvent,)
    again: int = 6

    def begin(self) -> None:
        self.segment = self.curator.segment(SegmentPlan(9, self.model.epsilon / 4, self.model.epsilon / 36))

    def decide(self, snapshot: ps.Snapshot) -> ps.Release:
        if snapshot.t in (1, self.again):
            self.segment.above(snapshot, Distance([0, 0]), 10**6, then=ps.Epsilon("0.01"))
        if snapshot.t >= self.again and self.curator.remaining():
            return self.publish(snapshot, self.curator.remaining())
        return self.republish(snapshot)


def watched(store: ps.Store, **options: Any) -> ps.Publisher:
    mechanism = Watcher(model=ps.WEvent(epsilon=1, w=5), allow_unproven=True)
    return ps.Publisher(mechanism, store, "s", bins=BINS, **options)


@pytest.mark.parametrize("lost", [False, True])
def test_a_span_that_a_dead_step_has_read_stays_paid_without_the_key(path: Path, lost: bool) -> None:
    def at(point: str) -> None:
        if point == "draw" and publisher.t == 5:
            raise Crash

    with suppress(Crash), ps.Store(path, at=at) as store:
        publisher = watched(store)
        for t in range(1, 7):
            publisher.publish(unit(t))
    if lost:
        path.with_name("db.key").unlink()
        with ps.Store(path) as store:
            store.replace_key()
    with ps.Store(path) as store, watched(store) as publisher:
        assert [(each.cause, each.remaining) for each in publisher.releases(after=5)] == [(Cause.LOST, ps.Epsilon(0))]
        publisher.publish(unit(7))
        facts: list[Fact] = [f for r in store.records(store.account("s")) for f in unpack(r.body).facts]
    assert recount(facts, ps.WEvent(epsilon=1, w=5)) <= ps.Epsilon(1)


def test_the_length_of_what_is_sealed_tells_nothing(tmp_path: Path) -> None:
    lengths = set()
    for i in range(12):
        with ps.Store(tmp_path / str(i)) as store, watched(store) as publisher:
            publisher.publish(unit(1))
            state = store.state(store.account("s"))
            assert state is not None
            lengths.add(len(state.sealed))
    assert len(lengths) == 1


def test_who_has_closed_draws_no_more(path: Path) -> None:
    with ps.Store(path) as store, ps.Store(path) as second:
        first = opened(store)
        first.publish(unit(1), ahead=unit(2))
        first.close()
        with opened(second) as publisher:
            for draw in (partial(first.prepare, unit(2)), first.prepare_missing):
                with pytest.raises(ps.StoreError, match="closed"):
                    draw()
            pending = publisher.prepare(unit(2))
            with pytest.raises(ps.StoreError, match="closed, or belongs to another"):
                store.commit([pending])
            second.commit([pending])
        assert opened(second).t == 2


def test_a_forked_process_draws_nothing_even_if_its_unit_was_announced(path: Path) -> None:
    with ps.Store(path) as store, opened(store) as publisher:
        publisher.publish(unit(1), ahead=unit(2))
        child = os.fork()
        if child == 0:
            with suppress(ps.StoreError):
                publisher.prepare(unit(2))
                os._exit(1)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@dataclass(kw_only=True)
class Fragile(ps.Mechanism):
    """Is interrupted, or fails, after it has drawn, if told so."""

    proven_for: ClassVar = (ps.WEvent,)
    fault: ClassVar[type[BaseException] | None] = None

    def decide(self, snapshot: ps.Snapshot) -> ps.Release:
        release = self.publish(snapshot, self.model.epsilon / 4)
        if self.fault and snapshot.t == 2:
            raise self.fault
        return release


def fragile(store: ps.Store) -> ps.Publisher:
    return ps.Publisher(Fragile(model=LAW, allow_unproven=True), store, "s", bins=BINS)


def test_after_an_interruption_the_unit_is_lost_and_nothing_else(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ps.Store(path) as store:
        publisher = fragile(store)
        publisher.publish(unit(1))
        with monkeypatch.context() as patched:
            patched.setattr(Fragile, "fault", Crash)
            with pytest.raises(Crash):
                publisher.publish(unit(2))
        for draw in (partial(publisher.publish, unit(3)), publisher.miss):
            with pytest.raises(OutOfOrder):
                draw()
        publisher.close()
        with fragile(store) as again:
            assert [each.cause for each in again.releases()] == [Cause.DECIDED, Cause.LOST]
            assert again.publish(unit(3)).t == 3


def test_a_failed_step_that_is_interrupted_is_not_taken_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise Crash

    with ps.Store(path) as store:
        publisher = fragile(store)
        publisher.publish(unit(1))
        with monkeypatch.context() as patched:
            patched.setattr(Fragile, "fault", ValueError)
            patched.setattr(Session, "pass_over", interrupted)
            with pytest.raises(Crash):
                publisher.publish(unit(2))
        for draw in (partial(publisher.publish, unit(2)), publisher.miss):
            with pytest.raises(OutOfOrder):
                draw()
        publisher.close()
        with fragile(store) as again:
            assert [each.cause for each in again.releases()] == [Cause.DECIDED, Cause.LOST]


def test_nothing_is_shown_that_the_head_does_not_know(path: Path) -> None:
    def at(point: str) -> None:
        if point == "commit" and publisher.t == 4:
            raise Crash

    with suppress(Crash), ps.Store(path, at=at) as store:
        publisher = opened(store)
        for t in range(1, 5):
            publisher.publish(unit(t))
    with Archive(path) as archive:
        assert [each.t for each in archive.published(archive.visible("s"))] == [1, 2, 3]
    with ps.Store(path) as store, opened(store) as publisher:
        assert publisher.t == 4
        assert store.visible("s").t == 4


def test_a_key_that_is_changed_while_a_stream_opens_is_the_one_in_use(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ps.Store(path) as store:
        watched(store).close()
        enter = store.enter

        def rotated(*given: Any) -> Any:
            with ps.Store(path) as other:
                other.rotate_key()
            return enter(*given)

        monkeypatch.setattr(store, "enter", rotated)
        with watched(store) as publisher:
            publisher.publish(unit(1))
    with ps.Store(path) as store, watched(store) as publisher:
        assert publisher.publish(unit(2)).t == 2


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    theirs = sqlite3.connect(tmp_path / "theirs")
    theirs.execute("PRAGMA journal_mode = WAL")
    theirs.execute("CREATE TABLE x (y)")
    theirs.close()
    (tmp_path / "notes").write_text("my notes\n")
    with pytest.raises(ps.StoreError, match="another program"):
        ps.Store(tmp_path / "theirs")
    with pytest.raises(StoreDamaged, match="not a head file"):
        ps.Store(tmp_path / "db", head=tmp_path / "notes")
    theirs = sqlite3.connect(tmp_path / "theirs")
    assert theirs.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    theirs.close()
    assert (tmp_path / "notes").read_text() == "my notes\n"
    assert not list(tmp_path.glob("*.key"))


def test_an_adopted_store_without_its_head_takes_no_new_streams(path: Path) -> None:
    """One that is gone may have set aside what a new one would take."""
    with ps.Store(path) as store:
        opened(store, "x", "0.4", population="p", population_epsilon=1).publish(unit(1))
    saved(path)
    published(path, "z", 3, epsilon="0.6", population="p")
    put_back(path)
    path.with_name("db.head").unlink()
    with ps.Store(path) as store:
        opened(store, "x", "0.4", population="p", adopt=1).close()
        with pytest.raises(StoreRolledBack):
            opened(store, "y", "0.6", population="p")


@pytest.mark.parametrize("every", ["auto", "row"])
@pytest.mark.parametrize("backup_at", [0, 2])
def test_rows_that_a_lost_store_has_published_are_not_drawn_again(tmp_path: Path, every: str, backup_at: int) -> None:
    path, counts = tmp_path / "db", tmp_path / "counts.csv"

    def ran(rows: int, **options: Any) -> list[int]:
        counts.write_text("day,a,b\n" + "".join(f"2026-11-{10 + t},{t},7\n" for t in range(1, rows + 1)))
        with ps.Store(path) as store, opened(store, every=every, **options) as publisher:
            return [each.t for each in publisher.run(ps.streams.read(counts))]

    ran(backup_at)
    saved(path)
    ran(8)
    put_back(path)
    drawn = []
    with suppress(ps.BadInput):
        drawn = ran(8, adopt=0)
    assert drawn in ([], list(range(1, backup_at + 1)))
    with ps.Store(path) as store:
        assert store.account("s").t == 8
    if every == "auto" and backup_at:
        assert ran(9)[-1] == 9


def test_a_budget_of_a_population_is_the_one_in_force(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ps.Store(path) as store, ps.Store(path) as other:
        enter = store.enter

        def late(*given: Any) -> Any:
            opened(other, "x", 1, population="p", population_epsilon=1).publish(unit(1))
            return enter(*given)

        monkeypatch.setattr(store, "enter", late)
        with pytest.raises(PenstockError):
            opened(store, "y", 9, population="p", population_epsilon=10)
