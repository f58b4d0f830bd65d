"""Where releases go: text files, Parquet, standard output.

A text file that is there already is continued after its last whole row; what a killed process has left of a row is cut
off. A file that holds something else is refused, and left as it is.
"""

from __future__ import annotations

import csv
import importlib
import io
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Self

import numpy as np

from penstock.errors import BadInput, PenstockError
from penstock.parameters import resolved
from penstock.streams.formats import AFTER_BINS, UNREADABLE, Csv, Format, provenance
from penstock.streams.frames import parquet
from penstock.types import Kind, Published

BATCH = 1024  # releases in a row group
TAIL = 65536  # bytes looked at first when the last row of a file is searched


class StreamSink:
    """Standard output, a pipe, a device. Nobody knows what was read of it, so every row gets its release again."""

    last: int | None = None
    link = mechanism = ""
    keeps = True

    def __init__(self, stream: IO[str], name: str, form: Format) -> None:
        self._stream = stream
        self._name = name
        self._format = form
        self._begun = False

    def write(self, release: Published) -> None:
        try:
            self._stream.write(("" if self._begun else self._format.header()) + self._format.line(release))
            self._stream.flush()
        except BrokenPipeError:
            raise
        except (OSError, UnicodeEncodeError) as fault:
            raise unwritable(self._name, fault) from None
        self._begun = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream is not sys.stdout:
            with suppress(OSError):
                self._stream.close()


def unwritable(name: str | Path, fault: OSError | UnicodeEncodeError) -> BadInput:
    """What to raise when an output cannot be written."""
    told = f"it takes {fault.encoding} only" if isinstance(fault, UnicodeEncodeError) else fault.strerror
    reason = told or type(fault).__name__
    return BadInput(f"the output {name} cannot be written: {reason}; what was released is stored, so run again.")


class FileSink:
    """A text file that is continued where it ends. ``link`` and ``mechanism`` are those of the last release in it."""

    keeps = True
    mechanism = ""

    def __init__(self, path: Path, form: Format) -> None:
        self._path = path
        self._format = form
        self.last: int | None = 0
        self.link = ""
        self._row = ""  # the last one that was there
        try:
            # without a buffer, so that what cannot be written is told at once
            self._file: IO[bytes] = path.open("r+b" if path.exists() else "x+b", buffering=0)
        except OSError as fault:
            raise unwritable(self._path, fault) from None
        try:
            self._continue()
        except BaseException:
            self._file.close()
            raise

    def _continue(self) -> None:
        """Find the last whole row, and only then cut off what comes after it."""
        header, size = self._format.header().encode(), self._file.seek(0, io.SEEK_END)
        beginning = self._between(0, min(size, max(len(header), 1)))
        if size < len(header) and header.startswith(beginning):
            size = 0  # new, or a header that was cut short
        elif not beginning.startswith(header):
            raise self._foreign()
        end = size - len(self._line_before(size)) if size else 0
        torn, start = self._between(end, size).decode(errors="replace"), self._format.start
        if not (torn.startswith(start) or start.startswith(torn)):
            raise self._foreign()
        if end > len(header):
            self._read_last(self._line_before(end - 1))
        self._file.truncate(end)
        self._file.seek(end)
        if end == 0:
            self._write(header)

    def _read_last(self, line: bytes) -> None:
        try:
            self._row = line.decode()
            self.last, self.link, self.mechanism = self._format.source(self._row)
        except (*UNREADABLE, csv.Error):
            raise self._foreign() from None

    def ended_with(self, release: Published) -> bool:
        """Whether the last row that was there has the unit, the link and the values of this release."""
        try:
            found = self._format.release(self._format.row(self._row))
        except UNREADABLE:
            return False
        return (found.t, found.link) == (release.t, release.link) and np.array_equal(found.values, release.values)

    def _line_before(self, end: int) -> bytes:
        """What lies between the last line break before ``end``, and ``end``."""
        length = min(TAIL, end)
        while True:
            tail = self._between(end - length, end)
            if b"\n" in tail or length == end:
                return tail[tail.rfind(b"\n") + 1 :]
            length = min(2 * length, end)

    def _between(self, start: int, end: int) -> bytes:
        self._file.seek(start)
        return self._file.read(end - start)

    def write(self, release: Published) -> None:
        self._write(self._format.line(release).encode())
        self.last, self.link = release.t, release.link

    def _write(self, line: bytes) -> None:
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError as fault:
            raise unwritable(self._path, fault) from None

    def _foreign(self) -> BadInput:
        return BadInput(f"the output {self._path} exists and holds something else; name another file, or move it away.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


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
        if kind is not None and not issubclass(kind, PenstockError):
            self._rows.clear()  # interrupted: the file of before stays, until it can be written whole
            self._close()
            self._fresh.unlink(missing_ok=True)
            return
        if self._rows:
            self._write_rows()
        try:
            if self._close():
                self._fresh.replace(self._path)
        except OSError as fault:
            self._fresh.unlink(missing_ok=True)
            raise unwritable(self._path, fault) from None

    def _close(self) -> bool:
        if self._writer is None:
            return False
        self._writer.close()
        return True
