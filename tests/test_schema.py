"""The tables of a store: which journal they have, and which versions there are."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from penstock.store import schema


def test_the_right_journal_is_used(tmp_path: Path) -> None:
    with closing(schema.connect((tmp_path / "db").as_uri(), mode="rwc")) as connection:
        schema.begin(connection)
        assert connection.execute("PRAGMA journal_mode").fetchone() == (schema.journal_mode().lower(),)


@pytest.mark.parametrize(("version", "mode"), [((3, 30, 0), "TRUNCATE"), (schema.FIXED_WAL, "WAL"), ((9, 0, 0), "WAL")])
def test_the_write_ahead_log_is_used_where_it_is_safe(version: tuple[int, int, int], mode: str) -> None:
    assert schema.journal_mode(version) == mode


def test_what_is_committed_is_on_the_disk_and_what_is_deleted_is_gone(tmp_path: Path) -> None:
    with closing(schema.connect((tmp_path / "db").as_uri(), mode="rwc")) as connection:
        settings = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "secure_delete")]
        assert settings == [2, 1]
        assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)


def test_tables_are_brought_up_to_date_one_version_after_another(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "db", isolation_level=None)) as connection:
        assert schema.version_of(connection) == 0
        for version in range(1, schema.LATEST + 1):
            schema.upgrade(connection, to=version)
            assert schema.version_of(connection) == version
        schema.upgrade(connection)
        assert schema.version_of(connection) == schema.LATEST
