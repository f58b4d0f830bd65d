"""Labels of time as places on a line, and steps along it."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from penstock.errors import BadInput

SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
MONTHS = {"mo": 1, "y": 12}
WEEK = re.compile(r"(\d{4})-W(\d{2})")
MONTH = re.compile(r"(\d{4})-(\d{2})")
EVERY = re.compile(r"(\d*)\s*([a-z]*)")
EPOCH = datetime(1970, 1, 1)
DAY = 86400
OFF_THE_LINE = BadInput("is not a whole number of time units after the first one")


class Place(NamedTuple):
    """Where a label lies on the line of its kind: a number, months since year 0, or seconds since 1970.

    ``form`` says how a time is written: as a "date", as a "clock" time of day, or in full; ``offset`` is its zone's.
    """

    kind: str
    at: int
    form: str = ""
    offset: int = 0

    @property
    def when(self) -> datetime:
        """The local time."""
        return EPOCH + timedelta(seconds=self.at + self.offset)


def placed(label: str) -> Place:
    """The place of a label; a BadInput says why it has none."""
    if re.fullmatch(r"[+-]?\d{1,18}", label):
        return Place("number", int(label))
    try:
        return _placed_week(label) or _placed_month(label) or _placed_time(label)
    except BadInput:
        raise  # which is a ValueError too
    except OverflowError:
        raise BadInput("lies too far off; mend it") from None
    except ValueError:
        raise BadInput("is neither a number nor a date or time; pass --every row if it is just a name") from None


def _placed_week(label: str) -> Place | None:
    found = WEEK.fullmatch(label)
    if found is None:
        return None
    try:
        return Place("week", _seconds(datetime.combine(date.fromisocalendar(int(found[1]), int(found[2]), 1), time())))
    except ValueError:
        raise BadInput(
            "is a week that its year does not have; pass --every row if weeks are counted otherwise"
        ) from None


def _placed_month(label: str) -> Place | None:
    found = MONTH.fullmatch(label)
    return Place("month", _month(datetime(int(found[1]), int(found[2]), 1))) if found else None


def _placed_time(label: str) -> Place:
    if label[2:3] == ":":
        return Place("time of day", _seconds(datetime.combine(EPOCH, time.fromisoformat(label))), "clock")
    when = datetime.fromisoformat(label)
    if when.tzinfo is None:
        return Place("time", _seconds(when), "date" if len(label) == len("2026-11-15") else "")
    offset = when.utcoffset() or timedelta()
    return Place("time with zone", _seconds(when.astimezone(UTC).replace(tzinfo=None)), "", int(offset.total_seconds()))


def _seconds(when: datetime) -> int:
    return (when - EPOCH) // timedelta(seconds=1)


def _month(when: datetime) -> int:
    return when.year * 12 + when.month - 1


class Step(NamedTuple):
    """How long a unit is: so many months (``month_ends``: from last day to last day), or so much of anything else."""

    length: int
    months: bool = False
    month_ends: bool = False
    timed: bool = False  # told as a length of time, which plain numbers do not have

    def between(self, first: Place, place: Place) -> int:
        """How many units lie between two places, if it is a whole number of them."""
        if self.timed and first.kind == "number":
            raise BadInput("is a plain number, and a unit was said to be a length of time; say how many numbers it has")
        if first.kind == "month" and not self.months:
            raise BadInput("is a month, and a unit was said to be something else; say how many months it has")
        if not self.months or first.kind in ("number", "month"):
            units, rest = divmod(place.at - first.at, self.length)
            if rest:
                raise OFF_THE_LINE
            return units
        units, rest = divmod(_month(place.when) - _month(first.when), self.length)
        if rest or place.when != self._moved(first, units):
            raise OFF_THE_LINE
        return units

    def written(self, first: Place, units: int) -> str:
        """The label so many units after the first."""
        if first.kind == "number":
            return str(first.at + units * self.length)
        if first.kind == "month":
            year, month = divmod(first.at + units * self.length, 12)
            return f"{year:04d}-{month + 1:02d}"
        when = self._moved(first, units) if self.months else first.when + timedelta(seconds=units * self.length)
        if first.kind == "week":
            return f"{when.isocalendar().year}-W{when.isocalendar().week:02d}"
        if first.form == "clock":
            return f"{when:%H:%M}" if when.second == 0 else f"{when:%H:%M:%S}"
        if first.form == "date" and (self.months or self.length % DAY == 0):
            return f"{when:%Y-%m-%d}"
        zone = timedelta(seconds=first.offset)
        return when.isoformat() + (_zone(zone) if first.kind == "time with zone" else "")

    def _moved(self, first: Place, units: int) -> datetime:
        year, month = divmod(_month(first.when) + units * self.length, 12)
        days = monthrange(year, month + 1)[1]
        return first.when.replace(
            year=year, month=month + 1, day=days if self.month_ends else min(first.when.day, days)
        )


def step_of(every: str) -> Step:
    """A length as it is told."""
    found = EVERY.fullmatch(every.strip().lower())
    number, unit = (int(found[1] or 1), found[2]) if found else (0, "")
    if number < 1 or unit not in {"", *SECONDS, *MONTHS}:
        raise BadInput(
            f'every is a length like "1d", "30min", "1w" or "1mo", a plain number, "row" or "auto"; got {every!r}.'
        )
    if unit in MONTHS:
        return Step(number * MONTHS[unit], months=True, timed=True)
    return Step(number * SECONDS.get(unit, 1), timed=bool(unit))


def stepped(first: Place, second: Place, units: int) -> Step:
    """The length of a unit, if so many of them lie between two places: in whole months where that is possible."""
    if second.kind != first.kind:
        raise BadInput(f"is a {second.kind}, and the first one is a {first.kind}; write all of them alike")
    if second.at <= first.at:
        raise BadInput("does not come after the one before")
    if first.kind == "month":
        return Step(max((second.at - first.at) // units, 1), months=True)
    if first.kind in ("time", "time with zone"):
        months = (_month(second.when) - _month(first.when)) // units
        ends = all(place.when.day == monthrange(place.when.year, place.when.month)[1] for place in (first, second))
        whole = Step(max(months, 1), months=True, month_ends=ends)
        if months and second.when == whole._moved(first, units):
            return whole
    return Step(max((second.at - first.at) // units, 1))


def _zone(offset: timedelta) -> str:
    minutes = int(offset.total_seconds()) // 60
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
