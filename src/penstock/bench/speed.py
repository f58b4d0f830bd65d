"""How fast the kernel is: exact noise against numpy and OpenDP, steps of mechanisms, and what grows or leaks."""

from __future__ import annotations

import itertools
import resource
import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from penstock.bench.plain import PlainSPAS
from penstock.bench.scenario import Promise, Scenario
from penstock.catalogue import mechanism
from penstock.curator import Curator
from penstock.errors import BadInput
from penstock.histograms import Histogram
from penstock.mechanisms.base import Mechanism
from penstock.models import EventLevel, PrivacyModel, WEvent
from penstock.noise import SecureNoise, SimulationNoise
from penstock.primitives.tree import whole_tree
from penstock.streams import synthetic
from penstock.types import Floats, Snapshot

SCALE = Fraction(10)
ROUNDS = 15
LONG_STREAM = 1_000_000
YOUNG = 1_000
CHUNK = 500
SLOW_CHUNK = 100

WINDOWS, EVENTS = WEvent(epsilon=1, w=120), EventLevel(epsilon=1)

Advance = Callable[[int], None]


class Result(NamedTuple):
    """One measured figure, and the bar it must not pass (or reach, if ``at_least``)."""

    name: str
    value: float
    unit: str
    bar: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        return self.value >= self.bar if self.at_least else self.value <= self.bar


def against_numpy() -> Result:
    """Exact Laplace over numpy's float Laplace, 100,000 values of scale 10, round-robin."""
    noise, rng = SecureNoise(), np.random.default_rng(1)
    ratio = _ratio(lambda: noise.laplace(SCALE, 100_000), lambda: rng.laplace(0, 10, 100_000))
    return Result("exact Laplace / numpy laplace, d=100,000", ratio, "x", 2)


def against_opendp() -> Result:
    """OpenDP's vector Laplace over ours, 10,000 values of scale 10, round-robin."""
    noise, other = SecureNoise(), _opendp_laplace(10.0)
    zeros = [0] * 10_000
    ratio = _ratio(lambda: other(zeros), lambda: noise.laplace(SCALE, 10_000), rounds=5)
    return Result("OpenDP vector Laplace / exact Laplace, d=10,000", ratio, "x", 100, at_least=True)


def bd_step(bins: int) -> Result:
    """A step of BD with exact noise, over one numpy ``laplace(size=100)``, round-robin in chunks."""
    rng = np.random.default_rng(1)
    walker = _walker(_begun("bd", bins))
    ratio = _ratio(lambda: _walk(walker, CHUNK), lambda: [rng.laplace(size=100) for _ in range(CHUNK)])
    return Result(f"BD step / numpy laplace(size=100), d={bins}", ratio, "x", 60)


def step(key: str, model: PrivacyModel, bins: int, kind: str, bar: float, steps: int = 40) -> Result:
    """A step of a mechanism with exact noise, in milliseconds, over a stream of the given kind."""
    name, walker = mechanism(key).__name__, _walker(_begun(key, bins, model), steps, kind)
    _walk(walker, 1)
    seconds = [_seconds(lambda: _walk(walker, 1)) for _ in range(steps)]
    return Result(f"{name} step, d={bins:,}, {kind} (mean of {steps})", 1000 * float(np.mean(seconds)), "ms", bar)


def simulated(key: str, steps: int = 4000) -> Result:
    """A step of a mechanism inside the benchmark, judging included, in microseconds of one bin; the best of three."""
    stream = synthetic("walk", steps=steps, seed=3)
    scenario = Scenario(stream.name, Promise.of(WINDOWS), key)
    seconds = []
    for _ in range(3):
        begin = time.process_time()
        scenario.run(1, stream)
        seconds.append(time.process_time() - begin)
    return Result(f"{mechanism(key).__name__} step in the benchmark, d=1", 1e6 * min(seconds) / steps, "us", 60)


def searching_the_past() -> Result:
    """A step of MMD when its memory has long been full, over one when it has just filled up, round-robin in chunks."""
    old, young = _walker(_begun("mmd", 100)), _walker(_begun("mmd", 100))
    _walk(young, 2 * SLOW_CHUNK)
    _walk(old, 30 * SLOW_CHUNK)
    ratio = _ratio(lambda: _walk(old, SLOW_CHUNK), lambda: _walk(young, SLOW_CHUNK))
    return Result("MMD step at t=3,000 / at t=200, memory=100, d=100", ratio, "x", 1.2)


