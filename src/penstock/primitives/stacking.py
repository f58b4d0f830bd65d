"""Columns of different lengths in one array. A grouper keeps raw counts in it, so this file belongs to the kernel."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from penstock.types import Floats, Ints

Numbers = TypeVar("Numbers", Floats, Ints)


def stacked(rows: Numbers, latest: Numbers, lengths: Ints) -> Numbers:
    """Append the latest number of each column at its own length, and keep as many rows as the longest column needs.

    ``lengths`` counts the numbers of each column, the latest included; what lies below them does not count. No column
    is longer than there were rows, plus one.
    """
    roomy = np.concatenate((rows, rows[:1]))[: np.maximum.reduce(lengths)]
    roomy[lengths - 1, np.arange(len(latest))] = latest
    return roomy
