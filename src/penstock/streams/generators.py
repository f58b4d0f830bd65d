"""Made-up streams of known character. What the project shows and tests with, it generates itself."""

from __future__ import annotations

import numpy as np

from penstock.errors import BadInput
from penstock.parameters import at_least_one
from penstock.streams.families import GENERATORS
from penstock.streams.memory import Stream
from penstock.streams.rows import seeded


def synthetic(kind: str = "seasonal", *, bins: int = 1, steps: int = 1000, seed: int) -> Stream:
    """A generated stream of the given kind, the same for the same seed.

    >>> synthetic("constant", bins=2, steps=3, seed=1).counts.shape
    (3, 2)
    """
    if kind not in GENERATORS:
        raise BadInput(f"a synthetic stream is one of {', '.join(GENERATORS)}; got {kind!r}.")
    at_least_one("bins", bins)
    at_least_one("steps", steps)
    values = GENERATORS[kind](steps, bins, seeded(seed))
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
    rng = seeded(seed)
    names = np.array([f"user {i}" for i in range(users)], dtype=object)
    here, place = rng.random(users) < 0.5, rng.integers(0, bins, users)
    counts, presence = np.zeros((steps, bins), np.int64), []
    for t in range(steps):
        here = here ^ (rng.random(users) < 1 / 20)  # half of them are present, for 20 units on end
        place = (place + (rng.random(users) < 1 / 10) * rng.choice((-1, 1), users)) % bins
        counts[t] = np.bincount(place[here], minlength=bins)
        presence.append(names[here].tolist())
    return Stream(counts, presence=presence, name="crowd")
