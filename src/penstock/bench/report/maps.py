"""Heat maps of a board: mechanisms on streams, and mechanisms under promises."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from penstock.bench.report.canvas import MIDDLE, Picture, headed, picture
from penstock.bench.report.heat import Panel, draw, key
from penstock.bench.report.ratios import Ratios
from penstock.bench.report.shown import ALL, Measured, cells_of, length, whole
from penstock.bench.report.wording import STAND_INS, ratio, several, title
from penstock.bench.summary import Cell

SCALE = "times the error of the best of each cell, geometric mean over"


def by_stream(board: Measured, ratios: Ratios) -> Picture:
    """Rows are streams, those of one bin above those of several; the first row is all of them together."""
    panels = [_streams(ratios, {"all streams": board.streams})]
    panels += [_streams(ratios, rows) for rows in (_wholes(board, ratios, group) for group in board.by_bins) if rows]
    heights = [len(panel.rows) for panel in panels]
    over = several(len({cell.promise for cell in ratios.cells}), "promise")
    figure = headed(title(board, ratios.measure), f"{SCALE} {over}", sum(heights))
    drawn = figure.subplots(len(panels), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
    for axes, panel in zip(drawn, panels, strict=True):
        draw(axes, panel)
        axes.tick_params(labelbottom=False)
    drawn[0].tick_params(labeltop=True)
    for label in drawn[0].get_xticklabels():
        label.set(rotation=38, ha="left", rotation_mode="anchor")
    key(figure, list(drawn), _note(board))
    return picture(f"{board.board.key}-{ratios.measure}", _seen(board, ratios, "stream"), figure)


def _wholes(board: Measured, ratios: Ratios, streams: Iterable[str]) -> dict[str, list[str]]:
    """Beginnings of one stream share a row; a stream on which the measure makes no sense has none."""
    rows: dict[str, list[str]] = {}
    for stream in (each for each in streams if cells_of(ratios, [each])):
        rows.setdefault(whole(stream) + board.mark(stream), []).append(stream)
    return rows


def _streams(ratios: Ratios, rows: dict[str, list[str]]) -> Panel:
    means = [
        [ratios.mean(cells, mechanism) for mechanism in ratios.mechanisms]
        for cells in (cells_of(ratios, streams) for streams in rows.values())
    ]
    return Panel(list(rows), ratios.mechanisms, means)


class Varied(NamedTuple):
    """What differs between some cells while the rest is the same."""

    name: str
    cells: Sequence[Cell]
    value: Callable[[Cell], str]


def by_promise(board: Measured) -> Picture:
    """Rows are mechanisms; columns are what is varied, for streams of one bin and for streams of several."""
    ratios = board.leading
    asked = [(varied, streams) for varied in _varied(ratios) for streams in board.by_bins]
    found = ((_promises(ratios, *each), *each) for each in asked)
    shown = [each for each in found if each[0].columns]
    figure = headed(title(board, ratios.measure), f"{SCALE} streams", len(ratios.mechanisms))
    widths = [len(panel.columns) for panel, *_ in shown]
    drawn = figure.subplots(1, len(shown), sharey=True, width_ratios=widths, squeeze=False)[0]
    for axes, (panel, varied, streams) in zip(drawn, shown, strict=True):
        draw(axes, panel)
        bins = "one bin" if board.about(streams[0]).bins == 1 else "several bins"
        axes.set_title(f"{bins}\n{varied.name}", fontsize=MIDDLE, fontweight="bold")
        axes.tick_params(labeltop=True, labelbottom=False)
    key(figure, list(drawn), _note(board))
    return picture(f"{board.board.key}-promises", _seen(board, ratios, "promise"), figure)


def _varied(ratios: Ratios) -> list[Varied]:
    """Epsilon, the window, and how much of a stream is used, as far as they differ; epsilon in any case."""
    promises = list(dict.fromkeys(cell.promise for cell in ratios.cells))
    window, epsilon = (
        Counter(getattr(promise, name) for promise in promises).most_common(1)[0][0] for name in ("window", "epsilon")
    )
    name = ratios.cells[0].promise.model.called
    fixed = f" ({name} = {window})" if window > 1 else ""
    found = [
        Varied(f"epsilon{fixed}", _where(ratios, "window", window), lambda cell: cell.promise.epsilon),
        Varied(
            f"{name} (epsilon = {epsilon})", _where(ratios, "epsilon", epsilon), lambda cell: str(cell.promise.window)
        ),
        Varied("first units", ratios.cells, lambda cell: length(cell.stream)),
    ]
    return [each for i, each in enumerate(found) if i == 0 or len(set(map(each.value, each.cells))) > 1]


def _where(ratios: Ratios, name: str, value: object) -> list[Cell]:
    return [cell for cell in ratios.cells if getattr(cell.promise, name) == value]


def _promises(ratios: Ratios, varied: Varied, streams: Sequence[str]) -> Panel:
    columns: dict[str, list[Cell]] = {}
    for cell in varied.cells:
        if cell.stream in streams:
            columns.setdefault(varied.value(cell), []).append(cell)
    ordered = sorted(columns, key=lambda column: math.inf if column == ALL else float(column))
    means = [[ratios.mean(columns[column], mechanism) for column in ordered] for mechanism in ratios.mechanisms]
    return Panel(ratios.mechanisms, ordered, means)


def _note(board: Measured) -> str:
    return STAND_INS if board.marks(board.streams) else ""


def _seen(board: Measured, ratios: Ratios, rows: str) -> str:
    """What the figure says, for those who do not see it."""
    best = ratios.standings[0]
    last = [each for each in ratios.standings if each.cells == best.cells][-1]  # who was run in some is not ranked
    return (
        f"Heat map of ratios to the best by {rows}. {title(board, ratios.measure)}. Over all cells {best.mechanism} is"
        f" first with {ratio(best.ratio)}, {last.mechanism} last with {ratio(last.ratio)}."
    )
