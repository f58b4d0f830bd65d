"""Standings for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from penstock.bench.report import sheets
from penstock.bench.report.shown import About, Measured, Shown
from penstock.bench.report.wording import STAND_INS
from penstock.bench.trials import ruled


def standings_table(shown: Shown, streams: Sequence[About] = ()) -> Table:
    """The standings by the first measure; streams that stand in for others are marked if it is said which they are."""
    board = Measured(shown, streams)
    sheet = sheets.standings(board, board.leading)
    table = ruled(f"{board.board.title}, by {board.leading.measure}", sheet.head, box.SIMPLE_HEAD)
    for column, name in zip(table.columns, sheet.head, strict=True):
        column.justify = "left" if name in sheet.words else "right"
    for row in sheet.groups[0]:
        table.add_row(*(Text(entry.text + entry.mark) for entry in row))
    if STAND_INS in sheet.notes:
        table.caption, table.caption_justify = STAND_INS, "left"
    return table
