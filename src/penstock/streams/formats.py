"""Releases as lines of text, and back."""

from __future__ import annotations

import csv
import io
import json
import operator
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.epsilon import Epsilon
from penstock.errors import BadInput
from penstock.parameters import LARGEST
from penstock.types import Cause, Ints, Kind, Published, as_unit

AFTER_BINS = ("kind", "noise_sd", "charged", "remaining", "cause", "mechanism", "version", "sequence", "link")
ENDS = ("low", "high")  # of intervals, beside the noise
UNREADABLE = (ValueError, KeyError, TypeError, OverflowError)  # what a row that is no release does to a format


class Format(Protocol):
    """How releases are written as lines. A line begins with ``start``, as far as that is the same for all.

    ``intervals`` says that there is a place for those of a release, if it has any.
    ``release`` takes a row as it was read, and gives back the release that was written; anything else is UNREADABLE.
    """

    start: str
    bins: tuple[str, ...]
    intervals: bool

    def header(self) -> str: ...
    def line(self, release: Published) -> str: ...
    def row(self, line: str) -> Any: ...
    def source(self, line: str) -> tuple[int, str, str]:
        """Unit, link and mechanism of a release that was written as this line."""

    def release(self, row: Any) -> Published: ...


class Csv:
    """A row a release: time, unit, a value for every bin, and what is known about them."""

    start = ""

    def __init__(self, bins: Sequence[str], *, intervals: bool = False) -> None:
        self._after = (*AFTER_BINS[:2], *ENDS, *AFTER_BINS[2:]) if intervals else AFTER_BINS
        clash = {"t", "unit", *self._after} & set(bins)
        if clash:
            raise BadInput(
                f'a bin called "{min(clash)}" would clash with a column of the output; rename it, or use JSONL.'
            )
        self.bins = tuple(bins)
        self.intervals = intervals
        self._columns = ["t", "unit", *bins, *self._after]

    @staticmethod
    def of_columns(names: Sequence[str]) -> Csv:
        """The format that has columns of these names; a ValueError if none has."""
        intervals = tuple(names[-len(AFTER_BINS) :][:2]) == ENDS
        bins = tuple(names[2 : -len(AFTER_BINS) - (len(ENDS) if intervals else 0)])
        form = Csv(bins, intervals=intervals) if bins else None
        if form is None or list(names) != form._columns:
            raise ValueError
        return form

    def header(self) -> str:
        return _row(self._columns)

    def line(self, release: Published) -> str:
        about = [";".join(kinds(release)), ";".join(map(repr, shortened(release.noise_sd)))]
        if self.intervals:
            about += [";".join(map(str, end)) for end in ends(release)]
        return _row([release.label, release.t, *release.values.tolist(), *about, *provenance(release).values()])

    def row(self, line: str) -> list[str]:
        return next(csv.reader([line]))

    def source(self, line: str) -> tuple[int, str, str]:
        row = self.row(line)
        if len(row) != len(self._columns):
            raise ValueError
        return int(row[1]), row[-1], row[self._columns.index("mechanism")]

    def release(self, row: Sequence[Any]) -> Published:
        label, unit, *values = row[: -len(self._after)]
        about = dict(zip(self._after, row[-len(self._after) :], strict=True))
        if len(values) != len(self.bins):
            raise ValueError
        return _published({"stream": "", "t": label, "unit": unit} | about, values)


