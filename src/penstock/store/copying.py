"""A copy of a store, made while others go on writing."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from penstock.errors import StoreError
from penstock.store import schema
from penstock.store.archive import Archive
from penstock.store.faults import plainly

PAGES = 1024  # copied at a time, so that writers get their turn
PAUSE = 0.01  # seconds


def copy(archive: Archive, to: Path) -> None:
    """A consistent copy of the database, which appears when it is whole."""
    if to.exists():
        raise StoreError(f"{to} exists already; a copy never overwrites anything, so name another file.")
    fresh = to.with_name(to.name + ".new")
    with plainly(fresh):
        fresh.unlink(missing_ok=True)
        source = schema.connect(archive.path.as_uri(), mode="rw")
        target = schema.connect(fresh.resolve().as_uri(), mode="rwc")
        with closing(source), closing(target):
            source.backup(target, pages=PAGES, sleep=PAUSE)
        fresh.rename(to)
