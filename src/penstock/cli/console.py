"""How commands speak: results to standard output, everything else to standard error, bars only where somebody looks."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, TextIO

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from penstock.streams.sinks import unwritable

# Characters, so that a line with numbers and the time left fits into 80.
BAR_WIDTH = 20
TEXT = (".csv", ".jsonl")
# Bytes that are read at once.
PART = 1 << 20
# Steps of a table of errors that are made within a second or so.
AT_ONCE = 2000
NOT_KEPT = "not kept, as there is no folder for it; set XDG_CACHE_HOME to one that can be written"
READER_LEFT = 128 + signal.SIGPIPE


class Results(Console):
    """Standard output, of which nothing may get lost unsaid."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; what cannot be written is refused."""
        with writing_results():
            super().print(*objects, **options)

    def on_broken_pipe(self) -> NoReturn:
        """Leave it to the command to end."""
        raise BrokenPipeError


class Messages(Console):
    """Standard error: a message that cannot be written changes nothing about what was done."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print, if it can be."""
        try:
            super().print(*objects, **options)
        except OSError:
            let_go(sys.stderr)

    def on_broken_pipe(self) -> NoReturn:
        """Leave it to ``print``."""
        raise BrokenPipeError


results = Results(highlight=False)
messages = Messages(stderr=True, soft_wrap=True, highlight=False)


@contextmanager
def writing_results() -> Iterator[None]:
    """Turn what goes wrong with standard output into a sentence; that its reader has left is no fault."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, UnicodeEncodeError) as fault:
        let_go(sys.stdout)
        raise unwritable("standard output", fault) from None


def let_go(stream: TextIO) -> None:
    """Forget what could not be written, which would be tried once more when the process ends."""
    with suppress(OSError, ValueError):  # what is no file has nothing to forget
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def put(text: str) -> None:
    """A result as it is."""
    with writing_results():
        sys.stdout.write(text)


def as_json(value: Any) -> None:
    """A result for a script."""
    with writing_results():
        sys.stdout.writelines(json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(value))  # piece by piece
        sys.stdout.write("\n")


@contextmanager
def progress(doing: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A bar that shows how far something is; nothing at all where nobody looks."""
    shown = _columns() if total else [SpinnerColumn(), TextColumn("{task.description} {task.completed}")]
    with Progress(*shown, console=messages, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(doing, total=total)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def preparing(window: int, folder: Path | None) -> Iterator[Callable[[int, int], None]]:
    """Says that a table of errors is made, if that takes more than a moment, and shows how far it is."""
    said = False
    with Progress(*_columns(), console=messages, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("Making the table, step")

        def show(done: int, total: int) -> None:
            nonlocal said
            if not said and total > AT_ONCE:
                kept = f"kept in {escape(str(folder))}" if folder else NOT_KEPT
                messages.print(f"preparing auto for {window} units: a table of errors is made once, and {kept}.")
                said = True
            bar.update(task, completed=done, total=total)

        yield show


@contextmanager
def counted(doing: str) -> Iterator[Callable[[int, int], None]]:
    """A bar that is told how far it is and of how much; where nobody looks, one line that says how much there is."""
    looked_at = sys.stderr.isatty()
    with Progress(*_columns(), console=messages, transient=True, disable=not looked_at) as bar:
        task = bar.add_task(doing, total=None)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)
            if not looked_at and not done and total:
                messages.print(f"{doing}: {several(total, 'run')} to do.")

        yield show


def _columns() -> list[ProgressColumn]:
    described = TextColumn("{task.description}")
    measured = MofNCompleteColumn(), TaskProgressColumn(), TimeRemainingColumn()
    return [SpinnerColumn(), described, BarColumn(BAR_WIDTH), *measured]


def count_lines(path: str) -> int | None:
    """How many lines a text file has, if somebody looks at a bar and they can be counted at once."""
    file = Path(path)
    if not sys.stderr.isatty() or file.suffix not in TEXT or not file.is_file():
        return None
    with file.open("rb") as lines:
        return sum(part.count(b"\n") for part in iter(lambda: lines.read(PART), b""))


def several(number: int, thing: str) -> str:
    """``1 release``, ``2 releases``."""
    return f"{number} {thing}{'' if number == 1 else 's'}"
