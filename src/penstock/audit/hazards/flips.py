"""Flipped bits: of the database, of its head and its key, one at a time.

A run is refused, or it goes on as if nothing had happened; and nothing is written to a database that SQLite finds
damaged.
"""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np

from penstock.audit.hazards.trial import DATABASE, HEAD, KEY, MECHANISMS, Attempt, Tell, Trial, require

# The database comes more often, because most of what can go wrong is in it.
FILES = (DATABASE, DATABASE, DATABASE, HEAD, KEY)

# Bytes at the beginning of the file and of each of its pages that say what is where: half of all flips are in them.
HEADERS = 128
PAGE = 4096
UNITS = 12


def attempts(folder: Path, rng: np.random.Generator) -> Iterator[Attempt]:
    """Bits that flip in a stream at rest, and in one whose last unit was drawn and never stored, without end."""
    subjects = [_subject(folder, mechanism, killed) for mechanism in MECHANISMS for killed in (False, True)]
    for i in count():
        name = FILES[i % len(FILES)]
        trial = subjects[int(rng.integers(len(subjects)))].moved(folder / "now")
        data = bytearray((trial.folder / name).read_bytes())
        place, bit = _choose(data, rng), int(rng.integers(8))
        data[place] ^= 1 << bit
        (trial.folder / name).write_bytes(data)
        yield Attempt(f"bit {bit} of byte {place} of {name}", partial(_try, trial, folder / "looked at"))


def _subject(folder: Path, mechanism: str, killed: bool) -> Trial:
    """A stream that rests, or that was killed after a draw."""
    place = folder / f"{mechanism}-{'killed' if killed else 'rests'}"
    place.mkdir()
    trial = Trial(place, mechanism)
    trial.go_on(UNITS)

    def publish(tell: Tell) -> None:
        def die(line: str) -> None:
            tell(line)
            if line.startswith("drawn"):
                os.kill(os.getpid(), signal.SIGKILL)

        trial.publish(1, die)

    if killed:
        require(trial.live(publish).killed, "a process did not live to be killed")
    return trial


def _choose(data: bytes | bytearray, rng: np.random.Generator) -> int:
    """A byte that is used, in a header or anywhere."""
    if rng.random() < 0.5:
        used = [at for at, byte in enumerate(data) if byte]
        return int(rng.choice(used))
    pages = -(-len(data) // PAGE)
    return min(int(rng.integers(pages)) * PAGE + int(rng.integers(HEADERS)), len(data) - 1)


def _try(trial: Trial, copy: Path) -> None:
    damaged = _is_damaged(trial.moved(copy).store)
    before = trial.store.read_bytes()
    outcome = trial.live(lambda tell: trial.publish(2, tell))
    require(not damaged or trial.store.read_bytes() == before, "a run has written to a damaged database")
    if not outcome.refused:
        trial.examine()


def _is_damaged(database: Path) -> bool:
    """What SQLite says of the file, or that it cannot say it."""
    try:
        with closing(sqlite3.connect(database)) as connection:
            return connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]
    except (sqlite3.Error, UnicodeDecodeError):  # it may quote what is damaged
        return True
