"""``python -m penstock.bench.neighbourhood``: what a spatial neighbourhood buys, and where it buys nothing.

The experiments of Fang and Chang (2014, figures 4 to 6) on points that are made up, with what is shipped: range counts
from histograms and from sorted points, and medians. ``--write docs/neighbourhoods.md`` puts the tables into their
places on the page, ``--figure FILE`` draws them.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from penstock.bench.neighbourhood import clouds, histograms, jobs, medians, sorted_points, speed
from penstock.bench.neighbourhood.picture import draw
from penstock.bench.neighbourhood.showing import half_width
from penstock.bench.page import require_places, rewritten
from penstock.bench.trials import bar, refused, ruled
from penstock.drawing import require_drawable
from penstock.errors import BadInput
from penstock.parameters import at_least_one, not_negative

RUNS = 40
WIDTH = 180
TABLES = (
    *("settings", "ranges-1", "ranges-0.1", "gains", "widths", "bins"),
    *("sorted-counts", "sorted-points", "steps", "median-1", "median-0.1", "ends", "speed"),
)


class Found(NamedTuple):
    """All that was measured, and with how many runs."""

    results: jobs.Results
    seconds: speed.Seconds
    runs: int

    def tables(self, style: box.Box) -> dict[str, Table]:
        """All tables, by name."""
        found = {"settings": self._settings(style)} | histograms.tables(self.results, style)
        found |= sorted_points.tables(self.results, style) | medians.tables(self.results, style)
        return found | {"speed": speed.table(self.seconds, style)}

    def _settings(self, style: box.Box) -> Table:
        table = ruled("What was measured", ["setting", "value"], style)
        counted = [half_width(self.results, job) for job in (*histograms.jobs(), *sorted_points.jobs())]
        table.add_row("points, for range counts", f"{clouds.SIZE:,}")
        table.add_row("ranges of each width", f"{clouds.RANGES:,}")
        table.add_row("publications of each kind", f"{self.runs:,}")
        table.add_row("95% intervals of mean squared errors reach, typically", f"± {np.median(counted):.0%}")
        table.add_row("and at most", f"± {max(counted):.0%}")
        table.add_row("sets of points of each size, for medians", f"{jobs.REPETITIONS:,}")
        return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure everything, show it, draw it, and write it down."""
    began = time.monotonic()
    try:
        told = _told(arguments)
        _require_places(told)
        found = _measured(told)
        _show(found, told)
    except BadInput as fault:
        return refused(fault)
    Console().print(f"{time.monotonic() - began:.0f} s in all")
    return 0


def _told(arguments: Sequence[str] | None) -> argparse.Namespace:
    options = argparse.ArgumentParser(prog="python -m penstock.bench.neighbourhood", description="Errors by radius.")
    options.add_argument("--seed", type=int, default=7, help="of all points and all noise")
    options.add_argument("--runs", type=int, default=RUNS, help="publications of each kind; at least 2")
    options.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes that share the work")
    options.add_argument("--write", default="", help="a page whose marked tables are replaced")
    options.add_argument("--figure", default="", help="a file to draw the errors into")
    return options.parse_args(arguments)


def _require_places(told: argparse.Namespace) -> None:
    """Refuse what could not be done, before the work."""
    not_negative("--seed", told.seed)
    at_least_one("--workers", told.workers)
    if told.runs < 2:
        raise BadInput("an interval needs at least 2 runs (--runs).")
    if told.figure:
        require_drawable(Path(told.figure))
    require_places(told.write, TABLES)


def _measured(told: argparse.Namespace) -> Found:
    """Everything, with a bar; what is timed is done last, when no other process is at work."""
    wanted = [*medians.jobs(), *histograms.jobs(), *sorted_points.jobs()]
    with bar(len(wanted) + speed.steps()) as advance:
        results = jobs.measured(wanted, told.seed, told.runs, told.workers, advance)
        return Found(results, speed.measured(told.seed, advance), told.runs)


def _show(found: Found, told: argparse.Namespace) -> None:
    console = Console(width=WIDTH)
    console.print(*found.tables(box.SIMPLE_HEAD).values())
    if told.figure:
        draw(found.results, Path(told.figure))
        console.print(f"drawn: {told.figure}")
    if told.write:
        page = Path(told.write)
        text = rewritten(page.read_text(encoding="utf-8"), found.tables(box.MARKDOWN))
        page.write_text(text, encoding="utf-8")
        console.print(f"written: {page}")


if __name__ == "__main__":
    sys.exit(main())
