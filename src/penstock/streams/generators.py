"""Made-up streams of known character. What the project shows and tests with, it generates itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BadInput
from penstock.parameters import at_least_one
from penstock.streams.memory import Stream

Values = NDArray[np.float64]
Generator = Callable[[int, int, np.random.Generator], Values]


def synthetic(kind: str = "seasonal", *, bins: int = 1, steps: int = 1000, seed: int) -> Stream:
    """A generated stream of the given kind, the same for the same seed.

    >>> synthetic("constant", bins=2, steps=3, seed=1).counts.shape
    (3, 2)
    """
    if kind not in GENERATORS:
        raise BadInput(f"a synthetic stream is one of {', '.join(GENERATORS)}; got {kind!r}.")
    at_least_one("bins", bins)
    at_least_one("steps", steps)
    values = GENERATORS[kind](steps, bins, np.random.default_rng(seed))
    return Stream(np.maximum(np.rint(values), 0).astype(np.int64), name=kind)


def crowd(users: int = 400, *, bins: int = 8, steps: int = 520, seed: int) -> Stream:
    """People who come and go, and move between bins while they are there: a stream that knows who is present.

    >>> stream = crowd(30, bins=4, steps=5, seed=1)
    >>> [len(present) for present in stream.presence] == stream.counts.sum(axis=1).tolist()
    True
    """
    at_least_one("users", users)
    at_least_one("bins", bins)
    at_least_one("steps", steps)
    rng = np.random.default_rng(seed)
    names = np.array([f"user {i}" for i in range(users)], dtype=object)
    here, place = rng.random(users) < 0.5, rng.integers(0, bins, users)
    counts, presence = np.zeros((steps, bins), np.int64), []
    for t in range(steps):
        here = here ^ (rng.random(users) < 1 / 20)  # half of them are present, for 20 units on end
        place = (place + (rng.random(users) < 1 / 10) * rng.choice((-1, 1), users)) % bins
        counts[t] = np.bincount(place[here], minlength=bins)
        presence.append(names[here].tolist())
    return Stream(counts, presence=presence, name="crowd")


def constant(steps: int, bins: int, rng: np.random.Generator) -> Values:
    """Every bin stays where it is."""
    return np.tile(rng.integers(50, 500, bins).astype(np.float64), (steps, 1))


def walk(steps: int, bins: int, rng: np.random.Generator) -> Values:
    """Every bin takes normal steps, held at 0."""
    return np.abs(300 + np.cumsum(rng.normal(0, 5, (steps, bins)), axis=0))


def jumps(steps: int, bins: int, rng: np.random.Generator) -> Values:
    """Every bin rests and moves to a new level now and then."""
    moves = rng.random((steps, bins)) < 1 / 80
    moves[0] = True
    levels = rng.integers(0, 800, (steps, bins)).astype(np.float64)
    latest = np.maximum.accumulate(np.where(moves, np.arange(steps)[:, np.newaxis], 0), axis=0)
    return np.take_along_axis(levels, latest, axis=0)


def seasonal(steps: int, bins: int, rng: np.random.Generator) -> Values:
    """A yearly swell of weekly counts, larger in some bins than in others, with Poisson scatter."""
    phase = 2 * np.pi * (np.arange(steps)[:, np.newaxis] / 52 + rng.normal(0, 0.05, bins))
    level = rng.lognormal(5, 1, bins)
    return rng.poisson(level * (1 + 0.8 * np.sin(phase))).astype(np.float64)


def bursts(steps: int, bins: int, rng: np.random.Generator) -> Values:
    """Mostly empty bins; a few fill up for a while and drain again."""
    begins = rng.random((steps, bins)) < 1 / 200
    peaks = begins * rng.pareto(1.5, (steps, bins)) * 20
    values = np.zeros((steps, bins))
    level = np.zeros(bins)
    for t in range(steps):
        level = 0.8 * level + peaks[t]
        values[t] = level
    return rng.poisson(values).astype(np.float64)


def spas_1(steps: int, bins: int, rng: np.random.Generator) -> Values:
    """The first stream of the SPAS paper: independent, uniform between 0 and 200."""
    return rng.integers(0, 201, (steps, bins)).astype(np.float64)


def spas_2(steps: int, bins: int, rng: np.random.Generator) -> Values:
    """The second: uniform between 0 and 1000 in its first half, normal about 1000 in its second.

    The paper says "variance of 10"; the published domain size fits a standard deviation of 10, which is used here.
    """
    return _halves(steps, bins, rng, 1000)


def spas_3(steps: int, bins: int, rng: np.random.Generator) -> Values:
    """The third, meant for 10 bins: uniform between 0 and 10,000, then normal about 1000."""
    return _halves(steps, bins, rng, 10_000)


def _halves(steps: int, bins: int, rng: np.random.Generator, top: int) -> Values:
    first = rng.integers(0, top + 1, (steps // 2, bins)).astype(np.float64)
    return np.concatenate([first, rng.normal(1000, 10, (steps - steps // 2, bins))])


GENERATORS: dict[str, Generator] = {
    made.__name__: made for made in (constant, walk, jumps, seasonal, bursts, spas_1, spas_2, spas_3)
}
