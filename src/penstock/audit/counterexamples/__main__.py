"""``python -m penstock.audit.counterexamples``: five ways to lose a guarantee, measured, beside the repaired forms.

``--figures FOLDER`` draws them, and ``--write docs/five-ways.md`` puts the tables into their places on the page.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console

from penstock.audit.bounds import require_scipy
from penstock.audit.counterexamples import clamp, nearest, one_threshold, regions, warm_up
from penstock.audit.counterexamples.showing import Found, drawn, table_of_all
from penstock.audit.counterexamples.trials import Trials
from penstock.bench.page import require_places, rewritten
from penstock.bench.trials import bar, refused
from penstock.drawing import require_drawable
from penstock.errors import BadInput
from penstock.parameters import at_least_one, not_negative

TRIALS = 20_000_000
WIDTH = 140
RUNS = one_threshold.RUNS + warm_up.RUNS + clamp.RUNS + nearest.RUNS


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure everything, show it, draw it, and write it down."""
    try:
        told = _told(arguments)
        _require_places(told)
        found = measured(told.trials, told.seed)
        _show(found, told)
    except BadInput as fault:
        return refused(fault)
    return 0


def _told(arguments: Sequence[str] | None) -> argparse.Namespace:
    options = argparse.ArgumentParser(prog="python -m penstock.audit.counterexamples", description="Counter-examples.")
    options.add_argument("--trials", type=int, default=TRIALS, help="of every event, with a stream and its neighbour")
    options.add_argument("--seed", type=int, default=1, help="of all draws")
    options.add_argument("--figures", default="", help="a folder to draw the figures into")
    options.add_argument("--write", default="", help="a page whose marked tables are replaced")
    return options.parse_args(arguments)


def _require_places(told: argparse.Namespace) -> None:
    """Refuse what could not be done, before the work."""
    at_least_one("--trials", told.trials)
    not_negative("--seed", told.seed)
    require_scipy()
    if told.figures:
        require_drawable(Path(told.figures) / "figure.png")
    require_places(told.write, ())


def measured(number: int, seed: int) -> list[Found]:
    """What the five come to, with a bar."""
    with bar(RUNS * Trials.chunks(number) + regions.STEPS) as advance:
        ways = (one_threshold.measured, warm_up.measured, clamp.measured, nearest.measured, regions.measured)
        return [way(Trials(number, seed, advance)) for way in ways]


def _show(found: Sequence[Found], told: argparse.Namespace) -> None:
    console = Console(width=WIDTH)
    for way in found:
        console.print(*way.tables(box.SIMPLE_HEAD).values())
    console.print(table_of_all(found, box.SIMPLE_HEAD))
    if told.figures:
        for way in found:
            console.print(f"drawn: {drawn(way, Path(told.figures))}")
    if told.write:
        page = Path(told.write)
        text = rewritten(page.read_text(encoding="utf-8"), {"all": table_of_all(found, box.MARKDOWN)})
        for way in found:
            text = rewritten(text, way.tables(box.MARKDOWN))
        page.write_text(text, encoding="utf-8")
        console.print(f"written: {page}")


if __name__ == "__main__":
    sys.exit(main())
