"""What inputs call their time units, and which number each of them has.

Units are numbered 1, 2, 3, ... An input calls them what it likes: numbers, dates, months (``2026-11``), weeks
(``2026-W46``), times (``2026-11-15T10:30``), or any names at all. All but names lie on a line, so a unit that is
missing, repeated or out of order can be told.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from penstock.errors import BadInput

SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
MONTHS = {"mo": 1, "y": 12}
WEEK = re.compile(r"(\d{4})-W(\d{2})")
MONTH = re.compile(r"(\d{4})-(\d{2})")
EVERY = re.compile(r"(\d*)\s*([a-z]*)")
EPOCH = datetime(1970, 1, 1)
SHORTEST_MONTH = 28 * 86400


class Place(NamedTuple):
    """Where a label lies on the line of its kind: months since year 0, seconds since 1970, or a number."""

    kind: str
    at: int
    is_date: bool = False  # a time that is written without its midnight


def placed(label: str) -> Place | None:
    """The place of a label, or None if it is just a name."""
    if re.fullmatch(r"[+-]?\d{1,18}", label):
        return Place("number", int(label))
    try:
        if found := WEEK.fullmatch(label):
            return Place("week", _seconds(date.fromisocalendar(int(found[1]), int(found[2]), 1)))
        if found := MONTH.fullmatch(label):
            return Place("month", int(found[1]) * 12 + date(int(found[1]), int(found[2]), 1).month - 1)
        if len(label) == len("2026-11-15"):
            return Place("time", _seconds(date.fromisoformat(label)), is_date=True)
        return _placed_time(label)
    except ValueError:
        return None


def _placed_time(label: str) -> Place:
    if label[2:3] == ":":
        label = f"1970-01-01T{label}"  # a time of day
    time = datetime.fromisoformat(label)
    if time.tzinfo is not None:
        return Place("time with zone", _seconds(time.astimezone(UTC).replace(tzinfo=None)))
    return Place("time", _seconds(time))


def _seconds(when: date | datetime) -> int:
    whole = when if isinstance(when, datetime) else datetime(when.year, when.month, when.day)
    return (whole - EPOCH) // timedelta(seconds=1)


class Calendar:
    """Numbers the labels of one stream.

    ``every`` is how long a unit is: "1d", "30min", "1w", "1mo", a plain number, "row" for names that only follow each
    other, or "auto", which takes it from the first two labels. ``known`` are labels that have a number already.

    >>> months, weeks = Calendar(), Calendar("1w")
    >>> [months.unit(label) for label in ("2026-11-01", "2026-12-01", "2027-03-01")]
    [1, 2, 5]
    >>> [weeks.unit(label) for label in ("2026-W52", "2026-W53", "2027-W01")], weeks.label(4)
    ([1, 2, 3], '2027-W02')
    """

    def __init__(self, every: str = "auto", known: Sequence[tuple[int, str]] = (), *, gaps: bool = False) -> None:
        self.gaps = gaps
        self.last = 0  # the last unit that is published already
        self._step, self._counts_months = _step_of(every)
        self._named = every == "row"
        self._names = {label: t for t, label in known} if self._named else {}
        self._first: tuple[int, Place] | None = None
        for t, label in () if self._named else known:
            place = placed(label)
            if place is not None:
                self._learn(t, place)

    def unit(self, label: str) -> int:
        """The number of the unit that is called ``label``; a BadInput says why it has none."""
        if self._named:
            return self._names.setdefault(label, len(self._names) + 1)
        place = placed(label)
        if place is None:
            raise BadInput("is neither a number nor a date or time; pass --every row if it is just a name")
        if self._first is None:
            self._learn(self.last + 1, place)
        elif self._step is None and place.at != self._first[1].at:
            self._learn(self._first[0] + 1, place)
        return self._numbered(place)

    def label(self, t: int) -> str:
        """What unit ``t`` would be called."""
        if self._first is None or self._step is None:
            return str(t)
        start, place = self._first
        return _written(place, (t - start) * self._step, in_months=self._counts_months)

    def _learn(self, t: int, place: Place) -> None:
        """Fix where the line begins, and after a second label how long a unit is."""
        if self._first is None:
            self._first = (t, place)
        elif self._step is None and t > self._first[0]:
            start, first = self._first
            self._counts_months = _whole_months(first, place)
            distance = self._distance(first, place)
            if distance <= 0:
                raise BadInput("does not come after the one before")
            self._step = max(distance // (t - start), 1)

    def _numbered(self, place: Place) -> int:
        start, first = self._first or (1, place)
        if place.kind != first.kind:
            raise BadInput(f"is a {place.kind}, and the first one is a {first.kind}; write all of them alike")
        units, rest = divmod(self._distance(first, place), self._step or 1)
        if rest or (self._counts_months and _day(place) != _day(first)):
            raise BadInput("is not a whole number of time units after the first one")
        return start + units

    def _distance(self, first: Place, place: Place) -> int:
        if self._counts_months and first.kind != "month":
            return _month(place) - _month(first)
        return place.at - first.at


def _step_of(every: str) -> tuple[int | None, bool]:
    """How long a unit is, and whether that is counted in months."""
    if every in ("auto", "row"):
        return None, False
    found = EVERY.fullmatch(every.strip().lower())
    number, unit = int(found[1] or 1) if found else 0, found[2] if found else ""
    if found is None or number < 1 or unit not in {"", *SECONDS, *MONTHS}:
        raise BadInput(
            f'every is a length like "1d", "30min", "1w" or "1mo", a plain number, "row" or "auto"; got {every!r}.'
        )
    if unit in MONTHS:
        return number * MONTHS[unit], True
    return number * SECONDS.get(unit, 1), False


def _whole_months(first: Place, second: Place) -> bool:
    """Whether two dates a month or more apart fall on the same day of the month."""
    dated = first.kind in ("time", "time with zone") and second.kind == first.kind
    return dated and second.at - first.at >= SHORTEST_MONTH and _day(first) == _day(second)


def _when(place: Place) -> datetime:
    return EPOCH + timedelta(seconds=place.at)


def _month(place: Place) -> int:
    return place.at if place.kind == "month" else _when(place).year * 12 + _when(place).month - 1


def _day(place: Place) -> object:
    """What of a date is left when its month is taken away."""
    return 1 if place.kind == "month" else (_when(place).day, _when(place).time())


def _written(first: Place, distance: int, *, in_months: bool) -> str:
    if first.kind == "number":
        return str(first.at + distance)
    if first.kind == "month":
        return "{:04d}-{:02d}".format(*_year_and_month(first.at + distance))
    when = _when(first) + timedelta(seconds=0 if in_months else distance)
    if in_months:
        year, month = _year_and_month(_month(first) + distance)
        when = when.replace(year=year, month=month, day=min(when.day, monthrange(year, month)[1]))
    if first.kind == "week":
        return f"{when.isocalendar().year}-W{when.isocalendar().week:02d}"
    if first.is_date:
        return f"{when:%Y-%m-%d}"
    return when.isoformat() + ("+00:00" if first.kind == "time with zone" else "")


def _year_and_month(months: int) -> tuple[int, int]:
    return months // 12, months % 12 + 1
