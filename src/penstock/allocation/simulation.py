"""Errors by simulation: each model makes up counts, and its own filter follows them by measurements with noise.

All draws come in one order, which is part of what a table of errors is: another order would be another table.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from itertools import accumulate, count, repeat
from typing import NamedTuple

import numpy as np

from penstock.allocation.filters import Filters
from penstock.allocation.watch import FOUND, SEEN, pays
from penstock.primitives.dynamics import DAMPING, Dynamics
from penstock.types import Floats

# Numbers that are worked on at once, so that they stay in the cache of a processor.
AT_ONCE = 1 << 16
SHOWN_EVERY_SECONDS = 0.2
Show = Callable[[int, int], None]


class Schedule(NamedTuple):
    """Publish ``pace`` times in a window, which is once in ``every`` units, with Laplace noise of some ``scales``."""

    pace: int
    every: int
    scales: tuple[float, ...]


class Streams:
    """Made-up counts, seeds x units x repeats x models. Each seed and repeat is a stream of every model."""

    def __init__(self, models: Dynamics, units: int, repeats: int, seeds: Sequence[tuple[int, int]]) -> None:
        self.models, self.units = models, units
        self.counts = np.empty((len(seeds), units, repeats, models.size))
        self._noise = [np.random.PCG64(np.random.SeedSequence(seed)) for seed in seeds]
        generators = map(np.random.Generator, self._noise)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(simulate_counts, repeat(models), generators, self.counts))

    def __len__(self) -> int:
        return self.counts.shape[0] * self.counts.shape[2]

    def at(self, unit: int) -> Floats:
        """The counts of a unit, streams x models, to be written to."""
        counts: Floats = self.counts[:, unit].reshape(len(self), -1)  # a copy, unless there is but one seed
        return counts if counts.base is None else counts.copy()

    def parts(self, first: int, last: int) -> Iterator[tuple[int, Floats]]:
        """The counts from one unit up to but without another, a few units at a time, and the first of these units."""
        size = max(AT_ONCE // (len(self) * self.models.size), 1)
        return ((unit, self.counts[:, unit : min(unit + size, last)]) for unit in range(first, last, size))

    def draw_noise(self, scale: float, skipped: int) -> Iterator[Floats]:
        """Laplace noise, one array for each measurement, after ``skipped`` other measurements."""
        generators = [np.random.Generator(self._skip(bits, skipped)) for bits in self._noise]
        drawn = np.empty((len(self), self.models.size))
        parts = np.split(drawn, len(generators))
        while True:
            for generator, part in zip(generators, parts, strict=True):
                generator.random(out=part)
            tails = np.minimum(drawn, 1 - drawn)
            tails *= 2
            np.log(tails, out=tails)
            tails *= scale
            drawn -= 0.5
            yield np.copysign(tails, drawn, out=tails)

    def _skip(self, bits: np.random.PCG64, measurements: int) -> np.random.PCG64:
        skipped = np.random.PCG64()
        skipped.state = bits.state
        return skipped.advance(measurements * self.counts[0, 0].size)


def simulate_counts(models: Dynamics, rng: np.random.Generator, counts: Floats) -> None:
    """Fill ``counts``, units x repeats x models, as the models move; measured from the first level."""
    sudden, trends = models.sudden, models.trends
    rng.standard_normal(out=counts)
    counts *= np.sqrt(models.level + models.velocity)
    hit = rng.random((*counts.shape[:2], len(models.rate[sudden]))) < models.rate[sudden]
    counts[:, :, sudden] += hit * rng.standard_normal(hit.shape) * np.sqrt(models.jump[sudden])
    velocity = np.zeros((counts.shape[1], len(models.velocity[trends])))
    for unit in counts[1:, :, trends]:
        velocity *= DAMPING
        unit += velocity
        velocity += rng.standard_normal(velocity.shape) * np.sqrt(models.velocity[trends])
    counts[0] = 0
    np.cumsum(counts, axis=0, out=counts)
    around = np.sqrt(models.around)
    for unit in counts:
        unit += rng.standard_normal(unit.shape) * around
    counts[:, :, sudden] += hit * rng.standard_normal(hit.shape) * np.sqrt(models.burst[sudden])


def count_steps(units: int, schedules: Sequence[Schedule]) -> int:
    """How many measurements all schedules make in the given units, with each of their scales."""
    return sum(len(schedule.scales) * -(-units // schedule.every) for schedule in schedules)


def simulate_errors(streams: Streams, schedules: Sequence[Schedule], *, squared: bool, show: Show) -> Floats:
    """The mean error of each filter, or its square: scales x 2 x schedules x models; without a watch, and with one.

    Scales of a schedule meet the same draws. The work is shared among processors; how many there are changes nothing.
    """
    steps = [-(-streams.units // schedule.every) for schedule in schedules]
    skipped = [0, *accumulate(steps)]
    jobs = [(row, plane) for row, schedule in enumerate(schedules) for plane in range(len(schedule.scales))]
    jobs.sort(key=lambda job: schedules[job[0]].every)
    found = np.empty((len(schedules[0].scales), 2, len(schedules), streams.models.size))
    done, total = [0] * len(jobs), count_steps(streams.units, schedules)

    def work(number: int) -> None:
        row, plane = jobs[number]
        tick = partial(done.__setitem__, number)
        found[plane, :, row] = _mean_errors(streams, schedules[row], plane, skipped[row], squared, tick)

    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        waiting = {pool.submit(work, number) for number in range(len(jobs))}
        while waiting:
            ended, waiting = wait(waiting, timeout=SHOWN_EVERY_SECONDS)
            for each in ended:
                each.result()
            show(sum(done), total)
    finally:
        pool.shutdown(cancel_futures=True)
    return found


def _mean_errors(
    streams: Streams, schedule: Schedule, plane: int, skipped: int, squared: bool, tick: Callable[[int], None]
) -> Floats:
    """What one schedule misses on average, with noise of one of its scales."""
    every, scale, units = schedule.every, schedule.scales[plane], streams.units
    filters = Filters(streams.models, len(streams), every, scale)
    misses = Misses(streams, watched=pays(schedule.pace, every), squared=squared)
    begins = range(0, units, every)
    for number, begin, noise in zip(count(1), begins, streams.draw_noise(scale, skipped), strict=False):
        counts = streams.at(begin)
        noise += counts
        counts -= filters.follow(noise) if begin else filters.begin(noise)
        misses.add(counts)
        for first, part in streams.parts(begin + 1, min(begin + every, units)):
            misses.add_later(filters.miss(part, first - begin))
        tick(number)
    return misses.mean()


class Misses:
    """How far filters were off, added up over units: without a watch, and if one that is ``watched`` sees jumps."""

    def __init__(self, streams: Streams, *, watched: bool, squared: bool) -> None:
        self._sudden, self._watched, self._squared = streams.models.sudden, watched, squared
        self._sums, self._units = np.zeros((2, len(streams), streams.models.size)), streams.units

    def add(self, off: Floats) -> None:
        """Units that were measured; ``off`` is used up."""
        self._sums += self._sized(off)

    def add_later(self, off: Floats) -> None:
        """Units after that, until the next measurement; a watch would have seen what is far off."""
        shape = self._sums.shape[1], -1
        sudden = np.abs(off[..., self._sudden]) if self._watched else None
        missed = self._sized(off).sum(axis=1).reshape(shape)
        self._sums[0] += missed
        if sudden is not None:
            left = self._sized(np.where(sudden > SEEN, FOUND, sudden))
            missed[:, self._sudden] = left.sum(axis=1).reshape(shape)
        self._sums[1] += missed

    def _sized(self, off: Floats) -> Floats:
        return np.square(off, out=off) if self._squared else np.abs(off, out=off)

    def mean(self) -> Floats:
        """Of all streams and units."""
        found: Floats = self._sums.mean(axis=1) / self._units
        return found
