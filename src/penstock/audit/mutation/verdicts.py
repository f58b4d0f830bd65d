"""Verdicts on mutants, kept in a file from run to run, and the list of those that are equivalent."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

from penstock.audit.mutation.mutants import Mutant
from penstock.audit.mutation.nearest import Nearest
from penstock.audit.mutation.testing import AT_IMPORT
from penstock.errors import BadInput

# Its nearest tests did not end in time.
TIME = "time"
COLUMNS = ("file", "mutant", "code", "killed by", "tests")


class Verdict(NamedTuple):
    """What became of a mutant: the test that killed it, or the version of the tests that it has survived."""

    file: str
    mutant: str
    code: str
    killer: str
    tests: str

    @property
    def is_killed(self) -> bool:
        """Whether some test has noticed the change."""
        return bool(self.killer)

    def holds(self, mutant: Mutant, nearest: Nearest) -> bool:
        """Whether this would be found again: the tests that matter are still the same."""
        if not self.killer:
            return self.tests == nearest.find(mutant).version
        return self.killer in (AT_IMPORT, TIME) or _is_there(self.killer)


def _is_there(test: str) -> bool:
    file, *_, name = test.split("[")[0].split("::")
    return Path(file).exists() and f"def {name}(" in Path(file).read_text(encoding="utf-8")


class Book:
    """The verdicts of all runs. Each is written down at once, so that a run can be stopped anywhere."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, Verdict] = {}
        if path.exists():
            with path.open(encoding="utf-8", newline="") as file:
                rows = [Verdict(*row) for row in csv.reader(file) if len(row) == len(COLUMNS)]
            self._known = {row.mutant: row for row in rows if row.file != COLUMNS[0]}

    def __getitem__(self, mutant: Mutant) -> Verdict | None:
        known = self._known.get(mutant.key)
        return known if known is not None and known.code == mutant.code else None

    def add(self, mutant: Mutant, killer: str, tests: str) -> None:
        """Write a verdict down."""
        verdict = Verdict(mutant.file, mutant.key, mutant.code, killer, "" if killer else tests)
        self._known[mutant.key] = verdict
        with self._path.open("a", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(verdict)

    def tidy(self, mutants: Iterable[Mutant]) -> None:
        """Write the verdicts on these mutants in order, and drop all others."""
        kept = sorted(verdict for mutant in mutants if (verdict := self[mutant]) is not None)
        with self._path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *kept])


@dataclass(frozen=True)
class Equivalents:
    """Mutants that behave as the original does wherever it matters, each with the reason.

    They are kept as paragraphs of four lines: file and scope, ``-`` the statement, ``+`` what it was changed into, and
    ``=`` why no test can notice it.
    """

    reasons: Mapping[tuple[str, str, str, str], str]

    @classmethod
    def read(cls, path: Path) -> Self:
        """The list in a file; lines that begin with ``#`` are comments."""
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        paragraphs = [part.splitlines() for part in "\n".join(lines).strip().split("\n\n")] if any(lines) else []
        return cls(dict(map(_read_entry, paragraphs)))

    def __contains__(self, mutant: Mutant) -> bool:
        return mutant.name in self.reasons

    def find_stale(self, mutants: Iterable[Mutant]) -> list[str]:
        """Entries that name no mutant any more, because the code has changed."""
        names = {mutant.name for mutant in mutants}
        return [f"{file} {scope}: {after}" for file, scope, before, after in self.reasons.keys() - names]


def _read_entry(lines: list[str]) -> tuple[tuple[str, str, str, str], str]:
    if [line[:2] for line in lines[1:]] != ["- ", "+ ", "= "]:
        raise BadInput(f'an equivalent mutant has four lines: where, "- ", "+ ", "= "; mend that of {lines[0]!r}.')
    file, _, scope = lines[0].partition(" ")
    return (file, scope, lines[1][2:], lines[2][2:]), lines[3][2:]
