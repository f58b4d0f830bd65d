"""What a plan says of each time unit: its budget, what its windows hold, and what error to expect."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.allocation import Error, Plan
from penstock.allocation.program import OF_NOISE, POWERS
from penstock.epsilon import Epsilon


class Row(NamedTuple):
    """A unit of a plan. One that is not published has no error of its own."""

    unit: int
    time: str
    weight: float
    budget: Epsilon
    fullest: Epsilon  # of the windows that the unit is in
    error: float | None
    uniform: float | None  # with the same budget at every unit

    def as_dict(self) -> dict[str, Any]:
        """For a file or a script."""
        return self._asdict() | {"budget": str(self.budget), "fullest": str(self.fullest)}


def rows_of(made: Plan, labels: tuple[str, ...], sensitivity: int) -> list[Row]:
    """A row for every unit."""
    even = made.epsilon / made.window
    units = zip(labels, made.weights.tolist(), made.budgets, _fullest(made), strict=True)
    return [
        Row(t, label, weight, e, fullest, *(predicted(each, weight, made.error, sensitivity) for each in (e, even)))
        for t, (label, weight, e, fullest) in enumerate(units, start=1)
    ]


def predicted(e: Epsilon, weight: float, error: Error, sensitivity: int) -> float | None:
    """What Laplace noise for this budget does to a count: its variance, or its mean absolute value."""
    if not e or not weight:
        return None
    scale = sensitivity / float(e)
    return OF_NOISE[error] * scale ** POWERS[error]


def _fullest(made: Plan) -> list[Epsilon]:
    """Of every unit, what the fullest of its windows holds."""
    sums = np.pad([held.nano for held in made.window_sums()], made.window - 1)
    fullest = np.lib.stride_tricks.sliding_window_view(sums, made.window).max(axis=1)
    return [Epsilon.of_nano(nano) for nano in fullest.tolist()]
