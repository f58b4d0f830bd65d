"""Copies of a store: whole, and never over anything that is there."""

from pathlib import Path

import pytest

import penstock as ps
from penstock.errors import StoreError
from penstock.store import Archive
from penstock.store.copying import copy


def test_a_copy_is_a_store_and_overwrites_nothing(tmp_path: Path) -> None:
    path, to = tmp_path / "db", tmp_path / "copy"
    with (
        ps.Store(path) as store,
        ps.Publisher(ps.Uniform(model=ps.EventLevel(epsilon=1)), store, "s", bins="a") as made,
    ):
        made.publish(ps.Snapshot(1, [7]))
    to.with_name("copy.new").write_text("left by a crash", encoding="ascii")
    with Archive(path) as archive:
        copy(archive, to)
        assert not to.with_name("copy.new").exists()
        before = to.read_bytes()
        with pytest.raises(StoreError, match="exists already; a copy never overwrites anything"):
            copy(archive, to)
    assert to.read_bytes() == before
    with Archive(to, head=path.with_name("db.head")) as archive:
        assert [release.t for release in archive.published(archive.account("s"))] == [1]
