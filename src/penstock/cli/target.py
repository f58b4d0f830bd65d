"""``penstock simulate --target-error``: which epsilon, and which window, keeps the mean error low enough.

Theory points to where the answer should be, as if the error grew with the noise of a release like that of publishing
always. From there the search goes in growing steps and then in halves, with the most usual trial alone; then once more
with all of them. All use the same streams and the same seeds. Errors need not fall wherever epsilon grows, so an answer
may not be the best one; but it was measured itself, with all trials.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Self

from rich.table import Table

from penstock import catalogue
from penstock.cli.console import as_json, progress, results
from penstock.cli.trial import Trial, tried
from penstock.errors import BadInput
from penstock.mechanisms.base import Mechanism
from penstock.models import PrivacyModel
from penstock.noise import SimulationNoise
from penstock.streams import Stream
from penstock.theory import ranges

Row = dict[str, Any]

EPSILONS = [Decimal(digits).scaleb(power) for power in range(-4, 2) for digits in range(10, 100)] + [Decimal(1000)]
LONGEST_HORIZON = 1000  # units; a stream is made up for each horizon that is tried
HELP = (
    "Find the smallest epsilon, and the longest window, with which the mean error is at most this. Looks at epsilons"
    f" from {EPSILONS[0].normalize()} to {EPSILONS[-1]} and windows of up to --length units (horizons of up to"
    f" {LONGEST_HORIZON}), to two digits; takes a minute or two for all mechanisms."
)


def sane(target: float | None) -> float | None:
    """The error as told, unless nothing can have it."""
    if target is not None and not 0 < target < math.inf:
        raise BadInput(f"--target-error must be above 0 and finite; got {target}.")
    return target


@dataclass(frozen=True)
class Again:
    """How to try a mechanism again under another law: with the same parameters, on the same streams, from one seed."""

    parameters: dict[str, Any]
    streams: Callable[[PrivacyModel], list[Stream]]
    seed: int
    width: int
    allow_unproven: bool = False

    def made(self, key: str, law: PrivacyModel) -> Mechanism:
        """The mechanism under this law, if it takes it."""
        return catalogue.made(key, self.parameters, law, allow_unproven=self.allow_unproven)

    def error(self, key: str, law: PrivacyModel, number: int) -> float:
        """The mean error in one trial; beyond measure where the budget turns out to be too little."""
        try:
            stream, noise = self.streams(law)[number], SimulationNoise(self.seed + number)
            return tried(stream, self.made(key, law), noise, self.width).mean_error
        except BadInput:
            return math.inf


@dataclass
class Tries:
    """What came of trying a mechanism under one law after another."""

    key: str
    again: Again
    order: list[int]  # of the trials: the most usual one first, then those with the largest errors
    usual: float  # the error of the first trial, in parts of the mean
    seen: dict[PrivacyModel, list[float]]

    @classmethod
    def after(cls, law: PrivacyModel, errors: list[float], key: str, again: Again) -> Self:
        """What to go on with when all trials were made under one law."""
        mean = sum(errors) / len(errors)
        usual, *others = sorted(range(len(errors)), key=lambda number: abs(errors[number] - mean))
        order = [usual, *sorted(others, key=lambda number: -errors[number])]
        return cls(key, again, order, errors[usual] / mean if mean else 1, {law: [errors[i] for i in order]})

    def allowed(self, law: PrivacyModel) -> bool:
        """Whether the mechanism takes this law at all."""
        try:
            self.again.made(self.key, law)
        except BadInput:
            return False
        return True

    def passes(self, law: PrivacyModel, target: float, trials: int) -> bool:
        """Whether the mean error of the first trials is at most this; tries no more of them than it takes to know."""
        errors = self.seen.setdefault(law, [])
        while len(errors) < trials and sum(errors) <= target * trials:
            errors.append(self.again.error(self.key, law, self.order[len(errors)]))
        return len(errors) >= trials and sum(errors[:trials]) / trials <= target

    def mean_error(self, law: PrivacyModel) -> float:
        """The mean error of all that was tried under this law."""
        return sum(self.seen[law]) / len(self.seen[law])


@dataclass
class Target:
    """What is sought: a mean error of at most ``error`` in all trials, under a law like ``law``."""

    error: float
    law: PrivacyModel
    trials: int
    windows: range  # that may be tried

    def rows(self, outcomes: dict[str, list[Trial]], again: Again) -> list[Row]:
        """What was found for each mechanism, those that need the least epsilon first."""
        rows: list[Row] = []
        with progress("Searching", len(outcomes)) as show:
            for key, outcome in outcomes.items():
                rows.append(self._row(Tries.after(self.law, [trial.mean_error for trial in outcome], key, again)))
                show(len(rows))
        return sorted(
            rows, key=lambda row: (float(row["smallest_epsilon"] or math.inf), row["mean_error"], _plain(row))
        )

    @property
    def has_windows(self) -> bool:
        """Whether a window has a length to ask for; at event level every unit is protected by itself."""
        return self.law.called in vars(self.law)

    def _row(self, tries: Tries) -> Row:
        found: dict[str, PrivacyModel | None] = {"smallest_epsilon": self._sought(tries, self._epsilons())}
        if self.has_windows:
            found["longest_window"] = self._sought(tries, self._lengths())
        row: Row = {"mechanism": tries.key, "mean_error": tries.mean_error(self.law)}
        for name, law in found.items():
            row[name] = law and (str(law.epsilon) if name == "smallest_epsilon" else law.window)
            row[f"error_at_{name}"] = law and tries.mean_error(law)
        return row

    def _epsilons(self) -> list[PrivacyModel]:
        return [self._like(epsilon=e) for e in sorted({*EPSILONS, Decimal(str(self.law.epsilon))})]

    def _lengths(self) -> list[PrivacyModel]:
        """Windows of two digits, the longest first."""
        longest = self.windows[-1]
        rounded = {n for power in range(len(str(longest))) for n in range(10**power, 10 ** (power + 2), 10**power)}
        kept = sorted((n for n in {*rounded, self.law.window, longest} if n in self.windows), reverse=True)
        return [self._like(**{self.law.called: n}) for n in kept]

    def _like(self, **changes: Any) -> PrivacyModel:
        """The law with another epsilon or another window."""
        return replace(self.law, **changes)

    def _sought(self, tries: Tries, grid: Sequence[PrivacyModel]) -> PrivacyModel | None:
        """The first law of the grid, whose laws ask for less and less, under which the error is low enough."""
        last = next(i for i in reversed(range(len(grid))) if tries.allowed(grid[i]))
        start = min(self._guessed(tries, grid), last)
        near = boundary(lambda i: tries.passes(grid[i], self.error * tries.usual, 1), start, last)
        for begin in (last if near is None else near, grid.index(self.law)):
            found = boundary(lambda i: tries.passes(grid[i], self.error, self.trials), begin, last)
            if found is not None:
                return grid[found]
        return None

    def _guessed(self, tries: Tries, grid: Sequence[PrivacyModel]) -> int:
        """Where the error would be low enough if it went with that of publishing always."""
        width, mean = tries.again.width, tries.mean_error(self.law)
        enough = self.error * publishing_always(self.law, width)
        return bisect_left(grid, True, key=lambda law: mean * publishing_always(law, width) <= enough)


def publishing_always(law: PrivacyModel, width: int) -> float:
    """The expected error of sums over so many units, if each is published with epsilon / w."""
    share = law.epsilon / law.window
    return max(ranges.absolute_error(width, share, law.sensitivity), sys.float_info.min) if share else math.inf


def boundary(passes: Callable[[int], bool], start: int, last: int) -> int | None:
    """The first of 0 .. last that passes, if all after it pass too; near ``start`` it takes few tries."""
    bad, good, step = -1, start, 1
    if passes(start):
        while start - step >= 0 and passes(start - step):
            good, step = start - step, 2 * step
        bad = max(start - step, -1)
    elif passes(last):
        while not passes(min(start + step, last)):
            step *= 2
        bad, good = start + step // 2, min(start + step, last)
    else:
        return None
    while good - bad > 1:
        middle = (bad + good) // 2
        bad, good = (bad, middle) if passes(middle) else (middle, good)
    return good


def show(target: Target, rows: list[Row], title: str, about: Row | None) -> None:
    """For a script, with all there is to say ``about`` the streams, or for people."""
    if about is None:
        results.print(table(f"{title}; sought: a mean error of at most {target.error:g}", target, rows))
        results.print(answer(target, rows), soft_wrap=True)
        return
    looked_at: Row = {"epsilons": [str(EPSILONS[0].normalize()), str(EPSILONS[-1])]}
    if target.has_windows:
        looked_at["windows"] = [target.windows[0], target.windows[-1]]
    as_json(about | {"target_error": target.error, **looked_at, "answer": answer(target, rows), "mechanisms": rows})


def answer(target: Target, rows: list[Row]) -> str:
    """The table in words."""
    best, called = rows[0], target.law.called
    needed = f"an error of at most {target.error:g} needs epsilon {best['smallest_epsilon']} with {best['mechanism']}"
    if best["smallest_epsilon"] is None:
        needed = f"no epsilon up to {EPSILONS[-1]} gives an error of at most {target.error:g}"
    if not target.has_windows:
        return f"{needed}."
    longest = max(rows, key=lambda row: (row["longest_window"] or 0, -_plain(row)))
    lengths = f"{called} can be up to {longest['longest_window']} with {longest['mechanism']}"
    return f"{needed}; at epsilon {target.law.epsilon} {lengths if longest['longest_window'] else f'no {called} does'}."


def _plain(row: Row) -> int:
    """Of mechanisms that do the same, like sliding sums over one unit and Uniform, the short name is the plain one."""
    return len(row["mechanism"])


def table(title: str, target: Target, rows: list[Row]) -> Table:
    """For people to read; where the last thing that was looked at is good enough, what lies beyond may be as well."""
    shown = Table(title=title, title_justify="left", caption="simulated: seeded noise that protects nobody")
    shown.add_column("mechanism", no_wrap=True)
    headings = ["mean error as asked", "smallest epsilon", "its error", f"longest {target.law.called}", "its error"]
    for heading in headings if target.has_windows else headings[:-2]:
        shown.add_column(heading, justify="right")
    edges = {"smallest_epsilon": f"<= {EPSILONS[0].normalize()}", "longest_window": f">= {target.windows[-1]}"}
    for row in rows:
        cells = [cell for name, edge in edges.items() if name in row for cell in _cells(row, name, edge)]
        best = row is rows[0] and row["smallest_epsilon"] is not None
        shown.add_row(row["mechanism"], f"{row['mean_error']:.1f}", *cells, style="bold green" if best else None)
    return shown


def _cells(row: Row, name: str, edge: str) -> tuple[str, str]:
    """What was found, and its error; marked if it is the last thing that was looked at."""
    if row[name] is None:
        return "-", "-"
    found = str(row[name])
    return edge if edge.split()[1] == found else found, f"{row[f'error_at_{name}']:.3g}"
