"""Releases as lines of text."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from penstock.errors import BadInput
from penstock.types import Kind, Published

AFTER_BINS = ("kind", "noise_sd", "charged", "remaining", "cause", "mechanism", "version", "sequence", "link")


class Format(Protocol):
    """How releases are written as lines. A line begins with ``start``, as far as that is the same for all."""

    start: str

    def header(self) -> str: ...
    def line(self, release: Published) -> str: ...
    def source(self, line: str) -> tuple[int, str, str]:
        """Unit, link and mechanism of a release that was written as this line."""


class Csv:
    """A row a release: time, unit, a value for every bin, and what is known about them."""

    start = ""

    def __init__(self, bins: Sequence[str]) -> None:
        clash = {"t", "unit", *AFTER_BINS} & set(bins)
        if clash:
            raise BadInput(
                f'a bin called "{min(clash)}" would clash with a column of the output; rename it, or use JSONL.'
            )
        self._columns = ["t", "unit", *bins, *AFTER_BINS]

    def header(self) -> str:
        return _row(self._columns)

    def line(self, release: Published) -> str:
        about = [";".join(kinds(release)), ";".join(map(repr, shortened(release.noise_sd)))]
        return _row([release.label, release.t, *release.values.tolist(), *about, *provenance(release).values()])

    def source(self, line: str) -> tuple[int, str, str]:
        row = next(csv.reader([line]))
        if len(row) != len(self._columns):
            raise ValueError
        return int(row[1]), row[-1], row[self._columns.index("mechanism")]


class Jsonl:
    """A JSON object a release."""

    start = '{"stream": '

    def __init__(self, bins: Sequence[str]) -> None:
        self._bins = bins

    def header(self) -> str:
        return ""

    def line(self, release: Published) -> str:
        values = dict(zip(self._bins, release.values.tolist(), strict=True))
        start = {"stream": release.stream, "t": release.label, "unit": release.t, "values": values}
        about = {"kind": _alone(kinds(release)), "noise_sd": _alone(shortened(release.noise_sd))}
        return json.dumps(start | about | provenance(release), ensure_ascii=False) + "\n"

    def source(self, line: str) -> tuple[int, str, str]:
        row = json.loads(line)
        return int(row["unit"]), str(row["link"]), str(row["mechanism"])


def kinds(release: Published) -> list[str]:
    """The kinds of all bins, or the one that all of them have."""
    return [Kind(kind).name.lower() for kind in shortened(release.kind)]


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


def _alone(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def _row(cells: Sequence[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()
