"""Intervals between whole numbers."""

from __future__ import annotations

import numpy as np

from penstock.queries import LARGEST_REFERENCE
from penstock.types import Floats, Ints


def round_outwards(values: Ints, low: Floats, high: Floats) -> tuple[Ints, Ints]:
    """The narrowest interval of whole numbers that holds low, high and the value; an end that is NaN lies far away."""
    most = LARGEST_REFERENCE
    lowest = np.floor(np.fmin(np.fmax(low, -most), most)).astype(np.int64)
    highest = np.ceil(np.fmax(np.fmin(high, most), -most)).astype(np.int64)
    return np.minimum(lowest, values), np.maximum(highest, values)
