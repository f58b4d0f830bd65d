"""Which format an input has: by its name, as told, or else by its first bytes."""

from __future__ import annotations

import re
from pathlib import Path

from penstock.errors import BadInput, BadRow
from penstock.streams.lines import STANDARD, Lines, called, open_bytes

FORMATS = ("csv", "jsonl", "parquet")
# What is no text of lines, by how it begins, and what to do about it.
SIGNATURES = {
    b"\x1f\x8b": "is packed; unpack it first, or name a file that ends in .gz",
    b"PK\x03\x04": "is a spreadsheet or an archive; save the sheet as CSV in UTF-8",
    b"PAR1": "is Parquet, which is read from a file whose name ends in .parquet; name one",
    b"SQLite format 3": "is a database; export the rows as CSV",
    b"\xff\xfe": "is UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "is UTF-16 text; save it as UTF-8",
}
JSON_ARRAY = re.compile(rb"\s*\[\s*([\[{\"\d-]|$)")
JSON_OBJECT = re.compile(rb"\s*\{")


def format_of(name: str, form: str | None) -> str:
    """The format of a file: by the ending of its name, or else as told. Standard output has CSV."""
    found = told_format(name, form)
    if found is None and name != STANDARD:
        raise BadInput(f"{name} does not end in .csv, .jsonl or .parquet; say which format it has.")
    return found or "csv"


def told_format(name: str, form: str | None) -> str | None:
    """The format by the ending of a name, or else as told; None if neither tells."""
    if form not in (None, *FORMATS):
        raise BadInput(f"a format is one of {', '.join(FORMATS)}; got {form!r}.")
    ending = Path(name.removesuffix(".gz")).suffix.lstrip(".").lower().replace("ndjson", "jsonl")
    return ending if ending in FORMATS else form


def open_lines(name: str, form: str | None, *, live: bool = False, torn: bool = False) -> tuple[Lines, str]:
    """A file of lines and its format, csv or jsonl; standard input may tell by how it begins."""
    kind = format_of(name, form)
    if kind == "parquet":
        raise BadInput("Parquet cannot be read from standard input; name a file.")
    lines = Lines(open_bytes(name), called(name), live=live, torn=torn)
    try:
        found = detected(lines)
        if found == "jsonl" and kind == "csv" and told_format(name, form) is not None:
            raise BadRow(f"{lines.name} holds JSON, not CSV; end its name in .jsonl, or say that its format is jsonl.")
    except BaseException:
        lines.close()
        raise
    return lines, "jsonl" if found == "jsonl" else kind


def detected(lines: Lines) -> str:
    """The format of lines by how they begin. Refuses what has none."""
    begins = lines.beginning
    for signature, what in SIGNATURES.items():
        if begins.startswith(signature):
            raise BadRow(f"{lines.name} {what}.")
    if JSON_ARRAY.match(begins):
        raise BadRow(f"{lines.name} holds a JSON array; write one JSON object a line.")
    return "jsonl" if JSON_OBJECT.match(begins) else "csv"
