"""How wrong a mechanism is that publishes n times in a window, for every n and every way counts may move.

Each model makes up data and its own filter follows them, with the noise that an n-th of epsilon buys; and once more
with a watch that sees the largest jumps, where releases are seldom. No data are involved, so the table is public; it
depends on the window, on whether that slides or is a horizon, and on whether errors are squared; it is kept on disk.
"""

from __future__ import annotations

import hashlib
import math
import os
import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np

from penstock.allocation.volleys import steady
from penstock.allocation.watch import FOUND, SEEN, pays
from penstock.primitives.bank import Bank
from penstock.primitives.dynamics import DAMPING, Dynamics, dynamics
from penstock.primitives.posterior import posterior
from penstock.proofs import bare_code
from penstock.types import Floats, Ints

Objective = Literal["mae", "rmse", "mre"]

PACES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 30, 40, 60, 80, 120, 160, 200, 240)
WINDOWS = 12  # that are made up for a stream without end
MOST_UNITS = 4000  # that are made up at most, but one window at least, and that but once
BATCHES, REPEATS, MOST_REPEATED = 3, 8, 32_000  # of repeats, of which long ones have fewer: so many units in a batch
DIGITS = 4  # of a logarithm, so that the last bits of a processor decide nothing


def paces(window: int) -> Ints:
    """Numbers of releases in a window that are considered; of those with the same units between them, the least.

    >>> paces(10)
    array([ 1,  2,  3,  4,  5, 10])
    """
    intervals = {-(-window // pace) for pace in PACES if pace <= window} | set(range(1, min(window, 6) + 1))
    return np.array(sorted({-(-window // every) for every in intervals}))


@lru_cache(maxsize=16)
def risk(window: int, objective: Objective = "mae", *, windows: int = WINDOWS, shared: bool = False) -> Floats:
    """The logarithm of the error, a row a pace and a column a model; from the disk if it is there.

    Twice: as it is without a watch, and as it is with one that never has had too many yeses. ``shared``: readings that
    follow each other share what they cost, and have less noise for it.
    """
    squared = objective == "rmse"
    path = _place(window, squared, windows, shared)
    kept = _kept(path, (2, len(paces(window)), dynamics(window).size)) if path else None
    if kept is not None:
        return kept
    table = computed(window, squared, windows, shared=shared)
    if path:
        _keep(path, table)
    return table


def _kept(path: Path, shape: tuple[int, ...]) -> Floats | None:
    """What the file holds, if that is a table at all; whatever else is in it, the table is made anew."""
    try:
        with path.open("rb") as file:
            table: Floats = np.lib.format.read_array(file, allow_pickle=False)
    except Exception:  # a spoilt head raises whatever numpy's parser raises: TokenError, TypeError and others
        return None
    return table if table.dtype == np.float64 and table.shape == shape and np.isfinite(table).all() else None


def _place(window: int, squared: bool, windows: int, shared: bool) -> Path | None:
    """The file of a table; none where there is no home, or no source to know it by."""
    try:
        return _directory() / f"risk-{_name_of(window, squared, windows, shared)}.npy"
    except (OSError, RuntimeError):
        return None


def computed(window: int, squared: bool, windows: int, *, shared: bool = False) -> Floats:
    """The table, made up from nothing."""
    models = dynamics(window)
    units = max(min(windows * window, MOST_UNITS), window)
    repeats = max(min(REPEATS, MOST_REPEATED // units), 1)
    errors = np.zeros((2, len(paces(window)), models.size))
    batches = BATCHES if units <= MOST_UNITS else 1
    for batch in range(batches):
        rng = np.random.default_rng((units, batch))
        counts = made_up(models, units, repeats, rng)
        for row, pace in enumerate(paces(window).tolist()):
            every = math.ceil(window / pace)
            noise = steady(window, every, comes_back=windows > 1) if shared else float(pace)
            errors[:, row] += _errors_of(models, counts, pace, every, noise, squared, rng)
    return np.round(np.log(errors / batches) / (2 if squared else 1), DIGITS)


def made_up(models: Dynamics, units: int, repeats: int, rng: np.random.Generator) -> Floats:
    """Counts of every model, from where they are at first; units x repeats x models."""
    shape = units, repeats, models.size
    steps = rng.standard_normal(shape) * np.sqrt(models.level + models.velocity)
    sudden = models.sudden
    hit = rng.random((*shape[:2], len(models.rate[sudden]))) < models.rate[sudden]
    steps[:, :, sudden] += hit * rng.standard_normal(hit.shape) * np.sqrt(models.jump[sudden])
    velocity = np.zeros((repeats, len(models.velocity[models.trends])))
    for unit in range(1, units):
        velocity *= DAMPING
        steps[unit, :, models.trends] += velocity
        velocity += rng.standard_normal(velocity.shape) * np.sqrt(models.velocity[models.trends])
    steps[0] = 0
    around = rng.standard_normal(shape) * np.sqrt(models.around)
    around[:, :, sudden] += hit * rng.standard_normal(hit.shape) * np.sqrt(models.burst[sudden])
    counts: Floats = np.cumsum(steps, axis=0, out=steps)
    counts += around
    return counts


def _errors_of(
    models: Dynamics, counts: Floats, pace: int, every: int, noisy: float, squared: bool, rng: np.random.Generator
) -> Floats:
    """The mean error of each model's own filter, or its square; and what it is if a watch sees jumps, where it pays."""
    repeats = counts.shape[1]
    scale = np.full((repeats, 1), noisy)
    noise = rng.laplace(0, noisy, (-(-len(counts) // every), *counts.shape[1:]))
    bank, lost = Bank(repeats, models), np.zeros((2, models.size))
    sudden = (models.rate > 0) & pays(pace, every)
    for number, begin in enumerate(range(0, len(counts), every)):
        measured = counts[begin] + noise[number]
        if number:
            bank.advance(every)
            expected = bank.level.copy()
            estimate = expected + bank.correct(measured - expected, scale, every).found
        else:
            bank.begin(measured, scale)
            estimate = measured
        now = np.abs(counts[begin] - estimate)
        later = np.abs(counts[begin + 1 : begin + every] - _foreseen(bank, min(every, len(counts) - begin)))
        watched = np.where(sudden & (later > SEEN), FOUND, later)
        for plane, apart in enumerate((later, watched)):
            off = np.concatenate([now[np.newaxis], apart])
            lost[plane] += (np.square(off) if squared else off).mean(axis=1).sum(axis=0)
    mean: Floats = lost / len(counts)
    return mean


def _foreseen(bank: Bank, units: int) -> Floats:
    """What the filters expect of the units after this one, until the next measurement."""
    levels = np.repeat(bank.level[np.newaxis], units - 1, axis=0)
    reach = np.cumsum(DAMPING ** np.arange(1, units))
    levels[:, :, bank.models.trends] += reach[:, np.newaxis, np.newaxis] * bank.velocity
    return levels


@lru_cache(maxsize=16)
def _name_of(window: int, squared: bool, windows: int, shared: bool) -> str:
    """By what a table is known again: whatever it depends on, its own code included."""
    modules = __name__, pays.__module__, steady.__module__, Bank.__module__, dynamics.__module__, posterior.__module__
    code = "".join(bare_code(sys.modules[name]) for name in modules)
    return hashlib.sha256(f"{window} {squared} {windows} {shared} {np.__version__} {code}".encode()).hexdigest()[:16]


def _directory() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock"


def _keep(path: Path, table: Floats) -> None:
    """For the next time, if there is room; whole or not at all."""
    partial = path.with_name(f"{path.stem}-{os.getpid()}.part.npy")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(partial, table)
        partial.replace(path)
    except OSError:
        with suppress(OSError):
            partial.unlink()
