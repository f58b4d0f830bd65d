"""The offline program: the least weighted error of budgets whose sum is limited in every window.

    minimise  sum of weight / share**power   where in each window  sum of share <= room

A squared error falls as 1 / share**2, an absolute one as 1 / share. With a price on each window, and the price of a
unit the sum of those of its windows, every share has a best answer to its price; what all of them come to, less what
the rooms are worth, is below the error of any plan. That is the bound a plan is shown with.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from penstock.allocation.windows import Windows
from penstock.types import Floats

Error = Literal["squared", "absolute"]
POWERS: dict[str, int] = {"squared": 2, "absolute": 1}
# Of Laplace noise with scale 1: its variance, and its mean absolute value.
OF_NOISE: dict[str, int] = {"squared": 2, "absolute": 1}
ROUNDING = 2.0**-52  # of one addition


class Program(NamedTuple):
    """Units that all weigh something, windows of them, and the room of each window."""

    weights: Floats
    windows: Windows
    room: Floats
    power: int

    @property
    def roots(self) -> Floats:
        """Shares within a single window are in the proportion of these."""
        roots: Floats = self.weights ** (1 / (self.power + 1))
        return roots

    def answers(self, unit_prices: Floats) -> Floats:
        """The best share of each unit at its price."""
        answers: Floats = (self.power * self.weights / unit_prices) ** (1 / (self.power + 1))
        return answers

    def fitted(self, shares: Floats) -> Floats:
        """Shares scaled into their rooms, each by the tightest of its windows."""
        return shares * self.windows.least_around(self.room / self.windows.sums(shares))

    def value(self, shares: Floats) -> float:
        """The weighted error."""
        return math.fsum(self.weights / shares**self.power)

    def scaled(self, prices: Floats) -> Floats:
        """Prices in the same proportion whose bound is best."""
        gain, cost = self._gain_and_cost(prices)
        return prices * (self.power * gain / ((self.power + 1) * cost)) ** (self.power + 1)

    def bound(self, prices: Floats) -> float:
        """What no shares can be better than, whatever the prices. What rounding may have added is taken off."""
        gain, cost = self._gain_and_cost(prices)
        return gain * (1 - self.rounding) - cost

    @property
    def rounding(self) -> float:
        """By how much, in proportion, the sums over windows may be off at most."""
        return (int((self.windows.last - self.windows.first).max()) + 8) * ROUNDING

    def _gain_and_cost(self, prices: Floats) -> tuple[float, float]:
        unit_prices = self.windows.sums_around(prices)
        gain = (self.power + 1) / self.power * math.fsum(unit_prices * self.answers(unit_prices))
        return gain, math.fsum(self.room * prices)


def alone(program: Program) -> Floats:
    """The price of each window if there were no others; in the best plan it costs no more than that."""
    prices: Floats = program.power * (program.windows.sums(program.roots) / program.room) ** (program.power + 1)
    return prices
