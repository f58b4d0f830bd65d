"""Standings for the terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from penstock.bench.report import sheets
from penstock.bench.report.shown import Measured, Shown
from penstock.bench.trials import ruled

SHOWN = ("mechanism", "ratio", "worst", "within 5 %", "first", "releases", "cells")  # what fits into a terminal


def standings_table(shown: Shown) -> Table:
    """The standings by the first measure, as far as there is room; the rest is in the report."""
    board = Measured(shown, ())
    sheet = sheets.standings(board, board.leading)
    table = ruled(f"{board.board.title}, by {board.leading.measure}", SHOWN, box.SIMPLE_HEAD)
    for row, standing in zip(sheet.groups[0], board.leading.standings, strict=True):
        told = dict(zip(sheet.head, row, strict=True)) | {"mechanism": sheets.Entry(standing.mechanism)}
        table.add_row(*(Text(told[name].text) for name in SHOWN))
    return table
