"""How wrong a mechanism is that publishes n times in a window, for every n and every way counts may move.

Each model makes up data and its own filter follows them, with the noise that an n-th of epsilon buys; and once more
with a watch that sees the largest jumps, where releases are seldom. No data are involved, so the table is public; it
depends on the window, on whether that slides or is a horizon, and on whether errors are squared; it is kept on disk.
A stream that goes on must find the table that it began with, to the last digit: else it would ask otherwise.
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np

from penstock.allocation import filters, simulation, tablefile
from penstock.allocation.simulation import Schedule, Show, Streams, count_steps, simulate_errors
from penstock.allocation.volleys import steady
from penstock.allocation.watch import pays
from penstock.primitives import posteriors
from penstock.primitives.bank import Bank
from penstock.primitives.dynamics import dynamics
from penstock.primitives.posterior import posterior
from penstock.proofs import bare_code
from penstock.types import Floats, Ints

Objective = Literal["mae", "rmse", "mre"]
# The window in units, and the folder where its table will be kept, if there is one.
Observer = Callable[[int, Path | None], AbstractContextManager[Show]]

PACES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 30, 40, 60, 80, 120, 160, 200, 240)
WINDOWS = 12  # that are made up for a stream without end
MOST_UNITS = 4000  # that are made up at most, but one window at least, and that but once
BATCHES, REPEATS, MOST_REPEATED = 3, 8, 32_000  # of repeats, of which long ones have fewer: so many units in a batch
DIGITS = 4  # of a logarithm, so that the last bits of a processor decide nothing


def ignore(done: int, total: int) -> None:
    """Show nothing."""


_observer: ContextVar[Observer] = ContextVar("observer", default=lambda window, folder: nullcontext(ignore))


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Meanwhile tables that are made are shown by this observer."""
    before = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(before)


def paces(window: int) -> Ints:
    """Numbers of releases in a window that are considered; of those with the same units between them, the least.

    >>> paces(10)
    array([ 1,  2,  3,  4,  5, 10])
    """
    intervals = {-(-window // pace) for pace in PACES if pace <= window} | set(range(1, min(window, 6) + 1))
    return np.array(sorted({-(-window // every) for every in intervals}))


@lru_cache(maxsize=16)
def risks(window: int, objective: Objective, *, windows: int, shared: tuple[bool, ...]) -> tuple[Floats, ...]:
    """Logarithms of errors, a row a pace and a column a model; those tables that are not on the disk are made.

    Each twice: as it is without a watch, and as it is with one that never has had too many yeses. ``shared`` asks for
    tables of readings that share what they cost, so that they have less noise, or of those that do not.
    """
    squared, shape = objective == "rmse", (2, len(paces(window)), dynamics(window).size)
    folder = tablefile.find_folder()
    paths = {each: folder and folder / _name(window, squared, windows, each) for each in shared}
    found = {each: tablefile.read_table(path, shape) if path else None for each, path in paths.items()}
    missing = tuple(each for each in shared if found[each] is None)
    if missing:
        kept = folder if folder and tablefile.can_write(folder) else None
        with _observer.get()(window, kept) as show:
            made = compute(window, squared, windows, shared=missing, show=show)
        for each, table in zip(missing, made, strict=True):
            found[each] = table
            if path := paths[each]:
                tablefile.write_table(path, table)
    return tuple(table for table in found.values() if table is not None)


def compute(
    window: int, squared: bool, windows: int, *, shared: Sequence[bool] = (False,), show: Show = ignore
) -> list[Floats]:
    """Tables that are made from nothing, for readings that share what they cost or do not, in the order asked for."""
    models = dynamics(window)
    units = max(min(windows * window, MOST_UNITS), window)
    repeats = max(min(REPEATS, MOST_REPEATED // units), 1)
    seeds = [(units, batch) for batch in range(BATCHES if units <= MOST_UNITS else 1)]
    schedules = [_schedule(window, pace, windows, shared) for pace in paces(window).tolist()]
    show(0, count_steps(units, schedules))
    errors = simulate_errors(Streams(models, units, repeats, seeds), schedules, squared=squared, show=show)
    return [*np.round(np.log(errors) / (2 if squared else 1), DIGITS)]


def _schedule(window: int, pace: int, windows: int, shared: Sequence[bool]) -> Schedule:
    every = math.ceil(window / pace)
    together = steady(window, every, comes_back=windows > 1)
    return Schedule(pace, every, tuple(together if each else float(pace) for each in shared))


@lru_cache(maxsize=16)
def _name(window: int, squared: bool, windows: int, shared: bool) -> str:
    """By what a table is known again: whatever it depends on, its own code included."""
    objects = pays, steady, Bank, dynamics, posterior
    modules = (
        __name__,
        filters.__name__,
        simulation.__name__,
        posteriors.__name__,
        *(each.__module__ for each in objects),
    )
    code = "".join(bare_code(sys.modules[name]) for name in modules)
    known = hashlib.sha256(f"{window} {squared} {windows} {shared} {np.__version__} {code}".encode())
    return f"risk-{known.hexdigest()[:16]}.npy"
