"""Tables of errors on disk, in the user's folder for caches: what is there is a table, or it is made anew."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import numpy as np

from penstock.types import Floats


def find_folder() -> Path | None:
    """``$XDG_CACHE_HOME/penstock``, or ``~/.cache/penstock``; None if there is no home folder. It need not be there."""
    told = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if told.is_absolute():
        return told / "penstock"
    try:
        home = Path.home()
    except RuntimeError:
        return None
    return home / ".cache" / "penstock" if home.is_absolute() and home.is_dir() else None


def can_write(folder: Path) -> bool:
    """Whether files can be made in the folder, which is made if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def read_table(path: Path, shape: tuple[int, ...]) -> Floats | None:
    """What the file holds, if that is a table of this shape; else None."""
    try:
        with path.open("rb") as file:
            table: Floats = np.lib.format.read_array(file, allow_pickle=False)
    except Exception:  # of a damaged head numpy's parser raises TokenError, TypeError and others
        return None
    return table if table.dtype == np.float64 and table.shape == shape and np.isfinite(table).all() else None


def write_table(path: Path, table: Floats) -> None:
    """Keep a table for the next time, if there is room; whole or not at all."""
    partial = path.with_name(f"{path.stem}-{os.getpid()}.part.npy")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(partial, table)
        partial.replace(path)
    except OSError:
        with suppress(OSError):
            partial.unlink()
