"""The law, from the store: every protected set is recounted from the charges in its file, against adversaries.

Every mechanism, under small models of every kind it is proven for, meets every adversary. Exactly, and whatever the
noise was: no protected set may have paid more than epsilon.

    python -m penstock.audit.windows
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table

from penstock import catalogue
from penstock.audit.adversaries import ADVERSARIES, ATTENDANCES, Adversary, Attendance, everyone, window_edge
from penstock.audit.recounted import RESTARTS, Fullest, fullest
from penstock.bench.processes import spread
from penstock.bench.trials import bar, refused, ruled
from penstock.checks import example_models
from penstock.errors import BadInput, CheckFailed
from penstock.laws import MODELS, named
from penstock.mechanisms.base import Mechanism
from penstock.models import MContext, PrivacyModel
from penstock.parameters import at_least_one


class Row(NamedTuple):
    """What many streams came to, for a mechanism under a model: the fullest set of all, and who has filled it."""

    mechanism: str
    model: PrivacyModel
    streams: int
    units: int
    faults: int
    fullest: Fullest
    by: str


class Trial(NamedTuple):
    """A mechanism under a model, against every adversary."""

    mechanism: type[Mechanism]
    model: PrivacyModel
    rounds: int

    def run(self) -> Row:
        """Every stream, with restarts and without."""
        done = [
            (fullest(self.mechanism, self.model, adversary, seed=seed, attendance=who, restarts=restarts), by)
            for by, adversary, who, seed in self.games()
            for restarts in (0, RESTARTS)
        ]
        found, by = max(done, key=lambda each: each[0].spent)
        units, faults = sum(each.units for each, _ in done), sum(each.faults for each, _ in done)
        return Row(self.mechanism.__name__, self.model, len(done), units, faults, found, by)

    def games(self) -> Iterator[tuple[str, Adversary, Attendance, int]]:
        """Who makes up the counts, who says who is present, and in which phase."""
        attended = isinstance(self.model, MContext)
        for (name, adversary), (who, attendance) in product(ADVERSARIES.items(), ATTENDANCES.items()):
            phases = self.rounds
            if adversary is window_edge and not self.model.horizon_bound:
                phases = max(phases, self.model.window)
            if attended or attendance is everyone:
                by = f"{name}, {who}" if attended else name
                yield from ((by, adversary, attendance, phase) for phase in range(phases))


def trials(mechanisms: Iterable[type[Mechanism]], rounds: int = 1) -> list[Trial]:
    """Every mechanism under small models of every kind it is proven for."""
    at_least_one("rounds", rounds)
    kinds = [(mechanism, kind) for mechanism in mechanisms for kind in mechanism.proven_for]
    return [Trial(mechanism, model, rounds) for mechanism, kind in kinds for model in example_models(kind)]


def sweep(
    mechanisms: Iterable[type[Mechanism]],
    *,
    rounds: int = 1,
    workers: int = 1,
    advance: Callable[[], None] = lambda: None,
) -> Iterator[Row]:
    """A row for every trial; ``advance`` is called after each."""
    for row in spread(Trial.run, trials(mechanisms, rounds), workers):
        advance()
        yield row


def main(arguments: Sequence[str] | None = None) -> int:
    """Try everything and show it; 1 if a protected set has paid more than epsilon."""
    try:
        options = _options(arguments)
        chosen = [catalogue.mechanism(key) for key in options.mechanisms] or list(catalogue.mechanisms().values())
        with bar(len(trials(chosen, options.rounds))) as advance:
            rows = list(sweep(chosen, rounds=options.rounds, workers=options.workers, advance=advance))
    except BadInput as fault:
        return refused(fault)
    except CheckFailed as fault:
        Console(stderr=True, soft_wrap=True).print(f"broken: {fault}", markup=False, highlight=False)
        return 1
    Console(width=180).print(table(rows, box.MARKDOWN if options.markdown else box.SIMPLE_HEAD))
    return 0 if all(row.fullest.holds for row in rows) else 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m penstock.audit.windows", description="The law, from the store.")
    parser.add_argument("mechanisms", nargs="*", help="their keys; all of them if none is given")
    parser.add_argument("--rounds", type=int, default=1, help="streams of each adversary")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes that share the work")
    parser.add_argument("--markdown", action="store_true", help="a table for a document")
    options = parser.parse_args(arguments)
    at_least_one("--workers", options.workers)
    return options


def table(rows: Sequence[Row], style: box.Box) -> Table:
    """A line for every mechanism and model."""
    streams, units = sum(row.streams for row in rows), sum(row.units for row in rows)
    title = f"The fullest protected set of {streams:,} streams, {units:,} time units, recounted from their stores"
    columns = ["mechanism", "model", "filled by", "streams", "failed", "fullest set", "of epsilon", "", "tight"]
    shown = ruled(title, columns, style, words=3)
    for mechanism, model, tried, _, faults, found, by in rows:
        law = f"{named(model)}, {model.called} {model.window}"
        part = _percent(found.part)
        tight = "yes" if found.part == 1 else "no"
        shown.add_row(mechanism, law, by, str(tried), str(faults), str(found.spent), str(found.part), part, tight)
    return shown


def summary(rows: Sequence[Row], style: box.Box) -> Table:
    """A line for every mechanism, a column for every kind of model: how full its fullest protected set was."""
    streams, units = sum(row.streams for row in rows), sum(row.units for row in rows)
    title = f"The fullest protected set of {streams:,} streams, {units:,} time units, recounted from their stores"
    kinds = [kind for kind in MODELS.values() if any(isinstance(row.model, kind) for row in rows)]
    shown = ruled(title, ["mechanism", *(name for name, kind in MODELS.items() if kind in kinds)], style)
    for mechanism in dict.fromkeys(row.mechanism for row in rows):
        own = [row for row in rows if row.mechanism == mechanism]
        parts = [[row.fullest.part for row in own if isinstance(row.model, kind)] for kind in kinds]
        shown.add_row(mechanism, *(_percent(max(found)) if found else "" for found in parts))
    return shown


def _percent(part: Fraction) -> str:
    """Rounded down, so that only what is full reads 100%."""
    return f"{math.floor(1000 * part) / 10}%" if part <= 1 else f"{float(part):.1%}, BROKEN"


if __name__ == "__main__":
    sys.exit(main())
