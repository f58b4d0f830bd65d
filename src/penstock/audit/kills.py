"""The kill table: every planted failure, and whether what must find it does.

    python -m penstock.audit.kills

A check must find it for its own fault. An attack must prove, by Clopper and Pearson's bounds, that more is lost than is
claimed. Exit code 1 if one of them survives.
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.audit.auditing import require_runnable
from penstock.audit.finding import FINDERS
from penstock.audit.planted import planted
from penstock.audit.trials import Advance, Case, attempt
from penstock.audit.verdict import judged
from penstock.bench.processes import spread
from penstock.bench.trials import bar, refused
from penstock.checks import Subject
from penstock.errors import BadInput, CheckFailed
from penstock.parameters import nearest

AUDIT = "audit"
WIDTH = 160
ALPHA = 1e-3


class Kill(NamedTuple):
    """What came of a planted failure."""

    name: str
    mutant: str
    fault: str
    by: str
    verdict: str
    dead: bool


@dataclass(frozen=True)
class PlantedAttack:
    """The attack on a planted failure, to be found in any process. Its kernel may lie, so nobody weighs its answers."""

    name: str

    def case(self) -> Case:
        """The failure on its own kernel, and the attack."""
        failure = planted()[self.name]
        attack = failure.attack
        if attack is None:
            raise CheckFailed(f"{self.name} is to be caught by an attack, and has none.")
        return Case(Subject(failure, attack.model, failure.kernel), attack, weigh=False)


def work(names: Iterable[str]) -> int:
    """How many steps it takes to try to kill them: one for a check, and one for each trial."""
    return sum(failure.trials if failure.caught_by == AUDIT else 1 for failure in map(planted().get, names) if failure)


def kills(names: Iterable[str], seed: int | None, workers: int, advance: Advance) -> Iterator[Kill]:
    """Try to kill them: those that a check finds, then those that take an attack."""
    failures = {name: planted()[name] for name in names}
    checked = [name for name, failure in failures.items() if failure.caught_by != AUDIT]
    attacked = {PlantedAttack(name): failures[name].trials for name in failures if name not in checked}
    for kill in spread(by_check, checked, workers):
        advance(1)
        yield kill
    for found, trials in attempt(attacked, seed, workers, advance):
        verdict = judged(found.name, found.case().attack, trials, ALPHA, 0.0, "", tests=len(attacked))
        words = f"loses {verdict.best.lower:.2f}, claims {verdict.epsilon}"
        yield _kill(found.name, words, dead=verdict.exceeded)


def by_check(name: str) -> Kill:
    """Hand a planted failure to the check that must find it."""
    failure = planted()[name]
    try:
        FINDERS[failure.caught_by](failure)
    except CheckFailed as fault:
        own = re.search(failure.saying, str(fault)) is not None
        words = str(fault).rpartition("breaks a promise: ")[2]
        return _kill(name, words if own else f"found for something else: {words}", dead=own)
    return _kill(name, "not found", dead=False)


def _kill(name: str, words: str, *, dead: bool) -> Kill:
    failure = planted()[name]
    fault = (inspect.getdoc(sys.modules[failure.__module__]) or "").split("\n")[0]
    return Kill(name, failure.mutant, fault, failure.caught_by, words, dead)


def table(found: Sequence[Kill], style: box.Box = box.SIMPLE_HEAD) -> Table:
    """The kill table: the mutants by their numbers, then what is in print, then whatever else was planted."""
    shown = Table(title="Planted failures, and what finds them", title_justify="left", box=style)
    for name in ("mutant", "planted failure", "what is wrong", "found by", "verdict"):
        shown.add_column(name, no_wrap=name != "what is wrong")
    for kill in sorted(found, key=_place):
        words = kill.verdict if kill.dead else f"SURVIVES: {kill.verdict}"
        told = kill.mutant, kill.name, kill.fault, kill.by, words
        shown.add_row(*(escape(cell) for cell in told), style=None if kill.dead else "bold red")
    return shown


def _place(kill: Kill) -> tuple[int, str, str]:
    number = re.fullmatch(r"M(\d+)", kill.mutant)
    return (int(number.group(1)) if number else 100 if kill.mutant else 101), kill.mutant, kill.name


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the kill table."""
    options = argparse.ArgumentParser(prog="python -m penstock.audit.kills", description="Kill planted failures.")
    options.add_argument("names", nargs="*", help="only these")
    options.add_argument("--seed", type=int, default=None, help="noise of this seed, else the one that is shipped")
    options.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes that share the work")
    told = options.parse_args(arguments)
    try:
        require_runnable(told.seed, told.workers)
        names = told.names or list(planted())
        for name in names:
            if name not in planted():
                raise BadInput(f"nothing is planted that is called {name!r}.{nearest(name, planted())}")
        with bar(work(names), "killing") as advance:
            found = list(kills(names, told.seed, told.workers, advance))
    except BadInput as fault:
        return refused(fault)
    Console(width=WIDTH).print(table(found))
    return 0 if all(kill.dead for kill in found) else 1


if __name__ == "__main__":
    sys.exit(main())
