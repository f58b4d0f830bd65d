"""Every figure of every board in one file, for whoever wants to reckon further."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from penstock.bench.metrics import DIGITS
from penstock.bench.report.ratios import Ratios
from penstock.bench.report.shown import Measured

HEAD = (
    *("board", "stream", "law", "epsilon", "window", "mechanism", "measure"),
    *("mean", "low", "high", "ratio", "ratio_low", "ratio_high", "runs", "origin"),
)


def as_csv(boards: Sequence[Measured]) -> str:
    """One row for each board, stream, promise, mechanism and measure; what was not run has none.

    A mechanism that is alone on a board has errors, and no ratios.
    """
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(HEAD)
    for board in boards:
        for ratios in board.by_measure.values():
            table.writerows(_rows(board, ratios))
    return text.getvalue()


def _rows(board: Measured, ratios: Ratios) -> Iterator[list[object]]:
    for cell in ratios.cells:
        for mechanism in ratios.errors.mechanisms:
            ratio = ratios.at(cell, mechanism)
            if ratio is None:
                continue
            mean = ratios.errors.mean(cell, mechanism)
            figures = [f"{figure:.{DIGITS}g}" for figure in (*mean[:3], *ratio[:3])]
            figures[3:] = [""] * 3 if board.alone else figures[3:]
            promise = cell.promise.law, cell.promise.epsilon, cell.promise.window
            yield [
                board.board.key,
                cell.stream,
                *promise,
                mechanism,
                ratios.measure,
                *figures,
                mean.runs,
                board.about(cell.stream).origin,
            ]
