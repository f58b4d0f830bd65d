"""Histogram rows as text: comma-separated values, or one JSON object a line."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from penstock.errors import BadRow
from penstock.streams.lines import Lines
from penstock.streams.source import Columns, Row, Table

# 1.234 is 1234 where columns are separated by semicolons, because the comma is a decimal point, and 1.234 elsewhere.
THOUSANDS = re.compile(r"\s*\d{1,3}(\.\d{3})+\s*")


class TextSource(Table):
    """Histogram rows in lines of text."""

    def __init__(self, lines: Lines, *, time: str | None = None) -> None:
        self.live = lines.live
        self._name = lines.name
        self._lines = lines
        try:
            self._columns = self._begin(time)
        except BaseException:
            self.close()
            raise
        self.bins = self._columns.bins

    @abstractmethod
    def _begin(self, time: str | None) -> Columns:
        """Read which columns there are."""

    def close(self) -> None:
        """Let go of the file."""
        self._lines.close()


class CsvSource(TextSource):
    """Separated rows: a header with the names, then a time and a count for every bin.

    Spreadsheets leave cells without content behind the last column, and rows of them behind the last row; they are
    passed over.
    """

    def _begin(self, time: str | None) -> Columns:
        self._rows = self._lines.rows()
        header = next(self._rows, None)
        if header is None:
            raise BadRow(f"{self._name} is empty; its first line names the time column and the bins.")
        return Columns(_without_blanks(header[1], 0), time, self._name)

    def _labelled(self) -> Iterator[Row]:
        width = len(self._columns.names)
        for line, row in self._rows:
            place, cells = f"{self._name}, line {line}", _without_blanks(row, width)
            if not any(map(str.strip, cells)):
                continue
            if len(cells) != width:
                raise BadRow(
                    f"{place}: this row and the header differ in their number of columns ({len(cells)} and {width});"
                    " every row needs a time and a count for every bin."
                )
            label = cells.pop(self._columns.time)
            yield place, label, self._numbers(place, cells)

    def _numbers(self, place: str, cells: list[str]) -> list[Any]:
        """The counts of a row, unless a point in one may separate thousands."""
        if self._lines.separator != "," and any(map(THOUSANDS.fullmatch, cells)):
            where = next(i for i, cell in enumerate(cells) if THOUSANDS.fullmatch(cell))
            raise BadRow(
                f"{place}, column {self._columns.number(where)}: whether the point in this count separates thousands is"
                " not known; write counts with digits alone."
            )
        return as_numbers(cells)


def _without_blanks(cells: list[str], width: int) -> list[str]:
    """The cells without blank ones behind the column of this number."""
    while len(cells) > width and not cells[-1].strip():
        cells.pop()
    return cells


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
                raise BadRow(f"{place}, {_odd_key(list(row), self._columns.names)}.")
            cells = [row[name] for name in self.bins]
            numbers = [cell if type(cell) in (int, float, str) else "" for cell in cells]
            yield place, row[time], numbers


def _odd_key(row: Sequence[str], expected: Sequence[str]) -> str:
    """What is wrong with the names of a row; a name that was not declared may be a value, and is not shown."""
    new = next((column for column, name in enumerate(row, start=1) if name not in set(expected)), None)
    if new is not None:
        return f"column {new}: the first line has no such bin; declare every bin from the start"
    missing = min(set(expected) - set(row))
    return f'column "{missing}" is missing: give every bin a count, 0 if nothing happened'
