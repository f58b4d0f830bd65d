"""Who was present when, from a file beside the counts: a line for every time and user, in order of time."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from penstock.errors import BadInput, BadRow
from penstock.parameters import as_path
from penstock.streams.calendar import Calendar
from penstock.streams.labels import placed
from penstock.streams.lines import Lines, open_bytes
from penstock.streams.names import is_label
from penstock.streams.source import Candidate
from penstock.types import Snapshot

USER = "user"
NAME = "name"  # the kind of a time that lies on no line


class Key(NamedTuple):
    """Where a time lies: its kind, and its place on the line of its kind, or just its name."""

    kind: str
    at: int | str


class Unit(NamedTuple):
    """Everybody who is listed under one time, and where."""

    key: Key
    label: str
    place: str
    users: tuple[str, ...]


class Attendance:
    """The users listed in a file, unit by unit. A unit that is not listed has nobody present.

    The list is read through before anything is published, so that a fault in it costs nothing, and then along with the
    counts, as far as it went then; it is never held as a whole. ``live`` says that counts are still to come, so that it
    may not be finished: then nobody can tell whether everybody of its last unit is listed.
    """

    def __init__(self, path: str, form: str, *, live: bool) -> None:
        if not as_path(path).is_file():
            raise BadInput(f"the list of who is present, {path}, is not there, or is not a file; name one.")
        self._path, self._form, self._live = path, form, live
        self._lines: Lines | None = None
        self._line, self._last_line = 0, sys.maxsize  # the one that was read last; the last one to be read
        try:
            next(self._pairs(), None)  # what is no list at all is told at once
        finally:
            self.close()

    def begin(self, calendar: Calendar) -> None:
        """Look for faults, and go back to the beginning."""
        self._calendar = calendar
        self._names = {unit.key for unit in self._units() if unit.key.kind == NAME}
        self._last_line = self._line
        self._before: Key | None = None  # the last time that was asked for
        self._listed = self._units()
        self._next = next(self._listed, None)

    def at(self, label: str) -> tuple[str, ...]:
        """Who is present in the unit with this label."""
        key = self._key(label)
        while self._next is not None and self._comes_before(self._next.key, key):
            self._require_missing(self._next)
            self._next = next(self._listed, None)
        self._before = key
        if self._next is None or self._next.key != key:
            return ()
        listed, self._next = self._next, next(self._listed, None)
        if self._live and self._next is None:
            raise BadRow(
                f"{listed.place}: the list ends with this time unit; with counts that are still to come it has to go on"
                " to a later one, so that it is known to be whole."
            )
        return listed.users

    def close(self) -> None:
        """Let go of the file."""
        if self._lines is not None:
            self._lines.close()

    def _comes_before(self, listed: Key, asked: Key) -> bool:
        if asked.kind == NAME:
            return asked in self._names and listed != asked
        return _earlier(listed, asked)

    def _require_missing(self, unit: Unit) -> None:
        """Refuse a time between two units, unless a unit is missing there. What comes before the counts is history."""
        if self._before is None:
            return
        try:
            missing = self._calendar.gaps and self._calendar.unit(unit.label) > 0
        except BadInput:
            missing = False
        if not missing:
            raise BadRow(f"{unit.place}: there are no counts of this time; list users under the times of the counts.")

    def _key(self, label: str) -> Key:
        if self._calendar.named:
            return Key(NAME, label)
        place = placed(label)
        return Key(place.kind, place.at)

    def _units(self) -> Iterator[Unit]:
        """The list from its beginning, checked as it is read."""
        seen: set[Key] = set()
        unit: Unit | None = None
        users: dict[str, None] = {}
        for line, time, user in takewhile(lambda pair: pair[0] <= self._last_line, self._pairs()):
            self._line = line
            place, label = f"{Path(self._path).name}, line {line}", str(time).strip()
            key = self._checked(label, place, unit)
            if unit is None or key != unit.key:
                if key in seen:
                    raise BadRow(f"{place}: this time was listed before; list users in order of time.")
                if unit is not None:
                    yield unit._replace(users=tuple(users))
                unit, users = Unit(key, label, place, ()), {}
                if key.kind == NAME:  # other times are in order
                    seen.add(key)
            _list(users, user, place)
        if unit is not None:
            yield unit._replace(users=tuple(users))

    def _pairs(self) -> Iterator[tuple[int, Any, Any]]:
        """Line, time and user of every line, from the beginning."""
        self.close()
        # a last line without an end may be cut off, and name somebody else
        self._lines = Lines(open_bytes(self._path), Path(self._path).name, live=True)
        return _pairs_of_rows(self._lines) if self._form == "csv" else _pairs_of_objects(self._lines)

    def _checked(self, label: str, place: str, before: Unit | None) -> Key:
        """Where a time lies, which is not before that of the line before."""
        if not label:
            raise BadRow(f"{place}: the time is empty; give every user a time.")
        try:
            key = self._key(label)
        except BadInput:
            raise BadRow(
                f"{place}: the time is neither a number nor a date or time; write it as in the counts."
            ) from None
        if before is not None and key.kind != before.key.kind:
            raise BadRow(
                f"{place}: the time is a {key.kind}, and the one before is a {before.key.kind}; write all alike."
            )
        if before is not None and _earlier(key, before.key):
            raise BadRow(f"{place}: the time goes back; list users in order of time.")
        return key


def _list(users: dict[str, None], user: Any, place: str) -> None:
    """Add a user, who is never named in a refusal."""
    name = unicodedata.normalize("NFC", str(user).strip()) if type(user) in (str, int) else ""
    if not name or not name.isprintable():
        raise BadRow(f"{place}: the user is missing, or is not printable text; name who is present.")
    if name in users:
        raise BadRow(f"{place}: this user is listed twice in one time unit; list each user present once.")
    users[name] = None


def _pairs_of_rows(lines: Lines) -> Iterator[tuple[int, str, str]]:
    rows = lines.rows()
    _, header = next(rows, (1, []))
    names = [name.strip() for name in header]
    user = _column_of_users(names, f"{lines.name}, line 1")
    for line, row in rows:
        if len(row) != len(names):
            raise BadRow(f"{lines.name}, line {line}: a row has a time and a user; mend it and run again.")
        yield line, row[1 - user], row[user]


def _pairs_of_objects(lines: Lines) -> Iterator[tuple[int, Any, Any]]:
    time = None
    for line, row in lines.objects():
        if time is None:
            time = list(row)[1 - _column_of_users(list(row), f"{lines.name}, line {line}")]
        if row.keys() != {time, USER}:
            raise BadRow(f'{lines.name}, line {line}: every line has "{time}" and "{USER}"; mend it and run again.')
        yield line, row[time], row[USER]


def _column_of_users(names: list[str], place: str) -> int:
    if len(names) != 2 or names.count(USER) != 1 or any(is_label(name) for name in names):
        raise BadRow(
            f'{place}: who is present is listed in two columns; name the time as you like, and the other "{USER}".'
        )
    return names.index(USER)


def _earlier(one: Key, other: Key) -> bool:
    return one.kind == other.kind and isinstance(one.at, int) and isinstance(other.at, int) and one.at < other.at


class Attended:
    """A source of counts, with who is present in each of its units."""

    def __init__(self, source: Candidate, attendance: Attendance) -> None:
        self.bins, self.live = source.bins, source.live
        self._source = source
        self._attendance = attendance

    def first(self, calendar: Calendar) -> Snapshot | None:
        """The first snapshot with its users, which is still to come; None if there is none."""
        found = self._source.first(calendar)
        self._attendance.begin(calendar)
        return None if found is None else found.attended(self._attendance.at(found.label))

    def snapshots(self, calendar: Calendar) -> Iterator[Snapshot]:
        """The snapshots of the source, each with its users."""
        try:
            self._attendance.begin(calendar)
            for snapshot in self._source.snapshots(calendar):
                yield snapshot.attended(self._attendance.at(snapshot.label))
        finally:
            self.close()

    def close(self) -> None:
        """Let go of both files."""
        self._source.close()
        self._attendance.close()
