"""How commands speak: results to standard output, everything else to standard error, bars only where somebody looks."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)

from penstock.streams.sinks import unwritable

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
    return [SpinnerColumn(), described, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]


def several(number: int, thing: str) -> str:
    """``1 release``, ``2 releases``."""
    return f"{number} {thing}{'' if number == 1 else 's'}"
