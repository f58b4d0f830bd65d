"""Histogram rows in data frames of any kind, and in Parquet files."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from penstock.errors import BadInput, BadRow
from penstock.parameters import as_path
from penstock.streams.source import Columns, Row, Table

BATCH = 1024  # rows of a Parquet file that are read at once
UNREADABLE = (TypeError, ValueError, OverflowError, NotImplementedError)  # what a column does that Python cannot hold


class FrameSource(Table):
    """The rows of a data frame (pandas, polars, pyarrow, ...): a column for the time, every other one a bin."""

    live = False

    def __init__(self, frame: Any, *, time: str | None = None, name: str = "the data frame") -> None:
        self._frame = frame
        self._begin(list(_narwhal(frame).columns), time, name)

    def _begin(self, names: list[Any], time: str | None, name: str) -> None:
        if not all(isinstance(each, str) for each in names):
            raise BadInput(f"{name} has columns without names; give every column a name that is text.")
        self._name = name
        self._columns = Columns(names, time, name)
        self.bins = self._columns.bins

    def _labelled(self) -> Iterator[Row]:
        row = 0
        for frame in self._chunks():
            table = _narwhal(frame)
            labels = self._labels(table[self._columns.names[self._columns.time]], row)
            try:
                counts = _counts_of(table.select(*self.bins))
            except UNREADABLE:
                raise BadRow(
                    f"{self._name}: a column holds something else than counts; name the time with --time."
                ) from None
            for label, cells in zip(labels, counts, strict=True):
                row += 1
                yield f"{self._name}, row {row}", label, cells

    def _labels(self, column: Any, before: int) -> Iterator[Any]:
        """The times in a column; one that Python has no time for is refused in its turn, after the rows before it."""
        try:
            yield from column.to_list()
        except UNREADABLE:
            for number in range(len(column)):
                try:
                    yield column[number : number + 1].to_list()[0]
                except UNREADABLE:
                    place = f"{self._name}, row {before + number + 1}, column {self._columns.time + 1}"
                    raise BadRow(f"{place}: the time lies in no year from 1 to 9999; mend it.") from None

    def _chunks(self) -> Iterable[Any]:
        return [self._frame]

    def close(self) -> None:
        """Nothing to let go of."""


class ParquetSource(FrameSource):
    """The rows of a Parquet file, a batch at a time."""

    def __init__(self, path: str, *, time: str | None = None) -> None:
        self._file = open_parquet(path)
        self._begin(list(self._file.schema_arrow.names), time, Path(path).name)

    def _chunks(self) -> Iterable[Any]:
        tables = importlib.import_module("pyarrow").Table
        return (tables.from_batches([batch]) for batch in read_batches(self._file, self._name))

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def parquet() -> Any:
    """The Parquet library, which is an extra."""
    try:
        return importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise BadInput('a Parquet file needs pyarrow; install it with: pip install "penstock[parquet]".') from None


def open_parquet(path: str) -> Any:
    """A Parquet file, to read."""
    try:
        return parquet().ParquetFile(as_path(path), page_checksum_verification=True)
    except (*UNREADABLE, OSError):
        raise BadInput(f"the input {path} cannot be read as a Parquet file; check its path and content.") from None


def _counts_of(table: Any) -> Any:
    """The cells of all bins; a TypeError for truths, which beside numbers would be taken for 0 and 1."""
    import narwhals

    if narwhals.Boolean in table.schema.dtypes():
        raise TypeError
    return table.to_numpy()


def read_batches(file: Any, name: str) -> Iterator[Any]:
    """The rows of a Parquet file, some at a time; those before a damaged page are given one by one."""
    row, damaged = 0, (*UNREADABLE, OSError, MemoryError, importlib.import_module("pyarrow").ArrowException)
    for size in (BATCH, 1):
        before = 0
        try:
            for batch in file.iter_batches(batch_size=size):
                before += batch.num_rows
                if before > row:
                    row = before
                    yield batch
        except damaged:
            continue
        return
    raise BadRow(f"{name}, row {row + 1} cannot be read; the file is damaged, so write it anew.")


def _narwhal(frame: Any) -> Any:
    import narwhals
    from narwhals.exceptions import NarwhalsError

    try:
        table = narwhals.from_native(frame, eager_only=True)
        index = narwhals.maybe_get_index(table)
    except (TypeError, ValueError, NarwhalsError):
        raise BadInput(
            "this is not a data frame with a name for every column; pass one of pandas, polars, ..."
        ) from None
    if type(index).__name__ in ("DatetimeIndex", "PeriodIndex"):
        raise BadInput("the time of this data frame is in its index; make it a column with reset_index().")
    return table
