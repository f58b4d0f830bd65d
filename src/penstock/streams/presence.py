"""Who was present when, from a file beside the counts: a line for every time and user, in order of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from penstock.errors import BadInput, BadRow
from penstock.streams.calendar import Calendar
from penstock.streams.labels import placed
from penstock.streams.lines import Lines
from penstock.streams.source import Source
from penstock.types import Snapshot

USER = "user"

Key = tuple[str, int | str]  # what kind of label, and where it lies; or its text, if it lies on no line


class Unit(NamedTuple):
    """Everybody who is listed under one time."""

    key: Key
    users: tuple[str, ...]


class Attendance:
    """The users listed in a file, unit by unit. A unit that is not listed has nobody present.

    Times are written as in the counts. The file is read along with them and never held as a whole.
    """

    def __init__(self, lines: Lines, form: str) -> None:
        self._lines = lines
        self._name = lines.name
        self._units = self._grouped(_pairs(lines) if form == "csv" else _pairs_of_objects(lines))
        self._next = next(self._units, None)

    def at(self, label: str) -> tuple[str, ...]:
        """Who is present in the unit with this label; earlier ones are passed over."""
        key = _key(label)
        while self._next is not None and _before(self._next.key, key):
            self._next = next(self._units, None)
        if self._next is None or self._next.key != key:
            return ()
        users = self._next.users
        self._next = next(self._units, None)
        return users

    def close(self) -> None:
        """Let go of the file."""
        self._lines.close()

    def _grouped(self, listed: Iterable[tuple[int, Any, Any]]) -> Iterator[Unit]:
        key: Key | None = None
        users: dict[str, None] = {}
        for line, label, user in listed:
            place, now = f"{self._name}, line {line}", _key(str(label).strip())
            if key is not None and now != key:
                if _before(now, key):
                    raise BadRow(f"{place}: the time goes back; list users in order of time.")
                yield Unit(key, tuple(users))
                users = {}
            key = now
            _list(users, user, place)
        if key is not None:
            yield Unit(key, tuple(users))


def _list(users: dict[str, None], user: Any, place: str) -> None:
    """Add a user, who is never named in a refusal."""
    name = str(user).strip() if type(user) in (str, int) else ""
    if not name:
        raise BadRow(f"{place}: the user is missing; name who is present by text or a whole number.")
    if name in users:
        raise BadRow(f"{place}: this user is listed twice in one time unit; list each user present once.")
    users[name] = None


def _pairs(lines: Lines) -> Iterator[tuple[int, str, str]]:
    """Line, time and user of every row."""
    rows = lines.rows()
    _, header = next(rows, (1, []))
    names = [name.strip() for name in header]
    user = _column_of_users(names, f"{lines.name}, line 1")
    for line, row in rows:
        if len(row) != len(names):
            raise BadRow(f"{lines.name}, line {line}: a row has a time and a user; mend it and run again.")
        yield line, row[1 - user], row[user]


def _pairs_of_objects(lines: Lines) -> Iterator[tuple[int, Any, Any]]:
    for line, row in lines.objects():
        user = _column_of_users(list(row), f"{lines.name}, line {line}")
        time, listed = list(row.values())[1 - user], row[USER]
        yield line, time, listed


def _column_of_users(names: list[str], place: str) -> int:
    if len(names) != 2 or USER not in names:
        raise BadRow(f'{place}: who is present is listed in two columns, the time and "{USER}"; name them so.')
    return names.index(USER)


def _key(label: str) -> Key:
    try:
        place = placed(label)
    except BadInput:
        return "", label
    return place.kind, place.at


def _before(one: Key, other: Key) -> bool:
    """Whether a label comes earlier than another, as far as that can be told."""
    (kind, at), (other_kind, other_at) = one, other
    return kind == other_kind and isinstance(at, int) and isinstance(other_at, int) and at < other_at


class Attended:
    """A source of counts, with who is present in each of its units."""

    def __init__(self, source: Source, attendance: Attendance) -> None:
        self.bins, self.live = source.bins, source.live
        self._source = source
        self._attendance = attendance

    def snapshots(self, calendar: Calendar) -> Iterator[Snapshot]:
        """The snapshots of the source, each with its users."""
        try:
            for snapshot in self._source.snapshots(calendar):
                yield snapshot.attended(self._attendance.at(snapshot.label))
        finally:
            self.close()

    def close(self) -> None:
        """Let go of both files."""
        self._source.close()
        self._attendance.close()
