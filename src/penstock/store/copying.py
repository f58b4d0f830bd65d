"""A copy of a store, made while others go on writing."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from penstock.disk import sync_folder
from penstock.errors import StoreError
from penstock.store import schema
from penstock.store.archive import Archive
from penstock.store.faults import plainly


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
            source.backup(target)  # in one go: a copy in steps begins anew with every commit; writers wait for it
        fresh.rename(to)
        sync_folder(to.resolve().parent)
