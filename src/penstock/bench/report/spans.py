"""Standings as a figure: where each mechanism lies in the mean, and how far that goes from cell to cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.bench.report.canvas import GREY, MIDDLE, Picture, headed, picture
from penstock.bench.report.heat import PLAIN
from penstock.bench.report.shown import Measured
from penstock.bench.report.wording import ratio, several, title
from penstock.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, PALE = "#1b4f8f", "#9fc3dd"
PARTS = (10, 90)  # per cent of the cells
NUMBER: dict[str, Any] = {"va": "center_baseline", "fontsize": MIDDLE}


def standings(board: Measured) -> Picture:
    """The best above. A point is the geometric mean, a bar reaches over the middle cells."""
    ratios = board.leading
    figure = headed(
        title(board, ratios.measure),
        f"point: geometric mean of {several(len(ratios.cells), 'cell')}, bar: {PARTS[0]} to {PARTS[1]} % of them",
        len(ratios.mechanisms),
    )
    axes = figure.subplots()
    means = np.array([standing.ratio for standing in ratios.standings])
    found = [np.percentile(ratios.over(ratios.cells, mechanism), PARTS) for mechanism in ratios.mechanisms]
    _draw(axes, means, np.array(found))
    names = [mechanism + board.told(mechanism) for mechanism in ratios.mechanisms]
    axes.set_yticks(np.arange(len(names)), names, fontsize=MIDDLE, **PLAIN)
    told = ", ".join(f"{name} {ratio(mean)}" for name, mean in zip(ratios.mechanisms, means, strict=True))
    seen = f"Standings, best first. {title(board, ratios.measure)}, geometric mean of the ratio to the best: {told}."
    return picture(f"{board.board.key}-standings", seen, figure)


def _draw(axes: Axes, means: Floats, spans: Floats) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator

    places = np.arange(len(means))
    axes.hlines(places, spans[:, 0], spans[:, 1], color=PALE, linewidth=9)
    axes.plot(means, places, "o", color=BLUE, markersize=9)
    axes.set_xscale("log")
    lowest, highest = min(0.97, spans.min() / 1.02), max(2.0, spans.max() * 1.05, means.max() * 1.05)
    axes.set(xlim=(lowest, highest), ylim=(len(means) - 0.4, -0.6))
    for place, mean in zip(places, means, strict=True):
        axes.annotate(ratio(mean), (1.01, place), xycoords=("axes fraction", "data"), **NUMBER)
    axes.axvline(1, color=GREY, linewidth=1.2)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if highest < 1000 else (1,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.minorticks_off()
    axes.set_xlabel("times the error of the best, log scale", fontsize=MIDDLE, color=GREY)
    axes.tick_params(axis="x", labelsize=MIDDLE, length=0)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
