"""What day a time unit is: from what it is called, or counted from the first one.

An hour lies on a day, a day is one, a week and a month have several. What a unit is called tells, if that is a date
(``2026-01-05``), a time (``2026-01-05T10:00``), a week (``2026-W02``) or a month (``2026-01``).
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

from penstock.errors import BadInput
from penstock.parameters import nearest, shown

LENGTHS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}
UNITS = (*LENGTHS, "month")
FORMS = (
    ("week", re.compile(r"\d{4}-W\d{2}", re.ASCII), "week"),
    ("month", re.compile(r"\d{4}-\d{2}", re.ASCII), "month"),
    ("date", re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII), "day"),
    ("time", re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}.*", re.ASCII), "hour"),
)


class When(NamedTuple):
    """Where a unit begins, how long it is, and how that is written."""

    moment: datetime
    unit: str
    form: str

    def after(self, units: int) -> When | None:
        """So many units later; None where the calendar ends."""
        try:
            moved = self.moment + units * LENGTHS[self.unit] if self.unit in LENGTHS else self._months_after(units)
        except (OverflowError, ValueError):
            return None
        return self._replace(moment=moved)

    def _months_after(self, months: int) -> datetime:
        year, month = divmod(self.moment.year * 12 + self.moment.month - 1 + months, 12)
        day = min(self.moment.day, monthrange(year, month + 1)[1])
        return self.moment.replace(year=year, month=month + 1, day=day)

    def days(self) -> Sequence[date]:
        """The days that the unit has, or the one that it lies on; a month is one of the calendar."""
        first = self.moment.date()
        if self.unit == "month":
            return [first.replace(day=day) for day in range(1, monthrange(first.year, first.month)[1] + 1)]
        following = first.toordinal() + (7 if self.unit == "week" else 1)
        return [date.fromordinal(day) for day in range(first.toordinal(), min(following, date.max.toordinal() + 1))]

    def __str__(self) -> str:
        if self.form == "week":
            year, week, _ = self.moment.isocalendar()
            return f"{year:04d}-W{week:02d}"
        if self.form == "month":
            return f"{self.moment:%Y-%m}"
        timed = self.unit == "hour" or self.form == "time"
        return f"{self.moment:%Y-%m-%dT%H:%M}" if timed else f"{self.moment:%Y-%m-%d}"


def when_of(label: str, unit: str | None = None) -> When | None:
    """When the unit of this label is, if that tells; it is as long as told, or as the label is written."""
    for form, pattern, usual in FORMS:
        if pattern.fullmatch(label):
            with suppress(ValueError):
                return When(_moment(label, form), unit or usual, form)
    return None


def _moment(label: str, form: str) -> datetime:
    if form == "week":
        year, week = label.split("-W")
        return datetime.combine(date.fromisocalendar(int(year), int(week), 1), time())
    written = datetime.fromisoformat(f"{label}-01" if form == "month" else label)
    return written.replace(tzinfo=None)  # the day it is where it was written


def unit_of(told: str | None) -> str | None:
    """How long a unit was said to be."""
    if told is None or told in UNITS:
        return told
    raise BadInput(f"a unit is one of {', '.join(UNITS)}; got {shown(told)}.{nearest(told, UNITS)}")


def first_day_of(told: object) -> str | None:
    """The day of the first unit as text; TOML has dates of its own."""
    if told is None:
        return None
    text = told.isoformat() if isinstance(told, (date, datetime)) else str(told)
    if when_of(text) is None:
        raise BadInput(f"first_day is the day of the first time unit, written 2026-01-05; got {shown(told)}.")
    return text
