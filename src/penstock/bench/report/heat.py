"""How heat maps are drawn: numbers on colours, in panels, and a key to the colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from penstock.bench.report import colours
from penstock.bench.report.canvas import GREY, MIDDLE, SMALL
from penstock.bench.report.wording import ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GAP = 0.15  # inches above the key
PLAIN: dict[str, Any] = {"parse_math": False}  # names may hold any sign


class Panel(NamedTuple):
    """A part of a heat map, with a geometric mean of ratios, or nothing, in each of its places."""

    rows: Sequence[str]
    columns: Sequence[str]
    means: Sequence[Sequence[float | None]]


def draw(axes: Axes, panel: Panel) -> None:
    """The places in their colours, with their numbers."""
    from matplotlib.colors import to_rgb

    values = np.array([[np.nan if mean is None else mean for mean in row] for row in panel.means], np.float64)
    grounds = [[_ground(mean) for mean in row] for row in panel.means]
    shades = np.array([[to_rgb(ground) for ground in row] for row in grounds])
    axes.pcolormesh(shades, edgecolors="white", linewidth=1.2)
    for (row, column), value in np.ndenumerate(values):
        letters = colours.ink(grounds[row][column])
        number = axes.text(column + 0.5, row + 0.5, ratio(value), fontsize=SMALL, color=letters)
        number.set(ha="center", va="center_baseline", in_layout=False)
    axes.set_xticks(np.arange(len(panel.columns)) + 0.5, panel.columns, **PLAIN)
    axes.set_yticks(np.arange(len(panel.rows)) + 0.5, panel.rows, **PLAIN)
    axes.set_ylim(len(panel.rows), 0)
    axes.tick_params(length=0, labelsize=MIDDLE - 1)
    axes.spines[:].set_visible(False)


def key(figure: Figure, panels: Sequence[Axes], note: str) -> None:
    """What the colours mean, with the cap; and a note below."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    stops = [(colours.place(ratio), colour) for ratio, colour in colours.STOPS]
    scale = ScalarMappable(LogNorm(1, colours.CAP), LinearSegmentedColormap.from_list("ratios", stops, N=512))
    gap = GAP / figure.get_figheight()
    bar = figure.colorbar(scale, ax=list(panels), orientation="horizontal", shrink=0.55, aspect=50, pad=gap)
    *inner, last = (f"{tick:g}" for tick in colours.TICKS)
    bar.ax.set_xticks(colours.TICKS, [*inner, f"{last} and more"], fontsize=SMALL)
    bar.ax.minorticks_off()
    bar.outline.set_visible(False)
    if note:
        bar.ax.set_xlabel(note, fontsize=SMALL, color=GREY, **PLAIN)


def _ground(mean: float | None) -> str:
    return colours.ABSENT if mean is None else colours.ground(colours.place(mean))
