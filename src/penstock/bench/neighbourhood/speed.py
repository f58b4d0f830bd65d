"""How long a publication takes, with the noise that is shipped, in seconds of the processor."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from rich import box
from rich.table import Table

from penstock import static
from penstock.bench.trials import ruled
from penstock.types import Floats

SIZES = (10_000, 100_000, 1_000_000)
ROUNDS, ENOUGH = 5, 1.0  # so many rounds, unless it takes longer than so many seconds
STEP = "0.000001"
PLACES = 6

Seconds = dict[str, list[float]]


def measured(seed: int, advance: Callable[[], None]) -> Seconds:
    """Seconds of every kind of publication, for each number of points; the quickest of a few rounds."""
    seconds: Seconds = {}
    for size in SIZES:
        values = np.random.default_rng((seed, size)).random(size)
        for name, work in _works(values).items():
            seconds.setdefault(name, []).append(_quickest(work))
            advance()
    return seconds


def steps() -> int:
    """How many things are timed."""
    return len(SIZES) * len(_works(np.zeros(1)))


def _works(values: Floats) -> dict[str, Callable[[], object]]:
    fine, coarse, tree, many = (_points(values, step) for step in (STEP, "0.001", "0.0009765625", "0.00001"))
    median, points = static.Median(), static.SortedPoints
    return {
        f"sealing the points, grid {STEP}": partial(_points, values, STEP),
        "the same, points on the grid's edges": partial(_points, np.round(values, PLACES), STEP),
        "the same, grid 1/3000": partial(_points, values, "1/3000"),
        "plain histogram, 1,000 bins": partial(_published, coarse, static.PlainHistogram()),
        "quadtree, 1,024 bins": partial(_published, tree, static.PlainHistogram(histogram="quadtree")),
        "cumulative histogram, 1,000 bins": partial(_published, coarse, static.CumulativeHistogram()),
        "cumulative histogram, 100,000 bins": partial(_published, many, static.CumulativeHistogram()),
        "sorted points": partial(_published, fine, points()),
        "sorted points, groups of 100": partial(_published, fine, points(group=100)),
        "sorted points, standard neighbourhood": partial(_published, fine, points(), radius="domain"),
        "median": partial(_published, fine, median),
        "median, epsilon 0.001": partial(_published, fine, median, epsilon="0.001"),
    }


def _points(values: Floats, step: str) -> static.Points:
    return static.Points(values, f"0..1/{step}", size_is_public=True)


def _published(
    points: static.Points, publication: static.Publication, radius: str = "0.001", epsilon: str = "1"
) -> object:
    return static.publish(points, publication, static.SpatialNeighbourhood(epsilon=epsilon, radius=radius))


def _quickest(work: Callable[[], object]) -> float:
    quickest, begin = np.inf, time.process_time()
    for _ in range(ROUNDS):
        started = time.process_time()
        work()
        quickest = min(quickest, time.process_time() - started)
        if time.process_time() - begin > ENOUGH:
            break
    return float(quickest)


def table(seconds: Seconds, style: box.Box) -> Table:
    """Seconds by number of points, and how they grow."""
    names = ["publication", *(f"{size:,} points" for size in SIZES), "growth, last step"]
    shown = ruled("Seconds of processor time of a publication, uniform points", names, style)
    for name, row in seconds.items():
        shown.add_row(name, *map(_told, row), _growth(row))
    return shown


def _told(seconds: float) -> str:
    return f"{seconds:.4f}" if seconds < 0.1 else f"{seconds:.2f}"


def _growth(row: Sequence[float]) -> str:
    return f"x {row[-1] / row[-2]:.1f}"
