"""A primal-dual interior point method for the offline program, with Newton steps on a band.

A point has shares, what they leave of each room (slack), and prices. On the way to the best plan the product of slack
and price is kept alike in all windows while it falls; what a share should be at its price is met in proportion, by
logarithms, so that weights of very different size do no harm. Steps are predicted, then corrected for their bend
(Mehrotra 1992), then corrected for windows that would hold them up (Gondzio 1996).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.allocation.banded import Banded
from penstock.allocation.program import Program, alone
from penstock.types import Floats

MOST_STEPS = 200
PATIENCE = 15  # steps without a better plan
NEAR_START = 0.9  # of what fits
NEAR = 0.99  # of the way to where something would be negative
REFINED = 1e-9  # what a solution may leave of its right side
REFINEMENTS = 3
HELD_UP = 0.95  # a shorter step is worth another correction
CORRECTIONS = 2
ASPIRED = 0.3  # by how much more of a step a correction tries
APART = 10.0  # how far from the rest the product of slack and price of a window may be after a correction
ALIKE = 1e-4  # shares as near as this may be the same
SETTLED = 1e-7  # a share this near, in proportion, to what it should be is good enough


class Point(NamedTuple):
    """Where the method is; or a step, which is the difference of two points."""

    shares: Floats
    slack: Floats
    prices: Floats

    @property
    def products(self) -> Floats:
        """Slack times price, which is 0 in the end."""
        return self.slack * self.prices

    def after(self, step: Point, part: float) -> Point:
        """The point so much of a step further."""
        return Point(*(x + part * d for x, d in zip(self, step, strict=True)))

    def reach(self, step: Point) -> float:
        """The longest part of a step, 1 at most, before anything is negative."""
        falls = max(float((-d / x).max()) for x, d in zip(self, step, strict=True))
        return 1.0 if falls <= 1 else 1 / falls


class Solution(NamedTuple):
    """Shares that fit, the prices that show how good they are, and how many steps it took.

    The gap is that of the whole plan. A stretch that weighs little adds little to it, so ``unsettled`` says how far the
    worst unit and the worst window are from where they should be, in proportion to their own size.
    """

    shares: Floats
    prices: Floats
    gap: float
    unsettled: float
    steps: int


def solved(program: Program, tolerance: float) -> Solution:
    """The best shares and prices that are found; they are good enough if the gap is within the tolerance.

    Where rounding keeps the gap from closing any further, the best of all points is returned, and its gap says so.
    """
    heaviest, widest = program.weights.max(), program.room.max()
    within = _within(program._replace(weights=program.weights / heaviest, room=program.room / widest), tolerance)
    price = heaviest / widest ** (program.power + 1)
    return within._replace(shares=within.shares * widest, prices=within.prices * price)


def _within(program: Program, tolerance: float) -> Solution:
    """The same for a program whose weights and rooms are at most 1.

    Where many windows are full at once but hardly any needs its price, shares come near the best ones slowly. Often the
    best ones are then plain, each in proportion to the fullest window around it. Those are taken if they are near and
    no worse; a value that is no worse would not do, because it hardly tells of what weighs little.
    """
    if program.windows.apart:  # each is by itself, and its best shares are known
        return _judged(program, Point(program.fitted(program.roots), 0 * program.room, alone(program)), 0)
    system, point = Banded(program.windows), _start(program)
    tolerance = max(tolerance, 8 * program.rounding)
    with np.errstate(all="ignore"):
        best = _judged(program, point, 0)
        for number in range(1, MOST_STEPS + 1):
            good = best.gap <= tolerance and best.unsettled <= SETTLED
            step = None if good or number - best.steps > PATIENCE else _step(program, system, point)
            if step is None:
                break
            reach = point.reach(step)
            point = point.after(step, 1.0 if reach == 1 else NEAR * reach)
            found = _judged(program, point, number)
            if (max(found.gap, tolerance), found.unsettled) < (max(best.gap, tolerance), best.unsettled):
                best = found
    plain = program.fitted(program.roots)
    same = np.allclose(plain, best.shares, rtol=ALIKE, atol=0) and program.value(plain) <= program.value(best.shares)
    return best._replace(shares=plain) if same else best


def _start(program: Program) -> Point:
    """Shares that leave room everywhere, and prices which make slack times price alike."""
    windows, priced_alone = program.windows, alone(program)
    many = float(windows.sums_around(np.ones(len(windows))).max())
    level = float((priced_alone * program.room).mean()) / many
    prices = np.maximum(priced_alone / many, level / program.room)
    fitting = NEAR_START * program.fitted(program.roots)
    shares = np.minimum(fitting, program.answers(windows.sums_around(prices)))
    return Point(shares, program.room - windows.sums(shares), prices)


def _judged(program: Program, point: Point, steps: int) -> Solution:
    shares, prices = program.fitted(point.shares), program.scaled(point.prices)
    value, bound = program.value(shares), program.bound(prices)
    unit_prices = program.windows.sums_around(point.prices)
    off = np.abs(np.log(point.shares / program.answers(unit_prices))).max()
    loose = (point.slack / program.room * point.prices / program.windows.least(unit_prices)).max()
    return Solution(shares, prices, (value - bound) / bound, float(max(off, loose)), steps)


def _step(program: Program, system: Banded, point: Point) -> Point | None:
    """The next step, or None if rounding has made nonsense of it."""
    try:
        step = _Newton(program, system, point).step()
    except np.linalg.LinAlgError:
        return None
    return step if all(np.isfinite(part).all() for part in step) else None


class _Newton:
    """The equations of a step from a point, ready to be solved."""

    def __init__(self, program: Program, system: Banded, point: Point) -> None:
        self._windows, self._power, self._system, self._point = program.windows, program.power, system, point
        self._unit_prices = self._windows.sums_around(point.prices)
        self._off = (program.power + 1) * np.log(program.answers(self._unit_prices) / point.shares)
        self._missing = program.room - self._windows.sums(point.shares) - point.slack
        self._yields = point.shares / ((program.power + 1) * self._unit_prices)  # of a share, if its price falls
        self._products = point.products
        system.factor(self._yields, point.slack / point.prices)

    def step(self) -> Point:
        """Predicted, corrected for its bend, and for windows that would hold it up."""
        predicted = self._towards(self._off, 0 * self._products)
        part = self._point.reach(predicted)
        level = float(self._products.mean())
        aim = level * min(1.0, max((float(self._point.after(predicted, part).products.mean()) / level) ** 3, 1e-8))
        off = self._off + self._bend(predicted, part)
        bend = part**2 * predicted.products
        return self._freed(off, aim - np.clip(bend, -APART * level, APART * level), aim)

    def _freed(self, off: Floats, target: Floats, aim: float) -> Point:
        """The step to these targets, which are changed for windows that are far from the aim while that helps."""
        step = self._towards(off, target)
        for _ in range(CORRECTIONS):
            reach = self._point.reach(step)
            if reach > HELD_UP:
                break
            products = self._point.after(step, min(1.0, reach + ASPIRED)).products
            target = target + np.maximum(np.clip(products, aim / APART, APART * aim) - products, -APART * aim)
            tried = self._towards(off, target)
            if self._point.reach(tried) < reach + ASPIRED / 10:
                break
            step = tried
        return step

    def _towards(self, off: Floats, products: Floats) -> Point:
        """The step that takes shares to what they should be, and slack times price to these products, if straight."""
        slack, prices = self._point.slack, self._point.prices
        wanted = self._point.shares * off / (self._power + 1)
        opened = (products - self._products) / prices
        right = self._windows.sums(wanted) + opened - self._missing
        raised = self._system.solve(right)
        for _ in range(REFINEMENTS):
            taken = self._yields * self._windows.sums_around(raised)
            left = right - self._windows.sums(taken) - slack / prices * raised
            if np.abs(left).max() <= REFINED * np.abs(right).max():
                break
            raised = raised + self._system.solve(left)
        taken = self._yields * self._windows.sums_around(raised)
        return Point(wanted - taken, opened - slack / prices * raised, raised)

    def _bend(self, step: Point, part: float) -> Floats:
        """How far shares would miss what they should be after this part of a step, because logarithms bend."""
        shares = NEAR * part * step.shares / self._point.shares
        prices = NEAR * part * self._windows.sums_around(step.prices) / self._unit_prices
        bend: Floats = (self._power + 1) * (shares - np.log1p(shares)) + prices - np.log1p(prices)
        return bend
