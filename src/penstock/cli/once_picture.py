"""Pictures of one-time publications: steps of a histogram, a map, or how points are distributed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from penstock.cli.once import Told

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE = "#0072b2", "#d55e00"
BEFORE = "the noise of a point, before they were put in order"
MAP = "cividis"  # reads the same to those who see fewer colours

MOST_OUTLINED = 300  # bins; more are a block of ink


def draw(found: Told, path: Path) -> None:
    """What was published, and nothing else; needs the ``plot`` extra."""
    from matplotlib.figure import Figure

    columns = found.declaration["columns"]
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    if len(columns) > 1:
        what = _map(found, columns, axes)
    else:
        line = found.grid.line
        axes.set(xlim=(float(line.low), float(line.high)))
        axes.set_xlabel(columns[0], parse_math=False)
        axes.spines[["top", "right"]].set_visible(False)
        what = (_histogram if "count" in found.rows[0] else _distribution)(found, axes)
    law = found.declaration["model"]
    _, spread = found.noise or (0.0, 0.0)
    told = f"epsilon {law['epsilon']}, radius {law['radius']}, noise of a {what} ± {spread:.3g}"
    axes.set_title(f"{found.release.stream}: {told}", parse_math=False)
    figure.savefig(path, dpi=150)


def _histogram(found: Told, axes: Axes) -> str:
    """Returns what has the noise."""
    edges = found.grid.line.edges()
    axes.stairs(found.release.values, edges, fill=True, color=BLUE, alpha=0.35)
    if len(edges) <= MOST_OUTLINED:
        axes.stairs(found.release.values, edges, color=BLUE, linewidth=1.2)
    axes.set(ylabel="points in a bin, as published")
    return "bin"


def _distribution(found: Told, axes: Axes) -> str:
    """The part of the points that lie at or below a value, with the noise of a point beside it."""
    line, values = found.grid.line, np.array([row["value"] for row in found.rows], np.float64)
    places = np.concatenate([[float(line.low)], values, [float(line.high)]])
    parts = np.concatenate([[0.0], np.arange(1, len(values) + 1) / len(values), [1.0]])
    axes.step(places, parts, where="post", color=BLUE)
    _, spread = found.noise or (0.0, 0.0)
    middle = float(values[len(values) // 2])
    axes.errorbar([middle], [0.5], xerr=spread, color=ORANGE, capsize=4, marker="o", markersize=4, label=BEFORE)
    axes.set(ylabel="part of the points up to it, as published", ylim=(0, 1.02))
    axes.legend(frameon=False, loc="lower right")
    return "point"


def _map(found: Told, columns: Sequence[str], axes: Axes) -> str:
    across, along = found.grid.axes
    counts = found.release.values.reshape(found.grid.shape)
    cells = axes.pcolormesh(across.edges(), along.edges(), counts.T, cmap=MAP)
    axes.figure.colorbar(cells, ax=axes, label="points in a cell, as published")
    axes.set_xlabel(columns[0], parse_math=False)
    axes.set_ylabel(columns[1], parse_math=False)
    return "cell"
