"""A store is looked through before anything is written to it: what has lost its stream, or its place, is found."""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from in_process import Crash, crash_at
from penstock.errors import StoreDamaged
from penstock.store import Archive, soundness
from penstock.store.verify import verify, verify_file
from penstock.types import Cause

LAW, BINS, UNITS = ps.WEvent(epsilon=1, w=6), ("x", "y"), 20


def publish(path: Path, until: int, name: str = "st", **options: Any) -> None:
    with ps.Store(path, **options) as store:
        publisher = ps.Publisher(ps.Uniform(model=LAW), store, name, bins=BINS)
        for t in range(publisher.t + 1, until + 1):
            publisher.publish(ps.Snapshot(t, (3 * t, 5)))


def causes(path: Path) -> list[Cause]:
    with Archive(path) as archive:
        return [release.cause for release in archive.published(archive.account("st"))]


def sql(path: Path, statement: str, *values: Any) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement, values).fetchall()


def check(path: Path) -> None:
    with Archive(path) as archive:
        verify_file(archive)
        for name in archive.streams():
            verify(archive, name)


@pytest.fixture
def crashed(tmp_path: Path) -> Path:
    """A store whose twentieth unit was drawn and never stored: an intent stands for it."""
    publish(tmp_path / "db", UNITS - 1)
    with suppress(Crash):
        publish(tmp_path / "db", UNITS, at=crash_at("draw"))
    return tmp_path / "db"


def test_a_bit_of_an_intent_that_flips_does_not_forget_a_unit(crashed: Path) -> None:
    """The number of the stream is where SQLite keeps it, so that one bit gives the intent to another stream."""
    ((page,),) = sql(crashed, "SELECT rootpage FROM sqlite_schema WHERE name = 'intents'")
    data = bytearray(crashed.read_bytes())
    start = (page - 1) * 4096
    cell = start + int.from_bytes(data[start + 8 : start + 10], "big")
    data[cell + 1] ^= 0x10
    crashed.write_bytes(data)
    assert sql(crashed, "SELECT stream, t FROM intents") == [(17, UNITS)]
    for door in (check, lambda path: publish(path, UNITS)):
        with pytest.raises(StoreDamaged):
            door(crashed)
    data[cell + 1] ^= 0x10
    crashed.write_bytes(data)
    publish(crashed, UNITS + 1)
    assert causes(crashed)[-2:] == [Cause.LOST, Cause.DECIDED]


@pytest.mark.parametrize("most", [soundness.CHECKED_BYTES, 0], ids=["whole", "table by table"])
@pytest.mark.parametrize("table", ["intents", "states"])
def test_a_row_of_no_stream_is_found(crashed: Path, table: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soundness, "CHECKED_BYTES", most)
    if table == "states":
        sql(crashed, "INSERT INTO states VALUES (1, 5, x'00', x'00', x'00')")
    sql(crashed, f"UPDATE {table} SET stream = 17")
    with pytest.raises(StoreDamaged):
        publish(crashed, UNITS)
    with pytest.raises(StoreDamaged):
        check(crashed)


def test_an_intent_that_went_to_another_stream_is_found_from_either(crashed: Path) -> None:
    publish(crashed, 3, "other")
    sql(crashed, "UPDATE intents SET stream = 2")
    for name in ("st", "other"):
        with pytest.raises(StoreDamaged):
            publish(crashed, UNITS, name)
    with pytest.raises(StoreDamaged):
        check(crashed)


@pytest.mark.parametrize("at", [33, 39, 55, 102], ids=["free list", "free pages", "largest root", "free bytes"])
def test_nothing_is_written_to_a_damaged_file(tmp_path: Path, at: int) -> None:
    """Damage of the header, which no row shows."""
    path = tmp_path / "db"
    publish(path, 3)
    data = bytearray(path.read_bytes())
    data[at] ^= 0x04
    path.write_bytes(data)
    with pytest.raises(StoreDamaged):
        publish(path, 4)
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"nano INTEGER NOT NULL, link", b"nano INTEGER NOT NULL, lilk"), (b"REFERENCES streams", b"REFERENCES strEAmz")],
)
def test_a_declaration_that_has_changed_is_found(tmp_path: Path, old: bytes, new: bytes) -> None:
    """SQLite believes what it reads: a column has another name, or the stream of a row is looked for elsewhere."""
    path = tmp_path / "db"
    publish(path, 3)
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))
    for door in (check, lambda path: publish(path, 4)):
        with pytest.raises(StoreDamaged):
            door(path)


def test_a_table_that_nobody_has_read_yet_is_looked_at_too(tmp_path: Path) -> None:
    """Nothing is announced, so that no row of the table is asked for."""
    path = tmp_path / "db"
    publish(path, 3)
    data = path.read_bytes()
    assert data.count(b"label TEXT") == 1
    path.write_bytes(data.replace(b"label TEXT", b"lobel TEXT"))
    with Archive(path) as archive, pytest.raises(StoreDamaged):
        verify_file(archive)


def test_what_is_said_of_damage_begins_with_trying_again(crashed: Path) -> None:
    sql(crashed, "UPDATE intents SET stream = 17")
    with pytest.raises(StoreDamaged, match=r"try again first.*restore the latest backup"):
        publish(crashed, UNITS)
