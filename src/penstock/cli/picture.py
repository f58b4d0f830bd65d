"""A stream and its release as a picture: characters in the terminal, or a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.text import Text

from penstock.types import Floats, Ints

CELL_WIDTH, CELL_HEIGHT = 2, 4  # dots of one braille character
DOT_BITS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
BRAILLE = 0x2800
FILLED = " ▁▂▃▄▅▆▇█"
TRUTH_STYLE, RELEASE_STYLE = "bright_black", "bold cyan"


def legend() -> Text:
    """The legend of the characters, so that the picture can be read without colours."""
    return Text.assemble("line of dots ", ("⠤⠤⠒⠒", RELEASE_STYLE), " published; area ", ("▂▄▆█", TRUTH_STYLE), " true")


def in_terminal(truth: Floats, release: Floats, width: int, height: int) -> Text:
    """Both series over time: the truth as an area of blocks, the release as a line of braille dots on top of it."""
    low, high = float(min(truth.min(), release.min(), 0)), float(max(truth.max(), release.max(), 1))
    level = _levels(release, low, high, width * CELL_WIDTH, height * CELL_HEIGHT)
    before = np.concatenate([level[:1], level[:-1]])
    line = _dots(np.minimum(before, level), np.maximum(before, level), height)
    area = _blocks(_levels(truth, low, high, width, height * (len(FILLED) - 1)) + 1, height)
    picture = Text()
    for row in range(height):
        label = f"{high:8.0f} " if row == 0 else f"{low:8.0f} " if row == height - 1 else " " * 9
        picture.append(label, style="dim")
        for under, over in zip(area[row], line[row], strict=True):
            if over:
                picture.append(chr(BRAILLE + over), style=RELEASE_STYLE)
            else:
                picture.append(FILLED[under], style=TRUTH_STYLE)
        picture.append("\n")
    return picture


def _levels(series: Floats, low: float, high: float, columns: int, steps: int) -> Ints:
    """How many steps high the series is at each column, from 0 to one less than all of them."""
    places = np.linspace(0, len(series) - 1, columns).astype(int)
    levels: Ints = np.rint((series[places] - low) / (high - low) * (steps - 1)).astype(np.int64)
    return levels


def _dots(bottom: Ints, top: Ints, height: int) -> Ints:
    """Dots from bottom to top in every column, as codes of braille characters, one row of text each."""
    row = np.arange(height * CELL_HEIGHT)[::-1, np.newaxis]
    dots = (bottom <= row) & (row <= top)
    cells = dots.reshape(height, CELL_HEIGHT, -1, CELL_WIDTH)
    codes: Ints = (cells * DOT_BITS[:, np.newaxis, :]).sum(axis=(1, 3))
    return codes


def _blocks(top: Ints, height: int) -> Ints:
    """How many eighths of each character lie below the top, one row of text each."""
    eighths = len(FILLED) - 1
    filled: Ints = np.clip(top - eighths * np.arange(height)[::-1, np.newaxis], 0, eighths)
    return filled


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
