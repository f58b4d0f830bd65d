"""Medians: how wide their noise has to be by the number of points, and how far off they are."""

from __future__ import annotations

import numpy as np
from rich import box
from rich.table import Table

from penstock.bench.neighbourhood.jobs import MEDIAN_RADII, Job, Medians, Results
from penstock.bench.neighbourhood.showing import brief
from penstock.bench.trials import ruled
from penstock.types import Floats

EPSILONS = ("1", "0.1")
SIZES = (*range(10, 101, 10), 150, 200, 300, 400, 600, 1000, 2000, 4000)
SHOWN = (10, 20, 30, 50, 70, 100, 200, 400, 1000, 4000)
FIGURES = ("smooth sensitivity", "error of the median", "error of the middle of sorted points")
HARDLY = 0.95  # of the standard neighbourhood's


def jobs() -> list[Job]:
    """Every size; the largest first, because they take longest."""
    return [Medians(size, epsilon) for size in reversed(SIZES) for epsilon in EPSILONS]


def figures(results: Results, epsilon: str, figure: int) -> Floats:
    """A row for each radius, a column for each size: means of sensitivities, medians of errors, which have no mean."""
    found = []
    for size in SIZES:
        drawn = results[Medians(size, epsilon)].reshape(-1, len(MEDIAN_RADII), len(FIGURES))[:, :, figure]
        found.append(np.mean(drawn, axis=0) if figure == 0 else np.median(drawn, axis=0))
    return np.array(found).T


def tables(results: Results, style: box.Box) -> dict[str, Table]:
    """All tables, by name."""
    found = {f"median-{epsilon}": _figures(results, epsilon, style) for epsilon in EPSILONS}
    return found | {"ends": _ends(results, style)}


def _figures(results: Results, epsilon: str, style: box.Box) -> Table:
    title = f"Medians of exponential points, epsilon = {epsilon}, by number of points"
    shown = [size for size in SHOWN if size in SIZES]
    table = ruled(title, ["figure", "radius", *(f"{size:,}" for size in shown)], style, words=2)
    for figure, name in enumerate(FIGURES):
        for radius, row in zip(MEDIAN_RADII, figures(results, epsilon, figure), strict=True):
            table.add_row(name, radius, *(brief(row[SIZES.index(size)]) for size in shown))
    return table


def _ends(results: Results, style: box.Box) -> Table:
    """From which number of points on a radius is of no use, and the median is better than the middle point."""
    title = "From how many points on the radius no longer helps, and the median is better than sorted points' middle"
    names = ["epsilon", "radius", "noise less than 5% narrower", "no narrower", "better than the middle"]
    table = ruled(title, names, style, words=2)
    for epsilon in EPSILONS:
        widths, off, other = (figures(results, epsilon, figure) for figure in range(len(FIGURES)))
        for i, radius in enumerate(MEDIAN_RADII):
            ends = [_since(widths[i] >= part * widths[0]) if i else "-" for part in (HARDLY, 1)]
            table.add_row(epsilon, radius, *ends, _since(off[i] <= other[i]))
    return table


def _since(true: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> str:
    """The smallest size from which on it is always so."""
    since = len(true) - int(np.argmin(true[::-1])) if not true.all() else 0
    return f"{SIZES[since]:,}" if since < len(SIZES) else f"above {SIZES[-1]:,}"
