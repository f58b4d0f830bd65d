"""Errors by simulation: each model makes up counts, and its own filter follows them by measurements with noise.

All draws come in one order, which is part of what a table of errors is: another order would be another table.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import NamedTuple

import numpy as np

from penstock.allocation.filters import Filters
from penstock.allocation.watch import FOUND, SEEN, pays
from penstock.primitives.dynamics import DAMPING, Dynamics
from penstock.types import Floats

# Numbers that are worked on at once, so that they stay in the cache of a processor.
AT_ONCE = 1 << 16
Show = Callable[[int, int], None]


class Schedule(NamedTuple):
    """Publish ``pace`` times in a window, which is once in ``every`` units, with Laplace noise of some ``scales``."""

    pace: int
    every: int
    scales: tuple[float, ...]


class Streams:
    """Made-up counts, units x streams x models: from each seed so many ``repeats``."""

    def __init__(self, models: Dynamics, units: int, repeats: int, seeds: Sequence[tuple[int, int]]) -> None:
        self.models, self._repeats = models, repeats
        self.counts = np.empty((units, repeats * len(seeds), models.size))
        self._noise: list[np.random.PCG64] = []
        for seed, part in zip(seeds, np.split(self.counts, len(seeds), axis=1), strict=True):
            bits = np.random.PCG64(np.random.SeedSequence(seed))
            part[:] = simulate_counts(models, units, repeats, np.random.Generator(bits))
            self._noise.append(bits)

    def draw_noise(self, scale: float, skipped: int) -> Iterator[Floats]:
        """Laplace noise, one array for each measurement, after ``skipped`` other measurements."""
        generators = [np.random.Generator(self._skip(bits, skipped)) for bits in self._noise]
        drawn = np.empty(self.counts.shape[1:])
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
        return skipped.advance(measurements * self._repeats * self.models.size)


def simulate_counts(models: Dynamics, units: int, repeats: int, rng: np.random.Generator) -> Floats:
    """Counts of every model, measured from the first level; units x repeats x models."""
    shape = units, repeats, models.size
    sudden, trends = models.sudden, models.trends
    counts = rng.standard_normal(shape)
    counts *= np.sqrt(models.level + models.velocity)
    hit = rng.random((*shape[:2], len(models.rate[sudden]))) < models.rate[sudden]
    counts[:, :, sudden] += hit * rng.standard_normal(hit.shape) * np.sqrt(models.jump[sudden])
    velocity = np.zeros((repeats, len(models.velocity[trends])))
    for unit in range(1, units):
        velocity *= DAMPING
        counts[unit, :, trends] += velocity
        velocity += rng.standard_normal(velocity.shape) * np.sqrt(models.velocity[trends])
    counts[0] = 0
    np.cumsum(counts, axis=0, out=counts)
    around = np.sqrt(models.around)
    for part in _in_parts(counts):
        part += rng.standard_normal(part.shape) * around
    counts[:, :, sudden] += hit * rng.standard_normal(hit.shape) * np.sqrt(models.burst[sudden])
    return counts


def simulate_errors(streams: Streams, schedules: Sequence[Schedule], *, squared: bool, show: Show) -> Floats:
    """The mean error of each filter, or its square: scales x 2 x schedules x models; without a watch, and with one.

    Scales of a schedule meet the same draws. The work is shared among processors; how many there are changes nothing.
    """
    units = len(streams.counts)
    steps = [-(-units // schedule.every) for schedule in schedules]
    skipped = np.cumsum([0, *steps]).tolist()
    jobs = [(row, plane) for row, schedule in enumerate(schedules) for plane in range(len(schedule.scales))]
    found = np.empty((len(schedules[0].scales), 2, len(schedules), streams.models.size))
    done, total = 0, sum(steps[row] for row, _ in jobs)
    show(done, total)
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        waiting = {
            pool.submit(_mean_errors, streams, schedules[row], plane, skipped[row], squared): (row, plane)
            for row, plane in sorted(jobs, key=lambda job: -steps[job[0]])
        }
        for ended in as_completed(waiting):
            row, plane = waiting[ended]
            found[plane, :, row] = ended.result()
            done += steps[row]
            show(done, total)
    finally:
        pool.shutdown(cancel_futures=True)
    return found


def _mean_errors(streams: Streams, schedule: Schedule, plane: int, skipped: int, squared: bool) -> Floats:
    """What one schedule misses on average, with noise of one of its scales."""
    counts, every, scale = streams.counts, schedule.every, schedule.scales[plane]
    filters = Filters(streams.models, counts.shape[1], every, scale)
    misses = Misses(streams.models, counts.shape[1], watched=pays(schedule.pace, every), squared=squared)
    for begin, noise in zip(range(0, len(counts), every), streams.draw_noise(scale, skipped), strict=False):
        noise += counts[begin]
        if begin:
            misses.add(filters.follow(noise) - counts[begin])
        else:
            filters.begin(noise)
            misses.add(filters.level - counts[begin])
        after = 1
        for part in _in_parts(counts[begin + 1 : begin + every]):
            misses.add_later(filters.foresee(after, len(part)) - part)
            after += len(part)
    return misses.mean(len(counts))


class Misses:
    """How far filters were off, added up over units: without a watch, and if one that is ``watched`` sees jumps."""

    def __init__(self, models: Dynamics, streams: int, *, watched: bool, squared: bool) -> None:
        self._sudden, self._watched, self._power = models.sudden, watched, 2 if squared else 1
        self._sums = np.zeros((2, streams, models.size))

    def add(self, off: Floats) -> None:
        """Units that were measured."""
        self._sums += np.abs(off) ** self._power

    def add_later(self, off: Floats) -> None:
        """Units after that, until the next measurement; a watch would have seen what is far off."""
        np.abs(off, out=off)
        missed = (off**self._power).sum(axis=0)
        self._sums[0] += missed
        if self._watched:
            sudden = off[:, :, self._sudden]
            left = np.where(sudden > SEEN, FOUND, sudden) ** self._power
            missed[:, self._sudden] = left.sum(axis=0)
        self._sums[1] += missed

    def mean(self, units: int) -> Floats:
        """Of all streams and units."""
        found: Floats = self._sums.mean(axis=1) / units
        return found


def _in_parts(units: Floats) -> Iterator[Floats]:
    """A few units at a time."""
    size = max(AT_ONCE // math.prod(units.shape[1:]), 1)
    return (units[begin : begin + size] for begin in range(0, len(units), size))
