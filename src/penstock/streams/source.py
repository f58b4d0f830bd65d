"""Where snapshots come from: rows of a file, of standard input, of a data frame; all in order of time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Protocol, runtime_checkable

from penstock.errors import BadCounts, BadInput, BadRow, PenstockError
from penstock.parameters import nearest
from penstock.streams.calendar import Calendar
from penstock.streams.labels import placed
from penstock.types import Snapshot

LARGEST_GAP = 1000  # time units; more of them missing in a row is a slip of the pen
PREVIEW = 32  # rows whose times are looked at before the first of them is published, where they are at hand
TIMES = re.compile(r"^ts?$|time|date|day|week|month|quarter|year|hour|minute|period|^step$|^unit$", re.IGNORECASE)


@runtime_checkable
class Source(Protocol):
    """Labelled histograms. ``live`` says that reading on may have to wait for what has not happened yet."""

    bins: tuple[str, ...]
    live: bool

    def snapshots(self, calendar: Calendar) -> Iterator[Snapshot]:
        """The snapshots in order of time; a BadRow names the line and the column of what cannot be used."""

    def close(self) -> None:
        """Let go of the input."""


class Columns:
    """What the columns of an input are: one for the time, every other one a bin.

    The first column holds the time, unless told otherwise; but counts that are taken for times, or for names, would be
    published, so where another column sounds like it, or the names look like counts, nothing is guessed.
    """

    def __init__(self, names: Sequence[str], time: str | None, source: str) -> None:
        if time is not None and time not in names:
            raise BadInput(f"{source} has no column {time!r} for the time.{nearest(time, names)}")
        self.names = list(names)
        self.time = self._first(source) if time is None else self.names.index(time)
        self.guessed = time is None and not _sounds_like_time(self.names[self.time])
        if is_label(self.names[self.time]):
            raise BadRow(f"{source}: the first line looks like a row; it must name the time column and the bins.")
        self.bins = tuple(name for i, name in enumerate(self.names) if i != self.time)
        if not self.bins:
            raise BadRow(f"{source} has no bins; its first line names the time column and at least one bin.")
        if len(set(self.bins)) < len(self.bins) or not all(name.strip() and name.isprintable() for name in self.bins):
            raise BadRow(f"{source}: every bin needs a name of its own in the first line, of printable characters.")

    def _first(self, source: str) -> int:
        if _sounds_like_time(self.names[0]):
            return 0
        if len(self.names) > 1 and all(map(is_label, self.names[1:])):
            raise BadRow(f"{source}: the first line looks like a row; it must name the time column and the bins.")
        if any(map(_sounds_like_time, self.names)):
            found = next(name for name in self.names if _sounds_like_time(name))
            raise BadInput(
                f'{source}: is the time in the column "{found}"? Say so with --time, as it is not the first.'
            )
        return 0

    def number(self, bin_number: int) -> int:
        """The number of a bin's column, counted from 1."""
        return bin_number + 1 + (bin_number >= self.time)


Row = tuple[str, Any, Sequence[Any]]  # place, label, cells


class Sequencer:
    """Gives rows their time units, and refuses a row that is not the next one."""

    def __init__(self, calendar: Calendar, columns: Columns) -> None:
        self._calendar = calendar
        self._columns = columns
        self._before = 0

    def snapshots(self, rows: Iterator[Row], *, live: bool) -> Iterator[Snapshot]:
        """Rows as snapshots. Where it need not wait, it looks at the times of the first rows before it begins."""
        first: list[Row] = []
        fault: PenstockError | None = None
        try:
            first.extend(() if live else islice(rows, PREVIEW))
        except PenstockError as met:
            fault = met  # which has its turn after the rows before it
        self._calendar.preview([_label(label) for _, label, _ in first])
        for row in first:
            yield self._snapshot(*row)
        if fault is not None:
            raise fault
        for row in rows:
            yield self._snapshot(*row)

    def _snapshot(self, place: str, label: Any, cells: Sequence[Any]) -> Snapshot:
        """The snapshot of a row, or a refusal that names the place and never the content."""
        name = _label(label)
        if self._columns.guessed and name.isdecimal():  # times are published, and these may be counts
            column = self._columns.names[self._columns.time]
            raise BadRow(f'{place}: is "{column}" the time, which is published as it stands? Say so with --time.')
        t = self._unit(f"{place}, column {self._columns.time + 1}", name)
        try:
            return Snapshot(t, cells, label=name)
        except BadCounts:
            where = next((i for i, cell in enumerate(cells) if not _is_count(cell)), 0)
            raise BadRow(
                f'{place}, column {self._columns.number(where)} ("{self._columns.bins[where]}"): a count is a whole'
                " number from 0 to 2**53; mend the cell and run again."
            ) from None

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


def _sounds_like_time(name: str) -> bool:
    return TIMES.search(name.strip()) is not None


def is_label(name: str) -> bool:
    """Whether a name looks like a time or a number, not like the name of a column."""
    try:
        placed(name.strip())
    except BadInput:
        return False
    return True
