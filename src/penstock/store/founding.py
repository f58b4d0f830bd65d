"""Whether a new store can be made in a place, before anything is made there."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from penstock.errors import StoreError
from penstock.store.faults import plainly
from penstock.store.files import HeadFile, KeyFile


def exists(path: str | Path) -> bool:
    """Whether there is a store, or something else, that has to be opened rather than made."""
    place = Path(path)
    with plainly(place):
        return place.exists() and (not place.is_file() or place.stat().st_size > 0)


def require_foundable(path: str | Path, *, key: str | Path | None = None, head: str | Path | None = None) -> None:
    """Refuse a place where no store can be made, or whose key or head file is in use."""
    place = Path(path).resolve()
    key_file = Path(key) if key else place.with_name(f"{place.name}.key")
    head_file = Path(head) if head else place.with_name(f"{place.name}.head")
    with plainly(place):
        for file in (place, key_file, head_file):
            _require_folder(file)
        HeadFile(head_file).require_unused(place)
        if key_file.exists():
            KeyFile(key_file).read()


def _require_folder(file: Path) -> None:
    folder = file.resolve().parent
    if not folder.is_dir():
        raise StoreError(f"there is no folder {folder} to put {file.name} into; make it and run again.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
