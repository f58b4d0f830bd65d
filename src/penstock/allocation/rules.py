"""Rules that say which time units are to be published, and how much each of them matters.

``every monday``, ``every monday and thursday``, ``weekdays``, ``weekends``, ``every day``, ``first day of the month``,
``last day of the month``, ``every 7`` (the first unit, and every seventh after it). Rules with weights follow each
other, and the first that holds decides: ``every monday: 5; every day: 1``. Where none holds a unit weighs nothing.
A rule about days holds for a unit if it holds for one of its days.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cached_property

import numpy as np

from penstock.errors import BadInput
from penstock.parameters import LARGEST, LARGEST_WHOLE, SMALLEST, nearest, shown

NUMBERS = (int, float, Fraction, np.integer, np.floating)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
DAYS: dict[str, Callable[[date], bool]] = {
    "weekdays": lambda day: day.weekday() < 5,
    "weekends": lambda day: day.weekday() >= 5,
    "first day of the month": lambda day: day.day == 1,
    "last day of the month": lambda day: day.day == monthrange(day.year, day.month)[1],
}
ALWAYS = "every day"
NAMES = (*(f"every {day}" for day in WEEKDAYS), *DAYS, ALWAYS)
EVERY = re.compile(r"every ([1-9]\d{0,15})", re.ASCII)
KNOWN = '"every monday", "every monday and thursday", "weekdays", "weekends", "every day", "first day of the month", '
KNOWN += '"last day of the month" and "every 7"'


@dataclass(frozen=True)
class Clause:
    """One rule, and what units weigh for which it holds."""

    name: str
    weight: float

    @property
    def dated(self) -> bool:
        """Whether one has to know what day a unit is."""
        return self.name != ALWAYS and not self._every

    @cached_property
    def _every(self) -> int:
        """Of how many units it is about one; 0 if it is about days."""
        every = EVERY.fullmatch(self.name)
        return int(every[1]) if every else 0

    @cached_property
    def _named(self) -> list[str]:
        return self.name.removeprefix("every ").split(" and ")

    def holds(self, t: int, days: Sequence[date]) -> bool:
        """Whether it holds for this unit."""
        if self._every:
            return (t - 1) % self._every == 0
        if self.name in DAYS:
            return any(map(DAYS[self.name], days))
        return self.name == ALWAYS or any(WEEKDAYS[day.weekday()] in self._named for day in days)


@dataclass(frozen=True)
class Rule:
    """Clauses, of which the first that holds decides.

    >>> str(rule_of("every Monday:5,  every day: 1"))
    'every monday: 5; every day: 1'
    """

    clauses: tuple[Clause, ...]

    @property
    def dated(self) -> bool:
        """Whether one has to know what day a unit is."""
        return any(clause.dated for clause in self.clauses)

    def weight(self, t: int, days: Sequence[date]) -> float:
        """What a unit weighs that has these days, or lies on this one."""
        return next((clause.weight for clause in self.clauses if clause.holds(t, days)), 0.0)

    def __str__(self) -> str:
        if [clause.weight for clause in self.clauses] == [1.0]:
            return self.clauses[0].name
        return "; ".join(f"{clause.name}: {str(clause.weight).removesuffix('.0')}" for clause in self.clauses)


def rule_of(text: str) -> Rule:
    """The rule that is written so, or a refusal that names the nearest one."""
    clauses = tuple(_clause(part) for part in re.split("[;,]", text) if part.strip())
    if not clauses:
        raise BadInput(f"a rule says which units to publish, such as {KNOWN}; this one says nothing.")
    if not any(clause.weight for clause in clauses):
        raise BadInput(f"by the rule {shown(text)} no unit weighs anything; give one a weight above 0.")
    return Rule(clauses)


def _clause(text: str) -> Clause:
    told, colon, weight = text.partition(":")
    name = " ".join(told.lower().split())
    every = EVERY.fullmatch(name)
    named = name.removeprefix("every ").split(" and ") if name.startswith("every ") else [""]
    if not (name in NAMES or (every and int(every[1]) <= LARGEST_WHOLE) or set(named) <= set(WEEKDAYS)):
        raise BadInput(f"no rule is called {shown(told.strip())}; there are {KNOWN}.{_nearest(name, named)}")
    return Clause(name, weight_of(weight, f'the weight of "{name}"') if colon else 1.0)


def _nearest(name: str, named: Sequence[str]) -> str:
    """A hint for a misspelt rule; of several days, for the one that there is not."""
    odd = next((day for day in named if day not in WEEKDAYS), "")
    if len(named) > 1:
        return nearest(odd, WEEKDAYS)
    return nearest(name, NAMES) or (nearest(f"every {name}", NAMES) if nearest(name, WEEKDAYS) else "")


def weight_of(told: object, what: str) -> float:
    """A weight as a number, or a refusal that says which one is wrong."""
    try:
        weight = float(told if isinstance(told, NUMBERS) and not isinstance(told, bool) else str(told))
    except (ValueError, OverflowError):
        weight = -1.0
    if weight == 0 or SMALLEST <= weight <= LARGEST:
        return abs(weight)
    raise BadInput(f"{what} must be 0 or a positive number, from 1e-50 to 1e50; got {shown(told)}.")
