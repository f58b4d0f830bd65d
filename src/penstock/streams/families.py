"""Kinds of made-up streams, by what their bins do. Each is given units, bins and random numbers, and gives values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from penstock.types import Floats

Generator = Callable[[int, int, np.random.Generator], Floats]

DAY = 48  # half hours
WEEK = 7  # days
BURST_LASTS = 8  # units


def constant(steps: int, bins: int, rng: np.random.Generator) -> Floats:
    """Every bin stays where it is."""
    return np.tile(rng.integers(50, 500, bins).astype(np.float64), (steps, 1))


def walk(steps: int, bins: int, rng: np.random.Generator, *, sd: float = 5) -> Floats:
    """Every bin takes normal steps from a level of 60 of their standard deviations, reflected at 0."""
    return np.abs(60 * sd + np.cumsum(rng.normal(0, sd, (steps, bins)), axis=0))


def jumps(steps: int, bins: int, rng: np.random.Generator) -> Floats:
    """Every bin rests and moves to a new level now and then."""
    moves = rng.random((steps, bins)) < 1 / 80
    moves[0] = True
    levels = rng.integers(0, 800, (steps, bins)).astype(np.float64)
    latest = np.maximum.accumulate(np.where(moves, np.arange(steps)[:, np.newaxis], 0), axis=0)
    return np.take_along_axis(levels, latest, axis=0)


def staircase(steps: int, bins: int, rng: np.random.Generator) -> Floats:
    """Every bin rests for long and moves about every 150 units, by 10 or by 10,000 or anything between; never below 0.

    Sizes are even on a scale of logarithms, so that any threshold misses some and meets others.
    """
    moves = rng.random((steps, bins)) < 1 / 150
    sizes = 10 ** rng.uniform(1, 4, (steps, bins)) * rng.choice((-1, 1), (steps, bins))
    values: Floats = np.abs(10 ** rng.uniform(2, 4, bins) + np.cumsum(moves * sizes, axis=0))
    return values


def seasonal(steps: int, bins: int, rng: np.random.Generator) -> Floats:
    """A yearly swell of weekly counts, larger in some bins than in others, with Poisson scatter."""
    phase = 2 * np.pi * (np.arange(steps)[:, np.newaxis] / 52 + rng.normal(0, 0.05, bins))
    level = rng.lognormal(5, 1, bins)
    return rng.poisson(level * (1 + 0.8 * np.sin(phase))).astype(np.float64)


def diurnal(steps: int, bins: int, rng: np.random.Generator) -> Floats:
    """Half-hourly counts of a city: a morning and an evening peak, one late hump at weekends, Poisson scatter.

    Some bins are fuller in the morning and others in the evening, as homes and offices are.
    """
    unit = np.arange(steps)[:, np.newaxis]
    hour = unit % DAY / 2 + rng.normal(0, 0.3, bins)
    morning = rng.uniform(0.3, 1, bins)
    working = 0.15 + morning * _hump(hour, 8.5, 1.3) + (1.3 - morning) * _hump(hour, 18, 2)
    free = 0.2 + 0.6 * _hump(hour, 15, 4)
    level = rng.lognormal(5, 1, bins) * np.where(unit // DAY % WEEK < 5, working, free)
    return rng.poisson(level).astype(np.float64)


def _hump(hour: Floats, at: float, width: float) -> Floats:
    """A peak at some hour of the day, which reaches across midnight."""
    away = (hour - at + 12) % 24 - 12
    bell: Floats = np.exp(-0.5 * (away / width) ** 2)
    return bell


def weekly(steps: int, bins: int, rng: np.random.Generator) -> Floats:
    """Daily counts: five days alike and two quiet ones, a trend over a year or more, Poisson scatter."""
    unit = np.arange(steps)[:, np.newaxis]
    pattern = np.array([1, 0.95, 0.95, 1, 1.15, 0.6, 0.4])[:, np.newaxis] * rng.lognormal(0, 0.1, (WEEK, bins))
    swing = np.sin(2 * np.pi * (unit / rng.uniform(400, 1200, bins) + rng.random(bins)))
    level = rng.lognormal(5, 1, bins) * pattern[unit[:, 0] % WEEK] * np.exp(0.5 * swing)
    return rng.poisson(level).astype(np.float64)


def bursts(steps: int, bins: int, rng: np.random.Generator) -> Floats:
    """Mostly empty bins; a few fill up for a while and drain again."""
    begins = rng.random((steps, bins)) < 1 / 200
    peaks = begins * rng.pareto(1.5, (steps, bins)) * 20
    values = np.zeros((steps, bins))
    level = np.zeros(bins)
    for t in range(steps):
        level = 0.8 * level + peaks[t]
        values[t] = level
    return rng.poisson(values).astype(np.float64)


def bursty(steps: int, bins: int, rng: np.random.Generator) -> Floats:
    """A calm level with Poisson scatter; about every 150 units 5 to 30 times as much, gone within a few units."""
    begins = rng.random((steps, bins)) < 1 / 150
    peaks = begins * rng.uniform(4, 29, (steps, bins))
    factor = 1 + peaks
    for age in range(1, min(BURST_LASTS, steps)):
        factor[age:] += 0.4**age * peaks[:-age]
    return rng.poisson(rng.lognormal(4, 1, bins) * factor).astype(np.float64)


def sparse(steps: int, bins: int, rng: np.random.Generator) -> Floats:
    """Meant for 200 bins: one in twenty, and at least one, holds small counts; the others are empty almost always."""
    level = np.full(bins, 0.005)
    busy = rng.permutation(bins)[: max(bins // 20, 1)]
    level[busy] = rng.uniform(0.5, 5, len(busy))
    return rng.poisson(level, (steps, bins)).astype(np.float64)


def spas_1(steps: int, bins: int, rng: np.random.Generator) -> Floats:
    """The first stream of the SPAS paper: independent, uniform between 0 and 200."""
    return rng.integers(0, 201, (steps, bins)).astype(np.float64)


def spas_2(steps: int, bins: int, rng: np.random.Generator) -> Floats:
    """The second: uniform between 0 and 1000 in its first half, normal about 1000 in its second.

    The paper says "variance of 10"; the published domain size fits a standard deviation of 10, which is used here.
    """
    return _halves(steps, bins, rng, 1000)


def spas_3(steps: int, bins: int, rng: np.random.Generator) -> Floats:
    """The third, meant for 10 bins: uniform between 0 and 10,000, then normal about 1000."""
    return _halves(steps, bins, rng, 10_000)


def _halves(steps: int, bins: int, rng: np.random.Generator, top: int) -> Floats:
    first = rng.integers(0, top + 1, (steps // 2, bins)).astype(np.float64)
    return np.concatenate([first, rng.normal(1000, 10, (steps - steps // 2, bins))])


GENERATORS: dict[str, Generator] = {
    **{made.__name__: made for made in (constant, walk, jumps, seasonal, bursts, spas_1, spas_2, spas_3)},
    **{f"walk_{sd}": partial(walk, sd=sd) for sd in (1, 30, 200)},
    "steps": staircase,
    **{made.__name__: made for made in (bursty, diurnal, weekly, sparse)},
}