def release_by(method: Histogram, side: int, bar: float) -> Result:
    """The first release of a square by a method that builds a tree, exact noise; later ones find the tree made."""
    counts = np.random.default_rng(1).poisson(3.0, side * side)
    publishing = mechanism("uniform")(model=EVENTS, histogram=method, shape=(side, side))
    publishing.start(Curator(EVENTS, side * side))
    whole_tree.cache_clear()
    begin = time.perf_counter()
    publishing.step(Snapshot(1, counts))
    return Result(f"release by {method}, {side:,} x {side:,} cells", time.perf_counter() - begin, "s", bar)


def against_plain(bins: int, bar: float) -> Result:
    """A step of SPAS transcribed into plain Python over one of ours, both with numpy's noise, round-robin in chunks.

    Each is handed its rows in the form it takes them, ready made.
    """
    model = WINDOWS
    settled = 3 * model.w  # the warm-up, and the two windows that the transcription looks back at
    counts = synthetic("jumps", bins=bins, steps=settled + (ROUNDS + 1) * SLOW_CHUNK, seed=3)
    publishing = mechanism("spas")(model=model).start(Curator(model, bins, noise=SimulationNoise(1)))
    plain = PlainSPAS(1.0, model.w, bins, seed=1)
    ours = (float(publishing.step(snapshot).values[0]) for snapshot in list(counts))
    theirs = (plain.step(row)[0] for row in counts.counts.tolist())
    for walker in (ours, theirs):
        _walk(walker, settled)
    ratio = _ratio(lambda: _walk(theirs, SLOW_CHUNK), lambda: _walk(ours, SLOW_CHUNK))
    return Result(f"SPAS in plain Python / SPAS step, d={bins}", ratio, "x", bar, at_least=True)


def flat(advance: Advance) -> list[Result]:
    """What a step costs, and holds, after a million steps against after a thousand."""
    old, young = _walker(_begun("bd", 1)), _walker(_begun("bd", 1))
    _walk(old, YOUNG)
    _walk(young, YOUNG)
    memory = _peak_memory()
    for _ in range(0, LONG_STREAM, YOUNG):  # ends at the same row of the stream as the young one
        _walk(old, YOUNG)
        advance(YOUNG)
    grown = (_peak_memory() - memory) / 2**20
    ratio = _ratio(lambda: _walk(old, CHUNK), lambda: _walk(young, CHUNK))
    return [
        Result("BD step at t=1,000,000 / at t=1,000", ratio, "x", 1.2),
        Result("memory gained from t=1,000 to t=1,000,000", grown, "MiB", 4),
    ]


def timing_leak(calls: int = 30_000) -> Result:
    """Rank correlation of a call's time with the size of the noise it drew, one value, slowest 1% left out."""
    noise, seconds, sizes = SecureNoise(), np.empty(calls), np.empty(calls)
    for i in range(calls):
        begin = time.perf_counter_ns()
        drawn = noise.laplace(SCALE, 1)
        seconds[i] = time.perf_counter_ns() - begin
        sizes[i] = abs(int(drawn[0]))
    kept = seconds < np.quantile(seconds, 0.99)
    correlation = abs(float(np.corrcoef(_ranks(seconds[kept]), _ranks(sizes[kept]))[0, 1]))
    return Result("|Spearman| of call time and |noise|, d=1", correlation, "", 0.05)


def _ratio(ours: Callable[[], object], theirs: Callable[[], object], rounds: int | None = None) -> float:
    """The median over rounds of the time of one over the time of the other, measured in turn."""
    ours(), theirs()
    return float(np.median([_seconds(ours) / _seconds(theirs) for _ in range(rounds or ROUNDS)]))


def _seconds(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def _begun(key: str, bins: int, model: PrivacyModel = WINDOWS) -> Mechanism:
    return mechanism(key)(model=model).start(Curator(model, bins))


def _walker(publishing: Mechanism, rows: int = 5000, kind: str = "jumps") -> Iterator[float]:
    """Step for ever through a stream that repeats its rows; yields the first published value of each step."""
    counts = synthetic(kind, bins=publishing.curator.bins, steps=rows, seed=3).counts
    for t in itertools.count(1):
        yield float(publishing.step(Snapshot(t, counts[t % len(counts)])).values[0])


def _walk(walker: Iterator[float], steps: int) -> None:
    for _ in range(steps):
        next(walker)


def _peak_memory() -> float:
    """The most memory this process ever held, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _ranks(values: Floats) -> Floats:
    """Ranks from 0, ties sharing their mean rank."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(count) - (count + 1) / 2)[place]
    return ranks


def _opendp_laplace(scale: float) -> Callable[[list[int]], Any]:
    try:
        import opendp.prelude as dp
    except ImportError:
        raise BadInput(
            'this benchmark compares with OpenDP; install it with: pip install "penstock[opendp]".'
        ) from None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    measurement: Callable[[list[int]], Any] = dp.m.make_laplace(*space, scale=scale)
    return measurement
