"""How comparisons that are run by hand are told what to do, and how they show it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from penstock.errors import BadInput


class Options(argparse.ArgumentParser):
    """What every comparison of errors is told: where streams are, how many runs, how many processes."""

    def __init__(self, module: str, description: str, data: str, seeds: int) -> None:
        super().__init__(prog=f"python -m {module}", description=description)
        self.add_argument("--data", default=os.environ.get("PENSTOCK_DATA", ""), help=f"{data}; else PENSTOCK_DATA")
        self.add_argument("--seeds", type=int, default=seeds, help="runs of each of our mechanisms; at least 2")
        self.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes that share the work")

    def told(self, arguments: Sequence[str] | None) -> argparse.Namespace:
        """The options, or a refusal of what cannot be measured."""
        options = self.parse_args(arguments)
        if options.seeds < 2 or options.workers < 1:
            raise BadInput("an interval needs at least 2 runs (--seeds), and at least 1 process (--workers).")
        return options


def refused(fault: BadInput) -> int:
    """Say what is wrong, and the exit code."""
    Console(stderr=True, soft_wrap=True).print(f"error: {fault}", markup=False, highlight=False)
    return 2


@contextmanager
def bar(total: int, doing: str = "measuring") -> Iterator[Callable[..., None]]:
    """A bar that shows how far it is, and what moves it on, by one or by so many."""
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield partial(progress.advance, progress.add_task(doing, total=total))


def ruled(title: str, names: Sequence[str], style: box.Box, *, words: int = 1) -> Table:
    """A table whose first columns are words, and the others numbers."""
    shown = Table(title=title, title_justify="left", box=style)
    for i, name in enumerate(names):
        shown.add_column(name, justify="left" if i < words else "right", no_wrap=True)
    return shown
