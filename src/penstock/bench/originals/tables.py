"""What an original becomes: a table of counts, written as CSV. And the refusal of what is no such original."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from penstock.errors import BadInput
from penstock.types import LARGEST_COUNT, Ints


class Table(NamedTuple):
    """Counts of a stream: what its time units and its bins are called, and one row a time unit."""

    labels: Sequence[str]
    bins: Sequence[str]
    counts: Ints

    def as_csv(self) -> bytes:
        """The file that holds it."""
        rows = zip(self.labels, self.counts.tolist(), strict=True)
        return as_csv(["t", *self.bins], ([label, *row] for label, row in rows))


def one_bin(labels: Sequence[str], name: str, counts: Sequence[int] | Ints) -> Table:
    """The table of a stream that has a single bin."""
    return Table(labels, [name], np.asarray(counts, np.int64).reshape(-1, 1))


def as_csv(names: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """A line of names, and the rows below it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue().encode()


def other_format(what: str) -> BadInput:
    """The refusal of a body that is not what is meant to be at an address."""
    return BadInput(f"what came is not {what}; look at its address with a browser, and fetch it later or elsewhere.")


def decoded(body: bytes, what: str) -> str:
    """The text of a body."""
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise other_format(what) from None


def whole(text: str, what: str) -> int:
    """A count that is written with or without a decimal point."""
    try:
        value = float(text)
        if value.is_integer() and 0 <= value <= LARGEST_COUNT:
            return int(value)
    except ValueError:
        pass
    raise other_format(what)
