"""Taxis of a city, counted on a grid by the hour."""

from __future__ import annotations

import numpy as np

from penstock.parameters import at_least_one, from_one_to
from penstock.streams.memory import Stream
from penstock.streams.rows import seeded
from penstock.types import Floats, Ints

LARGEST_SIDE = 256
HOURS, DAYS = 24, 7
DAWN = 5  # the hour at which a weekend begins and ends, when it makes the least difference
SPOTS = 6  # a station, an airport, places to go out: crowded at some hours
RESTLESS = 0.6  # of the taxis move in an hour
QUIET = 0.002  # of the pull of the centre is left at the edge


def taxi_grid(taxis: int = 10_000, *, side: int = 10, steps: int = 168, seed: int) -> Stream:
    """Taxis of a city by the hour, on a grid of ``side`` times ``side`` cells; a week begins on Monday at midnight.

    Most are found in the centre and few in the outskirts; there are spots that are crowded at certain hours. Fewer
    drive by night, and at weekends they start and end later. A taxi that does not drive is not counted.

    >>> taxi_grid(100, side=4, steps=24, seed=1).shape
    (4, 4)
    """
    at_least_one("taxis", taxis)
    from_one_to("side", side, LARGEST_SIDE)
    at_least_one("steps", steps)
    rng = seeded(seed)
    pull = _pull(side, rng)
    eager = rng.random(taxis)  # who drives at quiet hours too
    place = _drawn(pull[0], taxis, rng)
    counts = np.empty((steps, side * side), np.int64)
    for t in range(steps):
        kind = t % HOURS + HOURS * ((t - DAWN) // HOURS % DAYS >= 5)
        restless = np.flatnonzero(rng.random(taxis) < RESTLESS)
        place[restless] = _drawn(pull[kind], len(restless), rng)
        drives = eager + rng.normal(0, 0.05, taxis) < _on_duty(kind)
        counts[t] = np.bincount(place[drives], minlength=side * side)
    return Stream(counts, name="taxi_grid", shape=(side, side))


def _on_duty(kind: int) -> float:
    """The part of all taxis that drive in an hour of a working day, or of a weekend if it is above 23."""
    late = 3 if kind >= HOURS else 0
    return 0.55 - 0.35 * float(np.cos(2 * np.pi * (kind % HOURS - 3 - late) / HOURS))


def _pull(side: int, rng: np.random.Generator) -> Floats:
    """How much each cell attracts, summed up to 1 over cells: a row for each hour of a working day and a weekend."""
    centre = _bells(side, np.full((1, 2), 0.5), 0.17) + QUIET
    spots = _bells(side, rng.uniform(0.15, 0.85, (SPOTS, 2)), 0.04)
    hour = np.arange(HOURS)[:, np.newaxis]
    swing = 0.5 - 0.5 * np.cos(2 * np.pi * (hour - rng.uniform(0, HOURS, SPOTS)) / HOURS)
    weight = rng.uniform(0.3, 1.5, SPOTS) * np.concatenate([swing**3, 0.5 * swing])  # less to do at weekends
    pull = np.cumsum(centre + weight @ spots, axis=1)
    share: Floats = pull / pull[:, -1:]
    return share


def _bells(side: int, middles: Floats, width: float) -> Floats:
    """A row for each spot: how near the cells are to it."""
    line = (np.arange(side) + 0.5) / side
    bells = np.exp(-0.5 * ((line - middles[:, :, np.newaxis]) / width) ** 2)
    flat: Floats = (bells[:, 1, :, np.newaxis] * bells[:, 0, np.newaxis]).reshape(len(middles), -1)
    return flat


def _drawn(pull: Floats, number: int, rng: np.random.Generator) -> Ints:
    return np.searchsorted(pull, rng.random(number), side="right")
