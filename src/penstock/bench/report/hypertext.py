"""The report as one page that needs nothing else: no network, no other file, and no script to be read."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files

from penstock.bench.report import colours, sheets, wording
from penstock.bench.report.canvas import Picture
from penstock.bench.report.sheets import Entry, Sheet
from penstock.bench.report.shown import About, Measured

ENDING = {"measures": "Measures", "left-out": "Left out", "streams": "Streams", "made": "How it was made"}


def as_html(boards: Sequence[Measured], streams: Sequence[About], pictures: Mapping[str, Sequence[Picture]]) -> str:
    """All boards, then what holds for all of them."""
    contents = {board.board.key: board.board.title for board in boards} | ENDING
    parts = [
        *_head(contents),
        *(part for board in boards for part in _board(board, pictures.get(board.board.key, ()))),
        *_section("measures", ENDING["measures"], [*_sheet(sheets.rules())]),
        *_section("left-out", ENDING["left-out"], [*_sheet(sheets.left_out())]),
        *_section("streams", ENDING["streams"], [*_sheet(sheets.streams(streams)), _said(wording.BEGINNINGS)]),
        *_section("made", ENDING["made"], [*_made()]),
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


def _board(board: Measured, pictures: Sequence[Picture]) -> Iterator[str]:
    told = board.board
    shown = [each for each in pictures if each.name in (f"{told.key}-standings", f"{told.key}-promises")]
    inner = [_said(told.about), _said(wording.facts(board)), *_sheet(sheets.standings(board, board.leading))]
    inner += [*map(_picture, shown), *_sheet(sheets.side_by_side(board))]
    inner.append('<div class="measures">')
    for measure, ratios in board.by_measure.items():
        inner.append(f'<section class="measure" data-name="{escape(measure)}">')
        inner += [*_sheet(sheets.by_stream(board, ratios)), "</section>"]
    return _section(told.key, told.title, [*inner, "</div>", _key()])


def _section(key: str, title: str, inner: Sequence[str]) -> Iterator[str]:
    yield f'<section id="{escape(key)}">\n<h2>{escape(title)}</h2>'
    yield from inner
    yield "</section>"


def _made() -> Iterator[str]:
    yield f"<p><code>{escape(wording.COMMAND)}</code> {escape(wording.ALIKE)}</p>"
    yield _said(wording.SIMULATED)


def _sheet(sheet: Sheet) -> Iterator[str]:
    yield f'<h3>{escape(sheet.title)}</h3>\n<div class="wide" role="region" tabindex="0"'
    yield f'aria-label="{escape(sheet.title)}"><table>\n<thead><tr>'
    for name in sheet.head:
        yield f'<th scope="col"{_side(name, sheet)}>{escape(name)}</th>'
    yield "</tr></thead>"
    for group in sheet.groups:
        yield "<tbody>"
        yield from (_row(row, sheet) for row in group)
        yield "</tbody>"
    yield "</table></div>"
    yield from map(_said, sheet.notes)


def _row(row: Sequence[Entry], sheet: Sheet) -> str:
    """The first name in a row is its header."""
    header = next((i for i, entry in enumerate(row) if entry.name), 0)
    places = [
        f'<th scope="row"{_side(name, sheet)}>{_entry(entry)}</th>'
        if i == header
        else f"<td{_side(name, sheet, entry)}>{_entry(entry)}</td>"
        for i, (name, entry) in enumerate(zip(sheet.head, row, strict=True))
    ]
    return f"<tr>{''.join(places)}</tr>"


def _side(name: str, sheet: Sheet, entry: Entry | None = None) -> str:
    """The class of a place: words stand left, shades have a colour."""
    shade = f"s{colours.step(entry.shade)}" if entry and entry.shade is not None else ""
    classes = " ".join(filter(None, ["word" if name in sheet.words else "", shade]))
    return f' class="{classes}"' if classes else ""


def _entry(entry: Entry) -> str:
    text = f"<code>{escape(entry.text)}</code>" if entry.name else escape(entry.text)
    mark = f'<abbr title="{escape(wording.STAND_INS)}">{escape(entry.mark)}</abbr>' if entry.mark else ""
    beside = f"<small>{escape(entry.beside)}</small>" if entry.beside else ""
    return (f"<strong>{text}</strong>" if entry.strong else text) + mark + beside


def _picture(picture: Picture) -> str:
    source = b64encode(picture.svg).decode("ascii")
    return f'<figure><img alt="{escape(picture.seen)}" src="data:image/svg+xml;base64,{source}"></figure>'


def _key() -> str:
    """What the colours of a table mean."""
    shown = (f'<span class="s{colours.step(tick)}">{tick:g}</span>' for tick in colours.TICKS)
    return f'<p class="key">Colours: {"".join(shown)} and more</p>'


def _said(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
