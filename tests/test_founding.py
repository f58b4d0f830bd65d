"""Founding: a place where no store can be made is refused before anything is made there."""

from pathlib import Path

import pytest

import penstock as ps
from penstock.errors import KeyMissing, StoreError, StoreRolledBack
from penstock.store.founding import exists, require_foundable


def test_an_empty_file_is_no_store_yet(tmp_path: Path) -> None:
    place = tmp_path / "db"
    assert not exists(place)
    place.touch()
    assert not exists(place)
    place.write_bytes(b"x")
    assert exists(place)
    assert exists(tmp_path)  # which is to be refused by whoever opens it


def test_a_place_is_looked_at_and_left_as_it_was(tmp_path: Path) -> None:
    require_foundable(tmp_path / "db")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", ["no digits", "ab" * 31])
@pytest.mark.parametrize("named", [False, True])
def test_a_key_file_has_to_hold_a_key(tmp_path: Path, content: str, named: bool) -> None:
    key = tmp_path / ("keys.txt" if named else "db.key")
    key.write_text(content, encoding="ascii")
    with pytest.raises(KeyMissing):
        require_foundable(tmp_path / "db", key=key if named else None)


@pytest.mark.parametrize("file", ["store", "key", "head"])
def test_every_file_needs_a_folder(tmp_path: Path, file: str) -> None:
    places = {name: tmp_path / name for name in ("store", "key", "head")} | {file: tmp_path / "nowhere" / file}
    with pytest.raises(StoreError, match=f"there is no folder {tmp_path / 'nowhere'} to put {file} into"):
        require_foundable(places["store"], key=places["key"], head=places["head"])


def test_the_head_file_of_a_store_that_is_gone_is_refused(tmp_path: Path) -> None:
    law = ps.WEvent(epsilon=1, w=3)
    with ps.Store(tmp_path / "db") as store, ps.Publisher(ps.Uniform(model=law), store, "s", bins=["a"]) as publisher:
        publisher.publish(ps.Snapshot(1, [5]))
    (tmp_path / "db").unlink()
    with pytest.raises(StoreRolledBack, match="belongs to a store that is gone"):
        require_foundable(tmp_path / "db")
