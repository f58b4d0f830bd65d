"""Where releases go: text files, Parquet, standard output.

A text file that is there already is continued after its last whole row; what a killed process has left of a row is cut
off. A file that holds something else is refused, and left as it is.
"""

from __future__ import annotations

import csv
import importlib
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Self

import numpy as np

from penstock.disk import sync_folder, take_lock
from penstock.errors import BadInput, PenstockError
from penstock.parameters import resolved
from penstock.streams.formats import AFTER_BINS, UNREADABLE, Csv, Format, provenance
from penstock.streams.frames import parquet
from penstock.types import Kind, Published

BATCH = 1024  # releases in a row group
TAIL = 65536  # bytes looked at first when the last row of a file is searched

# Rows are made durable whenever they add up to so many bytes, which bounds what a power cut can spoil. Every row can be
# written again from the store, so none has to be durable at once.
SYNCED_BYTES = 2**18


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


def require_alone(file: IO[bytes], path: Path, output: Path) -> None:
    """Refuse an output that another process is writing, or has just put in its place: their rows would be mixed."""
    try:
        alone = take_lock(file.fileno()) and os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError as fault:
        raise unwritable(output, fault) from None
    if not alone:
        raise BadInput(f"another process is writing the output {output}; wait for it to end, or name another file.")


class FileSink:
    """A text file that is continued where it ends. ``link`` and ``mechanism`` are those of the last release in it.

    One that is only to be looked at is left as it is.
    """

    keeps = True
    mechanism = ""

    def __init__(self, path: Path, form: Format, *, look: bool = False) -> None:
        self._path = path
        self._format = form
        self._looks = look
        self.last: int | None = 0
        self.link = ""
        self._row = ""  # the last one that was there
        self._unsynced = 0  # bytes that a power cut may spoil
        try:
            # without a buffer, so that what cannot be written is told at once
            self._file: IO[bytes] = path.open("rb" if look else "r+b" if path.exists() else "x+b", buffering=0)
            try:
                require_alone(self._file, path, path)
                self._continue()
            except BaseException:
                self._file.close()
                raise
        except OSError as fault:
            raise unwritable(self._path, fault) from None

    def _continue(self) -> None:
        """Find the last whole row, and only then cut off what comes after it."""
        header, size = self._format.header().encode(), self._file.seek(0, io.SEEK_END)
        beginning = self._between(0, min(size, max(len(header), SYNCED_BYTES)))
        begun = beginning.rstrip(b"\0") if size == len(beginning) else beginning
        if len(begun) < len(header) and header.startswith(begun):
            size = 0  # new, or a header that was cut short
        elif not beginning.startswith(header):
            raise self._foreign()
        end = self._whole_end(size) if size else 0
        torn, _, beyond = self._between(end, size).partition(b"\0")
        row, start = torn.decode(errors="replace"), self._format.start
        if not (row.startswith(start) or start.startswith(row)) or (end == 0 and beyond.strip(b"\0")):
            raise self._foreign()
        if end > len(header):
            self._read_last(self._line_before(end - 1))
        if not self._looks:
            self._begin_at(end, header)

    def _begin_at(self, end: int, header: bytes) -> None:
        self._file.truncate(end)
        self._file.seek(end)
        if end == 0:
            self._unsynced = SYNCED_BYTES  # so that what comes first, and the name of the file, are durable
            self._write(header)

    def _whole_end(self, size: int) -> int:
        """Where the last whole row ends. After a power cut, rows that were not yet durable can be zeros."""
        end = size - len(self._line_before(size))
        start = max(end - len(self._line_before(end - 1)) - SYNCED_BYTES, 0) if end else 0
        zero = self._between(start, size).find(b"\0")
        return end if zero < 0 else start + zero - len(self._line_before(start + zero))

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
        self._unsynced += len(line)
        try:
            while line:
                line = line[self._file.write(line) :]
            if self._unsynced >= SYNCED_BYTES:
                self._sync()
        except OSError as fault:
            raise unwritable(self._path, fault) from None

    def _sync(self) -> None:
        os.fsync(self._file.fileno())
        sync_folder(self._path.resolve().parent)
        self._unsynced = 0

    def _foreign(self) -> BadInput:
        return BadInput(f"the output {self._path} exists and holds something else; name another file, or move it away.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._unsynced:
                self._sync()
        except OSError as fault:
            raise unwritable(self._path, fault) from None
        finally:
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
