"""Holding a store: it begins once, and its commits are patient with readers."""

import sqlite3
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

import penstock as ps
from penstock.errors import BadState, StoreError, StoreRolledBack
from penstock.sealing import open_sealed
from penstock.store import holding


def opened(store: ps.Store) -> ps.Publisher:
    return ps.Publisher(ps.Uniform(model=ps.WEvent(epsilon=1, w=4)), store, "s", bins=("a", "b"))


class Busy(sqlite3.Connection):
    """A connection whose commits fail with these faults, one after another."""

    faults: ClassVar[list[str]] = []

    def execute(self, query: str, *values: Any) -> sqlite3.Cursor:
        if query == "COMMIT" and self.faults:
            fault = sqlite3.OperationalError()
            fault.sqlite_errorname = self.faults.pop(0)
            raise fault
        return super().execute(query, *values)


@pytest.mark.parametrize(
    ("faults", "patience", "left"),
    [
        (["SQLITE_BUSY"] * 2, 120, []),
        (["SQLITE_BUSY"] * 2, -1, ["SQLITE_BUSY"]),
        (["SQLITE_FULL"] * 2, 120, ["SQLITE_FULL"]),
    ],
)
def test_a_commit_waits_for_readers_for_so_long_and_for_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, faults: list[str], patience: int, left: list[str]
) -> None:
    """What was drawn is not lost because a copy is being made."""
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Busy))
    monkeypatch.setattr(holding, "PATIENCE", patience)
    with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
        pending = publisher.prepare(ps.Snapshot(1, [7, 7]))
        monkeypatch.setattr(Busy, "faults", list(faults))
        with pytest.raises(StoreError) if left else nullcontext():
            store.commit([pending])
        assert Busy.faults == left
        Busy.faults.clear()
        store.commit([pending])
        assert [release.t for release in publisher.releases()] == [1]


@pytest.mark.parametrize("empty", [False, True])
def test_no_new_store_begins_beside_the_head_of_one_that_is_gone(tmp_path: Path, empty: bool) -> None:
    with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
        publisher.publish(ps.Snapshot(1, [7, 7]))
    (tmp_path / "db").unlink()
    if empty:
        (tmp_path / "db").touch()
    with pytest.raises(StoreRolledBack, match="belongs to a store that is gone"):
        ps.Store(tmp_path / "db")


def test_a_new_key_opens_what_was_sealed_under_the_old_one(tmp_path: Path) -> None:
    """And a stream goes on with it; the old key opens nothing any more."""
    mechanism = ps.Uniform(model=ps.MContext(epsilon=1, m=2))
    with ps.Store(tmp_path / "db") as store:
        old = store.key
        with ps.Publisher(mechanism, store, "s", bins=("a",)) as publisher:
            publisher.publish(ps.Snapshot(1, [1], ["ann"]))
        store.rotate_key()
        key, state = store.key, store.state(store.account("s"))
        assert key != old
        assert state is not None
        assert open_sealed(state.sealed, key, beside=state.public)
        with pytest.raises(BadState):
            open_sealed(state.sealed, old, beside=state.public)
        assert not store.key_file.following().path.exists()
        with ps.Publisher(mechanism, store, "s", bins=("a",)) as publisher:
            assert publisher.publish(ps.Snapshot(2, [1], ["ann"])).t == 2


def test_a_key_that_is_lost_gives_up_what_was_sealed(tmp_path: Path) -> None:
    with ps.Store(tmp_path / "db") as store:
        with ps.Publisher(ps.Uniform(model=ps.MContext(epsilon=1, m=2)), store, "s", bins=("a",)) as publisher:
            publisher.publish(ps.Snapshot(1, [1], ["ann"]))
        store.key_file.path.unlink()
        assert not store.has_key()
        store.replace_key()
        assert store.has_key()
        state = store.state(store.account("s"))
        assert state is not None
        assert state.sealed == b""
