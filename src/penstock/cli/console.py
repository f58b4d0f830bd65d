"""How commands speak: results to standard output, everything else to standard error, bars only where somebody looks."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
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

# Characters, so that a line with numbers and the time left fits into 80.
BAR_WIDTH = 20
TEXT = (".csv", ".jsonl")
# Bytes that are read at once.
PART = 1 << 20
# Steps of a table of errors that are made within a second or so.
AT_ONCE = 2000
NOT_KEPT = "not kept, as there is no folder for it; set XDG_CACHE_HOME to one that can be written"

results = Console(highlight=False)
messages = Console(stderr=True, soft_wrap=True, highlight=False)


def as_json(value: Any) -> None:
    """A result for a script."""
    sys.stdout.writelines(json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(value))  # piece by piece
    typer.echo()


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


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """Whoever reads the output may close it when they have seen enough; what was released is stored."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(128 + signal.SIGPIPE) from None


def several(number: int, thing: str) -> str:
    """``1 release``, ``2 releases``."""
    return f"{number} {thing}{'' if number == 1 else 's'}"
