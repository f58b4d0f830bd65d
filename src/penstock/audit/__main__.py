"""``python -m penstock.audit``: everything at once, for a stranger who wants to know whether to believe it.

First the law is recounted from stores that adversaries have filled. Then every mechanism is attacked where it loses
most, and the pieces it is built of; then what is published once. Last, every planted failure must be found. ``--only``
does one of the four. ``--write docs/audit.md`` puts the tables into their places on the page. Exit code 1 if anything
is overspent, exceeded, weak without a word, or survives.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table

from penstock.audit import auditing, kills, windows
from penstock.audit.once import is_once
from penstock.audit.piece import audited_pieces
from penstock.audit.planted import planted
from penstock.audit.targets import audited
from penstock.audit.verdict import Verdict
from penstock.bench.page import require_places, rewritten
from penstock.bench.trials import bar, refused
from penstock.catalogue import mechanisms
from penstock.drawing import require_drawable
from penstock.errors import BadInput, CheckFailed

ALPHA = 1e-3  # the chance that any of the bounds is wrong; mechanisms and publications share it
TRIALS = 25_000
WIDTH = 160


class Part(NamedTuple):
    """A part of the audit: its table, in the style that is wanted, and whether all is well."""

    name: str
    table: Callable[[box.Box], Table]
    fine: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Do all of it, show it, and write it down."""
    began, console, fine = time.monotonic(), Console(width=WIDTH, highlight=False), True
    try:
        told = _told(arguments)
        _require_places(told)
        for part in _parts(told):
            fine = fine and part.fine
            console.print(part.table(box.SIMPLE_HEAD))
            if told.write:
                page = Path(told.write)
                tables = {part.name: part.table(box.MARKDOWN)}
                page.write_text(rewritten(page.read_text(encoding="utf-8"), tables), encoding="utf-8")
    except BadInput as fault:
        return refused(fault)
    except CheckFailed as fault:
        console.print(f"BROKEN: {fault}", markup=False)
        return 1
    words = "everything holds" if fine else "NOT everything holds: look for what is red"
    console.print(f"{words}; {(time.monotonic() - began) / 60:.1f} minutes.")
    return 0 if fine else 1


def _told(arguments: Sequence[str] | None) -> argparse.Namespace:
    options = argparse.ArgumentParser(prog="python -m penstock.audit", description="The whole audit.")
    options.add_argument("--trials", type=int, default=TRIALS, help="of each attack, on each of its two streams")
    options.add_argument("--seed", type=int, default=None, help="noise of this seed, else the one that is shipped")
    options.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes that share the work")
    options.add_argument("--only", action="append", choices=list(PARTS), help="a part of it; may be told several times")
    options.add_argument("--write", default="", help="a page whose marked tables are replaced")
    options.add_argument("--picture", default="", help="a file to draw the attacks into")
    options.add_argument("--json", default="", help="a file for the verdicts on the attacks")
    return options.parse_args(arguments)


def _require_places(told: argparse.Namespace) -> None:
    """Refuse what could not be done, before the work."""
    auditing.require_runnable(told.seed, told.workers, told.trials)
    if told.json and not Path(told.json).resolve().parent.is_dir():
        raise BadInput(f"there is no folder for {told.json}; make it first.")
    if told.picture:
        require_drawable(Path(told.picture))
    require_places(told.write, told.only or PARTS)


def _parts(told: argparse.Namespace) -> Iterator[Part]:
    """One after another, each with a bar."""
    yield from (part(told) for name, part in PARTS.items() if name in (told.only or PARTS))


def _recounted(told: argparse.Namespace) -> Part:
    """Stores that adversaries have filled."""
    everything = list(mechanisms().values())
    with bar(len(windows.trials(everything)), "recounting") as advance:
        rows = list(windows.sweep(everything, workers=told.workers, advance=advance))
    fine = all(row.fullest.holds and not row.faults for row in rows)
    return Part("windows", partial(windows.summary, rows), fine)


def _attacked(told: argparse.Namespace) -> Part:
    """Every mechanism and every piece, on the pairs of streams on which it loses most."""
    rows: list[auditing.Entry] = [row for key in mechanisms() for row in audited(key)]
    return _judged("attacks", [*rows, *(row for row in audited_pieces() if not is_once(row))], told)


def _attacked_once(told: argparse.Namespace) -> Part:
    """Every one-time publication, on sets of points."""
    return _judged("publications", [row for row in audited_pieces() if is_once(row)], told)


def _killed(told: argparse.Namespace) -> Part:
    """Every planted failure."""
    with bar(kills.work(planted()), "killing") as advance:
        found = list(kills.kills(planted(), told.seed, told.workers, advance))
    return Part("kills", partial(kills.table, found), all(kill.dead for kill in found))


def _judged(name: str, rows: Sequence[auditing.Entry], told: argparse.Namespace) -> Part:
    wanted = auditing.effort(rows, told.trials)
    with bar(sum(wanted.values()), "attacking") as advance:
        found = list(auditing.verdicts(wanted, alpha=ALPHA / 2, seed=told.seed, workers=told.workers, advance=advance))
    if name == "attacks":
        _keep(found, told)
    fine = not any(verdict.fails or verdict.vacuous for verdict in found)
    return Part(name, partial(auditing.table, name.capitalize(), found, columns=auditing.LONG), fine)


def _keep(found: Sequence[Verdict], told: argparse.Namespace) -> None:
    """As a picture and as plain data."""
    if told.picture:
        auditing.draw(found, Path(told.picture))
    if told.json:
        text = json.dumps([verdict.as_row() for verdict in found], indent=2)
        Path(told.json).write_text(text + "\n", encoding="utf-8")


PARTS: dict[str, Callable[[argparse.Namespace], Part]] = {
    "windows": _recounted,
    "attacks": _attacked,
    "publications": _attacked_once,
    "kills": _killed,
}


if __name__ == "__main__":
    sys.exit(main())
