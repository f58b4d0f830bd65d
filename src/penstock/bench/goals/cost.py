"""What ``auto`` takes: time for a unit, and bytes of what it has to remember. Times are those of this machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from penstock.bench.goals.plan import AUTO
from penstock.bench.scenario import Promise
from penstock.catalogue import made
from penstock.curator import Curator
from penstock.mechanisms.base import Mechanism
from penstock.noise.simulation import SimulationNoise
from penstock.streams import Stream, synthetic

PROMISE = Promise("w-event", "1", 120)
TIMED = (1, 64, 1000, 10_000)  # bins
KEPT = (1, 64)
UNITS = (200, 2000)  # after which the state is saved
LEAST, MOST, SECONDS = 3, 60, 1.0  # steps that are timed, and about for how long
WARM = 2  # steps before: the first ones make tables
SEED = 7


class Taken(NamedTuple):
    """Milliseconds of a unit with a release and of one without, with so many bins."""

    bins: int
    releasing: float
    idle: float


class Kept(NamedTuple):
    """Bytes of the state after some units, with so many bins."""

    bins: int
    after: dict[int, int]


class Cost(NamedTuple):
    """All of it."""

    taken: list[Taken]
    kept: list[Kept]


def cost(timed: tuple[int, ...] = TIMED, kept: tuple[int, ...] = KEPT, units: tuple[int, ...] = UNITS) -> Cost:
    """Measured now."""
    return Cost([_taken(bins) for bins in timed], [_kept(bins, units) for bins in kept])


def _taken(bins: int) -> Taken:
    """At a pace of a release a unit, and of a release a window."""
    return Taken(bins, *(median(_times(bins, pace)) for pace in (PROMISE.window, 1)))


def _times(bins: int, pace: int) -> list[float]:
    publishing = _started(bins, {"pace": pace})
    times: list[float] = []
    for t, snapshot in enumerate(_stream(bins, WARM + MOST)):
        if len(times) >= LEAST and sum(times) > SECONDS * 1000:
            break
        begin = time.perf_counter()
        publishing.step(snapshot)
        times += [1000 * (time.perf_counter() - begin)] if t >= WARM else []
    return times


def _kept(bins: int, units: tuple[int, ...]) -> Kept:
    return Kept(bins, dict(_saved(_started(bins, {}), _stream(bins, max(units)), units)))


def _saved(publishing: Mechanism, stream: Stream, units: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    for snapshot in stream:
        publishing.step(snapshot)
        if snapshot.t in units:
            yield snapshot.t, len(publishing.save().public)


def _started(bins: int, told: dict[str, int]) -> Mechanism:
    publishing = made(AUTO, told, PROMISE.model)
    return publishing.start(Curator(publishing.model, bins, noise=SimulationNoise(SEED)))


def _stream(bins: int, steps: int) -> Stream:
    return synthetic("walk", bins=bins, steps=steps, seed=SEED)
