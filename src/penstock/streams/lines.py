"""Text as a file holds it: lines, each decoded by itself, so that a fault is found where it is."""

from __future__ import annotations

import csv
import gzip
import json
import re
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import IO, Any, cast

from penstock.errors import BadInput, BadRow
from penstock.parameters import as_path
from penstock.streams.names import sounds_like_time

STANDARD = "-"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
SEPARATORS = (",", ";", "\t")
# Spreadsheets may say in a line before the header by which sign columns are separated.
SEPARATOR_HINT = re.compile(r"sep=([,;\t])\s*")

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
        self._begun: deque[bytes] = deque()  # lines that were looked at, and are still to come
        self._number = 0  # lines that were handed out

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not sys.stdin.buffer:
            self._file.close()

    @cached_property
    def beginning(self) -> bytes:
        """The first line that is not blank, without a byte order mark. It is still to come."""
        with self._readable():
            while line := self._file.readline():
                start = line.removeprefix(b"" if self._begun else BYTE_ORDER_MARK)
                self._begun.append(line)
                if start.strip():
                    return start
        return b""

    def text(self) -> Iterator[str]:
        """Every line, decoded."""
        with self._readable():
            for line in chain(self._taken_back(), self._file):
                if self.torn and not line.endswith(b"\n"):
                    return
                self._number += 1
                if self.live and not line.endswith(b"\n"):
                    raise BadRow(f"{self.name}, line {self._number} is not finished; end it with a line break.")
                yield line.removeprefix(BYTE_ORDER_MARK if self._number == 1 else b"").decode()

    def _taken_back(self) -> Iterator[bytes]:
        while self._begun:
            yield self._begun.popleft()

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Say where a file cannot be read."""
        try:
            yield
        except UnicodeDecodeError:
            raise BadRow(
                f"{self.name}, line {self._number} is not UTF-8 text; save the file as UTF-8 and run again."
            ) from None
        except (EOFError, OSError, zlib.error):
            read = self._number + len(self._begun)
            raise BadRow(f"{self.name} cannot be read beyond line {read}; the file is damaged.") from None

    @cached_property
    def separator(self) -> str:
        """The sign between two columns, as the first line tells."""
        return separator_of(self.beginning.decode(errors="replace"))

    def rows(self, separator: str = "") -> Iterator[tuple[int, list[str]]]:
        """Rows of cells that are not blank, and the lines they end in; the first line may tell the separator."""
        begins_with_hint = SEPARATOR_HINT.fullmatch(self.beginning.decode(errors="replace")) is not None
        reader = csv.reader(self.text(), strict=True, delimiter=separator or self.separator)
        line = reader.line_num
        try:
            for row in reader:
                line = reader.line_num
                if row and not begins_with_hint:
                    yield line, row
                begins_with_hint = begins_with_hint and not row
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


def separator_of(line: str) -> str:
    """The sign between two columns of a header: a comma, a semicolon or a tab.

    It is the first that leaves a name of a time by itself, else the one that makes the most columns.

    >>> [separator_of(line) for line in ("t,a;b;c", "week;a,b;c", "north;south", "sep=;")]
    [',', ';', ';', ';']
    """
    if hint := SEPARATOR_HINT.fullmatch(line):
        return hint[1]
    split = {separator: line.strip().split(separator) for separator in SEPARATORS}
    timed = [separator for separator, names in split.items() if len(names) > 1 and any(map(_is_time_alone, names))]
    return timed[0] if timed else max(SEPARATORS, key=lambda separator: len(split[separator]))


def _is_time_alone(name: str) -> bool:
    bare = name.strip().strip('"').strip()
    return sounds_like_time(bare) and not set(SEPARATORS) & set(bare)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise ValueError
    return row
