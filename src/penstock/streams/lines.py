"""Text as a file holds it: lines, each decoded by itself, so that a fault is found where it is."""

from __future__ import annotations

import csv
import gzip
import json
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, cast

from penstock.errors import BadInput, BadRow
from penstock.parameters import as_path

STANDARD = "-"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

csv.field_size_limit(2**30)  # characters; the kinds of all bins are one cell


def open_bytes(path: str) -> IO[bytes]:
    """A file, unpacked if its name ends in .gz, or standard input."""
    if path == STANDARD:
        return sys.stdin.buffer
    try:
        return cast("IO[bytes]", gzip.open(as_path(path), "rb")) if path.endswith(".gz") else as_path(path).open("rb")
    except OSError as fault:
        raise BadInput(f"the input {path} cannot be read: {fault.strerror}.") from None


def called(path: str) -> str:
    """What errors call a file."""
    return "standard input" if path == STANDARD else Path(path).name


class Lines:
    """A file of lines. ``name`` is what errors call it, ``live`` says that its last line may still be being written.

    A last line that is not finished is refused where it is ``live``; with ``torn`` it is left out anywhere.
    """

    def __init__(self, file: IO[bytes], name: str, *, live: bool = False, torn: bool = False) -> None:
        self.name = name
        self.live = live
        self.torn = torn
        self._file = file

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not sys.stdin.buffer:
            self._file.close()

    def text(self) -> Iterator[str]:
        """Every line, decoded."""
        number = 0
        try:
            for number, line in enumerate(self._file, start=1):
                if self.torn and not line.endswith(b"\n"):
                    return
                if self.live and not line.endswith(b"\n"):
                    raise BadRow(f"{self.name}, line {number} is not finished; end it with a line break.")
                yield line.removeprefix(BYTE_ORDER_MARK if number == 1 else b"").decode()
        except UnicodeDecodeError:
            raise BadRow(f"{self.name}, line {number} is not UTF-8 text; mend it and run again.") from None
        except (EOFError, OSError, zlib.error):
            raise BadRow(f"{self.name} cannot be read beyond line {number}; the file is damaged.") from None

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Comma-separated rows that are not blank, and the lines they end in."""
        reader = csv.reader(self.text(), strict=True)
        line = reader.line_num
        try:
            for row in reader:
                line = reader.line_num
                if row:
                    yield line, row
        except csv.Error:
            raise BadRow(f"{self.name}, line {line + 1} cannot be read as a row; mend it and run again.") from None

    def objects(self, parse_float: Callable[[str], Any] = float) -> Iterator[tuple[int, dict[str, Any]]]:
        """JSON objects, one a line, and the numbers of their lines."""
        for number, line in enumerate(self.text(), start=1):
            if line.strip():
                try:
                    row = json.loads(line, object_pairs_hook=_without_repeats, parse_float=parse_float)
                except (ValueError, RecursionError):
                    row = None
                if not isinstance(row, dict):
                    raise BadRow(
                        f"{self.name}, line {number}: every line is a JSON object, with every name once; mend it and"
                        " run again."
                    )
                yield number, row


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise ValueError
    return row
