"""The report as one page that needs nothing else: no network, no other file, and no script to be read."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files

from penstock.bench.cache import NOTHING_USED, Origins
from penstock.bench.report import colours, sheets, wording
from penstock.bench.report.canvas import Picture
from penstock.bench.report.ratios import Ratios
from penstock.bench.report.sheets import Entry, Sheet
from penstock.bench.report.shown import About, Measured

ENDING = {"measures": "Measures", "left-out": "Left out", "streams": "Streams", "made": "How it was made"}


def as_html(
    boards: Sequence[Measured],
    streams: Sequence[About],
    pictures: Mapping[str, Mapping[str, Picture]],
    command: str,
    origins: Origins = NOTHING_USED,
) -> str:
    """All boards, then what holds for all of them."""
    contents = {board.board.key: board.board.title for board in boards} | ENDING
    parts = [
        *_head(contents),
        *(part for board in boards for part in _board(board, pictures.get(board.board.key, {}))),
        *_section("measures", ENDING["measures"], [*_table(sheets.rules())]),
        *_section("left-out", ENDING["left-out"], [*_table(sheets.left_out())]),
        *_section("streams", ENDING["streams"], [*_table(sheets.streams(streams)), _said(wording.BEGINNINGS)]),
        *_section("made", ENDING["made"], [*_made(command, origins)]),
        f"</main>\n<script>\n{_text('page.js')}</script>\n</body>\n</html>",
    ]
    return "\n".join(parts) + "\n"


def _head(contents: Mapping[str, str]) -> Iterator[str]:
    shades = [colours.ground(step / colours.STEPS) for step in range(colours.STEPS + 1)]
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield f"<title>{escape(wording.TITLE)}</title>\n<style>\n{_text('page.css')}"
    yield from (f".s{i} {{ background: {each}; color: {colours.ink(each)} }}" for i, each in enumerate(shades))
    yield f"</style>\n</head>\n<body>\n<main>\n<h1>{escape(wording.TITLE)}</h1>\n{_said(wording.INTRODUCTION)}"
    links = (f'<li><a href="#{escape(key)}">{escape(title)}</a></li>' for key, title in contents.items())
    yield f'<nav aria-label="Contents"><ul>\n{"".join(links)}\n</ul></nav>'


def _board(board: Measured, pictures: Mapping[str, Picture]) -> Iterator[str]:
    inner = [_said(board.board.about), _said(wording.facts(board))]
    inner += _alone(board) if board.alone else _compared(board, pictures)
    return _section(board.board.key, board.board.title, inner)


def _alone(board: Measured) -> Iterator[str]:
    yield _said(wording.alone(board))
    yield from _measures(board, sheets.errors_by_stream)


def _compared(board: Measured, pictures: Mapping[str, Picture]) -> Iterator[str]:
    yield from _sheet(sheets.standings(board, board.leading))
    yield from (_picture(pictures[of]) for of in ("standings", "promises") if of in pictures)
    yield from _sheet(sheets.side_by_side(board))
    yield from _measures(board, sheets.by_stream)
    yield _key()


def _measures(board: Measured, sheet: Callable[[Measured, Ratios], Sheet]) -> Iterator[str]:
    """A table for every measure, of which the script shows one at a time."""
    yield '<div class="measures">'
    for measure, ratios in board.by_measure.items():
        yield f'<section class="measure" data-name="{escape(measure)}">'
        yield from _sheet(sheet(board, ratios))
        yield "</section>"
    yield "</div>"


def _section(key: str, title: str, inner: Sequence[str]) -> Iterator[str]:
    yield f'<section id="{escape(key)}">\n<h2>{escape(title)}</h2>'
    yield from inner
    yield "</section>"


def _made(command: str, origins: Origins) -> Iterator[str]:
    yield f"<p><code>{escape(command)}</code> {escape(wording.ALIKE)}</p>"
    yield from map(_said, wording.adopted(origins))
    yield _said(wording.SIMULATED)


def _sheet(sheet: Sheet) -> Iterator[str]:
    yield f"<h3>{escape(sheet.title)}</h3>"
    yield from _table(sheet)


def _table(sheet: Sheet) -> Iterator[str]:
    yield f'<div class="wide" role="region" tabindex="0" aria-label="{escape(sheet.title)}"><table>\n<thead><tr>'
    yield from (f'<th scope="col"{_side(name, sheet)}>{_breakable(name)}</th>' for name in sheet.head)
    yield "</tr></thead>"
    for group in sheet.groups:
        yield "<tbody>"
        yield from (_row(row, sheet) for row in group)
        yield "</tbody>"
    yield "</table></div>"
    yield from map(_said, filter(None, (sheet.beside, *sheet.notes)))


def _row(row: Sequence[Entry], sheet: Sheet) -> str:
    places = [
        f'<th scope="row"{_side(name, sheet)}>{_entry(entry)}</th>'
        if name == sheet.header
        else f"<td{_side(name, sheet, entry)}>{_entry(entry)}</td>"
        for name, entry in zip(sheet.head, row, strict=True)
    ]
    return f"<tr>{''.join(places)}</tr>"


def _breakable(name: str) -> str:
    """A heading that may go on below an underscore, or long names would make wide columns of short numbers."""
    return escape(name).replace("_", "_<wbr>")


def _side(name: str, sheet: Sheet, entry: Entry | None = None) -> str:
    """The class of a place: headers stay in sight, words stand left, sentences have several lines, shades a colour."""
    kinds = {"head": name == sheet.header, "word": name in sheet.words, "sentence": name in sheet.sentences}
    shade = [f"s{colours.step(entry.shade)}"] if entry and entry.shade is not None else []
    classes = " ".join([kind for kind, it_is in kinds.items() if it_is] + shade)
    return f' class="{classes}"' if classes else ""


def _entry(entry: Entry) -> str:
    text = f"<code>{escape(entry.text)}</code>" if entry.name else escape(entry.text)
    mark = f'<abbr title="{escape(wording.STAND_INS)}">{escape(entry.mark)}</abbr>' if entry.mark else ""
    beside = f"<small>{escape(entry.beside)}</small>" if entry.beside else ""
    return (f"<strong>{text}</strong>" if entry.strong else text) + mark + beside


def _picture(picture: Picture) -> str:
    """As wide as the page. Whoever opens what is below sees it as large as it was drawn; see the style sheet."""
    source = b64encode(picture.svg).decode("ascii")
    seen = escape(picture.seen)
    return (
        f'<figure><div><img alt="{seen}" src="data:image/svg+xml;base64,{source}"></div>'
        f"<details><summary>Full size, and in words</summary><p>{seen}</p></details></figure>"
    )


def _key() -> str:
    """What the colours of a table mean."""
    shown = (f'<span class="s{colours.step(tick)}">{tick:g}</span>' for tick in colours.TICKS)
    return f'<p class="key">Colours: {"".join(shown)} and more</p>'


def _said(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
