"""New files of text that commands write: each appears when it is whole."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from penstock.cli.console import writing_results
from penstock.errors import BadInput
from penstock.parameters import resolved
from penstock.streams.lines import STANDARD

OTHERS = (".gz", ".jsonl", ".ndjson", ".parquet")


def require_new(output: str) -> None:
    """Refuse a table that could not be written, or would take the place of something."""
    if output == STANDARD:
        return
    path = Path(output)
    if path.suffix.lower() in OTHERS:
        raise BadInput(f"a table is written as CSV, and {output} would hold something else; name a .csv file.")
    if path.exists():
        raise BadInput(f"{output} is there already; name another file, or move it away.")
    if not resolved(path).parent.is_dir():
        raise BadInput(f"the table {output} cannot be written: there is no folder {path.parent}; make it first.")


@contextmanager
def opened(output: str) -> Iterator[IO[str]]:
    """Standard output, or a new file."""
    require_new(output)
    if output == STANDARD:
        with writing_results():
            yield sys.stdout
        return
    path, fresh = Path(output), Path(f"{output}.{os.getpid()}.new")
    try:
        with fresh.open("x", encoding="utf-8", newline="") as file:
            yield file
        fresh.replace(path)
    except OSError as fault:
        raise BadInput(f"the table {output} cannot be written: {fault.strerror}.") from None
    finally:
        fresh.unlink(missing_ok=True)
