"""Histogram rows in data frames of any kind, and in Parquet files."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from penstock.errors import BadInput
from penstock.streams.calendar import Calendar
from penstock.streams.source import Sequencer
from penstock.streams.text import bin_names, column_of
from penstock.types import Snapshot


class FrameSource:
    """The rows of a data frame (pandas, polars, pyarrow, ...): a column for the time, every other one a bin."""

    live = False

    def __init__(self, frame: Any, *, time: str | None = None, name: str = "the data frame") -> None:
        self._frames = [frame]
        self._begin(list(_narwhal(frame).columns), time, name)

    def _begin(self, columns: list[str], time: str | None, name: str) -> None:
        self._name = name
        self._number = column_of(time, columns, name)
        self._columns = columns
        self.bins = bin_names([column for i, column in enumerate(columns) if i != self._number], name)

    def snapshots(self, calendar: Calendar) -> Iterator[Snapshot]:
        """Every row as a snapshot."""
        sequencer = Sequencer(calendar, self.bins)
        numbers = [self._number + 1, *(i + 1 for i in range(len(self._columns)) if i != self._number)]
        row = 0
        for frame in self._chunks():
            table = _narwhal(frame)
            labels = table[self._columns[self._number]].to_list()
            for label, counts in zip(labels, table.select(*self.bins).to_numpy(), strict=True):
                row += 1
                yield sequencer.snapshot(f"{self._name}, row {row}", _label(label), counts, numbers)

    def _chunks(self) -> Iterable[Any]:
        return self._frames


class ParquetSource(FrameSource):
    """The rows of a Parquet file, a batch at a time."""

    def __init__(self, path: str, *, time: str | None = None) -> None:
        try:
            self._file = parquet().ParquetFile(path)
        except (OSError, ValueError):
            raise BadInput(
                f"the input {path} cannot be read as a Parquet file; check its path and its content."
            ) from None
        self._begin(list(self._file.schema_arrow.names), time, Path(path).name)

    def _chunks(self) -> Iterable[Any]:
        tables = importlib.import_module("pyarrow").Table
        return (tables.from_batches([batch]) for batch in self._file.iter_batches(batch_size=1024))


def parquet() -> Any:
    """The Parquet library, which is an extra."""
    try:
        return importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise BadInput('a Parquet file needs pyarrow; install it with: pip install "penstock[parquet]".') from None


def _narwhal(frame: Any) -> Any:
    import narwhals

    try:
        return narwhals.from_native(frame, eager_only=True)
    except TypeError:
        raise BadInput(
            "this is not a data frame that can be read; pass one of pandas, polars, pyarrow or the like."
        ) from None


def _label(value: Any) -> str:
    """A date or time as ISO text; a midnight that pandas has added to a date is taken away again."""
    text: str = value.isoformat() if hasattr(value, "isoformat") else str(value)
    return text.removesuffix("T00:00:00") if hasattr(value, "isoformat") else text
