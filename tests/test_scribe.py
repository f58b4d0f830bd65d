"""Scribes: no release is shown before the head file knows it."""

from pathlib import Path

import pytest

import penstock as ps


class Crash(BaseException): ...


def crash_at_commit(point: str) -> None:
    if point == "commit":
        raise Crash


def opened(store: ps.Store) -> ps.Publisher:
    return ps.Publisher(ps.Uniform(model=ps.WEvent(epsilon=1, w=4)), store, "s", bins=("a", "b"))


@pytest.mark.parametrize("door", ["releases", "stored"])
def test_what_was_stored_and_not_noted_is_noted_before_it_is_shown(tmp_path: Path, door: str) -> None:
    """Something came between the two."""
    with ps.Store(tmp_path / "db", at=crash_at_commit) as store, opened(store) as publisher:
        with pytest.raises(Crash):
            publisher.publish(ps.Snapshot(1, [1, 2]))
        account = store.account("s")
        assert (account.t, store.known_head(account)) == (1, None)
        found = publisher.stored(1) if door == "stored" else next(iter(publisher.releases()))
        head = store.known_head(account)
        assert found is not None
        assert head is not None
        assert (found.t, found.link, head.t) == (1, head.link.hex(), 1)
