"""A stream and its release as a picture: dots in the terminal, or a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.text import Text

from penstock.types import Floats, Ints

CELL_WIDTH, CELL_HEIGHT = 2, 4  # dots of one braille character
DOT_BITS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
BRAILLE = 0x2800


def in_terminal(truth: Floats, release: Floats, width: int, height: int) -> Text:
    """Both series over time as braille dots: the truth as an area, the release as a line on top of it."""
    low, high = float(min(truth.min(), release.min(), 0)), float(max(truth.max(), release.max(), 1))
    level = _levels(release, low, high, width, height)
    below = _characters(0, _levels(truth, low, high, width, height), height)
    before = np.concatenate([level[:1], level[:-1]])
    above = _characters(np.minimum(before, level), np.maximum(before, level), height)
    picture = Text()
    for row in range(height):
        label = f"{high:8.0f} " if row == 0 else f"{low:8.0f} " if row == height - 1 else " " * 9
        picture.append(label, style="dim")
        for under, over in zip(below[row], above[row], strict=True):
            picture.append(chr(BRAILLE + (over or under)), style="bold cyan" if over else "bright_black")
        picture.append("\n")
    return picture


def _levels(series: Floats, low: float, high: float, width: int, height: int) -> Ints:
    """How many dots high the series is at each column of dots."""
    columns = np.linspace(0, len(series) - 1, width * CELL_WIDTH).astype(int)
    levels: Ints = np.rint((series[columns] - low) / (high - low) * (height * CELL_HEIGHT - 1)).astype(np.int64)
    return levels


def _characters(bottom: Ints | int, top: Ints, height: int) -> Ints:
    """Dots from bottom to top in every column, as codes of braille characters, one row of text each."""
    row = np.arange(height * CELL_HEIGHT)[::-1, np.newaxis]
    dots = (bottom <= row) & (row <= top)
    cells = dots.reshape(height, CELL_HEIGHT, -1, CELL_WIDTH)
    codes: Ints = (cells * DOT_BITS[:, np.newaxis, :]).sum(axis=(1, 3))
    return codes


def to_file(truth: Floats, release: Floats, title: str, path: Path, *, killed: int | None = None) -> None:
    """Both series as a figure; needs the ``plot`` extra. ``killed`` marks the unit at which a process was killed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    axes = figure.subplots()
    units = np.arange(1, len(truth) + 1)
    axes.fill_between(
        units, truth, color="#bbbbbb", linewidth=0, label="true count (known here: the stream is made up)"
    )
    axes.step(units, release, where="post", color="#0072b2", linewidth=1.4, label="published")
    if killed is not None:
        axes.axvline(killed, color="#d55e00", linewidth=1, linestyle="--", label="killed here, and resumed")
    axes.set(
        xlabel="time unit", ylabel="count", title=title, xlim=(1, len(truth)), ylim=(min(0, float(release.min())), None)
    )
    figure.legend(frameon=False, loc="outside lower center", ncols=3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
