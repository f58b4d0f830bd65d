"""Sources and sinks by the name of a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from penstock.errors import BadInput
from penstock.parameters import as_path
from penstock.streams.formats import Csv, Format, Jsonl
from penstock.streams.frames import ParquetSource
from penstock.streams.lines import STANDARD, called, open_bytes
from penstock.streams.presence import Attendance, Attended
from penstock.streams.sinks import FileSink, ParquetSink, StreamSink, unwritable
from penstock.streams.source import Source
from penstock.streams.text import CsvSource, JsonlSource

FORMATS = ("csv", "jsonl", "parquet")


def read(
    path: str | Path, *, form: str | None = None, time: str | None = None, presence: str | Path | None = None
) -> Source:
    """The histogram rows of a file (CSV, JSONL or Parquet, by its ending), or of standard input ("-").

    ``form`` says what it holds if its name does not tell; ``time`` names the column of the time, else it is the first.
    ``presence`` is a file (CSV or JSONL) that lists who is present in each unit, for m-context: a time and a "user" a
    line, in order of time.
    """
    if presence is None:
        return _counts(str(path), form, time)
    attendance = _attendance(str(presence), live=_is_live(str(path)))
    return Attended(_counts(str(path), form, time), attendance)


def _is_live(name: str) -> bool:
    return name == STANDARD or not Path(name).is_file()


def _counts(name: str, form: str | None, time: str | None) -> Source:
    kind = format_of(name, form)
    if kind == "parquet":
        return ParquetSource(name, time=time)
    source = CsvSource if kind == "csv" else JsonlSource
    return source(open_bytes(name), called(name), time=time, live=_is_live(name))


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
    if name.endswith(".gz"):
        raise BadInput(f"the output {name} would have to be packed, which cannot be continued; leave out .gz.")
    kind = format_of(name, form)
    if kind == "parquet":
        if name == STANDARD:
            raise BadInput("Parquet cannot be written to standard output; name a file.")
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


def text_format(name: str, bins: Sequence[str], form: str | None = None, *, intervals: bool = False) -> Format:
    """How releases are written into a text file of this name."""
    kind = format_of(name, form)
    if kind == "parquet":
        raise BadInput(f"{name} is not a text file; give one of lines, .csv or .jsonl.")
    return Csv(bins, intervals=intervals) if kind == "csv" else Jsonl(bins, intervals=intervals)


def format_of(name: str, form: str | None) -> str:
    """What a file holds: by the ending of its name, or else as told; standard input and output hold CSV."""
    if form not in (None, *FORMATS):
        raise BadInput(f"a format is one of {', '.join(FORMATS)}; got {form!r}.")
    ending = Path(name.removesuffix(".gz")).suffix.lstrip(".").lower().replace("ndjson", "jsonl")
    if ending in FORMATS:
        return ending
    if form is None and name != STANDARD:
        raise BadInput(f"{name} does not end in .csv, .jsonl or .parquet; say which format it has.")
    return form or "csv"
