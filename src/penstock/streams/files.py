"""Sources and sinks by the name of a file."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from penstock.errors import BadInput
from penstock.parameters import as_path
from penstock.streams.detection import format_of, open_lines
from penstock.streams.formats import Csv, Format, Jsonl
from penstock.streams.frames import ParquetSource
from penstock.streams.lines import STANDARD
from penstock.streams.parquet_sink import ParquetSink
from penstock.streams.presence import Attendance, Attended
from penstock.streams.sinks import FileSink, StreamSink, unwritable
from penstock.streams.source import Candidate
from penstock.streams.text import CsvSource, JsonlSource


def read(
    path: str | Path, *, form: str | None = None, time: str | None = None, presence: str | Path | None = None
) -> Candidate:
    """The histogram rows of a file (CSV, JSONL or Parquet, by its ending), or of standard input ("-").

    ``form`` says what it holds if its name does not tell; standard input may tell by how it begins. ``time`` names the
    column of the time, else it is the first.
    ``presence`` is a file (CSV or JSONL) that lists who is present in each unit, for m-context: a time and a "user" a
    line, in order of time.
    """
    if presence is None:
        return _counts(str(path), form, time)
    attendance = _attendance(str(presence), live=_is_live(str(path)))
    return Attended(_counts(str(path), form, time), attendance)


def _is_live(name: str) -> bool:
    return name == STANDARD or not Path(name).is_file()


def _counts(name: str, form: str | None, time: str | None) -> Candidate:
    if name != STANDARD and format_of(name, form) == "parquet":
        return ParquetSource(name, time=time)
    lines, kind = open_lines(name, form, live=_is_live(name))
    return CsvSource(lines, time=time) if kind == "csv" else JsonlSource(lines, time=time)


def _attendance(name: str, *, live: bool) -> Attendance:
    if name == STANDARD or not name.removesuffix(".gz").lower().endswith((".csv", ".jsonl", ".ndjson")):
        raise BadInput("who is present is read from a file of lines, .csv or .jsonl, packed (.gz) or not; name one.")
    return Attendance(name, format_of(name, None), live=live)


def write(
    path: str | Path, bins: Sequence[str], *, form: str | None = None, intervals: bool = False
) -> FileSink | StreamSink | ParquetSink:
    """A sink for releases: a file (CSV, JSONL or Parquet, by its ending), or standard output ("-").

    ``intervals`` makes room for those that releases have; pass what the mechanism says of itself (``intervals``).
    """
    name = str(as_path(path))
    if _require_format(name, form) == "parquet":
        return ParquetSink(Path(name), bins, intervals=intervals)
    lines = text_format(name, bins, form, intervals=intervals)
    if name == STANDARD:
        return StreamSink(sys.stdout, "standard output", lines)
    if Path(name).exists() and not Path(name).is_file() and not Path(name).is_dir():
        try:
            return StreamSink(Path(name).open("w", encoding="utf-8"), name, lines)
        except OSError as fault:
            raise unwritable(name, fault) from None
    return FileSink(Path(name), lines)


def look_at(path: str | Path, bins: Sequence[str], *, form: str | None = None, intervals: bool = False) -> int:
    """The last unit that an output holds, or 0. Refuses one that cannot be written, and writes nothing."""
    name, place = str(path), Path(path)
    kind = _require_format(name, form)
    lines = Csv(bins, intervals=intervals) if kind == "parquet" else text_format(name, bins, form, intervals=intervals)
    if name == STANDARD:
        return 0
    try:
        _require_writable(place)
    except OSError as fault:
        raise unwritable(name, fault) from None
    if not place.is_file() and not place.is_dir():
        return 0
    if kind == "parquet":
        return ParquetSink(place, bins, intervals=intervals).last or 0
    with FileSink(place, lines, look=True) as sink:
        return sink.last or 0


def _require_format(name: str, form: str | None) -> str:
    """The format of an output. Refuses those that cannot be written."""
    if name.endswith(".gz"):
        raise BadInput(f"the output {name} would have to be packed, which cannot be continued; leave out .gz.")
    kind = format_of(name, form)
    if kind == "parquet" and name == STANDARD:
        raise BadInput("Parquet cannot be written to standard output; name a file.")
    return kind


def _require_writable(place: Path) -> None:
    """Refuse a file, or a folder for a new one, that is not there or not ours to change."""
    if not place.exists() and not place.resolve().parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    if not os.access(place if place.exists() else place.resolve().parent, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def text_format(name: str, bins: Sequence[str], form: str | None = None, *, intervals: bool = False) -> Format:
    """How releases are written into a text file of this name."""
    kind = format_of(name, form)
    if kind == "parquet":
        raise BadInput(f"{name} is not a text file; give one of lines, .csv or .jsonl.")
    return Csv(bins, intervals=intervals) if kind == "csv" else Jsonl(bins, intervals=intervals)
