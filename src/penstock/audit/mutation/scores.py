"""Scores per file: how many mutants the tests have killed of those that could be killed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich import box
from rich.table import Table

from penstock.audit.mutation.mutants import Mutant
from penstock.audit.mutation.verdicts import Book, Equivalents
from penstock.bench.page import as_markdown
from penstock.bench.trials import ruled

# Of the mutants that are not equivalent, per file.
TARGET = 0.97

OPENING = """# Mutants

A mutant is the code with one small change: another comparison, a constant off by one, a statement left out. A test
that fails on it kills it; a mutant that lives shows what no test looks at. `make mutants` makes this page.

It tries the tests that run the changed function, those first that run little else, for {seconds} seconds at most. So a
mutant that lives here may still be killed by a test that is farther away. Equivalent mutants change nothing that
matters; they are listed, with reasons, in [mutants-equivalent.txt](mutants-equivalent.txt).

The score is the number killed, divided by the number tried that are not equivalent. Every file needs {target:.0%}.
"""


class Score(NamedTuple):
    """What became of the mutants of a file, or of all."""

    file: str
    mutants: int
    tried: int
    killed: int
    equivalent: int
    alive: tuple[Mutant, ...]

    @property
    def value(self) -> float:
        """The part killed, of those that were tried and are not equivalent."""
        killable = self.killed + len(self.alive)
        return self.killed / killable if killable else 1.0

    @property
    def is_enough(self) -> bool:
        """Whether it reaches the target."""
        return self.value >= TARGET


def compute_score(file: str, mutants: Sequence[Mutant], book: Book, equivalents: Equivalents) -> Score:
    """The score of the mutants of a file. One that is listed as equivalent and was killed counts as killed."""
    verdicts = [(mutant, book[mutant]) for mutant in mutants]
    tried = [(mutant, verdict) for mutant, verdict in verdicts if verdict is not None or mutant in equivalents]
    killed = sum(verdict is not None and verdict.is_killed for _, verdict in tried)
    left = [mutant for mutant, verdict in tried if verdict is None or not verdict.is_killed]
    alive = tuple(mutant for mutant in left if mutant not in equivalents)
    return Score(file, len(mutants), len(tried), killed, len(left) - len(alive), alive)


def add_up(scores: Sequence[Score]) -> Score:
    """All files together."""
    alive = tuple(mutant for each in scores for mutant in each.alive)
    mutants, tried = sum(each.mutants for each in scores), sum(each.tried for each in scores)
    killed, equivalent = sum(each.killed for each in scores), sum(each.equivalent for each in scores)
    return Score("all", mutants, tried, killed, equivalent, alive)


def make_table(scores: Sequence[Score], style: box.Box) -> Table:
    """One row a file."""
    shown = ruled("Mutants", ("file", "mutants", "tried", "killed", "equivalent", "alive", "score"), style)
    for each in [*scores, add_up(scores)]:
        counts = (each.mutants, each.tried, each.killed, each.equivalent, len(each.alive))
        shown.add_row(each.file, *map(str, counts), f"{each.value:.1%}" if each.tried else "")
    return shown


def make_page(scores: Sequence[Score], seconds: float) -> str:
    """The scores as a page, with every mutant that lives."""
    opening = OPENING.format(seconds=seconds, target=TARGET)
    return "\n".join(
        [opening, as_markdown(make_table(scores, box.MARKDOWN)), "", *_list_survivors(add_up(scores).alive)]
    )


def _list_survivors(alive: Iterable[Mutant]) -> list[str]:
    lines = [line for mutant in alive for line in _describe(mutant)]
    return ["## Alive", "", "```diff", *lines, "```", ""] if lines else ["No mutant that was tried is alive.", ""]


def _describe(mutant: Mutant) -> tuple[str, str, str]:
    return f"@@ {mutant.file}:{mutant.line} {mutant.scope}", f"- {mutant.before}", f"+ {mutant.after}"
