"""One run: a stream published once, and judged. What is written here is part of the key of every run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from penstock.bench.metrics import RANGES, Judge, Outcome, publications, spending
from penstock.curator import Curator
from penstock.epsilon import NANO
from penstock.mechanisms.base import Mechanism
from penstock.noise.simulation import SimulationNoise
from penstock.streams.memory import Stream
from penstock.types import Floats, Ints, Kind, Mask

CHUNK = 2**20  # numbers that are held at a time
APART = 10**6  # seeds of noise begin here, far from those that streams are made of


def published(mechanism: Mechanism, counts: Ints, seed: int, judge: Judge) -> Outcome:
    """What a mechanism makes of a stream with numpy's noise of the seed."""
    model = mechanism.model
    curator = Curator(model, counts.shape[1], noise=SimulationNoise(APART + seed))
    mechanism.start(curator)
    new, charged = np.zeros(len(counts), np.bool_), np.zeros(len(counts))
    snapshots = iter(Stream(counts))
    for part in _parts(counts):
        values, kinds = (np.empty(counts[part].shape, kind) for kind in (np.int64, np.int8))
        for row, t in enumerate(range(part.start, part.stop)):
            release = mechanism.step(next(snapshots))
            values[row], kinds[row], charged[t] = release.values, release.kind, release.charged.nano
        new[part] = (kinds != Kind.REPUBLISHED.value).any(axis=1)  # of many releases at once, which is quicker
        judge.add(values, counts[part])
    epsilon = model.epsilon.nano / NANO
    fullest = curator.ledger.audit().peak.nano / NANO / epsilon
    return _outcome(judge, new, charged / NANO, epsilon, model.window, fullest)


class Plain(Protocol):
    """A mechanism in plain Python, which says what it spent."""

    epsilon: float
    window: int
    spent: list[float]

    def step(self, row: list[int]) -> list[float]: ...
    def fullest_window(self) -> float: ...


def published_plainly(mechanism: Plain, counts: Ints, judge: Judge) -> Outcome:
    """The same of what is no mechanism of this package."""
    for part in _parts(counts):
        judge.add(np.array([mechanism.step(row) for row in counts[part].tolist()]), counts[part])
    spent = np.array(mechanism.spent)
    return _outcome(judge, spent > 0, spent, mechanism.epsilon, mechanism.window, mechanism.fullest_window())


def _outcome(judge: Judge, new: Mask, charged: Floats, epsilon: float, window: int, fullest: float) -> Outcome:
    used = spending(charged, epsilon, window)
    return Outcome._make((*judge.errors(), publications(new, window), used, fullest)).rounded()


def _parts(counts: Ints) -> Iterator[slice]:
    """Rows that are judged together; judging takes as many numbers as there are bins, or ranges of them."""
    rows = max(CHUNK // max(counts.shape[1], RANGES), 1)
    for begin in range(0, len(counts), rows):
        yield slice(begin, min(begin + rows, len(counts)))
