"""What SQLite and the operating system complain about, in one sentence each."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.errors import PenstockError, StoreDamaged, StoreError, StoreInUse

DAMAGED = (
    "the store {path} is damaged, or its disk failed for a moment: try again first, and if that does not help restore"
    ' the latest backup and run "penstock ledger adopt", which counts what was published since as spent.'
)
SENTENCES: dict[str, tuple[type[StoreError], str]] = {
    "SQLITE_BUSY": (StoreInUse, "the store {path} is locked by another program; wait for it, or close it."),
    "SQLITE_LOCKED": (StoreInUse, "the store {path} is locked by another program; wait for it, or close it."),
    "SQLITE_READONLY": (StoreError, "the store {path} is read-only; make the file and its folder writable."),
    "SQLITE_FULL": (StoreError, "the disk that holds {path} is full; free some space and run again."),
    "SQLITE_CANTOPEN": (StoreError, "the store {path} cannot be opened; is there such a file, and a folder for it?"),
    "SQLITE_IOERR": (StoreError, "the disk that holds {path} reports an error; try again, then check the disk."),
    "SQLITE_CORRUPT": (StoreDamaged, DAMAGED),
    "SQLITE_NOTADB": (
        StoreDamaged,
        "{path} is not a store, or its beginning is damaged; try again, name another file, or restore a backup.",
    ),
    "SQLITE_MISMATCH": (StoreDamaged, DAMAGED),
    "SQLITE_ERROR": (StoreDamaged, DAMAGED),
}


@contextmanager
def plainly(path: Path) -> Iterator[None]:
    """Turn what goes wrong with the file into a sentence that says what to do."""
    try:
        yield
    except sqlite3.ProgrammingError as fault:
        raise StoreError(f"the store {path} was closed, or is used by another thread than opened it.") from fault
    except sqlite3.Error as fault:
        name = getattr(fault, "sqlite_errorname", None) or "SQLITE_ERROR"
        known = [code for code in SENTENCES if name.startswith(code)]
        kind, sentence = SENTENCES[max(known, key=len)] if known else (StoreError, "the store {path} failed: " + name)
        raise kind(sentence.format(path=path)) from fault
    except (TypeError, ValueError, KeyError) as fault:  # what damaged bytes look like once they are read
        if isinstance(fault, PenstockError):
            raise
        raise StoreDamaged(DAMAGED.format(path=path)) from fault
    except OSError as fault:
        raise StoreError(
            f"{fault.filename or path} cannot be used: {fault.strerror}; mend that and run again."
        ) from fault
