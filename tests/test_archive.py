"""Archives: what can be looked at in a store, and which outputs belong to it."""

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.errors import StoreDamaged, StoreError, StoreRolledBack
from penstock.store import Account, Archive
from penstock.store.archive import READ_AT_ONCE
from penstock.store.files import Head, name_mark
from penstock.store.soundness import recheck

LAW, BINS = ps.WEvent(epsilon=1, w=4), ("a", "b")


def publish(path: Path, units: int, **options: Any) -> list[ps.Published]:
    with ps.Store(path) as store, ps.Publisher(ps.Uniform(model=LAW), store, "s", bins=BINS, **options) as publisher:
        return [publisher.publish(ps.Snapshot(t, (t, 7))) for t in range(publisher.t + 1, units + 1)]


def refuses(archive: Archive, account: Account, last: int, link: str) -> bool:
    """Whether an output that ends with this release is refused, with the reason."""
    try:
        archive.require_output(account, last, link)
    except ps.BadInput as fault:
        return f"a release of t={last} that is not in the store, which ends at t={account.t}" in str(fault)
    return False


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "db"


def test_only_a_store_is_opened(path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store"):
        Archive(path)
    path.touch()
    with pytest.raises(StoreError, match="is empty, and not a store"):
        Archive(path)


def test_an_unknown_stream_is_refused_with_the_names_of_those_there_are(path: Path) -> None:
    publish(path, 1)
    with Archive(path) as archive, pytest.raises(StoreError, match='has no stream "x"; it has s'):
        archive.account("x")


def test_an_output_belongs_to_a_store_that_has_its_last_release(path: Path) -> None:
    """The latest or an earlier one; one without a link is taken at its word, and there is nothing to say of none."""
    links = [""] + [release.link for release in publish(path, 3)]
    with Archive(path) as archive:
        account = archive.account("s")
        assert not any(refuses(archive, account, t, link) for t, link in enumerate(links))
        assert not any(refuses(archive, account, t, "") for t in range(4))
        assert refuses(archive, account, 4, "")
        assert all(refuses(archive, account, t, links[t % 3 + 1]) for t in (1, 2, 3))


def test_an_output_may_know_releases_of_adopted_units_and_of_no_others(path: Path) -> None:
    publish(path, 3)
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    gone = publish(path, 6)
    shutil.copy(copy, path)
    publish(path, 7, adopt=0)
    with Archive(path) as archive:
        account = archive.account("s")
        assert not any(refuses(archive, account, release.t, release.link) for release in gone)
        assert all(refuses(archive, account, t, gone[0].link) for t in (1, 2, 3, 7))


@pytest.mark.parametrize("after", [0, 1, READ_AT_ONCE - 1, READ_AT_ONCE, READ_AT_ONCE + 1, READ_AT_ONCE + 2])
def test_records_are_read_from_any_unit_on_to_the_last(path: Path, after: int) -> None:
    units = READ_AT_ONCE + 2
    publish(path, units)
    with Archive(path) as archive:
        account = archive.account("s")
        assert [record.t for record in archive.records(account, after)] == list(range(after + 1, units + 1))
        assert [release.t for release in archive.published(account, after)] == list(range(after + 1, units + 1))


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE releases SET body = (SELECT body FROM releases WHERE t = 2) WHERE t = 3",
        "UPDATE releases SET link = (SELECT link FROM releases WHERE t = 2) WHERE t = 3",
        "DELETE FROM releases WHERE t = 3",
        "DELETE FROM releases WHERE t > 2",
        "UPDATE releases SET t = 2 * t WHERE t > 2",
    ],
)
def test_records_end_where_something_was_changed(path: Path, change: str) -> None:
    publish(path, 4)
    with Archive(path) as archive:
        account, found = archive.account("s"), []
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(change)
        with pytest.raises(StoreDamaged, match="is damaged"):
            found += [record.t for record in archive.records(account)]
        records = archive.records(account)
        assert [next(records).t, next(records).t] == [1, 2]
        with pytest.raises(StoreDamaged, match="is damaged"):
            next(records)


def test_a_restart_reads_more_than_a_few_records_again(path: Path) -> None:
    bins = [f"b{i}" for i in range(500)]
    with ps.Store(path) as store, ps.Publisher(ps.Uniform(model=LAW), store, "s", bins=bins) as publisher:
        for t in range(1, 41):
            publisher.publish(ps.Snapshot(t, [t] * 500))
    with Archive(path) as archive:
        recheck(archive, archive.account("s"))
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE releases SET body = x'00' WHERE t = 1")
        with pytest.raises(StoreDamaged, match="is damaged"):
            recheck(archive, archive.account("s"))


def test_a_head_that_gives_its_place_to_another_stream_is_refused(path: Path) -> None:
    """Either the name has another number in it, or the number another name."""
    publish(path, 2)
    with Archive(path) as archive:
        account = archive.account("s")
        assert archive.known_head(account) == Head(2, account.link, account.number, name_mark("s"))
        archive.require_latest(account)
        for wrong in (replace(account, number=account.number + 1), replace(account, name="other")):
            with pytest.raises(StoreRolledBack, match="another stream has the place of"):
                archive.known_head(wrong)
        assert archive.known_head(replace(account, name="other", number=account.number + 1)) is None
        with pytest.raises(StoreRolledBack, match="does not know the stream"):
            archive.require_latest(replace(account, name="other", number=account.number + 1))
        archive.require_latest(replace(account, name="other", number=account.number + 1, t=1))


def test_before_the_head_knows_the_last_release_it_is_not_visible(path: Path) -> None:
    """Nor without a head file, because then it is not known."""
    links = [""] + [release.link for release in publish(path, 3)]
    with Archive(path) as archive:
        assert (archive.visible("s").t, archive.visible("s").link.hex()) == (3, links[3])
    path.with_name("db.head").unlink()
    with Archive(path) as archive:
        assert (archive.visible("s").t, archive.visible("s").link.hex()) == (2, links[2])
