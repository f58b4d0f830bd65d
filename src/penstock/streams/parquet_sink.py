"""Releases as a Parquet file, which cannot be continued and is put in its place when it is whole."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Self

import numpy as np

from penstock.disk import sync_folder
from penstock.errors import BadInput, PenstockError
from penstock.parameters import resolved
from penstock.streams.formats import AFTER_BINS, Csv, provenance
from penstock.streams.frames import parquet
from penstock.streams.sinks import require_alone, unwritable
from penstock.types import Kind, Published

BATCH = 1024  # releases in a row group


class ParquetSink:
    """A Parquet file, which cannot be continued: it is written anew from the store, and appears when it is whole."""

    keeps = False
    mechanism = ""  # of what is continued

    def __init__(self, path: Path, bins: Sequence[str], *, intervals: bool = False) -> None:
        Csv(bins, intervals=intervals)  # the same columns, the same clashes
        self._path = path
        self._intervals = intervals
        self._bins = bins
        self._fresh = path.with_name(path.name + ".new")
        self._parquet = parquet()
        self._rows: list[Published] = []
        self._writer: Any = None
        self.last: int | None = 0
        self.link = ""
        if (path.exists() and not path.is_file()) or not resolved(path).parent.is_dir():
            raise BadInput(f"the output {path} cannot be written: there is no such folder, or it is no file.")
        if path.exists():
            self._look_at_old()
        self._lock = self._locked()

    def _locked(self) -> IO[bytes]:
        """The new file, which no other process writes."""
        try:
            file = self._fresh.open("ab")
        except OSError as fault:
            raise unwritable(self._path, fault) from None
        try:
            require_alone(file, self._fresh, self._path)
        except BaseException:
            file.close()
            raise
        return file

    def _look_at_old(self) -> None:
        """The last release in the file that will be replaced: it must be one of this store's."""
        try:
            columns = self._parquet.read_table(self._path, columns=["unit", "link"]).to_pydict()
            self.last, self.link = max(zip(columns["unit"], columns["link"], strict=True), default=(0, ""))
        except (OSError, ValueError, KeyError, TypeError):
            raise BadInput(
                f"the output {self._path} exists and holds something else; name another file, or move it away."
            ) from None

    def write(self, release: Published) -> None:
        self._rows.append(release)
        self.last, self.link = release.t, release.link
        if len(self._rows) == BATCH:
            self._write_rows()

    def _write_rows(self) -> None:
        arrow = importlib.import_module("pyarrow")
        columns: dict[str, Any] = {"t": [row.label for row in self._rows], "unit": [row.t for row in self._rows]}
        values = np.array([row.values for row in self._rows]).reshape(len(self._rows), len(self._bins))
        columns |= {name: values[:, i] for i, name in enumerate(self._bins)}
        columns["kind"] = [[Kind(kind).name.lower() for kind in row.kind] for row in self._rows]
        columns["noise_sd"] = [row.noise_sd.tolist() for row in self._rows]
        if self._intervals:
            both = {"low": [row.low for row in self._rows], "high": [row.high for row in self._rows]}
            columns |= {name: arrow.array(each, arrow.list_(arrow.int64())) for name, each in both.items()}
        about = [provenance(row) for row in self._rows]
        table = arrow.table(columns | {name: [row[name] for row in about] for name in AFTER_BINS[2:]})
        self._rows.clear()
        try:
            if self._writer is None:
                self._writer = self._parquet.ParquetWriter(self._fresh, table.schema)
            self._writer.write_table(table)
        except OSError as fault:
            raise unwritable(self._path, fault) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        whole = kind is None or issubclass(kind, PenstockError)  # else the file of before stays
        with self._lock:
            try:
                replaced = self._finish(whole)
            except OSError as fault:
                self._fresh.unlink(missing_ok=True)
                raise unwritable(self._path, fault) from None
            if not replaced:
                self._fresh.unlink(missing_ok=True)

    def _finish(self, whole: bool) -> bool:
        """Put the new file in the place of the old one, durably, if it is whole and there is anything in it."""
        if whole and self._rows:
            self._write_rows()
        if self._writer is not None:
            self._writer.close()
        if self._writer is None or not whole:
            return False
        os.fsync(self._lock.fileno())
        self._fresh.replace(self._path)
        sync_folder(self._path.resolve().parent)
        return True
