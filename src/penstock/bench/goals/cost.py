"""What ``auto`` takes: time for a unit, and bytes of what it has to remember. Times are those of this machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from penstock.bench.boards import EVENT_PROMISES, EVENT_WIDTH
from penstock.bench.goals.plan import AUTO
from penstock.bench.scenario import Promise
from penstock.catalogue import made
from penstock.curator import Curator
from penstock.mechanisms.base import Mechanism
from penstock.noise.simulation import SimulationNoise
from penstock.streams import Stream, synthetic

WINDOWS, UNIT_BY_UNIT = Promise("w-event", "1", 120), EVENT_PROMISES[-1]
SUMS = {"width": EVENT_WIDTH}
TIMED = (1, 64, 1000, 10_000)  # bins
KEPT = (1, 64)
UNITS = (200, 2000)  # after which the state is saved
LEAST, MOST, SECONDS = 3, 60, 1.0  # steps that are timed, and about for how long
WARM = 2  # steps before: the first ones make tables
SEED = 7


class Taken(NamedTuple):
    """Milliseconds with so many bins: of a unit with a release, of one without, and of one at event level."""

    bins: int
    releasing: float
    idle: float
    summing: float


class Kept(NamedTuple):
    """Bytes of the state after some units, with so many bins under a promise."""

    bins: int
    law: str
    after: dict[int, int]


class Cost(NamedTuple):
    """All of it."""

    taken: list[Taken]
    kept: list[Kept]


def cost(timed: tuple[int, ...] = TIMED, kept: tuple[int, ...] = KEPT, units: tuple[int, ...] = UNITS) -> Cost:
    """Measured now."""
    promises: dict[Promise, dict[str, int]] = {WINDOWS: {}, UNIT_BY_UNIT: SUMS}
    return Cost(
        [_taken(bins) for bins in timed],
        [_kept(bins, promise, told, units) for promise, told in promises.items() for bins in kept],
    )


def _taken(bins: int) -> Taken:
    """At a pace of a release a unit, at that of a release a window, and where sums are published at every unit."""
    releasing, idle = ({"pace": pace} for pace in (WINDOWS.window, 1))
    runs = (WINDOWS, releasing), (WINDOWS, idle), (UNIT_BY_UNIT, SUMS)
    return Taken(bins, *(median(_times(bins, promise, told)) for promise, told in runs))


def _times(bins: int, promise: Promise, told: dict[str, int]) -> list[float]:
    publishing = _started(bins, promise, told)
    times: list[float] = []
    for t, snapshot in enumerate(_stream(bins, WARM + MOST)):
        if len(times) >= LEAST and sum(times) > SECONDS * 1000:
            break
        begin = time.perf_counter()
        publishing.step(snapshot)
        times += [1000 * (time.perf_counter() - begin)] if t >= WARM else []
    return times


def _kept(bins: int, promise: Promise, told: dict[str, int], units: tuple[int, ...]) -> Kept:
    return Kept(bins, promise.law, dict(_saved(_started(bins, promise, told), _stream(bins, max(units)), units)))


def _saved(publishing: Mechanism, stream: Stream, units: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    for snapshot in stream:
        publishing.step(snapshot)
        if snapshot.t in units:
            yield snapshot.t, len(publishing.save().public)


def _started(bins: int, promise: Promise, told: dict[str, int]) -> Mechanism:
    publishing = made(AUTO, told, promise.model)
    return publishing.start(Curator(publishing.model, bins, noise=SimulationNoise(SEED)))


def _stream(bins: int, steps: int) -> Stream:
    return synthetic("walk", bins=bins, steps=steps, seed=SEED)
