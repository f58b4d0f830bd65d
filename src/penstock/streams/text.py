"""Histogram rows as text: comma-separated values, or one JSON object a line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import chain
from typing import IO, Any

from penstock.errors import BadRow
from penstock.streams.calendar import Calendar
from penstock.streams.lines import Lines
from penstock.streams.source import Columns, Row, Sequencer
from penstock.types import Snapshot


class TextSource(ABC):
    """Histogram rows in lines of text."""

    bins: tuple[str, ...]

    def __init__(self, lines: IO[bytes], name: str, *, time: str | None = None, live: bool = False) -> None:
        self.live = live
        self._name = name
        self._lines = Lines(lines, name, live=live)
        try:
            self._columns = self._begin(time)
        except BaseException:
            self.close()
            raise
        self.bins = self._columns.bins

    @abstractmethod
    def _begin(self, time: str | None) -> Columns:
        """Read which columns there are."""

    @abstractmethod
    def _labelled(self) -> Iterator[Row]:
        """Every row with its place and its label."""

    def snapshots(self, calendar: Calendar) -> Iterator[Snapshot]:
        """Every row as a snapshot."""
        try:
            yield from Sequencer(calendar, self._columns).snapshots(self._labelled(), live=self.live)
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._lines.close()


class CsvSource(TextSource):
    """Comma-separated rows: a header with the names, then a time and a count for every bin."""

    def _begin(self, time: str | None) -> Columns:
        self._rows = self._lines.rows()
        header = next(self._rows, None)
        if header is None:
            raise BadRow(f"{self._name} is empty; its first line names the time column and the bins.")
        return Columns(header[1], time, self._name)

    def _labelled(self) -> Iterator[Row]:
        width = len(self._columns.names)
        for line, row in self._rows:
            place = f"{self._name}, line {line}"
            if len(row) != width:
                raise BadRow(
                    f"{place}: this row and the header differ in their number of columns ({len(row)} and {width});"
                    " every row needs a time and a count for every bin."
                )
            label = row.pop(self._columns.time)
            yield place, label, as_numbers(row)


def as_numbers(cells: list[str]) -> list[Any]:
    """Text as whole numbers where it is some, else as it is, to be refused."""
    try:
        if "_" not in "".join(cells):  # which Python would let pass inside a number
            return [int(cell) for cell in cells]
    except ValueError:
        pass
    return [_number(cell) for cell in cells]


def _number(cell: str) -> Any:
    try:
        return int(cell) if cell.strip().isdigit() else float(cell.replace("_", "?"))
    except ValueError:
        return cell


class JsonlSource(TextSource):
    """One JSON object a line: the time, and a count for every bin. The first line says which bins there are."""

    def _begin(self, time: str | None) -> Columns:
        self._objects = self._lines.objects()
        first = next(self._objects, None)
        if first is None:
            raise BadRow(f"{self._name} is empty; every line is an object with a time and a count for every bin.")
        self._first = first
        return Columns(list(first[1]), time, self._name)

    def _labelled(self) -> Iterator[Row]:
        expected, time = set(self._columns.names), self._columns.names[self._columns.time]
        for line, row in chain([self._first], self._objects):
            place = f"{self._name}, line {line}"
            if row.keys() != expected:
                raise BadRow(f"{place}, {_odd_key(set(row), expected)}.")
            cells = [row[name] for name in self.bins]
            numbers = [cell if type(cell) in (int, float) else str(cell) for cell in cells]
            yield place, row[time], numbers


def _odd_key(row: set[str], expected: set[str]) -> str:
    new = sorted(row - expected)
    if new:
        return f'column "{new[0]}": the first line has no such bin; declare every bin from the start'
    return f'column "{min(expected - row)}" is missing: give every bin a count, 0 if nothing happened'
