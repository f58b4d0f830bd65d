"""Where snapshots come from: rows of a file, of standard input, of a data frame; all in order of time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Protocol, runtime_checkable

from penstock.errors import BadCounts, BadInput, BadRow, PenstockError
from penstock.streams.calendar import Calendar
from penstock.streams.names import LONG_TABLE, find_time, require_names, require_public, sounds_like_time
from penstock.types import Snapshot

LARGEST_GAP = 1000  # time units; more of them missing in a row is a slip of the pen
PREVIEW = 32  # rows whose times are looked at before the first of them is published, where they are at hand


@runtime_checkable
class Source(Protocol):
    """Labelled histograms. ``live`` says that reading on may have to wait for what has not happened yet."""

    bins: tuple[str, ...]
    live: bool

    def snapshots(self, calendar: Calendar) -> Iterator[Snapshot]:
        """The snapshots in order of time; a BadRow names the line and the column of what cannot be used."""

    def close(self) -> None:
        """Let go of the input."""


class Candidate(Source, Protocol):
    """A source that can be looked at before a stream is begun with it."""

    def first(self, calendar: Calendar) -> Snapshot | None:
        """The first snapshot, which is still to come; None if there is none. Refuses what is no table of counts."""


class Columns:
    """What the columns of an input are: one for the time, every other one a bin.

    The first column holds the time, unless told otherwise.
    """

    def __init__(self, names: Sequence[str], time: str | None, source: str) -> None:
        if len(names) < 2:
            raise BadRow(
                f"{source} has no bins; its first line names the time column and at least one bin, with commas,"
                " semicolons or tabs between them."
            )
        self.names = list(names)
        self.source = source
        self.time = find_time(names, time, source)
        self.guessed = time is None and not sounds_like_time(self.names[self.time])
        require_names(names, self.time, source)
        self.bins = tuple(name for i, name in enumerate(self.names) if i != self.time)

    def require_public(self) -> None:
        """Refuse to begin a stream with bins whose names say that they are something else than groups."""
        require_public(self.names, self.time, self.source)

    def number(self, bin_number: int) -> int:
        """The number of a bin's column, counted from 1."""
        return bin_number + 1 + (bin_number >= self.time)


Row = tuple[str, Any, Sequence[Any]]  # place, label, cells


class Upcoming:
    """Rows that are still to come, of which the first can be looked at."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self._seen: deque[Row] = deque()
        self._fault: PenstockError | None = None  # met behind the rows that were seen

    def look(self, number: int) -> list[Row]:
        """Up to ``number`` of the next rows. A fault has its turn after the rows before it."""
        try:
            self._seen.extend(islice(self._rows, max(number - len(self._seen), 0)))
        except PenstockError as met:
            self._fault = met
        if self._fault is not None and not self._seen:
            raise self._fault
        return list(self._seen)

    def __iter__(self) -> Iterator[Row]:
        while self._seen:
            yield self._seen.popleft()
        if self._fault is not None:
            raise self._fault
        yield from self._rows


class Table(ABC):
    """A table of counts, a row a time unit. A subclass sets ``live``, ``bins`` and ``_columns``."""

    live: bool
    bins: tuple[str, ...]
    _columns: Columns
    _upcoming: Upcoming | None = None

    @abstractmethod
    def _labelled(self) -> Iterator[Row]:
        """Every row with its place and its label."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the input."""

    def first(self, calendar: Calendar) -> Snapshot | None:
        """The first snapshot, which is still to come; None if there is none. Refuses what is no table of counts."""
        self._columns.require_public()
        self._upcoming = self._upcoming or Upcoming(self._labelled())
        return Sequencer(calendar, self._columns).first(self._upcoming.look(1 if self.live else PREVIEW))

    def snapshots(self, calendar: Calendar) -> Iterator[Snapshot]:
        """Every row as a snapshot. Where it need not wait, it looks at the first times before it begins."""
        rows, self._upcoming = self._upcoming or Upcoming(self._labelled()), None
        try:
            yield from Sequencer(calendar, self._columns).snapshots(rows, look=0 if self.live else PREVIEW)
        finally:
            self.close()


