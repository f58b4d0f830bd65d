"""``python -m penstock.audit.mutation``: mutation testing of the kernel and the store, bounded in time.

What is known is not tried again: stop it anywhere and call it again to go on. ``--only`` chooses files. Exit code 1 if
the score of a file is below the target, or the list of equivalent mutants names one that is no more.
"""

from __future__ import annotations

import argparse
import math
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from penstock.audit.mutation.aims import AIMS, find_near_files
from penstock.audit.mutation.forks import Ended, Task, run_all
from penstock.audit.mutation.mutants import Mutant, make_mutants
from penstock.audit.mutation.nearest import TRIED_SECONDS, Near, Nearest, trace_all
from penstock.audit.mutation.scores import compute_score, make_page, make_table
from penstock.audit.mutation.testing import PACKAGE, attempt, copy_sources, require_repository
from penstock.audit.mutation.verdicts import TIME, Book, Equivalents
from penstock.bench.processes import one_thread_each
from penstock.bench.trials import refused
from penstock.errors import BadInput

SOURCES = Path("src", PACKAGE)
PAGE = Path("benchmarks/mutants.md")
VERDICTS = Path("benchmarks/mutants.csv")
EQUIVALENT = Path("benchmarks/mutants-equivalent.txt")
# What tests run; made anew where it is missing.
TRACES = Path("build/mutants")
# A mutant may loop for ever: processor time for imports, and for tests as a multiple of what the unchanged code takes.
IMPORT_SECONDS = 20
LONGER = 3
# The nearest test of every function, on the code as it is.
CONTROL_SECONDS = 120


def main(arguments: Sequence[str] | None = None) -> int:
    """Try mutants until the time is over, and write the scores down."""
    options = _parse(arguments)
    try:
        require_repository()
        mutants = {file: make_mutants(file, SOURCES) for file in AIMS}
        equivalents, book = Equivalents.read(EQUIVALENT), Book(VERDICTS)
        with tempfile.TemporaryDirectory() as folder, one_thread_each():
            _try_all(options, mutants, equivalents, book, Path(folder))
    except BadInput as fault:
        return refused(fault)
    everything = [mutant for each in mutants.values() for mutant in each]
    book.tidy(everything)
    scores = [compute_score(file, each, book, equivalents) for file, each in mutants.items()]
    PAGE.write_text(make_page(scores, TRIED_SECONDS), encoding="utf-8")
    console = Console(width=120, highlight=False)
    console.print(make_table(scores, box.SIMPLE_HEAD))
    stale = equivalents.find_stale(everything)
    for entry in stale:
        console.print(f"{EQUIVALENT} lists a mutant that is no more; remove it: {entry}", markup=False)
    return 0 if not stale and all(each.is_enough for each in scores) else 1


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    options = argparse.ArgumentParser(prog=f"python -m {__package__}", description="Mutation testing.")
    options.add_argument("--minutes", type=float, default=40, help="when to stop")
    options.add_argument("--seed", type=int, default=1, help="of the order in which mutants are tried")
    options.add_argument("--workers", type=int, default=2, help="processes that share the work")
    options.add_argument(
        "--only", action="append", choices=AIMS, metavar="FILE", help="one file; repeat it for several"
    )
    return options.parse_args(arguments)


def _try_all(
    options: argparse.Namespace, mutants: dict[str, list[Mutant]], equivalents: Equivalents, book: Book, folder: Path
) -> None:
    """Try first the mutants that have lived and whose tests have changed since, then those that were never tried."""
    deadline = time.monotonic() + options.minutes * 60
    nearest = _find_nearest(copy_sources(folder / "untouched"), options.workers)
    chosen = {file: mutants[file] for file in options.only or AIMS}
    waiting = [
        mutant
        for mutant in _take_turns(chosen, options.seed)
        if mutant not in equivalents and ((known := book[mutant]) is None or not known.holds(mutant, nearest))
    ]
    tests = {mutant.key: nearest.find(mutant) for mutant in waiting}
    _require_passing(folder / "as it is", tests.values())
    for mutant in waiting:
        if not tests[mutant.key].names:
            book.add(mutant, "", tests[mutant.key].version)
    tried = sorted((mutant for mutant in waiting if tests[mutant.key].names), key=lambda mutant: book[mutant] is None)
    tasks = _stop_at(deadline, _make_tasks(tried, tests, folder))
    with _show_bar(f"trying {len(tried)} mutants", deadline) as show:
        for number, ended in enumerate(run_all(tasks, options.workers), 1):
            book.add(ended.about, _find_killer(ended), tests[ended.about.key].version)
            shutil.rmtree(folder / ended.about.key, ignore_errors=True)
            show(number / len(tried))


def _find_nearest(untouched: Path, workers: int) -> Nearest:
    files, done = find_near_files(), count(1)
    with _show_bar("tracing tests") as show:
        traced = trace_all(untouched, TRACES, AIMS, files, workers, lambda: show(next(done) / len(files)))
    return Nearest(traced)


def _require_passing(folder: Path, tests: Iterable[Near]) -> None:
    """Refuse to go on if tests fail on the code as it is: then a failure would say nothing about a mutant."""
    names = sorted({name for each in tests for name in each.names[:1]})
    for ended in run_all(iter([Task("", partial(attempt, folder, None, names), CONTROL_SECONDS)]), 1):
        if ended.results or ended.late or ended.died:
            raise BadInput(f"{_find_killer(ended)} fails on the code as it is; mend that first.")


def _take_turns(mutants: dict[str, list[Mutant]], seed: int) -> list[Mutant]:
    """A random order in which the files take turns: wherever it ends, each has been tried equally."""
    generator = random.Random(seed)
    turns = [(turn, mutant) for each in mutants.values() for turn, mutant in enumerate(_shuffle(each, generator))]
    return [mutant for _, mutant in sorted(turns, key=lambda turn: turn[0])]


def _shuffle(mutants: Sequence[Mutant], generator: random.Random) -> list[Mutant]:
    return generator.sample(mutants, len(mutants))


def _make_tasks(waiting: Sequence[Mutant], tests: dict[str, Near], folder: Path) -> Iterator[Task]:
    for mutant in waiting:
        near = tests[mutant.key]
        work = partial(attempt, folder / mutant.key, mutant, near.names)
        yield Task(mutant, work, IMPORT_SECONDS + LONGER * near.seconds)


def _stop_at(deadline: float, tasks: Iterator[Task]) -> Iterator[Task]:
    for task in tasks:
        if time.monotonic() > deadline:
            return
        yield task


def _find_killer(ended: Ended) -> str:
    """What killed a mutant, or nothing. A process that broke down was broken by the mutant."""
    if ended.results:
        return str(ended.results[0])
    return TIME if ended.late or ended.died else ""


@contextmanager
def _show_bar(doing: str, deadline: float = math.inf) -> Iterator[Callable[[float], None]]:
    """Show a bar of the part that is done: of the work, or of the time until the deadline if that is more.

    It has no thread of its own, because processes are forked below it.
    """
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    console, began = Console(stderr=True), time.monotonic()
    with Progress(*columns, console=console, auto_refresh=False, disable=not console.is_terminal) as progress:
        task = progress.add_task(doing, total=1.0)

        def show(part: float) -> None:
            elapsed = (time.monotonic() - began) / max(deadline - began, 1)
            progress.update(task, completed=max(part, elapsed), refresh=True)

        yield show


if __name__ == "__main__":
    sys.exit(main())
