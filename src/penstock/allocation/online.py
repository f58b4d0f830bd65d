"""The online case: what a unit weighs is known when its time has come, and its budget cannot be taken back.

No rule is better than the window squared times the best plan on every stream (the window, for absolute errors), and
equal shares are never worse than that. Who can foresee weights does better: ``PredictAndHedge`` follows a plan for
predicted weights with a part of epsilon, ``TopUp`` plans anew and keeps a floor for the units to come.

Whatever weights and predictions turn out to be, no window spends more than epsilon, exactly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from penstock.allocation.interior import solved
from penstock.allocation.planning import require_plannable, require_window
from penstock.allocation.posing import as_weights, asked, posed
from penstock.allocation.program import Error
from penstock.epsilon import Epsilon, Number, as_fraction
from penstock.errors import BadInput, BadState
from penstock.parameters import up_to_one

Predict = Callable[[int, int], Sequence[float]]

AHEAD = 4  # windows that are planned at once
TOLERANCE = 1e-9  # of a plan that is soon made anew
REMEMBERED = 64  # plans; weights that come again are planned again


class Allocator(ABC):
    """Budgets one unit at a time. Windows have this length and may spend epsilon; the error is what plans reckon with.

    Units are counted from 1. What is saved is plain data; taken up by an allocator that was made alike, it goes on as
    if nothing had happened.
    """

    def __init__(self, window: int, epsilon: Epsilon | Number, error: Error = "squared") -> None:
        self.epsilon, self.error = Epsilon(epsilon), error
        require_plannable(window, self.epsilon, error)
        self.window = int(window)
        self.t = 0
        self._spent: deque[int] = deque(maxlen=self.window - 1)  # by those units that share a window with the next one

    def next(self, weight: float) -> Epsilon:
        """The budget of the next unit, which weighs so much. One that weighs nothing gets nothing."""
        known = float(as_weights([weight], self.t + 1)[0])
        self.t += 1
        nano = self._share(known)
        self._spent.append(nano)
        return Epsilon.of_nano(nano)

    @abstractmethod
    def _share(self, weight: float) -> int:
        """Nano-epsilon for the present unit."""

    def save(self) -> dict[str, Any]:
        """All there is to remember."""
        return self._made() | {"t": self.t, "spent": list(self._spent)}

    def load(self, saved: dict[str, Any]) -> None:
        """Take up what was saved, before the first unit."""
        if self.t or any(saved.get(name) != value for name, value in self._made().items()):
            raise BadState("this state is of another allocator, or comes too late; load it first, into one made alike.")
        self.t = saved["t"]
        self._spent.extend(saved["spent"])

    def _made(self) -> dict[str, Any]:
        """What an allocator that takes up the state must share."""
        made = {"window": self.window, "epsilon": self.epsilon, "error": self.error}
        return {"allocator": type(self).__name__} | made


class UniformShares(Allocator):
    """An equal part of epsilon for every unit that weighs something."""

    def _share(self, weight: float) -> int:
        return (self.epsilon / self.window).nano if weight else 0


class PredictAndHedge(Allocator):
    """A plan for predicted weights with a part ``trust`` of epsilon, equal shares with the rest.

    If the predictions are right, the error is at most 1 / trust**2 times that of the best plan; if they are wrong,
    (window / (1 - trust))**2 times. Absolute errors have no squares. Units past the predictions have the rest alone.
    """

    def __init__(
        self,
        window: int,
        epsilon: Epsilon | Number,
        error: Error = "squared",
        *,
        predicted: Sequence[float],
        trust: Number = 0.5,
    ) -> None:
        super().__init__(window, epsilon, error)
        up_to_one("trust", trust)
        weights, self._trust = as_weights(predicted), as_fraction(trust)
        require_window(weights, window)
        self._planned = list(_budgets(tuple(weights.tolist()), window, self.epsilon, error))

    def _share(self, weight: float) -> int:
        planned = self._planned[self.t - 1] if self.t <= len(self._planned) else 0
        equal = Fraction(self.epsilon.nano, self.window)
        return int(self._trust * planned + (1 - self._trust) * equal) if weight else 0

    def save(self) -> dict[str, Any]:
        return super().save() | {"planned": self._planned}

    def load(self, saved: dict[str, Any]) -> None:
        super().load(saved)
        self._planned = list(saved["planned"])  # planned elsewhere it might differ by a rounding

    def _made(self) -> dict[str, Any]:
        return super()._made() | {"trust": self._trust}


class TopUp(Allocator):
    """A plan for what is known and predicted now, made anew when either turns out otherwise.

    ``predict(first, number)`` tells what units ``first`` to ``first + number - 1`` are expected to weigh; it may use
    public values only. No unit gets less than the floor, a part of an equal share, and none so much that a later one
    could not have it: so the error is at most (window / floor)**2 times that of the best plan. With a floor of 0 a unit
    that nobody expected may get nothing; choose that only if the future is known.

    The plan reaches four windows ahead. It is kept while weights and predictions stay what they were and its last
    window has not begun, so it is made once in three windows if predictions are right, and once a unit at worst.
    """

    def __init__(
        self,
        window: int,
        epsilon: Epsilon | Number,
        error: Error = "squared",
        *,
        predict: Predict,
        floor: Number = 0.5,
    ) -> None:
        super().__init__(window, epsilon, error)
        self._part = as_fraction(floor)
        if not 0 <= self._part <= 1:
            raise BadInput(f"floor must lie between 0 and 1, as a part of an equal share; got {floor}.")
        self.floor = Epsilon.of_nano(int(self._part * self.epsilon.nano / self.window))
        self._predict = predict
        self._weights: list[float] = []  # that the plan reckons with, from the next unit on
        self._planned: list[int] = []

    @property
    def cap(self) -> Epsilon:
        """The most the next unit can have, if every unit after it is to have the floor; never below the floor.

        In each window that the unit is in, this is what units before it and the floors of units after it leave. Had
        all windows room for their floors before, they have it still, whatever up to the cap is spent.
        """
        floor = self.floor.nano
        beyond = accumulate((spent - floor for spent in reversed(self._spent)), initial=0)  # floors, by the last units
        return Epsilon.of_nano(self.epsilon.nano - (self.window - 1) * floor - max(beyond))

    def _share(self, weight: float) -> int:
        cap, planned = self.cap.nano, self._next_planned(weight)
        share = min(max(planned, self.floor.nano), cap) if weight else 0
        if share != planned:
            self._weights, self._planned = [], []
        return share

    def _next_planned(self, weight: float) -> int:
        """What the plan has for a unit of this weight; if it has another weight there, or none, it is made anew."""
        if weight:
            number = AHEAD * self.window - 1
            known = [weight, *self._predicted(number)]
            if len(self._weights) <= self.window or self._weights != known[: len(self._weights)]:
                budgets = _budgets(tuple(known), self.window, self.epsilon, self.error, tuple(self._spent))
                self._weights, self._planned = known, list(budgets)
        elif not self._weights or self._weights[0]:
            self._weights, self._planned = [0.0], [0]
        del self._weights[0]
        return self._planned.pop(0)

    def _predicted(self, number: int) -> list[float]:
        if not number:
            return []
        predicted: list[float] = as_weights(self._predict(self.t + 1, number), self.t + 1).tolist()
        if len(predicted) != number:
            raise BadInput(f"{number} units were to be predicted, and {len(predicted)} were; predict as many as asked.")
        return predicted

    def save(self) -> dict[str, Any]:
        return super().save() | {"weights": self._weights.copy(), "planned": self._planned.copy()}

    def load(self, saved: dict[str, Any]) -> None:
        super().load(saved)
        self._weights, self._planned = list(saved["weights"]), list(saved["planned"])

    def _made(self) -> dict[str, Any]:
        return super()._made() | {"floor": self._part}


@lru_cache(maxsize=REMEMBERED)
def _budgets(
    weights: tuple[float, ...], window: int, epsilon: Epsilon, error: Error, spent: tuple[int, ...] = ()
) -> tuple[int, ...]:
    """The best budgets, rounded down. Where that leaves nothing, the floor or the hedge has to do."""
    question, shares = asked(np.array(weights), window, epsilon.nano, spent), np.zeros(len(weights))
    program = posed(question, error)
    if program:
        shares[program.units] = solved(program.program, TOLERANCE).shares
    return tuple(question.floored(shares))
