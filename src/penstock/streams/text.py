"""Histogram rows as text: comma-separated values, or one JSON object a line."""

from __future__ import annotations

import csv
import gzip
import json
import sys
from collections.abc import Iterator
from io import TextIOBase
from itertools import chain
from pathlib import Path
from typing import IO, Any

from penstock.errors import BadInput, BadRow
from penstock.models import nearest
from penstock.streams.calendar import Calendar
from penstock.streams.source import Sequencer
from penstock.types import Snapshot

STANDARD = "-"


def open_text(path: str) -> IO[str]:
    """A text file, unpacked if its name ends in .gz, or standard input."""
    if path == STANDARD:
        if isinstance(sys.stdin, TextIOBase) and hasattr(sys.stdin, "reconfigure"):
            sys.stdin.reconfigure(encoding="utf-8-sig", newline="")
        return sys.stdin
    try:
        if path.endswith(".gz"):
            return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
        return Path(path).open(encoding="utf-8-sig", newline="")
    except OSError as fault:
        raise BadInput(f"the input {path} cannot be read: {fault.strerror}.") from None


class CsvSource:
    """Comma-separated rows: a header with the names, then a time and a count for every bin."""

    def __init__(self, lines: IO[str], name: str, *, time: str | None = None, live: bool = False) -> None:
        self.live = live
        self._name = name
        self._lines = lines
        self._reader = csv.reader(lines, strict=True)
        header = next(self._rows(), None)
        if header is None:
            raise BadRow(f"{name} is empty; its first line names the time column and the bins.")
        self._columns = header
        self._time = column_of(time, header, name)
        self.bins = bin_names([cell for i, cell in enumerate(header) if i != self._time], name)

    def snapshots(self, calendar: Calendar) -> Iterator[Snapshot]:
        """Every row as a snapshot."""
        sequencer = Sequencer(calendar, self.bins)
        numbers = [self._time + 1, *(i + 1 for i in range(len(self._columns)) if i != self._time)]
        for row in self._rows():
            place = f"{self._name}, line {self._reader.line_num}"
            if len(row) != len(self._columns):
                raise BadRow(
                    f"{place}: the row has {len(row)} columns and the header {len(self._columns)}; every row needs a"
                    " time and a count for every bin."
                )
            label = row.pop(self._time).strip()
            yield sequencer.snapshot(place, label, as_numbers(row), numbers)

    def _rows(self) -> Iterator[list[str]]:
        """Rows that are not blank."""
        try:
            yield from filter(None, self._reader)
        except (csv.Error, UnicodeDecodeError, EOFError, OSError) as fault:
            raise unreadable(self._name, self._reader.line_num + 1, fault) from None


def as_numbers(cells: list[str]) -> list[Any]:
    """Text as whole numbers where it is some, else as it is, to be refused."""
    try:
        return [int(cell) for cell in cells]
    except ValueError:
        return [_number(cell) for cell in cells]


def _number(cell: str) -> Any:
    try:
        return int(cell) if cell.strip().isdigit() else float(cell)
    except ValueError:
        return cell


class JsonlSource:
    """One JSON object a line: the time, and a count for every bin. The first line says which bins there are."""

    def __init__(self, lines: IO[str], name: str, *, time: str | None = None, live: bool = False) -> None:
        self.live = live
        self._name = name
        self._lines = enumerate(lines, start=1)
        first = next(self._objects(), None)
        if first is None:
            raise BadRow(f"{name} is empty; every line is an object with a time and a count for every bin.")
        self._first = first
        names = list(first[1])
        self._time = names[column_of(time, names, name)]
        self.bins = bin_names([key for key in names if key != self._time], name)

    def snapshots(self, calendar: Calendar) -> Iterator[Snapshot]:
        """Every line as a snapshot."""
        sequencer = Sequencer(calendar, self.bins)
        expected = {self._time, *self.bins}
        numbers = range(1, len(expected) + 1)
        for line, row in chain([self._first], self._objects()):
            place = f"{self._name}, line {line}"
            if row.keys() != expected:
                raise BadRow(f"{place}, {_odd_key(set(row), expected)}.")
            yield sequencer.snapshot(place, str(row[self._time]), [row[name] for name in self.bins], numbers)

    def _objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        number = 0
        try:
            for number, line in self._lines:
                if line.strip():
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise BadRow(f"{self._name}, line {number}: every line is a JSON object; write it as one.")
                    yield number, row
        except (ValueError, RecursionError, EOFError, OSError) as fault:
            if isinstance(fault, BadRow):
                raise
            raise unreadable(self._name, number, fault) from None


def _odd_key(row: set[str], expected: set[str]) -> str:
    new = sorted(row - expected)
    if new:
        return f'column "{new[0]}": the first line has no such bin; declare every bin from the start'
    return f'column "{min(expected - row)}" is missing: give every bin a count, 0 if nothing happened'


def unreadable(name: str, line: int, fault: Exception) -> BadRow:
    """What to raise when a line is not text, or its text is not a row."""
    reason = "is not UTF-8 text" if isinstance(fault, UnicodeError) else "cannot be read as a row"
    return BadRow(f"{name}, line {line} {reason}; mend it and run again.")


def column_of(time: str | None, names: list[str], source: str) -> int:
    """Which column holds the time: the one of that name, or the first."""
    if time is None:
        return 0
    if time not in names:
        raise BadInput(f"{source} has no column {time!r} for the time.{nearest(time, names)}")
    return names.index(time)


def bin_names(names: list[str], source: str) -> tuple[str, ...]:
    """Refuse bins that cannot be told apart, or none at all."""
    if not names:
        raise BadRow(f"{source} has no bins; its first line names the time column and at least one bin.")
    if not all(name.strip() for name in names) or len(set(names)) < len(names):
        raise BadRow(f"{source}: every bin needs a name of its own in the first line.")
    return tuple(names)
