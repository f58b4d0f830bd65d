"""Releases read back from what they were written to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Self

from penstock.errors import BadInput, BadRow
from penstock.streams.detection import format_of, open_lines
from penstock.streams.formats import ENDS, UNREADABLE, Csv, Format, Jsonl
from penstock.streams.frames import UNREADABLE as UNLISTED
from penstock.streams.frames import open_parquet, read_batches
from penstock.streams.lines import STANDARD, Lines, called
from penstock.types import Published


class Releases:
    """Releases that were written down, in order of time: iterate over them once, as they come.

    ``bins`` are the names of their values, ``intervals`` says that they may have some. Of each everything is known that
    was known when it was written, but a file of columns does not say of which stream it is.
    """

    def __init__(self, form: Format, rows: Iterator[tuple[str, Any]], close: Callable[[], None]) -> None:
        self.bins = form.bins
        self.intervals = form.intervals
        self.close = close
        self._format = form
        self._rows = rows

    def __iter__(self) -> Iterator[Published]:
        before = 0
        try:
            for place, row in self._rows:
                release = self._read(place, row)
                if release.t <= before:
                    raise BadRow(f"{place}: this release is not later than the one before; put them in order of time.")
                before = release.t
                yield release
        finally:
            self.close()

    def _read(self, place: str, row: Any) -> Published:
        try:
            return self._format.release(row)
        except UNREADABLE:
            raise BadRow(f"{place} is not a release; write the file anew from the store.") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_releases(path: str | Path, *, form: str | None = None) -> Releases:
    """The releases in a file (CSV, JSONL or Parquet, by its ending), or on standard input ("-").

    ``form`` says what it holds if its name does not tell; standard input may tell by how it begins. A last line that is
    not finished is left out, since somebody may be writing it.
    """
    name = str(path)
    if name != STANDARD and format_of(name, form) == "parquet":
        return _of_parquet(name)
    lines, kind = open_lines(name, form, torn=True)
    try:
        return _of_csv(lines) if kind == "csv" else _of_jsonl(lines)
    except BaseException:
        lines.close()
        raise


def _of_csv(lines: Lines) -> Releases:
    rows = lines.rows(",")
    _, header = next(rows, (0, []))
    placed = ((f"{lines.name}, line {number}", row) for number, row in rows)
    return Releases(_columns(header, lines.name), placed, lines.close)


def _of_jsonl(lines: Lines) -> Releases:
    objects = lines.objects()
    first = next(objects, None)
    values = first[1].get("values") if first else None
    if first is None or not isinstance(values, dict) or not values:
        raise _foreign(lines.name)
    placed = ((f"{lines.name}, line {number}", row) for number, row in chain([first], objects))
    form = Jsonl(tuple(values), intervals=set(ENDS) <= first[1].keys())
    return Releases(form, placed, lines.close)


def _of_parquet(path: str) -> Releases:
    file, name = open_parquet(path), called(path)
    try:
        form = _columns(file.schema_arrow.names, name)
    except BaseException:
        file.close()
        raise
    batches = (_listed(batch, name) for batch in read_batches(file, name))
    rows = enumerate(chain.from_iterable(batches), start=1)
    return Releases(form, ((f"{name}, row {number}", list(row.values())) for number, row in rows), file.close)


def _listed(batch: Any, name: str) -> list[dict[str, Any]]:
    try:
        rows: list[dict[str, Any]] = batch.to_pylist()
    except UNLISTED:
        raise BadRow(f"{name} holds rows that are no releases; write the file anew from the store.") from None
    return rows


def _columns(names: list[str], name: str) -> Csv:
    try:
        return Csv.of_columns(names)
    except ValueError:
        raise _foreign(name) from None


def _foreign(name: str) -> BadInput:
    return BadInput(f'{name} holds no releases; give a file that "penstock run" or "penstock export" has written.')
