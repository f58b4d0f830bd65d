"""Points from a file: one or more columns of numbers in CSV, JSON lines or Parquet."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from penstock.errors import BadInput, BadRow
from penstock.grid import SURE_DIGITS
from penstock.parameters import nearest
from penstock.streams.detection import format_of, open_lines
from penstock.streams.frames import open_parquet
from penstock.streams.lines import STANDARD, Lines, called
from penstock.streams.names import looks_like_data
from penstock.types import Floats

MOST_SHOWN = 12  # columns in a message

SHOWN_EVERY = 10_000
Rows = Iterator[tuple[int, list[float | None]]]  # number of the row, and its numbers; None for what is none


class Read(NamedTuple):
    """Points, a row each, and the columns they come from."""

    columns: tuple[str, ...]
    values: Floats


@dataclass(frozen=True)
class Table:
    """A file as far as it is known before it is read through: its columns, and which begin with a number."""

    name: str
    called: str  # what it calls a row
    columns: tuple[str, ...]
    numeric: tuple[str, ...]
    rows: Callable[[Sequence[str]], Rows]  # the cells of these columns
    close: Callable[[], None]

    def chosen(self, told: Sequence[str], axes: int) -> tuple[str, ...]:
        """The columns that hold the points: as told, or the only one that can be meant."""
        if any(map(_is_cell, self.columns)) and not set(told) & set(self.columns):  # which would be shown
            raise BadRow(f"{self.name}: the first line looks like a row; it must name the columns.")
        for name in told:
            if self.columns.count(name) != 1:
                has = "several columns" if name in self.columns else "no column"
                near = nearest(name, self.columns)
                raise BadInput(f'{self.name} has {has} called "{name}"; it has {self._listed}.{near}')
        usual = self.columns if len(self.columns) == 1 else self.numeric
        found = tuple(told) or (usual if len(usual) == 1 else ())
        if len(found) != axes or len(set(found)) < axes:
            each = "which one holds the points" if axes == 1 else f"which {axes} of them hold the points, each once"
            raise BadInput(f"{self.name} has the columns {self._listed}; say with --column {each}.")
        return found

    @property
    def _listed(self) -> str:
        more = ", ..." if len(self.columns) > MOST_SHOWN else ""
        return ", ".join(f'"{name}"' for name in self.columns[:MOST_SHOWN]) + more


def read_points(
    path: str | Path,
    columns: Sequence[str] = (),
    *,
    axes: int = 1,
    form: str | None = None,
    show: Callable[[int], None] = lambda number: None,
) -> Read:
    """The points in a file (CSV, JSONL or Parquet, by its ending), or on standard input ("-").

    ``columns`` names a column for each axis; a file with one column of numbers need not be told. A cell that is no
    number is refused by the number of its line, and never shown. ``show`` is told now and then how many were read.
    """
    with closing(_opened(str(path), form)) as table:
        chosen = table.chosen(columns, axes)
        values = []
        for place, cells in table.rows(chosen):
            if None in cells:
                where = f'{table.name}, {table.called} {place}, column "{chosen[cells.index(None)]}"'
                raise BadRow(f"{where}: a point is a finite number; mend it, and write it with 15 digits at most.")
            values.append(cells)
            if not len(values) % SHOWN_EVERY:
                show(len(values))
    if not values:
        raise BadInput(f"{table.name} holds no points; there must be one at least.")
    return Read(chosen, np.array(values, np.float64))


def _opened(path: str, form: str | None) -> Table:
    """The table in a file; one that cannot be used is let go of."""
    if path != STANDARD and format_of(path, form) == "parquet":
        return _parquet(path)
    lines, kind = open_lines(path, form, live=path == STANDARD or not Path(path).is_file())
    try:
        return _csv(lines) if kind == "csv" else _jsonl(lines)
    except BaseException:
        lines.close()
        raise


def as_finite(cell: Any) -> float | None:
    """A cell as a number, if it is a finite one. Text is one if a file of text holds it."""
    try:
        value = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    odd = isinstance(cell, bool) or (isinstance(cell, str) and "_" in cell)  # which Python would let pass
    return None if odd or not math.isfinite(value) or not _is_held(cell, value) else value


def _is_held(cell: Any, value: float) -> bool:
    """Whether a float is written as the number that is told: else two that lie near might be snapped apart."""
    if isinstance(cell, float) or (isinstance(cell, str) and len(cell) <= SURE_DIGITS):
        return True
    return Decimal(cell.strip() if isinstance(cell, str) else cell) == Decimal(repr(value))


def _is_cell(name: str) -> bool:
    """Whether a name looks like a number or a date, not like the name of a column."""
    return as_finite(name) is not None or looks_like_data(name)


def _csv(lines: Lines) -> Table:
    found = lines.rows()
    _, header = next(found, (0, []))
    if not header:
        raise BadRow(f"{lines.name} is empty; its first line names the columns.")
    first = next(found, None)
    begins = zip(header, first[1] if first else (), strict=False)
    numeric = tuple(name for name, cell in begins if as_finite(cell) is not None)

    def rows(chosen: Sequence[str]) -> Rows:
        places = [header.index(name) for name in chosen]
        for number, row in chain([first] if first else [], found):
            if len(row) != len(header):
                raise BadRow(f"{lines.name}, line {number}: its number of columns is not that of the header; mend it.")
            yield number, [as_finite(row[at]) for at in places]

    return Table(lines.name, "line", tuple(header), numeric, rows, lines.close)


def _jsonl(lines: Lines) -> Table:
    found = lines.objects(parse_float=Decimal)  # so that no digit is lost unseen
    first = next(found, None)
    if first is None:
        raise BadRow(f"{lines.name} is empty; every line is an object with the numbers of a point.")
    numeric = tuple(name for name, cell in first[1].items() if _told(cell) is not None)

    def rows(chosen: Sequence[str]) -> Rows:
        for number, row in chain([first], found):
            yield number, [_told(row.get(name)) for name in chosen]

    return Table(lines.name, "line", tuple(first[1]), numeric, rows, lines.close)


def _told(cell: Any) -> float | None:
    """A number that is told as one; text of digits is text."""
    return None if isinstance(cell, str) else as_finite(cell)


def _parquet(path: str) -> Table:
    file, name = open_parquet(path), called(path)
    types, schema = importlib.import_module("pyarrow").types, file.schema_arrow
    kinds = (types.is_integer, types.is_floating, types.is_decimal)
    numeric = tuple(each.name for each in schema if any(is_one(each.type) for is_one in kinds))

    def rows(chosen: Sequence[str]) -> Rows:
        batches = (batch.to_pydict() for batch in file.iter_batches(columns=list(chosen)))
        found = (row for batch in batches for row in zip(*(batch[each] for each in chosen), strict=True))
        return ((number, [_told(cell) for cell in row]) for number, row in enumerate(found, start=1))

    return Table(name, "row", tuple(schema.names), numeric, rows, file.close)
