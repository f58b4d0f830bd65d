"""The report as a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.bench.cache import NOTHING_USED, Origins
from penstock.bench.report import sheets, wording
from penstock.bench.report.canvas import Picture
from penstock.bench.report.sheets import Entry, Sheet
from penstock.bench.report.shown import About, Measured

SPECIAL = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_[]<>|#"} | {"\n": " ", "\r": " "})
IN_CODE = str.maketrans({"`": "'", "\n": " ", "\r": " "})


def as_markdown(
    boards: Sequence[Measured],
    streams: Sequence[About],
    pictures: Mapping[str, Mapping[str, Picture]],
    command: str,
    origins: Origins = NOTHING_USED,
) -> str:
    """All boards, then what holds for all of them."""
    parts = [f"# {wording.TITLE}", plain(wording.INTRODUCTION)]
    for board in boards:
        parts += _board(board, pictures.get(board.board.key, {}))
    for sheet in (sheets.rules(), sheets.left_out(), sheets.streams(streams)):
        parts += [f"## {sheet.title}", *tabled(sheet)]
    parts += [plain(wording.BEGINNINGS), "## How it was made"]
    parts += [f"{code(command)} {wording.ALIKE}", *map(plain, wording.adopted(origins))]
    return "\n\n".join([*parts, plain(wording.SIMULATED)]) + "\n"


def _board(board: Measured, pictures: Mapping[str, Picture]) -> Iterator[str]:
    yield f"## {plain(board.board.title)}"
    yield plain(board.board.about)
    yield plain(wording.facts(board))
    yield from _alone(board) if board.alone else _compared(board, pictures)


def _alone(board: Measured) -> Iterator[str]:
    yield plain(wording.alone(board))
    for ratios in board.by_measure.values():
        yield from titled(sheets.errors_by_stream(board, ratios))


def _compared(board: Measured, pictures: Mapping[str, Picture]) -> Iterator[str]:
    """The standings, and what is to be seen at once; then all tables, and what is to be seen besides."""
    first, *others = board.by_measure
    yield from titled(sheets.standings(board, board.leading))
    yield from (_picture(pictures[of]) for of in ("standings", first) if of in pictures)
    yield from titled(sheets.side_by_side(board))
    for ratios in board.by_measure.values():
        yield from titled(sheets.by_stream(board, ratios))
    linked = [f"[{plain(of)}]({pictures[of].name}.png)" for of in others if of in pictures]
    if linked:
        yield f"Heat maps by other measures: {', '.join(linked)}."
    yield from (_picture(pictures[of]) for of in ("promises",) if of in pictures)


def _picture(picture: Picture) -> str:
    return f"![{plain(picture.seen)}]({picture.name}.png)"


def titled(sheet: Sheet) -> Iterator[str]:
    """A table with its notes, under its title."""
    yield f"### {plain(sheet.title)}"
    yield from tabled(sheet)


def tabled(sheet: Sheet) -> Iterator[str]:
    """A table and its notes."""
    lines = [
        _line(plain(name) for name in sheet.head),
        _line(":---" if name in sheet.words else "---:" for name in sheet.head),
        *(_line(map(_entry, row)) for group in sheet.groups for row in group),
    ]
    yield "\n".join(lines)
    yield from map(plain, sheet.notes)


def _line(entries: Iterator[str]) -> str:
    return f"| {' | '.join(entries)} |"


def _entry(entry: Entry) -> str:
    """Without what has less weight: there is no room for it."""
    text = code(entry.text).replace("|", "\\|") if entry.name else plain(entry.text)
    return (f"**{text}**" if entry.strong else text) + entry.mark


def code(text: str) -> str:
    """What is typed as it stands there."""
    return f"`{text.translate(IN_CODE)}`"


def plain(text: str) -> str:
    """The text, with nothing in it that would be taken for anything else."""
    return text.translate(SPECIAL)
