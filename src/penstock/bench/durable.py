"""What durability costs, in bare fsyncs of the same disk, and how a store ages."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from penstock.bench.speed import Advance, Result
from penstock.catalogue import made
from penstock.models import WEvent
from penstock.publisher import Publisher
from penstock.store import Store
from penstock.streams import Stream, synthetic
from penstock.types import Snapshot

BINS = [f"bin {i}" for i in range(100)]
MODEL = WEvent(epsilon=1, w=100)
ROUNDS = 300
STREAMS = 100
SHARED_ROUNDS = 12
LONG_STREAM = 100_000
BLOCK = bytes(4096)


def release_alone() -> Result:
    """A durable release of BD, d=100, over a bare fsync; both in turn, medians."""
    with TemporaryDirectory(dir=Path.cwd()) as folder, Store(Path(folder) / "bench.db") as store:
        publisher = _publisher(store, "bd", "alone")
        ratio = _over_fsync(Path(folder), ROUNDS, lambda now, then: publisher.publish(now, ahead=then))
    return Result("durable release, d=100 / bare fsync", ratio, "x", 12)


def releases_together() -> Result:
    """A durable release of BD, d=100, in a transaction that a hundred streams share, over a bare fsync."""
    with TemporaryDirectory(dir=Path.cwd()) as folder, Store(Path(folder) / "bench.db") as store:
        publishers = [_publisher(store, "bd", f"stream {i}") for i in range(STREAMS)]

        def together(now: Snapshot, then: Snapshot) -> None:
            store.commit([publisher.prepare(now.anew(), ahead=then.anew()) for publisher in publishers])

        ratio = _over_fsync(Path(folder), SHARED_ROUNDS, together)
    return Result("durable release, 100 streams together / bare fsync", ratio / STREAMS, "x", 2)


def _over_fsync(folder: Path, rounds: int, work: Callable[[Snapshot, Snapshot], object]) -> float:
    """How much longer work on a snapshot and the next takes than a block appended to a file, and on the disk."""
    handle = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    taken: list[tuple[float, float]] = []
    for now, then in pairwise(synthetic("walk", bins=len(BINS), steps=rounds + 2, seed=1)):
        begin = time.perf_counter()
        os.write(handle, BLOCK)
        os.fsync(handle)
        middle = time.perf_counter()
        work(now, then)
        taken.append((middle - begin, time.perf_counter() - middle))
    os.close(handle)
    bare, ours = np.median(np.array(taken[1:]), axis=0)  # the first one announces itself
    return float(ours / bare)


def aged(advance: Advance) -> Iterator[Result]:
    """A stream of 100,000 releases, every one of them fresh: how large it is, and how long a restart takes."""
    with TemporaryDirectory(dir=Path.cwd()) as folder:
        path = Path(folder) / "bench.db"
        with Store(path) as store, _publisher(store, "uniform", "long") as publisher:
            for _ in publisher.run(Stream(np.full((LONG_STREAM, len(BINS)), 1000))):
                advance(1)
        yield Result(f"{LONG_STREAM:,} fresh releases, d=100: file", path.stat().st_size / 2**20, "MiB", 100)

        begin = time.perf_counter()
        with Store(path) as store, _publisher(store, "uniform", "long"):
            ready = time.perf_counter()
        yield Result(f"restart after {LONG_STREAM:,} releases", ready - begin, "s", 2)


def _publisher(store: Store, mechanism: str, stream: str) -> Publisher:
    return Publisher(made(mechanism, {}, MODEL), store, stream, bins=BINS)
