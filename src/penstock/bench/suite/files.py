"""Files of the benchmark: found in a folder, packed or not, and read whole. What cannot be read is refused."""

from __future__ import annotations

from pathlib import Path

from penstock.errors import BadCounts, BadInput, BadRow
from penstock.streams import Stream
from penstock.streams.lines import Lines, open_bytes
from penstock.streams.names import is_label
from penstock.streams.text import as_numbers
from penstock.types import Ints

PACKED = ".gz"


def found(folder: Path, file: str) -> Path | None:
    """Where a folder has a file, plain or packed; None if it has neither."""
    try:
        there = {path.name for path in folder.iterdir()}
    except OSError as fault:
        raise BadInput(f"the folder of streams {folder} cannot be read: {fault.strerror}; name another.") from None
    return next((folder / name for name in (file, file + PACKED) if name in there), None)


def cells(path: Path) -> list[list[str]]:
    """The cells of a CSV file below the line that names its columns, as many in every row."""
    lines = Lines(open_bytes(str(path)), path.name)
    try:
        whole = list(lines.rows())
    finally:
        lines.close()
    if not whole:
        raise BadRow(f"{path.name} is empty; its first line names its columns.")
    (_, names), *below = whole
    if is_label(names[0]):
        raise BadRow(f"{path.name}: the first line looks like a row; it must name the columns.")
    ragged = next((line for line, row in below if len(row) != len(names)), None)
    if ragged is not None:
        raise BadRow(f"{path.name}, line {ragged}: this row and the first line differ in their number of columns.")
    return [row for _, row in below]


def rows(path: Path) -> tuple[list[str], Ints]:
    """The times and the counts of a CSV file whose first column is the time."""
    below = cells(path)
    return [row[0] for row in below], _counts([row[1:] for row in below], path)


def codes(path: Path) -> Ints:
    """The whole numbers of a CSV file that has no time."""
    return _counts(cells(path), path)


def _counts(below: list[list[str]], path: Path) -> Ints:
    try:
        return Stream([as_numbers(row) for row in below], name=path.name).counts
    except BadCounts:
        raise BadInput(
            f"{path.name} must hold whole numbers from 0 to 2**53 in every row, beside the time, and at least one row;"
            " mend it."
        ) from None
