"""Tables on a page of the documentation, between marks, so that a command can write them anew."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

from penstock.errors import BadInput

WIDEST = 400  # no table is


def rewritten(page: str, tables: Mapping[str, Table]) -> str:
    """The page with these tables in their places."""
    for name, table in tables.items():
        begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
        if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
            raise BadInput(f"the page has no place for a table between {begin} and {end}; mark one.")
        before, rest = page.split(begin)
        page = f"{before}{begin}\n\n{as_markdown(table)}\n\n{end}{rest.split(end)[1]}"
    return page


def require_places(path: str, names: Iterable[str]) -> None:
    """Refuse a page that is not there, or has no place for one of these tables; no path is no page."""
    if path and not Path(path).is_file():
        raise BadInput(f"there is no page {path} to write tables into; make it first.")
    if path:
        rewritten(Path(path).read_text(encoding="utf-8"), dict.fromkeys(names, Table()))


def as_markdown(table: Table) -> str:
    """A table as it stands on the page, where the text around it says what it is."""
    title, table.title = table.title, None
    text = io.StringIO()
    Console(file=text, width=WIDEST, color_system=None, force_terminal=False).print(table)
    table.title = title
    return "\n".join(line.rstrip() for line in text.getvalue().strip().splitlines())
