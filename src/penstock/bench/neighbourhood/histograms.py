"""Range counts by histogram: one that knows the neighbourhood against those that do not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from rich import box
from rich.table import Table

from penstock import static
from penstock.bench.neighbourhood.clouds import CLOUDS, Asked
from penstock.bench.neighbourhood.jobs import ANYWHERE, FromBins, Job, Results
from penstock.bench.neighbourhood.showing import brief, means
from penstock.bench.trials import ruled
from penstock.histograms import Adaptive, Histogram, Quadtree
from penstock.types import Floats

EPSILONS = ("1", "0.1")
RADII = ("0.01", "0.001", "0.0001")
LISTED = tuple(Fraction(k, 400) for k in range(1, 17))  # the widths of bins that the paper chooses from: 0.0025 .. 0.04
FINER = (Fraction(1, 2000), Fraction(1, 1000))
CHOSEN = Fraction(1, 100)
TREE = Fraction(1, 1024)
TIMES = 5  # more runs where the noise of many bins adds up
TREES: tuple[Histogram, ...] = (Quadtree(split=4), Adaptive())
PARTS = tuple(Fraction(part) for part in ("1/4", "1/2", "1", "2", "4"))  # of the radius: widths of bins

BIN = LISTED[0]
LENGTHS = (1, 2, 4, 8, 16, 32, 64, 128)  # of ranges, in bins
REACHES = (1, 2, 4, 8)  # bins that a point may move
ALIGNED = Asked(tuple(float(BIN) * length for length in LENGTHS), float(BIN))


def jobs() -> list[Job]:
    """All that is compared."""
    found: list[Job] = []
    for kind in CLOUDS:
        for epsilon in EPSILONS:
            found += [plain(kind, step, epsilon) for step in LISTED + FINER]
            found += [tree(kind, method, epsilon) for method in TREES]
            found += [cumulative(kind, radius, epsilon, part) for radius in RADII for part in PARTS]
        found += [aligned(kind), *(reaching(kind, reach) for reach in REACHES)]
    return found


def plain(kind: str, step: Fraction, epsilon: str) -> FromBins:
    """Noise on every bin."""
    return FromBins(kind, static.PlainHistogram(), step, epsilon=epsilon, times=TIMES)


def tree(kind: str, method: Histogram, epsilon: str) -> FromBins:
    """A method that measures larger parts, too."""
    return FromBins(kind, static.PlainHistogram(histogram=method), TREE, epsilon=epsilon, times=TIMES)


def cumulative(kind: str, radius: str, epsilon: str, part: Fraction = PARTS[2]) -> FromBins:
    """Noise on every boundary; bins are as wide as the radius, or a part of it."""
    return FromBins(kind, static.CumulativeHistogram(), Fraction(radius) * part, radius, epsilon)


def aligned(kind: str) -> FromBins:
    """Bins of one width, asked for whole bins."""
    return FromBins(kind, static.PlainHistogram(), BIN, asked=ALIGNED, times=TIMES)


def reaching(kind: str, reach: int) -> FromBins:
    """The same bins, and a radius of so many of them."""
    return FromBins(kind, static.CumulativeHistogram(), BIN, str(float(BIN) * reach), asked=ALIGNED)


def best_plain(results: Results, kind: str, epsilon: str, widths: tuple[Fraction, ...]) -> Floats:
    """The error for each width of the ranges, with bins of the width that was best for it."""
    found: Floats = _by_width(results, kind, epsilon, widths).min(axis=0)
    return found


def _by_width(results: Results, kind: str, epsilon: str, widths: tuple[Fraction, ...]) -> Floats:
    return np.array([means(results, plain(kind, step, epsilon)) for step in widths])


def tables(results: Results, style: box.Box) -> dict[str, Table]:
    """All tables, by name."""
    found = {f"ranges-{epsilon}": _errors(results, epsilon, style) for epsilon in EPSILONS}
    return found | {"gains": _gains(results, style), "widths": _widths(results, style), "bins": _bins(results, style)}


def _errors(results: Results, epsilon: str, style: box.Box) -> Table:
    title = f"epsilon = {epsilon}: mean squared error of range counts, by width of the range"
    table = ruled(title, ["points", "histogram", *map(str, ANYWHERE.widths)], style, words=2)
    for kind in CLOUDS:
        widths = np.array(LISTED)[_by_width(results, kind, epsilon, LISTED).argmin(axis=0)]
        best = best_plain(results, kind, epsilon, LISTED)
        table.add_row(kind, f"plain, best of {len(LISTED)} widths", *map(brief, best))
        table.add_row(kind, "(that width)", *(f"({float(width)})" for width in widths))
        rows = {"plain, best, finer ones too": best_plain(results, kind, epsilon, LISTED + FINER)}
        rows[f"plain, width {float(CHOSEN)}"] = means(results, plain(kind, CHOSEN, epsilon))
        rows |= {str(method): means(results, tree(kind, method, epsilon)) for method in TREES}
        rows |= {f"cumulative, radius {radius}": means(results, cumulative(kind, radius, epsilon)) for radius in RADII}
        for name, errors in rows.items():
            table.add_row(kind, name, *map(brief, errors))
    return table


def _gains(results: Results, style: box.Box) -> Table:
    """The error of the best plain histogram over that of the cumulative one."""
    title = "How many times less than that of the best plain histogram, finer ones too, the cumulative one's error is"
    names = ["epsilon", "points", "radius", *map(str, ANYWHERE.widths), "no better at"]
    table = ruled(title, names, style, words=3)
    for epsilon in EPSILONS:
        for kind in CLOUDS:
            base = best_plain(results, kind, epsilon, LISTED + FINER)
            for radius in RADII:
                gains = base / means(results, cumulative(kind, radius, epsilon))
                worse = [width for width, gain in zip(ANYWHERE.widths, gains, strict=True) if gain <= 1]
                table.add_row(epsilon, kind, radius, *map(brief, gains), _told(worse))
    return table


def _told(worse: list[float]) -> str:
    if len(worse) == len(ANYWHERE.widths):
        return "all"
    return ", ".join(map(str, worse)) or "none"


def _widths(results: Results, style: box.Box) -> Table:
    """Whether bins as wide as the radius are a good choice."""
    where = ANYWHERE.widths.index(0.1)
    title = "Cumulative histograms with bins of other widths: mean squared error of ranges of 0.1"
    names = ["epsilon", "points", "radius", *(f"radius x {float(part):g}" for part in PARTS)]
    table = ruled(title, names, style, words=3)
    for epsilon in EPSILONS:
        for kind in CLOUDS:
            for radius in RADII:
                tried = [means(results, cumulative(kind, radius, epsilon, part))[where] for part in PARTS]
                table.add_row(epsilon, kind, radius, *map(brief, tried))
    return table


def _bins(results: Results, style: box.Box) -> Table:
    """From how many bins on the cumulative histogram is better than a plain one of the same bins."""
    title = f"Bins of {float(BIN)}, epsilon = 1: error of a plain histogram over that of a cumulative one, by bins"
    names = ["points", "radius, in bins", *map(str, LENGTHS), "better from", "r^2 / 2"]
    table = ruled(title, names, style, words=2)
    for kind in CLOUDS:
        base = means(results, aligned(kind))
        for reach in REACHES:
            ratios = base / means(results, reaching(kind, reach))
            better = [length for length, ratio in zip(LENGTHS, ratios, strict=True) if ratio > 1]
            since = str(better[0]) if better else "-"
            table.add_row(kind, str(reach), *(f"{ratio:.2f}" for ratio in ratios), since, f"{reach**2 / 2:g}")
    return table
