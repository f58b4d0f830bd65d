"""The budgets of a plan, handed out unit by unit."""

from __future__ import annotations

from functools import lru_cache

from penstock.allocation.online import Allocator
from penstock.allocation.planning import plan
from penstock.allocation.program import Error
from penstock.allocation.weights import Numbers
from penstock.epsilon import Epsilon


class Schedule(Allocator):
    """A plan that is made before the stream begins, of all its weights. Past its end there is nothing to spend.

    A horizon is one window from beginning to end: a list that is shorter goes on with zeros up to it, and what lies
    past it is cut off.
    """

    def __init__(
        self, window: int, epsilon: Epsilon, error: Error, *, weights: Numbers, horizon: int | None = None
    ) -> None:
        super().__init__(window, epsilon, error)
        padded = weights if horizon is None else (weights + (0.0,) * horizon)[:horizon]
        self._budgets = _planned(padded, window, epsilon, error)

    def _share(self, weight: float) -> int:
        return self._budgets[self.t - 1] if weight and self.t <= len(self._budgets) else 0


@lru_cache(maxsize=4)  # whoever takes up a stream begins with the plan it had
def _planned(weights: Numbers, window: int, epsilon: Epsilon, error: Error) -> tuple[int, ...]:
    return tuple(budget.nano for budget in plan(weights, window, epsilon, error=error).budgets)
