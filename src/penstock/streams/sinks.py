"""Where releases go: text files and standard output.

A text file that is there already is continued after its last whole row; what a killed process has left of a row is cut
off. A file that holds something else is refused, and left as it is.
"""

from __future__ import annotations

import csv
import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, Self

import numpy as np

from penstock.disk import sync_folder, take_lock
from penstock.errors import BadInput
from penstock.streams.formats import UNREADABLE, Format
from penstock.types import Published

TAIL = 65536  # bytes looked at first when the last row of a file is searched

# Rows are made durable whenever they add up to this many bytes, which bounds what a power cut can spoil. Every row
# can be written again from the store, so none has to be durable at once.
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
