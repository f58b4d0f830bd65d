"""System calls that fail: each call on the files of a stream, one after another, in several ways.

After each a run is either refused in a sentence or goes through; the next one, which nothing disturbs, mends it.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from penstock.audit.hazards import shim
from penstock.audit.hazards.trial import MECHANISMS, Attempt, Outcome, Tell, Trial, require

# What a call answers: no space, a disk that fails once, a disk that fails for good, fewer bytes taken than given.
WAYS = {
    "full disk": (shim.ONCE, errno.ENOSPC),
    "failing disk": (shim.ONCE, errno.EIO),
    "broken disk": (shim.ALWAYS, errno.EIO),
    "short write": (shim.SHORT, 0),
    "kill": (shim.KILL, 0),
}
UNITS = 3


def attempts(folder: Path, rng: np.random.Generator) -> Iterator[Attempt]:
    """Every call, hit in every way, in any order."""
    subjects = [_subject(folder, mechanism, fresh) for mechanism, fresh in product(MECHANISMS, (True, False))]
    cases = [
        (subject, calls, way, number) for subject, calls in subjects for way in WAYS for number in range(1, calls + 1)
    ]
    for i in rng.permutation(len(cases)):
        subject, _, way, number = cases[i]
        yield Attempt(f"{way}, call {number}", partial(_try, subject, folder / "now", way, number))


def _subject(folder: Path, mechanism: str, fresh: bool) -> tuple[Trial, int]:
    """A stream to be disturbed, from its beginning or from where it is taken up, and how many calls a run makes."""
    place = folder / f"{mechanism}-{'new' if fresh else 'old'}"
    place.mkdir()
    trial = Trial(place, mechanism)
    if not fresh:
        trial.go_on(4)
    counting, calls = trial.moved(folder / "counted"), list[int]()

    def count(tell: Tell) -> None:
        shim.arm(counting.folder, (), 10**9, shim.ONCE, 0)
        counting.publish(UNITS, tell)
        tell(f"calls {shim.count_calls()}")

    counting.live(count, lambda line: calls.append(int(line[6:])) if line.startswith("calls ") else None)
    return trial, calls[0]


def _try(subject: Trial, place: Path, way: str, number: int) -> None:
    trial = subject.moved(place)
    mode, error = WAYS[way]

    def publish(tell: Tell) -> None:
        shim.arm(place, (), number, mode, error)
        trial.publish(UNITS, tell)

    outcome = trial.live(publish)
    require(outcome.killed == (way == "kill"), f"a process did not live to be killed (call {number})")
    _require_hope(outcome)
    trial.go_on()
    trial.examine()


def _require_hope(outcome: Outcome) -> None:
    """A disk that fails for a moment is no reason to give up what is stored."""
    if "restore" in outcome.refused:
        first = outcome.refused.partition("restore")[0]
        require("again" in first, f"the first advice is to give up what is stored: {outcome.refused}")
