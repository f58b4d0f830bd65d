"""Where snapshots come from: rows of a file, of standard input, of a data frame; all in order of time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

from penstock.errors import BadCounts, BadInput, BadRow
from penstock.streams.calendar import Calendar
from penstock.types import Snapshot


@runtime_checkable
class Source(Protocol):
    """Labelled histograms. ``live`` says that reading on may have to wait for what has not happened yet."""

    bins: tuple[str, ...]
    live: bool

    def snapshots(self, calendar: Calendar) -> Iterator[Snapshot]:
        """The snapshots in order of time; a BadRow names the line and the column of what cannot be used."""


class Sequencer:
    """Gives rows their time units, and refuses a row that is not the next one."""

    def __init__(self, calendar: Calendar, bins: Sequence[str]) -> None:
        self._calendar = calendar
        self._bins = bins
        self._before = 0

    def snapshot(self, place: str, label: str, cells: Sequence[Any], numbers: Sequence[int]) -> Snapshot:
        """The snapshot of a row. ``numbers`` are those of the columns: first the time's, then one a bin."""
        t = self._unit(f"{place}, column {numbers[0]}", label)
        try:
            return Snapshot(t, cells, label=label)
        except BadCounts:
            where = next((i for i, cell in enumerate(cells) if not _is_count(cell)), 0)
            raise BadRow(
                f'{place}, column {numbers[1 + where]} ("{self._bins[where]}"): a count is a whole number from 0 to'
                " 2**53; mend the cell and run again."
            ) from None

    def _unit(self, place: str, label: str) -> int:
        try:
            t = self._calendar.unit(label)
        except BadInput as fault:
            raise BadRow(f"{place}: the time {str(fault).rstrip('.')}.") from None
        if t < 1:
            raise BadRow(f"{place}: the time comes before the first time unit of the stream.")
        if t <= self._before:
            reason = "repeats the time unit of the row before" if t == self._before else "goes back in time"
            raise BadRow(f"{place}: this row {reason}; give every time unit one row, in order of time.")
        missing = t - max(self._before, self._calendar.last) - 1
        if missing > 0 and not self._calendar.gaps:
            raise BadRow(
                f"{place}: {missing} time unit{'s are' if missing > 1 else ' is'} missing before this row; add the"
                " rows, or pass --gaps to repeat the last release for them."
            )
        self._before = t
        return t


def _is_count(cell: Any) -> bool:
    try:
        Snapshot(1, [cell])
    except BadCounts:
        return False
    return True
