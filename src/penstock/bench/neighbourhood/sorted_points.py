"""Sorted points: how the error falls with the radius, and which groups are best."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from rich import box
from rich.table import Table

from penstock import static
from penstock.bench.neighbourhood.clouds import CLOUDS
from penstock.bench.neighbourhood.jobs import FINE, MIDDLING, WHOLE, FromBins, FromPoints, Job, Results
from penstock.bench.neighbourhood.showing import brief, means
from penstock.bench.trials import ruled
from penstock.types import Floats

RADII = (WHOLE, "0.1", "0.01", "0.001", "0.0001", "0.00001", "0.000001")
BINNED = RADII[1:-1]  # for which a histogram with bins as wide as the radius is no larger than the points
GROUPS = (1, 3, 10, 30, 100, 300)
STEPS = (FINE, Fraction(1, 10_000), Fraction(1, 1000), Fraction(1, 100))
WIDE, NARROW = ("0.1", "0.01", "0.001"), ("0.00001", "0.000001")  # radii that hold many points, or hardly any
COUNTS, POINTS = FIGURES = ("counts of ranges of 0.1", "points")
ROUNDED = CLOUDS[-1]


def jobs() -> list[Job]:
    """Every group for every radius, and some grids that are not fine."""
    found: list[Job] = [binned(kind, radius) for kind in CLOUDS for radius in BINNED]
    found += [FromPoints(kind, group, radius) for kind in CLOUDS for group in GROUPS for radius in RADII]
    return found + [FromPoints(ROUNDED, 1, radius, step) for step in STEPS[1:] for radius in RADII]


def binned(kind: str, radius: str) -> FromBins:
    """A cumulative histogram for the same ranges."""
    return FromBins(kind, static.CumulativeHistogram(), Fraction(radius), radius, asked=MIDDLING)


def errors(results: Results, kind: str, what: str, step: Fraction = FINE) -> Floats:
    """A row for each group, a column for each radius; on a grid that is not fine, of single points."""
    groups = GROUPS if step == FINE else GROUPS[:1]
    found = [[means(results, FromPoints(kind, group, radius, step)) for radius in RADII] for group in groups]
    return np.array(found)[:, :, FIGURES.index(what)]


def exponent(error: Floats, radii: tuple[str, ...]) -> float:
    """The slope of the error against the radius, on logarithmic scales; not a number if nothing was ever wrong."""
    where = [RADII.index(radius) for radius in radii]
    if not error[where].all():
        return math.nan
    return float(np.polyfit(np.log(np.array(radii, np.float64)), np.log(error[where]), 1)[0])


def tables(results: Results, style: box.Box) -> dict[str, Table]:
    """All tables, by name."""
    return {
        "sorted-counts": _errors(results, COUNTS, style),
        "sorted-points": _errors(results, POINTS, style),
        "steps": _steps(results, style),
    }


def _table(title: str, words: list[str], style: box.Box) -> Table:
    exponents = [f"slope {_short(radii[0])}..{_short(radii[-1])}" for radii in (WIDE, NARROW)]
    return ruled(title, [*words, *map(_short, RADII), *exponents], style, words=len(words))


def _short(radius: str) -> str:
    return radius if radius == WHOLE else f"{float(radius):g}"


def _slopes(error: Floats) -> list[str]:
    slopes = [exponent(error, radii) for radii in (WIDE, NARROW)]
    return ["-" if math.isnan(slope) else f"{round(slope, 2) + 0.0:.2f}" for slope in slopes]  # never -0.00


def _errors(results: Results, what: str, style: box.Box) -> Table:
    title = f"Sorted points, epsilon = 1: mean squared error of {what}, by radius"
    table = _table(title, ["points", "published"], style)
    for kind in CLOUDS:
        found = errors(results, kind, what)
        sizes, best = np.array(GROUPS)[found.argmin(axis=0)], found.min(axis=0)
        table.add_row(kind, "sorted points", *map(brief, found[0]), *_slopes(found[0]))
        shown = [f"{brief(error)} ({size})" for error, size in zip(best, sizes, strict=True)]
        table.add_row(kind, "best groups (size)", *shown, *_slopes(best))
        if what == COUNTS:
            others = {radius: brief(means(results, binned(kind, radius))[0]) for radius in BINNED}
            table.add_row(kind, "cumulative histogram", *(others.get(radius, "-") for radius in RADII), "", "")
    return table


def _steps(results: Results, style: box.Box) -> Table:
    table = _table(f"Coarser grids: {ROUNDED} points, in groups of 1", ["step", "error of"], style)
    for step in STEPS:
        for what in FIGURES:
            (found, *_) = errors(results, ROUNDED, what, step)
            table.add_row(f"{float(step):g}", what, *map(brief, found), *_slopes(found))
    return table