class Jsonl:
    """A JSON object a release."""

    start = '{"stream": '

    def __init__(self, bins: Sequence[str], *, intervals: bool = False) -> None:
        self.bins = tuple(bins)
        self.intervals = intervals

    def header(self) -> str:
        return ""

    def line(self, release: Published) -> str:
        values = dict(zip(self.bins, release.values.tolist(), strict=True))
        start = {"stream": release.stream, "t": release.label, "unit": release.t, "values": values}
        about = {"kind": _alone(kinds(release)), "noise_sd": _alone(shortened(release.noise_sd))}
        if self.intervals:
            about |= {name: _alone(end) if end else None for name, end in zip(ENDS, ends(release), strict=True)}
        return json.dumps(start | about | provenance(release), ensure_ascii=False) + "\n"

    def row(self, line: str) -> Any:
        return json.loads(line)

    def source(self, line: str) -> tuple[int, str, str]:
        row = self.row(line)
        return int(row["unit"]), str(row["link"]), str(row["mechanism"])

    def release(self, row: Mapping[str, Any]) -> Published:
        values = row["values"]
        if len(values) != len(self.bins):
            raise ValueError
        return _published(row, [values[name] for name in self.bins])


def kinds(release: Published) -> list[str]:
    """The kinds of all bins, or the one that all of them have."""
    return [Kind(kind).name.lower() for kind in shortened(release.kind)]


def ends(release: Published) -> tuple[list[int], list[int]]:
    """Both ends of the intervals of all bins, or the ones that all of them have; nothing if there are none."""
    low, high = release.low, release.high
    return ([], []) if low is None or high is None else (shortened(low), shortened(high))


def shortened(array: NDArray[Any]) -> list[Any]:
    """All values, or the one that all of them are."""
    values: list[Any] = array[:1].tolist() if (array == array[0]).all() else array.tolist()
    return values


def provenance(release: Published) -> dict[str, Any]:
    """Where a release comes from, and what it cost."""
    return {
        "charged": str(release.charged),
        "remaining": str(release.remaining),
        "cause": str(release.cause),
        "mechanism": release.mechanism,
        "version": release.version,
        "sequence": release.sequence,
        "link": release.link,
    }


def _published(row: Mapping[str, Any], values: Sequence[Any]) -> Published:
    """The release that was written as this row: numbers may be text, and what all bins share may be said once."""
    kind = [Kind[_text(name).upper()] for name in _listed(row["kind"])]
    noise_sd = [_spread(each) for each in _listed(row["noise_sd"])]
    whole = np.array([_whole(value) for value in values], np.int64)
    low, high = _enclosing(whole, *(row.get(name) for name in ENDS))
    return Published(
        t=as_unit(_whole(row["unit"])),
        values=whole,
        kind=np.full(len(values), kind, np.int8),  # one for all, or as many as there are values
        noise_sd=np.full(len(values), noise_sd, np.float64),
        charged=_budget(_text(row["charged"])),
        stream=_text(row["stream"]),
        label=_text(row["t"]),
        cause=Cause(row["cause"]),
        remaining=_budget(_text(row["remaining"])),
        sequence=_whole(row["sequence"]),
        mechanism=_text(row["mechanism"]),
        version=_text(row["version"]),
        link=_text(row["link"]),
        low=low,
        high=high,
    )


def _enclosing(values: Ints, *said: Any) -> tuple[Ints | None, Ints | None]:
    """Both ends of the intervals, which hold the values; or neither."""
    if said in ((None, None), ("", "")):
        return None, None
    low, high = (np.full(len(values), [_whole(each) for each in _listed(end)], np.int64) for end in said)
    if not ((low <= values) & (values <= high)).all():
        raise ValueError
    return low, high


def _listed(said: Any) -> list[Any]:
    if isinstance(said, str):
        return said.split(";")
    return said if isinstance(said, list) else [said]


def _spread(value: Any) -> float:
    """A standard deviation, which is neither below 0 nor beyond measure."""
    if not 0 <= float(value) <= LARGEST:
        raise ValueError
    return float(value)


@lru_cache(maxsize=1024)
def _budget(text: str) -> Epsilon:
    """A budget as it is written; most units cost what others did."""
    return Epsilon(text)


def _whole(value: Any) -> int:
    return int(value) if isinstance(value, str) else operator.index(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _alone(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def _row(cells: Sequence[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()
