"""A plan's question as a program: which units can be paid for at all, and which windows say more than others do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from penstock.allocation.program import POWERS, Program
from penstock.allocation.windows import Windows
from penstock.epsilon import NANO
from penstock.errors import BadInput
from penstock.parameters import LARGEST, SMALLEST
from penstock.types import Floats, Ints, Mask

SLIVER = 1e-3  # of a nano-epsilon: what a share may be short of a whole one by rounding


class Question(NamedTuple):
    """Weights of units, and the windows that limit their budgets: whole numbers of nano-epsilon.

    ``starts`` are the first units of all windows, below 0 where a window has begun before the plan, in which case
    ``rooms`` is what was not yet spent of it.
    """

    weights: Floats
    window: int
    starts: Ints
    rooms: list[int]

    @property
    def unpaid(self) -> Mask:
        """Units that weigh something, in a window of which nothing is left."""
        closed = [start for start, room in zip(self.starts.tolist(), self.rooms, strict=True) if room == 0]
        until = max(closed) + self.window if closed else 0
        return (self.weights > 0) & (np.arange(len(self.weights)) < until)

    def floored(self, shares: Floats) -> list[int]:
        """Whole budgets that no window holds too much of: rounded down, and lower where a float was too high."""
        nano = [int(share) for share in np.floor(shares * NANO + SLIVER).tolist()]
        sums = [0, *accumulate(nano)]
        for start, room in zip(self.starts.tolist(), self.rooms, strict=True):
            first, last = max(start, 0), start + self.window
            if sums[last] - sums[first] > room:  # or less by now, if a window before it was too full as well
                over = max(sum(nano[first:last]) - room, 0)
                while over > 0:
                    largest = max(range(first, last), key=nano.__getitem__)
                    taken = min(over, nano[largest])
                    nano[largest], over = nano[largest] - taken, over - taken
        return nano


class Posed(NamedTuple):
    """A program, and the numbers of its units and of its windows among those of the question."""

    program: Program
    units: Ints
    windows: Ints


def asked(weights: Floats, window: int, limit: int, spent: Sequence[int] = ()) -> Question:
    """The question for units that follow others, which have spent so much, the oldest first.

    Budgets are rounded down, so a window that is spent may have a nano-epsilon left for each of its units. Nothing can
    be published with that, so it is nothing.
    """
    starts = np.arange(-len(spent), len(weights) - window + 1)
    before = [limit - gone for gone in accumulate(reversed(spent))][::-1]
    rooms = [left if left > window else 0 for left in before] + [limit] * (len(starts) - len(before))
    return Question(weights, window, starts, rooms)


def posed(question: Question, error: str) -> Posed | None:
    """The program, or None if nothing can be paid for.

    Both ends of windows rise, and so do their rooms. So a window says no more than the one before it if both have the
    same last unit, and no more than the one after it if both have the same first unit and the same room.
    """
    units = np.flatnonzero((question.weights > 0) & ~question.unpaid)
    if not len(units):
        return None
    first = np.searchsorted(units, np.maximum(question.starts, 0))
    last = np.searchsorted(units, question.starts + question.window)
    room = np.array(question.rooms)
    kept = np.flatnonzero(last > first)
    kept = kept[np.diff(last[kept], prepend=-1) > 0]
    tells = (np.diff(first[kept]) > 0) | (np.diff(room[kept]) > 0)
    kept = kept[np.append(tells, True)]
    program = Program(question.weights[units], Windows(first[kept], last[kept]), room[kept] / NANO, POWERS[error])
    return Posed(program, units, kept)


def as_weights(values: ArrayLike, first: int = 1) -> Floats:
    """Weights of units from this one on, as numbers that can be reckoned with, or a refusal."""
    try:
        weights = np.array(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise BadInput("weights must be one row of numbers; clean them and pass them again.") from None
    if weights.ndim != 1 or not len(weights):
        raise BadInput(f"weights must be one row of at least one number; got an array of shape {weights.shape}.")
    fine = (weights == 0) | ((weights >= SMALLEST) & (weights <= LARGEST))
    if not fine.all():
        wrong = int(np.flatnonzero(~fine)[0])
        raise BadInput(
            f"a weight is 0, or a number of a size from {SMALLEST:g} to {LARGEST:g}; unit {first + wrong} has"
            f" {weights[wrong]:g}."
        )
    weights.setflags(write=False)
    return weights
