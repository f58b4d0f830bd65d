"""Two writers of one stream that no lock keeps apart: the locks vanish, are ignored, or the store has two names.

Each goes on until it is refused or killed, and begins again. Whatever the two do, no unit is drawn twice, and what
either has shown is in the store.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np

from penstock.audit.hazards import shim
from penstock.audit.hazards.trial import DATABASE, MECHANISMS, Attempt, Tell, Trial, begin, empty
from penstock.errors import StoreError

WRITERS = 2
OTHER_NAME = "other.db"

# Seconds that two writers have together, and between two disturbances.
LIFE = 0.6
PAUSE = 0.01

# The most units that a writer publishes before it begins again.
STRETCH = 6


def attempts(folder: Path, rng: np.random.Generator) -> Iterator[Attempt]:
    """Two processes that write at once, in every way in which nothing keeps them apart, without end."""
    ways = {"locks vanish": _remove_locks, "two names": _name_twice}
    if shim.is_preloaded():
        ways["locks are ignored"] = _leave_alone
    for i, way in ((i, way) for i in count() for way in ways):
        trial = Trial(folder / "shared", MECHANISMS[i % len(MECHANISMS)])
        empty(trial.folder)
        trial.go_on(1)
        yield Attempt(way, partial(_try, trial, way == "locks are ignored", ways[way], rng))


def _try(trial: Trial, lockless: bool, disturb: Callable[[Path], None], rng: np.random.Generator) -> None:
    until = time.monotonic() + LIFE
    lives = [begin(_writing(trial, who, lockless, until, int(rng.integers(2**31)))) for who in range(WRITERS)]
    while time.monotonic() < until:
        disturb(trial.folder)
        time.sleep(PAUSE)
    os.kill(lives[0].child, signal.SIGKILL)
    for life in lives:
        trial.end(life)
    (trial.folder / OTHER_NAME).unlink(missing_ok=True)
    trial.go_on()
    trial.examine()


def _writing(trial: Trial, who: int, lockless: bool, until: float, seed: int) -> Callable[[Tell], None]:
    """What a writer does until its time is over; the second one knows the store by the other name, if it has one."""
    rng = np.random.default_rng(seed)

    def write(tell: Tell) -> None:
        if lockless:
            shim.ignore_locks()
        while time.monotonic() < until:
            named = who and (trial.folder / OTHER_NAME).exists()
            store = trial.folder / (OTHER_NAME if named else DATABASE)
            with suppress(StoreError):
                trial.publish(int(rng.integers(STRETCH)), tell, store=store, output=trial.folder / f"{who}.csv")
            time.sleep(rng.uniform(0, PAUSE))

    return write


def _remove_locks(folder: Path) -> None:
    shutil.rmtree(folder / f"{DATABASE}.locks", ignore_errors=True)


def _name_twice(folder: Path) -> None:
    _remove_locks(folder)
    other = folder / OTHER_NAME
    if other.exists():
        other.unlink()
    else:
        os.link(folder / DATABASE, other)


def _leave_alone(folder: Path) -> None:
    """What ignores the locks is the system."""
