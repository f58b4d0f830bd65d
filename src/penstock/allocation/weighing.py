"""What units weigh as a stream goes on, and what those to come are expected to weigh.

A list and a rule are known for ever. A function is known when its time has come; until then what it said of the last
window is expected to come again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import Any, ClassVar

from penstock.allocation.days import When, when_of
from penstock.allocation.rules import Rule, rule_of
from penstock.allocation.weights import Function, Numbers, Unit, Weights
from penstock.errors import BadInput
from penstock.types import Release


class Weighing(ABC):
    """The weights of a stream. One unit is the present one; until told otherwise it is the first, without a label."""

    known: ClassVar[bool] = True  # whether the weights of all units to come are
    horizon: int | None = None  # past which nothing is published, whatever is said of it

    def __init__(self) -> None:
        self._t, self._label = 1, ""

    def turn(self, t: int, label: str, last: Release) -> float:
        """Turn to the next unit: what it weighs, and from now on it is the present one."""
        self._t, self._label = t, label
        return self.weight(t, label, last)

    @abstractmethod
    def weight(self, t: int, label: str, last: Release) -> float:
        """What a unit weighs that follows this release."""

    def expected(self, first: int, number: int) -> list[float]:
        """What so many units from ``first`` on are expected to weigh, as seen from the present one."""
        until = number if self.horizon is None else max(min(number, self.horizon - first + 1), 0)
        return self._coming(first, until) + [0.0] * (number - until)

    @abstractmethod
    def _coming(self, first: int, number: int) -> list[float]:
        """The same without a horizon."""

    def save(self) -> dict[str, Any]:
        """What was seen on the way."""
        return {}

    def load(self, saved: dict[str, Any]) -> None:
        """Take up what was seen."""


class Series(Weighing):
    """A list of weights, once or over and over again."""

    def __init__(self, weights: Numbers, repeat: bool) -> None:
        super().__init__()
        self._weights, self._repeat = weights, repeat

    def weight(self, t: int, label: str, last: Release) -> float:
        return self._at(t)

    def _coming(self, first: int, number: int) -> list[float]:
        return [self._at(t) for t in range(first, first + number)]

    def _at(self, t: int) -> float:
        return self._weights[(t - 1) % len(self._weights)] if self._repeat or t <= len(self._weights) else 0.0


class Dates:
    """The days of units: as their labels say, or else counted from a first day."""

    def __init__(self, first_day: str | None, unit: str | None) -> None:
        self._first, self._unit = when_of(first_day, unit) if first_day else None, unit

    def when(self, t: int, label: str) -> When | None:
        """When a unit is, if that is known."""
        return when_of(label, self._unit) or (self._first and self._first.after(t - 1))


class Ruled(Weighing):
    """A rule, for ever."""

    def __init__(self, rule: Rule, dates: Dates) -> None:
        super().__init__()
        self._rule, self._dates, self._dated = rule, dates, rule.dated
        self._foreseen: tuple[int, list[float]] = (1, [])  # weights that a rule without days was asked for, from a unit

    def weight(self, t: int, label: str, last: Release) -> float:
        return self._ahead(t, self._when(t, label), 0)

    def _coming(self, first: int, number: int) -> list[float]:
        if not self._dated:
            return self._numbered(first, number)
        now = self._when(self._t, self._label)
        return [self._ahead(self._t, now, t - self._t) for t in range(first, first + number)]

    def _numbered(self, first: int, number: int) -> list[float]:
        """By their numbers alone, which are the same whoever asks when: those that were foreseen before are kept."""
        began, known = self._foreseen
        kept = known[first - began :] if first >= began else []
        kept += [self._rule.weight(t, ()) for t in range(first + len(kept), first + number)]
        self._foreseen = first, kept
        return kept[:number]

    def _ahead(self, t: int, now: When | None, units: int) -> float:
        then = now and now.after(units)
        return self._rule.weight(t + units, then.days() if then else ())

    def _when(self, t: int, label: str) -> When | None:
        when = self._dates.when(t, label) if self._dated else None
        if when is None and self._dated:
            raise BadInput(
                f'the rule "{self._rule}" is about days, and nobody says what day t={t} is; call units by their dates,'
                " or say on which day the first one lies: first_day=2026-01-05."
            )
        return when


class Judged(Weighing):
    """A function of what is public when a unit has come. The last window is expected to come again."""

    known: ClassVar[bool] = False

    def __init__(self, weigh: Function, dates: Dates, window: int) -> None:
        super().__init__()
        self._weigh, self._dates = weigh, dates
        self._seen: deque[float] = deque(maxlen=window)

    def turn(self, t: int, label: str, last: Release) -> float:
        self._seen.append(super().turn(t, label, last))
        return self._seen[-1]

    def weight(self, t: int, label: str, last: Release) -> float:
        when = self._dates.when(t, label)
        return self._weigh(Unit(t, label, when and when.moment.date(), last))

    def _coming(self, first: int, number: int) -> list[float]:
        begin = first - self._t - 1
        return [self._seen[ahead % len(self._seen)] for ahead in range(begin, begin + number)]

    def save(self) -> dict[str, Any]:
        return {"seen": list(self._seen)}

    def load(self, saved: dict[str, Any]) -> None:
        self._seen.extend(saved["seen"])


def weighing_of(
    weights: Weights,
    first_day: str | None,
    unit: str | None,
    *,
    repeat: bool,
    window: int,
    horizon: int | None = None,
) -> Weighing:
    """The weights of a stream that begins on this day and has units of this length."""
    if isinstance(weights, tuple):
        made: Weighing = Series(weights, repeat)
    elif isinstance(weights, str):
        made = Ruled(rule_of(weights), Dates(first_day, unit))
    else:
        made = Judged(weights, Dates(first_day, unit), window)
    made.horizon = horizon
    return made