class Sequencer:
    """Gives rows their time units, and refuses a row that is not the next one."""

    def __init__(self, calendar: Calendar, columns: Columns) -> None:
        self._calendar = calendar
        self._columns = columns
        self._before = 0

    def first(self, rows: Sequence[Row]) -> Snapshot | None:
        """The snapshot of the first of these rows, unless the second has the same time: then they are of groups."""
        labels = self._preview(rows)
        if len(labels) > 1 and labels[0] == labels[1]:
            raise BadRow(f"{rows[1][0]}: this row repeats the time unit of the row before; {LONG_TABLE}.")
        return self._snapshot(*rows[0]) if rows else None

    def snapshots(self, rows: Upcoming, *, look: int) -> Iterator[Snapshot]:
        """Rows as snapshots, after a look at the times of the first ones."""
        self._preview(rows.look(look))
        for row in rows:
            yield self._snapshot(*row)

    def _preview(self, rows: Sequence[Row]) -> list[str]:
        labels = [_label(label) for _, label, _ in rows]
        self._calendar.preview(labels)
        return labels

    def _snapshot(self, place: str, label: Any, cells: Sequence[Any]) -> Snapshot:
        """The snapshot of a row, or a refusal that names the place and never the content."""
        name = _label(label)
        if self._columns.guessed and name.isdecimal():  # times are published, and these may be counts
            column = self._columns.time + 1
            raise BadRow(f"{place}: is column {column} the time, which is published as it stands? Say so with --time.")
        t = self._unit(f"{place}, column {self._columns.time + 1}", name)
        try:
            return Snapshot(t, cells, label=name)
        except BadCounts:
            where = next((i for i, cell in enumerate(cells) if not _is_count(cell)), 0)
            raise BadRow(
                f"{place}, column {self._columns.number(where)}{self._described(where, cells[where])}."
            ) from None

    def _described(self, bin_number: int, cell: Any) -> str:
        """What is wrong with a cell. Where words stand for counts, the names may be none, and are not shown."""
        name, rule = self._columns.bins[bin_number], "a count is a whole number from 0 to 2**53"
        if _is_word(cell):
            return f": {rule}; if a group is named here, {LONG_TABLE}"
        return f' ("{name}"): {rule}; mend the cell and run again'

    def _unit(self, place: str, label: str) -> int:
        if not label or not label.isprintable():
            raise BadRow(f"{place}: the time is empty or not printable; give every row its time.")
        try:
            t = self._calendar.unit(label)
        except BadInput as fault:
            raise BadRow(f"{place}: the time {str(fault).rstrip('.')}.") from None
        if t < 1:
            raise BadRow(f"{place}: the time comes before the first time unit of the stream.")
        if t <= self._before:
            reason = "repeats the time unit of the row before" if t == self._before else "goes back in time"
            raise BadRow(f"{place}: this row {reason}; give every time unit one row, in order of time.")
        self._require_no_gap(place, t - max(self._before, self._calendar.last) - 1)
        self._before = t
        return t

    def _require_no_gap(self, place: str, missing: int) -> None:
        if missing > LARGEST_GAP:
            raise BadRow(f"{place}: more than {LARGEST_GAP} time units are missing before this row; mend its time.")
        if missing > 0 and not self._calendar.gaps:
            are = "time units are" if missing > 1 else "time unit is"
            raise BadRow(
                f"{place}: {missing} {are} missing before this row; add the rows, or pass --gaps to repeat the last"
                " release for them."
            )


def _label(value: Any) -> str:
    """A label as text: a date or time in ISO form, without a midnight that was added to a date; nothing for nothing."""
    if value is None or value != value:  # NaN, NaT
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text: str = value.isoformat() if hasattr(value, "isoformat") else str(value).strip()
    return text.removesuffix("T00:00:00") if hasattr(value, "isoformat") else text


def _is_count(cell: Any) -> bool:
    try:
        Snapshot(1, [cell])
    except BadCounts:
        return False
    return True


def _is_word(cell: Any) -> bool:
    return isinstance(cell, str) and any(map(str.isalpha, cell)) and not any(map(str.isdigit, cell))
