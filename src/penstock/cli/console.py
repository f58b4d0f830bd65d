"""How commands speak: results to standard output, everything else to standard error, bars only where somebody looks."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
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
