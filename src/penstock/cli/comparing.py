"""An output compared with the store that it was written from, line by line, while its publisher may be running.

A release is stored, then noted in the head file, then written. So a line that was read must be in a store that is
looked at afterwards, and a release that the store had shown before must be in the output, or arrive there shortly.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from penstock import streams
from penstock.cli import once
from penstock.errors import BadInput
from penstock.post import SlidingSum
from penstock.static.declared import is_once
from penstock.store import Archive
from penstock.types import Cause

# Seconds that a release may take from the head file to the output; only a busy machine needs more than a millisecond.
PATIENCE = 1.0
# Seconds between two looks.
GLANCE = 0.02


class Expected(NamedTuple):
    """A line that the store would write, and the unit of its release: 0 for one that belongs to none.

    Of a unit that was adopted the store does not know the line, which is then empty.
    """

    t: int
    line: bytes


def compare(archive: Archive, name: str, output: Path, sliding: SlidingSum) -> int:
    """Refuse an output with a line that is not what the store would write there, as sums if it holds sums.

    Returns how many lines could not be compared: units that were published from a copy that is gone may be in the
    output, and are not in the store.
    """
    due = archive.visible(name).t
    expected = _expected(archive, name, output, sliding)
    try:
        if not output.is_file():  # a device has no end
            raise FileNotFoundError
        with output.open("rb") as file:
            return _compared(_lines(file), expected, due, output)
    except OSError:
        raise BadInput(f"the output {output} cannot be read; give the path of a file of releases.") from None


def _compared(lines: Iterator[bytes], expected: Iterator[Expected | None], due: int, output: Path) -> int:
    """Follow both to their end; units up to ``due`` have to be in the output."""
    right: Expected | None = None
    number, gone, passed, waits_from = 1, 0, 0, time.monotonic()
    for line in lines:
        while (right := right or next(expected)) and not right.line:
            right, gone = None, gone + 1
        if not line.endswith(b"\n"):
            if (right is None or right.t > due) and (right.line if right else b"").startswith(line):
                break
            if time.monotonic() - waits_from < PATIENCE:
                time.sleep(GLANCE)
                continue
        if right and line == right.line:
            right, gone = None, 0
        elif gone and line.endswith(b"\n"):
            gone, passed = gone - 1, passed + 1
        else:
            raise BadInput(
                f"{output}, line {number} is not what the store has; say its --width if it holds sums, or write it anew"
                " with penstock export."
            )
        number, waits_from = number + 1, time.monotonic()
    return passed


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file that may grow. One without an end is not finished, or nothing yet, and comes again."""
    while True:
        line = file.readline()
        if not line.endswith(b"\n"):
            file.seek(-len(line), io.SEEK_CUR)
        yield line


def _expected(archive: Archive, name: str, output: Path, sliding: SlidingSum) -> Iterator[Expected | None]:
    """What the store would write, and None whenever it has no more; it may have more when it is asked again."""
    account, declared = archive.visible(name), archive.streams()[name]
    if is_once(declared):
        yield from (Expected(0, line.encode()) for line in once.told(archive, name).text.splitlines(keepends=True))
        while True:
            yield None
    intervals = account.intervals and sliding.keeps_intervals
    form = streams.text_format(str(output), declared["bins"], intervals=intervals)
    yield from (Expected(0, line.encode()) for line in [form.header()] if line)
    written = 0
    while True:
        for release in archive.published(account, after=written):
            adopted = release.cause is Cause.ADOPTED
            yield Expected(release.t, b"" if adopted else form.line(sliding(release)).encode())
        written, account = account.t, archive.visible(name)
        if account.t == written:
            yield None
