"""Where releases go: comma-separated rows, one JSON object a line, Parquet, standard output.

A file that is there already is continued after its last whole row; what a killed process has left of a row is cut off.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BadInput
from penstock.streams.frames import parquet
from penstock.types import Kind, Published

AFTER_BINS = ("kind", "noise_sd", "charged", "remaining", "cause", "mechanism", "version", "sequence", "link")
BATCH = 1024  # releases in a row group
TAIL = 65536  # bytes looked at first when the last row of a file is searched


class Format(Protocol):
    """How releases are written as lines."""

    def header(self) -> str: ...
    def line(self, release: Published) -> str: ...
    def unit_and_link(self, line: str) -> tuple[int, str]: ...


class Csv:
    """A row a release: time, unit, a value for every bin, and what is known about them."""

    def __init__(self, bins: Sequence[str]) -> None:
        clash = {"t", "unit", *AFTER_BINS} & set(bins)
        if clash:
            raise BadInput(
                f'a bin called "{min(clash)}" would clash with a column of the output; rename it, or use JSONL.'
            )
        self._columns = ["t", "unit", *bins, *AFTER_BINS]

    def header(self) -> str:
        return _row(self._columns)

    def line(self, release: Published) -> str:
        kinds = [Kind(kind).name.lower() for kind in _short(release.kind)]
        about = [";".join(kinds), ";".join(map(repr, _short(release.noise_sd))), *_provenance(release).values()]
        return _row([release.label, release.t, *release.values.tolist(), *about])

    def unit_and_link(self, line: str) -> tuple[int, str]:
        row = next(csv.reader([line]))
        if len(row) != len(self._columns):
            raise ValueError
        return int(row[1]), row[-1]


class Jsonl:
    """A JSON object a release."""

    def __init__(self, bins: Sequence[str]) -> None:
        self._bins = bins

    def header(self) -> str:
        return ""

    def line(self, release: Published) -> str:
        kinds = [Kind(kind).name.lower() for kind in _short(release.kind)]
        about = {
            "kind": kinds[0] if len(kinds) == 1 else kinds,
            "noise_sd": _short(release.noise_sd)[0] if len(_short(release.noise_sd)) == 1 else _short(release.noise_sd),
        }
        values = dict(zip(self._bins, release.values.tolist(), strict=True))
        start = {"stream": release.stream, "t": release.label, "unit": release.t, "values": values}
        return json.dumps(start | about | _provenance(release), ensure_ascii=False) + "\n"

    def unit_and_link(self, line: str) -> tuple[int, str]:
        row = json.loads(line)
        return int(row["unit"]), str(row["link"])


def _row(cells: Sequence[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def _short(array: NDArray[Any]) -> list[Any]:
    """All values, or the one that all of them are."""
    values: list[Any] = array[:1].tolist() if (array == array[0]).all() else array.tolist()
    return values


def _provenance(release: Published) -> dict[str, Any]:
    return {
        "charged": str(release.charged),
        "remaining": str(release.remaining),
        "cause": str(release.cause),
        "mechanism": release.mechanism,
        "version": release.version,
        "sequence": release.sequence,
        "link": release.link,
    }


class StandardSink:
    """Standard output. Nobody knows what was read of it, so every row of the input gets its release again."""

    last: int | None = None
    link = ""

    def __init__(self, form: Format) -> None:
        self._format = form
        self._begun = False

    def write(self, release: Published) -> None:
        sys.stdout.write(("" if self._begun else self._format.header()) + self._format.line(release))
        sys.stdout.flush()
        self._begun = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""


class FileSink:
    """A text file that is continued where it ends. ``link`` is the link of the last release in it."""

    def __init__(self, path: Path, form: Format) -> None:
        self._path = path
        self._format = form
        self.last: int | None = 0
        self.link = ""
        try:
            self._file: IO[bytes] = path.open("r+b" if path.exists() else "x+b")
            self._continue()
        except OSError as fault:
            raise BadInput(f"the output {path} cannot be written: {fault.strerror}.") from None

    def _continue(self) -> None:
        header = self._format.header().encode()
        if self._file.read(len(header)) != header:
            if self._file.seek(0, io.SEEK_END) >= max(len(header), 1):
                raise self._foreign()
            self._file.truncate(0)  # a header that was cut short
            self._file.seek(0)
            self._file.write(header)
            self._file.flush()
            return
        self._cut_torn_row()
        line = self._last_line(len(header))
        if line:
            try:
                self.last, self.link = self._format.unit_and_link(line.decode())
            except (ValueError, KeyError, TypeError):
                raise self._foreign() from None

    def _cut_torn_row(self) -> None:
        size = self._file.seek(0, io.SEEK_END)
        self._file.truncate(size - len(self._read_back(size, b"\n")))
        self._file.seek(0, io.SEEK_END)

    def _last_line(self, start: int) -> bytes:
        """The last whole line after the header."""
        end = self._file.seek(0, io.SEEK_END)
        line = self._read_back(end - 1, b"\n") if end > start else b""
        self._file.seek(0, io.SEEK_END)
        return line

    def _read_back(self, end: int, until: bytes) -> bytes:
        """What lies between the last ``until`` before ``end``, and ``end``."""
        length = min(TAIL, end)
        while True:
            self._file.seek(end - length)
            tail = self._file.read(length)
            if until in tail or length == end:
                return tail[tail.rfind(until) + 1 :]
            length = min(2 * length, end)

    def _foreign(self) -> BadInput:
        return BadInput(f"the output {self._path} exists and holds something else; name another file, or move it away.")

    def write(self, release: Published) -> None:
        try:
            self._file.write(self._format.line(release).encode())
            self._file.flush()
        except OSError as fault:
            raise BadInput(
                f"the output {self._path} cannot be written: {fault.strerror}; its releases are stored, so run again."
            ) from None
        self.last, self.link = release.t, release.link

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


class ParquetSink:
    """A Parquet file, which cannot be continued: it is written anew from the store, and appears when it is whole."""

    last: int | None = 0
    link = ""

    def __init__(self, path: Path, bins: Sequence[str]) -> None:
        Csv(bins)  # the same columns, the same clashes
        self._path = path
        self._bins = bins
        self._fresh = path.with_name(path.name + ".new")
        self._parquet = parquet()
        self._rows: list[Published] = []
        self._writer: Any = None
        if not path.resolve().parent.is_dir():
            raise BadInput(f"the output {path} cannot be written: there is no such folder.")

    def write(self, release: Published) -> None:
        self._rows.append(release)
        self.last = release.t
        if len(self._rows) == BATCH:
            self._write_rows()

    def _write_rows(self) -> None:
        arrow = importlib.import_module("pyarrow")
        columns: dict[str, Any] = {"t": [row.label for row in self._rows], "unit": [row.t for row in self._rows]}
        values = np.array([row.values for row in self._rows]).reshape(len(self._rows), len(self._bins))
        columns |= {name: values[:, i] for i, name in enumerate(self._bins)}
        columns["kind"] = [[Kind(kind).name.lower() for kind in row.kind] for row in self._rows]
        columns["noise_sd"] = [row.noise_sd.tolist() for row in self._rows]
        about = [_provenance(row) for row in self._rows]
        table = arrow.table(columns | {name: [row[name] for row in about] for name in AFTER_BINS[2:]})
        if self._writer is None:
            self._writer = self._parquet.ParquetWriter(self._fresh, table.schema)
        self._writer.write_table(table)
        self._rows.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._rows:
            self._write_rows()
        if self._writer is not None:
            self._writer.close()
            self._fresh.replace(self._path)
