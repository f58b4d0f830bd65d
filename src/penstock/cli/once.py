"""A one-time publication as commands tell it: rows in the units of the data, and how much noise is in them."""

from __future__ import annotations

import csv
import io
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.bar import Bar
from rich.console import RenderableType
from rich.table import Table

from penstock.cli.console import put, results, several
from penstock.cli.files import opened, require_new
from penstock.errors import BadInput
from penstock.grid import Grid, plainly
from penstock.static.declared import Declaration, law_of, publication_of
from penstock.static.keeping import require_told
from penstock.store import Archive
from penstock.streams.lines import STANDARD
from penstock.types import Kind, Published

DIGITS = 15  # of a coordinate: as many as a float holds for sure
SHOWN, AT_THE_END = 24, 8  # rows in a terminal, and how many of them are the last ones
BEFORE = "a standard deviation, before they are put in order"
NOISES = {
    "SortedPoints": "noise of a point: {high:.3g} (" + BEFORE + ")",
    "CumulativeHistogram": "noise of a bin, and of any range of bins: {high:.3g} (" + BEFORE + ")",
    "PlainHistogram": "noise of a bin: {low:.3g} to {high:.3g} (a standard deviation); {sums}",
    "Median": "how wide its noise is follows from the points, and is secret",
}


@dataclass(frozen=True)
class Told:
    """A publication that is stored, and what it was declared as."""

    declaration: Declaration
    release: Published

    @property
    def grid(self) -> Grid:
        """What the points were snapped to."""
        return law_of(self.declaration).snapped_to

    @cached_property
    def rows(self) -> list[dict[str, float | int]]:
        """What the published numbers say, in the units of the data."""
        return publication_of(self.declaration).told(self.release.values, self.grid)

    @property
    def text(self) -> str:
        """As CSV."""
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\n")
        writer.writerow(self.rows[0])
        writer.writerows([f"{value:.{DIGITS}g}" for value in row.values()] for row in self.rows)
        return written.getvalue()

    @property
    def noise(self) -> tuple[float, float] | None:
        """The least and the largest standard deviation of the noise in a number; None where that is secret."""
        kind, noise_sd = self.declaration["mechanism"], self.release.noise_sd
        if kind == "Median":
            return None
        unit = float(self.grid.line.step) if kind == "SortedPoints" else 1.0
        return float(noise_sd.min()) * unit, float(noise_sd.max()) * unit

    def __str__(self) -> str:
        low, high = self.noise or (0.0, 0.0)
        alone = (self.release.kind == Kind.FRESH).all()
        sums = "penstock query tells that of sums" if alone else "how evenly bins share what is measured is not known"
        noise = NOISES[self.declaration["mechanism"]].format(low=low, high=high, sums=sums)
        if low == high:
            noise = noise.replace(f"{low:.3g} to ", "")
        columns = " and ".join(f'"{name}"' for name in self.declaration["columns"])
        cells = " by ".join(plainly(axis.step) for axis in self.grid.axes)
        about = f"{several(self.declaration['size'], 'point')}{columns and f' of {columns}'} in cells of {cells}"
        return f"{about}; {self.release.charged} charged, {self.release.remaining} left; {noise}"

    def as_dict(self, *, whole: bool) -> dict[str, Any]:
        """For a script; the ``whole`` of it has the numbers as well."""
        told = ("mechanism", "parameters", "model", "size", "columns", "population")
        declared = {name: self.declaration[name] for name in told}
        low, high = self.noise or (None, None)
        spent = {"charged": str(self.release.charged), "remaining": str(self.release.remaining)}
        noise = {"noise_sd": {"least": low, "largest": high}, "link": self.release.link}
        values = [{name: _short(value) for name, value in row.items()} for row in self.rows] if whole else []
        return {"stream": self.release.stream} | declared | spent | noise | ({"values": values} if whole else {})


def told(archive: Archive, stream: str) -> Told:
    """The publication of this name, as far as the head file knows it."""
    account, declaration = archive.visible(stream), archive.streams()[stream]
    found = next(archive.published(account), None)
    if found is None and archive.account(stream).t:
        raise BadInput(
            f'whether "{stream}" was shown, the head file {archive.head_file.path} should say, which is missing; put it'
            " back, or name it with --head."
        )
    if found is None:
        raise BadInput(f'"{stream}" is not published yet; do that with penstock publish.')
    return Told(declaration, require_told(found))


def looked_at() -> bool:
    """Whether somebody looks at what is printed."""
    return sys.stdout.isatty()


def show(found: Told) -> None:
    """As a table where somebody looks, else as CSV."""
    if looked_at():
        results.print(_table(found))
    else:
        put(found.text)


def require_place(output: str, known: Told | None) -> None:
    """Refuse an output that is there already, unless it holds just this; before anything is drawn."""
    if not _holds(output, known):
        require_new(output)


def write(found: Told, output: str) -> None:
    """To standard output, or to a file, which may hold it already."""
    if output == STANDARD:
        show(found)
    elif not _holds(output, found):
        with opened(output) as file:
            file.write(found.text)


def _holds(output: str, known: Told | None) -> bool:
    if known is None:
        return False
    try:
        return Path(output).read_bytes() == known.text.encode()
    except OSError:
        return False


def _short(value: float) -> float | int:
    return value if isinstance(value, int) else float(f"{value:.{DIGITS}g}")


def _table(found: Told) -> Table:
    """The rows, of many the first and the last; with a bar for every count."""
    table, rows = Table(show_edge=False), found.rows
    counts = [row["count"] for row in rows if "count" in row]
    for heading in [*rows[0], *([""] if counts else [])]:
        table.add_column(heading, justify="right")
    left_out = len(rows) - SHOWN if len(rows) > SHOWN + 1 else 0
    for place, row in enumerate(rows):
        if left_out and place == SHOWN - AT_THE_END:
            table.add_row(f"{left_out} more", *["..."] * (len(row) - 1), style="dim")
        if not left_out or place < SHOWN - AT_THE_END or place >= len(rows) - AT_THE_END:
            cells: list[RenderableType] = [f"{value:.12g}" for value in row.values()]
            bar = [Bar(max(*counts, 1), 0, max(row["count"], 0), width=30, color="cyan")] if counts else []
            table.add_row(*cells, *bar)
    return table
