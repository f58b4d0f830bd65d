"""Figures as bytes, the same whenever they are drawn."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 13.33, 7.5  # of a slide, in inches
ROW, LEAST_ROW = 0.3, 0.22  # inches
AROUND = 2.4  # inches above and below all rows
DOTS = 150  # an inch
LARGE, MIDDLE, SMALL = 19, 13, 11  # sizes of letters
GREY = "#555555"
COLOURS = 256


class Picture(NamedTuple):
    """A figure by its name, what is to be seen on it in words, and its bytes."""

    name: str
    seen: str
    png: bytes
    svg: bytes


def headed(title: str, below: str, rows: int) -> Figure:
    """An empty figure with a title and a line that explains it, lower than a slide if it has few rows."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    height = max(min(AROUND + ROW * rows, HEIGHT), AROUND + LEAST_ROW * rows)
    layout = ConstrainedLayoutEngine(rect=(0.005, 0.01, 0.99, 0.99 - 0.87 / height))
    figure = Figure(figsize=(WIDTH, height), layout=layout, facecolor="white")
    figure.text(0.012, 1 - 0.17 / height, title, fontsize=LARGE, fontweight="bold", va="top", parse_math=False)
    figure.text(0.012, 1 - 0.53 / height, below, fontsize=MIDDLE, color=GREY, va="top", parse_math=False)
    return figure


def picture(name: str, seen: str, figure: Figure) -> Picture:
    """The figure in both formats, without a date or a version in them."""
    from matplotlib import rc_context

    _settle(figure)
    with rc_context({"svg.hashsalt": "penstock", "svg.fonttype": "path"}):
        svg, png = io.BytesIO(), io.BytesIO()
        figure.savefig(png, format="png", dpi=DOTS, metadata={"Software": None})
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    return Picture(name, seen, _in_few_colours(png), svg.getvalue())


def _in_few_colours(png: io.BytesIO) -> bytes:
    """The same with a palette, in a quarter of the bytes: figures are checked in."""
    from PIL import Image

    small = io.BytesIO()
    with Image.open(png) as image:
        image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(small, format="PNG", optimize=True)
    return small.getvalue()


def _settle(figure: Figure) -> None:
    """Put everything in its place for good, in round numbers: the last digits of a layout differ between runs."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        left, bottom, width, height = axes.get_position(original=True).bounds
        axes.set_position((round(left, 4), round(bottom, 4), round(width, 4), round(height, 4)))
