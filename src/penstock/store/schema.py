"""The tables, and how a file of an earlier version becomes one of this version."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from penstock.errors import StoreError

APPLICATION = 0x50454E53  # "PENS", in the header of the file
FIXED_WAL = (3, 51, 3)  # the first SQLite whose write-ahead log cannot lose a commit when the log is restarted

# One list of statements a version; a file of version n has run the first n of them.
VERSIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID""",
        """CREATE TABLE streams (
            number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, declaration TEXT NOT NULL,
            link BLOB NOT NULL) STRICT""",
        """CREATE TABLE intents (
            stream INTEGER PRIMARY KEY REFERENCES streams, t INTEGER NOT NULL, label TEXT NOT NULL,
            nano INTEGER NOT NULL, link BLOB NOT NULL) STRICT""",
        """CREATE TABLE releases (
            stream INTEGER NOT NULL REFERENCES streams, t INTEGER NOT NULL, link BLOB NOT NULL, body BLOB NOT NULL,
            PRIMARY KEY (stream, t)) STRICT, WITHOUT ROWID""",
        """CREATE TABLE states (
            stream INTEGER PRIMARY KEY REFERENCES streams, t INTEGER NOT NULL, link BLOB NOT NULL,
            public BLOB NOT NULL, sealed BLOB NOT NULL) STRICT""",
    ),
    (
        """CREATE TABLE populations (
            name TEXT PRIMARY KEY, nano INTEGER NOT NULL, link BLOB NOT NULL) STRICT, WITHOUT ROWID""",
        """ALTER TABLE streams ADD COLUMN population TEXT REFERENCES populations""",
    ),
    (),  # the same tables, whose intents have links that take in the number of the stream: see migration.py
)
LATEST = len(VERSIONS)

# The first version that can be read as it is; an earlier one has to be brought up to date before.
READABLE = 2

# The first version whose intents have the number of their stream in their link.
NUMBERED_INTENTS = 3

# What a connection is told so that a commit that returns has reached the disk.
DURABLE = ("synchronous = FULL",)


def connect(path: str, *, mode: str) -> sqlite3.Connection:
    """A connection whose commits have reached the disk when they return."""
    connection = sqlite3.connect(f"{path}?mode={mode}", uri=True, isolation_level=None, timeout=5)
    try:
        for setting in (*DURABLE, "secure_delete = ON", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {setting}")
    except BaseException:
        connection.close()
        raise
    return connection


def journal_mode(version: tuple[int, int, int] = sqlite3.sqlite_version_info) -> str:
    """The write-ahead log where it is safe; else a rollback journal whose end is itself made durable."""
    return "WAL" if version >= FIXED_WAL else "TRUNCATE"


def begin(connection: sqlite3.Connection) -> None:
    """Use the right journal, which the file remembers for the write-ahead log but not for the other."""
    connection.execute(f"PRAGMA journal_mode = {journal_mode()}")


def version_of(connection: sqlite3.Connection) -> int:
    """The version of the tables, or a refusal if this is not a store or one from the future."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    empty = version == 0 and connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] == 0
    if application != APPLICATION and not empty:
        raise StoreError("this is a database of another program, not a Penstock store; choose another path.")
    if version > LATEST:
        raise StoreError(
            f"this store has version {version} and this Penstock knows {LATEST}; install a newer Penstock."
        )
    return version


def tables_of(connection: sqlite3.Connection) -> set[str]:
    """How the tables and indices of a database are declared, whatever the spaces between the words."""
    return {
        " ".join(text.split()) for (text,) in connection.execute("SELECT sql FROM sqlite_schema WHERE sql NOT NULL")
    }


def has_its_tables(connection: sqlite3.Connection) -> bool:
    """Whether the tables are declared as in a new store of this version: SQLite believes what it reads there."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        upgrade(fresh, to=version_of(connection))
        return tables_of(connection) == tables_of(fresh)


def upgrade(connection: sqlite3.Connection, to: int = LATEST) -> None:
    """Bring the tables to a version. Runs inside the caller's transaction."""
    for version in range(version_of(connection), to):
        for statement in VERSIONS[version]:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {version + 1}")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
