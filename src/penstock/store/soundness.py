"""Checks of a whole store before anything is written to it: its file, its rows, and what is announced in it."""

from __future__ import annotations

from collections import deque

from penstock.store.account import Account
from penstock.store.archive import Archive

# SQLite reads about 600 MiB a second to check a file. A larger one is checked table by table, but for its releases;
# "penstock ledger verify" always checks everything.
CHECKED_BYTES = 2**30

# Tables with a row for each stream at most, which decide what may be drawn next.
SMALL_TABLES = ("facts", "streams", "populations", "intents", "states")

# The latest records that a restart reads again; "penstock ledger verify" reads all.
RECHECKED_RECORDS = 250_000
RECHECKED_BYTES = 256 * 2**20


def require_sound(archive: Archive) -> None:
    """Refuse a file that SQLite finds damaged, or in which a row belongs to no stream.

    A write into a damaged file makes more damage. A row whose stream is unknown is one that has lost its owner: an
    intent among them would be a charge that is forgotten.
    """
    if archive.path.stat().st_size <= CHECKED_BYTES:
        require_whole(archive)
        return
    _require_tables(archive)
    found = {name for (name,) in archive.query("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    for table in SMALL_TABLES:
        if table in found:
            _require_ok(archive, table)
            _require_owned(archive, table)


def require_whole(archive: Archive) -> None:
    """Refuse a file of any size that SQLite finds damaged, or in which a row belongs to no stream."""
    _require_tables(archive)
    _require_ok(archive, "1")
    _require_owned(archive)


def _require_tables(archive: Archive) -> None:
    if not archive.has_its_tables():
        raise archive.damaged()


def _require_ok(archive: Archive, what: str) -> None:
    """SQLite's own check; ``what`` is a table, or how many faults to look for in the whole file."""
    if archive.query(f"PRAGMA integrity_check({what})") != [("ok",)]:
        raise archive.damaged()


def _require_owned(archive: Archive, table: str = "") -> None:
    if archive.query(f"PRAGMA foreign_key_check({table})" if table else "PRAGMA foreign_key_check"):
        raise archive.damaged()


def require_intents(archive: Archive) -> None:
    """Check the link of every intent: one that has moved to another stream is missing from its own."""
    query = "SELECT name FROM streams JOIN intents ON intents.stream = streams.number"
    for (name,) in archive.query(query):
        archive.intent(archive.account(name))


def recheck(archive: Archive, account: Account) -> None:
    """Make sure that the latest records are what was written: each that is read has its link checked."""
    deque(archive.records(account, after=_find_recent(archive, account)), maxlen=0)


def _find_recent(archive: Archive, account: Account) -> int:
    """The unit after which records are so few, and so small, that a restart can read them all."""
    left = RECHECKED_BYTES
    query = "SELECT t, length(body) FROM releases WHERE stream = ? ORDER BY t DESC LIMIT ?"
    for t, size in archive.query(query, account.number, RECHECKED_RECORDS):
        left -= size
        if left < 0:
            return int(t)
    return max(account.t - RECHECKED_RECORDS, 0)
