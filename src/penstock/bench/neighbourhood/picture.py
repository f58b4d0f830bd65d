"""All of it in one picture: histograms above, points and medians below."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from penstock.bench.neighbourhood import histograms, medians, sorted_points
from penstock.bench.neighbourhood.clouds import CLOUDS, SIZE
from penstock.bench.neighbourhood.jobs import ANYWHERE, MEDIAN_RADII, REPETITIONS, WHOLE, Results
from penstock.bench.neighbourhood.showing import means

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLACK, GREY, ORANGE = "#000000", "#888888", "#E69F00"
BLUES = ("#56B4E9", "#0072B2", "#003A5C")  # the smaller the radius, the darker
KINDS = ("#D55E00", "#009E73", "#0072B2")
EPSILON = "1"
SQUARED = "mean squared error of the count"
TICKS = (0.005, 0.02, 0.1, 0.4)


def draw(results: Results, to: Path) -> None:
    """Errors by width of the range, by radius, by number of points."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 9.6), layout="constrained")
    (above,), (below,) = figure.subfigures(2, 1, squeeze=False, hspace=0.04)
    panels = above.subplots(1, 3, sharey=True)
    for panel, kind in zip(panels, CLOUDS, strict=True):
        _draw_ranges(panel, results, kind)
    panels[0].set_ylabel(SQUARED)
    above.suptitle(f"Range counts from histograms, {SIZE:,} points, epsilon = {EPSILON}", fontweight="bold")
    above.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    points, widths, errors = below.subplots(1, 3)
    _draw_points(points, results)
    _draw_medians(widths, results, 0)
    _draw_medians(errors, results, 1)
    below.suptitle(f"Sorted points and medians, epsilon = {EPSILON}", fontweight="bold")
    figure.savefig(to, dpi=110)


def _draw_ranges(panel: Axes, results: Results, kind: str) -> None:
    lines = {
        "plain, best width in hindsight": (
            histograms.best_plain(results, kind, EPSILON, histograms.LISTED),
            BLACK,
            "o-",
        ),
        "quadtree(split=4)": (means(results, histograms.tree(kind, histograms.TREES[0], EPSILON)), ORANGE, "s-"),
    }
    for radius, colour in zip(histograms.RADII, BLUES, strict=True):
        error = means(results, histograms.cumulative(kind, radius, EPSILON))
        lines[f"cumulative, radius {radius}"] = error, colour, "^-"
    for name, (error, colour, mark) in lines.items():
        panel.loglog(ANYWHERE.widths, error, mark, color=colour, label=name, linewidth=2, markersize=5)
    panel.set_xticks(TICKS, [str(width) for width in TICKS])
    panel.xaxis.minorticks_off()
    _dress(panel, f"{kind} points", "width of the range")


def _draw_points(panel: Axes, results: Results) -> None:
    """Solid: single points. Dashed: groups of the best size for each radius. Dotted: a slope to compare with."""
    radii = np.array([1.0 if radius == WHOLE else float(radius) for radius in sorted_points.RADII])
    for kind, colour in zip(CLOUDS, KINDS, strict=True):
        found = sorted_points.errors(results, kind, sorted_points.COUNTS)
        slope = sorted_points.exponent(found[0], sorted_points.WIDE)
        panel.loglog(radii, found[0], "o-", color=colour, label=f"{kind}, slope {slope:.2f}", linewidth=2, markersize=5)
        panel.loglog(radii, found.min(axis=0), "--", color=colour, linewidth=1.6)
    lowest, highest = found[found > 0].min() / 2, found[0, 0]
    panel.loglog([], [], "--", color=GREY, label="in groups of the best size")
    panel.loglog(radii, highest * radii**2, ":", color=GREY, linewidth=1.8, label="slope 2, for comparison")
    panel.set_ylim(lowest, 4 * highest)
    panel.legend(frameon=False)
    _dress(panel, "sorted points, ranges of 0.1", "radius (1: standard neighbourhood)", SQUARED)


def _draw_medians(panel: Axes, results: Results, figure: int) -> None:
    found, middle = (medians.figures(results, EPSILON, number) for number in (figure, 2))
    for i, (radius, colour) in enumerate(zip(MEDIAN_RADII, (BLACK, *BLUES[:2]), strict=True)):
        name = "standard neighbourhood" if radius == WHOLE else f"radius {radius}"
        panel.loglog(medians.SIZES, found[i], "o-", color=colour, label=name, linewidth=2, markersize=4)
        if figure and i:
            panel.loglog(medians.SIZES, middle[i], "--", color=colour, linewidth=1.6)
    if figure:
        panel.loglog([], [], "--", color=GREY, label="middle of sorted points instead")
    panel.legend(frameon=False)
    title = ("noise the median needs", "error of the published median")[figure]
    what = ("smooth sensitivity, mean", "absolute error, median")[figure]
    _dress(panel, title, "number of points", f"{what} of {REPETITIONS} sets")


def _dress(panel: Axes, title: str, across: str, up: str = "") -> None:
    panel.set(title=title, xlabel=across, ylabel=up)
    panel.grid(True, which="major", color="#dddddd", linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)
