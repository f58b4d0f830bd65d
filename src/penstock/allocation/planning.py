"""The offline case: all weights are known beforehand (Fang and Chang 2014), and every window may spend epsilon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from penstock.allocation.interior import solved
from penstock.allocation.posing import as_weights, asked, posed
from penstock.allocation.program import OF_NOISE, POWERS, Error
from penstock.epsilon import Epsilon, Number
from penstock.errors import BadInput
from penstock.parameters import at_least_one, shown, within
from penstock.types import Floats, Mask

MEANINGS = {"squared": "variance", "absolute": "mean size"}


@dataclass(frozen=True, eq=False)
class Plan:
    """Budgets for time units, and the proof of how good they are.

    ``shares`` are the best budgets as real numbers, ``budgets`` the same rounded down so that every window adds up to
    epsilon at most, exactly. ``value`` is the weighted error of the shares, the sum of weight / share**2 (or weight /
    share); ``bound`` is what no plan can be below, and follows from the ``prices`` of the windows. Windows are counted
    from the first that reaches into the plan: one for each unit in ``spent``, then those that begin within it.
    ``unpaid`` are units that weigh something but for which nothing was left; no sum counts them.
    """

    weights: Floats
    window: int
    epsilon: Epsilon
    error: Error
    spent: tuple[Epsilon, ...]
    shares: Floats
    budgets: tuple[Epsilon, ...]
    unpaid: Mask
    prices: Floats
    value: float
    bound: float
    steps: int  # of the method that found it

    @property
    def gap(self) -> float:
        """By how much, in proportion, the plan may be worse than the best one."""
        return (self.value - self.bound) / self.bound if self.bound else 0.0

    @property
    def uniform_value(self) -> float:
        """The weighted error if every unit had an equal part of epsilon."""
        return self._value(np.full(len(self.weights), float(self.epsilon) / self.window))

    @property
    def rounded_value(self) -> float:
        """The weighted error of the budgets as they are, rounded down."""
        return self._value(np.array([float(budget) for budget in self.budgets]))

    def _value(self, shares: Floats) -> float:
        paid = (self.weights > 0) & ~self.unpaid
        return math.fsum(self.weights[paid] / shares[paid] ** POWERS[self.error])

    def window_sums(self) -> tuple[Epsilon, ...]:
        """What each window holds, exactly, with what was spent before the plan."""
        sums = [0, *accumulate(budget.nano for budget in (*self.spent, *self.budgets))]
        return tuple(Epsilon.of_nano(b - a) for a, b in zip(sums, sums[self.window :], strict=False))

    def noise_of(self, value: float, sensitivity: int = 1) -> float:
        """A weighted error in terms of the noise of a count: the sum of weight x its variance, or its mean size.

        ``sensitivity`` is how far one unit's histogram can move.

        >>> made = plan([1, 1], window=2, epsilon=1)
        >>> round(made.value), round(made.noise_of(made.value, sensitivity=2))  # variances of 2 (2 / 0.5)**2
        (8, 64)
        """
        factor: int = OF_NOISE[self.error] * sensitivity ** POWERS[self.error]
        return factor * value

    def certificate(self, sensitivity: int = 1) -> str:
        """What the plan is worth, for people: errors as they are in the noise of a count."""
        value, bound = (self.noise_of(each, sensitivity) for each in (self.value, self.bound))
        said = (
            f"The weighted {self.error} error of this plan, the sum of weight times {MEANINGS[self.error]} of the noise"
            f" in a count, is {value:.6g}, and no plan can be below {bound:.6g} (relative gap {self.gap:.1g})."
        )
        if self.value:
            said += f" Equal shares would have {self.uniform_value / self.value:.3g} times its error."
        if self.unpaid.any():
            said += " Units for which nothing was left are not counted."
        return said


def plan(
    weights: ArrayLike,
    window: int,
    epsilon: Epsilon | Number,
    *,
    error: Error = "squared",
    spent: Sequence[Epsilon] = (),
    tolerance: float = 1e-12,
) -> Plan:
    """The best budgets for time units with these weights, with a proof of how good they are.

    A unit of weight 0 gets nothing. ``spent`` is what the last units before the plan have spent, the oldest first; at
    most one less than the window of them matter. The relative gap is within ``tolerance`` unless rounding forbids: then
    the plan is the best one found, and its ``gap`` says how good that is.

    >>> [str(budget) for budget in plan([1, 8, 0, 1, 8], window=3, epsilon=1).budgets]
    ['0.333333333', '0.666666666', '0', '0.333333333', '0.666666666']
    """
    known, limit = as_weights(weights), Epsilon(epsilon)
    within("tolerance", tolerance, 0, 1)
    require_plannable(window, limit, error)
    require_window(known, window)
    _require_spent(spent, window, limit)
    question = asked(known, window, limit.nano, [each.nano for each in spent])
    program = posed(question, error)
    shares, prices, value, bound, steps = np.zeros(len(known)), np.zeros(len(question.starts)), 0.0, 0.0, 0
    if program:
        found = solved(program.program, tolerance)
        shares[program.units], prices[program.windows], steps = found.shares, found.prices, found.steps
        value, bound = program.program.value(found.shares), program.program.bound(found.prices)
    budgets = question.floored(shares)
    _require_paid(shares, budgets)
    exact = tuple(map(Epsilon.of_nano, budgets))
    return Plan(
        known, int(window), limit, error, tuple(spent), shares, exact, question.unpaid, prices, value, bound, steps
    )


def require_plannable(window: int, epsilon: Epsilon, error: str) -> None:
    """Refuse what no budgets can be planned for."""
    at_least_one("window", window)
    if not epsilon:
        raise BadInput("epsilon must be above 0; choose how much may be learnt in a window, say epsilon=1.0.")
    if error not in get_args(Error):
        raise BadInput(f'error must be "squared" or "absolute"; got {shown(error)}.')


def require_window(weights: Floats, window: int) -> None:
    """Refuse weights that have no window, or nothing in it."""
    if not weights.any():
        raise BadInput("at least one unit must have a weight above 0; a unit of weight 0 is not published.")
    if window > len(weights):
        raise BadInput(
            f"a window of {window} is longer than the plan, which has {len(weights)} units; plan for at least one whole"
            " window, with weights of 0 where nothing is published."
        )


def _require_spent(spent: Sequence[Epsilon], window: int, epsilon: Epsilon) -> None:
    if len(spent) >= window:
        raise BadInput(f"at most {window - 1} units before the plan share a window with it; leave out the older ones.")
    if sum(each.nano for each in spent) > epsilon.nano:
        raise BadInput("what was spent before the plan exceeds epsilon in one window; pass what the ledger has booked.")


def _require_paid(shares: Floats, budgets: list[int]) -> None:
    for t, (share, budget) in enumerate(zip(shares.tolist(), budgets, strict=True), start=1):
        if share > 0 and not budget:
            raise BadInput(
                f"unit {t} weighs so little beside others, or epsilon is so small, that its budget would be below"
                " 0.000000001; give it a weight of 0, or raise epsilon."
            )
