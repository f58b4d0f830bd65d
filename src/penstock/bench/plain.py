"""SPAS as published, transcribed into plain Python: lists, loops over bins, one draw at a time. It claims no privacy.

It is here to be measured, for two ends: how much faster the mechanism of this package is, and where the accuracy that
the authors report comes from. It follows the paper (Li et al. 2025) and, where that is silent, what is known of the
authors' program: the distance is taken to the row before it, one threshold noise serves for ever, and what the sparse
vector has not used is added to releases without being booked. Each of these can be left out by a switch. The warm-up is
booked, unlike in the paper's words: unbooked it would spend, and err, differently from what is reported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

WARM_UP = 20  # the warm-up releases every so many steps
TINY = 1e-9  # budgets are floats here, and a sum of C parts of one C-th is not quite one

# A fresh threshold for every release: at most C of them in a window, each at u + 2 v, cost the decisions' share. These
# parts of it are the least noisy ones.
PARTS_OF_THRESHOLD = 1 + 4 ** (1 / 3)
PARTS_OF_QUERY = 2 + 2 ** (1 / 3)

Row = Sequence[float]


@dataclass(frozen=True)
class Faults:
    """What SPAS as published does and should not. Every one of them is there unless it is switched off.

    ``unbooked_leftover``  a release also gets what the sparse vector has not used, which is booked nowhere
    ``raw_distance``       the distance is taken to the true row before it: two rows are read, and one is paid
    ``one_threshold``      the noise of the threshold is drawn once, and all decisions together reveal it
    ``full_warm_up``       the warm-up spends all of epsilon, and leaves nothing for the decisions that follow it
    ``unit_sensitivity``   the mean distance over d bins is given the noise of a sensitivity of 1, not of 1 / d
    ``idle_share``         direct releases leave the decisions' share unused, and plans hold more releases than steps
    """

    unbooked_leftover: bool = True
    raw_distance: bool = True
    one_threshold: bool = True
    full_warm_up: bool = True
    unit_sensitivity: bool = True
    idle_share: bool = True


AS_PUBLISHED = Faults()


class PlainSPAS:
    """One stream published step by step, with everything kept in lists and summed anew at every step.

    With ``remember`` the difference of two rows is computed once, not at every step again. The result is the same.
    """

    def __init__(
        self,
        epsilon: float,
        window: int,
        bins: int,
        *,
        seed: int,
        faults: Faults = AS_PUBLISHED,
        remember: bool = False,
    ) -> None:
        self.epsilon, self.window, self.bins, self.faults = epsilon, window, bins, faults
        self.decide_share = epsilon / 4
        self.publish_share = epsilon - self.decide_share
        self.sensitivity = 1.0 if faults.unit_sensitivity else 1 / bins
        self.count = 1
        self.planned = 1  # the count for which the threshold's noise was drawn
        self.published: list[list[float]] = []
        self.spent: list[float] = []  # what each step really spent on its release
        self.booked: list[float] = []  # what it said it spent
        self.sampled: list[float] = []  # what it said it spent on being picked
        self.compared: list[bool] = []
        self._remembered: list[tuple[float, ...]] | None = [] if remember else None  # means of powers 0 (unused), 1, 2
        self._before: Row = [0.0] * bins
        self._rng = np.random.default_rng(seed)
        self._threshold_noise: float | None = None

    def step(self, row: Row) -> list[float]:
        """Publish the next row."""
        self.compared.append(False)
        if len(self.published) < self.window:
            self._warm_up(row)
        else:
            self.count = self._optimal_count()
            budget = self._direct_budget()
            if budget > 0:
                self._release(row, budget)
            elif self._is_picked(row):
                self._release_picked(row)
            else:
                self._repeat()
        self._before = row
        return self.published[-1]

    def fullest_window(self) -> float:
        """What the releases of the fullest window really spent, as a multiple of epsilon. Decisions come on top."""
        sums = np.concatenate([[0.0], np.cumsum(self.spent)])
        width = min(self.window, len(self.spent))
        return float((sums[width:] - sums[:-width]).max() / self.epsilon)

    def _warm_up(self, row: Row) -> None:
        if len(self.published) % WARM_UP == 0:
            share = self.epsilon if self.faults.full_warm_up else self.publish_share
            self._release(row, share * WARM_UP / self.window)
        else:
            self._repeat()

    def _optimal_count(self) -> int:
        """How many releases a window deserves, from the rows published in the last two windows."""
        variance = max(self._mean_difference(2) - self._mean_difference(1) ** 2, 0.0)
        count = max(math.floor(self.publish_share * math.sqrt(3 * variance) / 6), 1)
        return count if self.faults.idle_share else min(count, self.window)

    def _mean_difference(self, power: int) -> float:
        """The mean of |difference| ** power between consecutive published rows; repeated ones are skipped."""
        begin = max(len(self.published) - 2 * self.window, 0) + 1
        if self._remembered is not None:
            means = [row[power] for row in self._remembered[begin:] if row[power] > 0]
            return sum(means) / len(means) if means else 0.0
        total, number = 0.0, 0
        for t in range(begin, len(self.published)):
            for j in range(len(self.published[t])):
                apart = abs(self.published[t][j] - self.published[t - 1][j])
                if apart > 0:
                    total += apart**power
                    number += 1
        return total / number if number else 0.0

    def _direct_budget(self) -> float:
        """What a release may take without asking, if the budget left lasts until the oldest release leaves; or 0."""
        begin = len(self.published) - self.window + 1
        oldest = next((t for t in range(begin, len(self.published)) if self.booked[t] > 0), None)
        if oldest is None:
            return 0.0
        steps = oldest - begin + 1
        left = self.publish_share - self._in_window(self.booked)
        if not self.faults.idle_share and not any(self.compared[begin:]):
            left += self.decide_share
        if left < TINY or left / steps < self.publish_share / self.count - TINY:
            return 0.0
        return left / steps if self.faults.idle_share else min(left / steps, self.epsilon / self.count)

    def _is_picked(self, row: Row) -> bool:
        """The sparse vector. As published it compares first, and a yes that cannot be paid is dropped."""
        left = self.publish_share - self._in_window(self.booked)
        affordable = self.publish_share / self.count <= left + TINY
        if not affordable and not self.faults.one_threshold:
            return False
        self.compared[-1] = True
        reference = self._before if self.faults.raw_distance else self.published[-1]
        distance = _mean_power(reference, row, 1)
        threshold = self.count / self.publish_share + self._noise_of_threshold()
        return distance + self._noise_of_query() > threshold and affordable

    def _noise_of_threshold(self) -> float:
        if self._threshold_noise is None:
            self.planned = self.count
            parts = 2.0 if self.faults.one_threshold else self.planned * PARTS_OF_THRESHOLD
            self._threshold_noise = self._laplace(parts * self.sensitivity / self.decide_share)
        return self._threshold_noise

    def _noise_of_query(self) -> float:
        parts = 4.0 * self.count if self.faults.one_threshold else self.planned * PARTS_OF_QUERY
        return self._laplace(parts * self.sensitivity / self.decide_share)

    def _release_picked(self, row: Row) -> None:
        budget = self.publish_share / self.count
        share = self.decide_share / 2
        leftover = share - self._in_window(self.sampled) - share / self.count
        extra = max(leftover, 0.0) if self.faults.unbooked_leftover else 0.0
        self._release(row, budget, extra=extra, sampled=share / self.count)
        if not self.faults.one_threshold:
            self._threshold_noise = None

    def _release(self, row: Row, budget: float, *, extra: float = 0.0, sampled: float = 0.0) -> None:
        noisy = []
        for count in row:
            noisy.append(count + self._laplace(1 / (budget + extra)))  # noqa: PERF401 -- one draw at a time
        self._keep(noisy, budget + extra, budget, sampled)

    def _repeat(self) -> None:
        self._keep(self.published[-1], 0.0, 0.0, 0.0)

    def _keep(self, row: list[float], spent: float, booked: float, sampled: float) -> None:
        if self._remembered is not None:
            changed = spent > 0 and bool(self.published)
            means = [_mean_power(self.published[-1], row, power) for power in (1, 2)] if changed else [0.0, 0.0]
            self._remembered.append((0.0, *means))
        self.published.append(row)
        self.spent.append(spent)
        self.booked.append(booked)
        self.sampled.append(sampled)

    def _in_window(self, budgets: list[float]) -> float:
        """The sum over the window that ends at this step."""
        total = 0.0
        for t in range(len(self.published) - self.window + 1, len(self.published)):
            total += budgets[t]
        return total

    def _laplace(self, scale: float) -> float:
        return float(self._rng.laplace(0.0, scale))


def _mean_power(before: Row, now: Row, power: int) -> float:
    total = 0.0
    for j in range(len(now)):
        total += abs(now[j] - before[j]) ** power
    return total / len(now)
