"""The report as a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.bench.report import sheets, wording
from penstock.bench.report.canvas import Picture
from penstock.bench.report.sheets import Entry, Sheet
from penstock.bench.report.shown import About, Measured

SPECIAL = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_[]<>|#"} | {"\n": " ", "\r": " "})
IN_CODE = str.maketrans({"`": "'", "|": "\\|", "\n": " ", "\r": " "})


def as_markdown(boards: Sequence[Measured], streams: Sequence[About], pictures: Mapping[str, Sequence[Picture]]) -> str:
    """All boards, then what holds for all of them."""
    parts = [f"# {wording.TITLE}", _plain(wording.INTRODUCTION)]
    for board in boards:
        parts += _board(board, pictures.get(board.board.key, ()))
    for sheet in (sheets.rules(), sheets.left_out(), sheets.streams(streams)):
        parts += [f"## {sheet.title}", *_sheet(sheet)]
    parts += [_plain(wording.BEGINNINGS), "## How it was made"]
    parts += [f"`{wording.COMMAND}` {wording.ALIKE}"]
    return "\n\n".join([*parts, _plain(wording.SIMULATED)]) + "\n"


def _board(board: Measured, pictures: Sequence[Picture]) -> Iterator[str]:
    yield f"## {_plain(board.board.title)}"
    yield _plain(board.board.about)
    yield _plain(wording.facts(board))
    tables = [sheets.standings(board, board.leading), sheets.side_by_side(board)]
    tables += [sheets.by_stream(board, ratios) for ratios in board.by_measure.values()]
    for sheet in tables:
        yield f"### {_plain(sheet.title)}"
        yield from _sheet(sheet)
    for each in pictures:
        yield f"![{_plain(each.seen)}]({each.name}.png)"


def _sheet(sheet: Sheet) -> Iterator[str]:
    lines = [
        _line(_plain(name) for name in sheet.head),
        _line(":---" if name in sheet.words else "---:" for name in sheet.head),
        *(_line(map(_entry, row)) for group in sheet.groups for row in group),
    ]
    yield "\n".join(lines)
    yield from map(_plain, sheet.notes)


def _line(entries: Iterator[str]) -> str:
    return f"| {' | '.join(entries)} |"


def _entry(entry: Entry) -> str:
    text = f"`{entry.text.translate(IN_CODE)}`" if entry.name else _plain(entry.text)
    return (f"**{text}**" if entry.strong else text) + entry.mark + _plain(entry.beside)


def _plain(text: str) -> str:
    """The text, with nothing in it that would be taken for anything else."""
    return text.translate(SPECIAL)
