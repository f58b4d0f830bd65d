"""What a transcript really tells two neighbouring streams apart by.

A witness knows both streams. It sits at the door for answers and, from the question and the noise that was drawn,
works out how much more probable each answer is on the one stream than on the other. The logarithms add up to the
*loss* of the transcript. Pure differential privacy says that no transcript whatever has a loss above epsilon, so a
single one with a larger loss disproves it; nothing has to be estimated for that.

It also notes how far the true values of each question lie apart on the two streams, and how far they may.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import numpy as np

from penstock.checks.likelihood import Run, Shared, log_first_heads, log_of_cell, log_of_sample
from penstock.checks.listening import Listening
from penstock.desk import EVEN, Question
from penstock.epsilon import NANO
from penstock.errors import CheckFailed
from penstock.models import PrivacyModel
from penstock.noise import Noise
from penstock.noise.cauchy import cauchy_cell
from penstock.points import SmoothMedian
from penstock.primitives.grouper import Deviation
from penstock.primitives.pool import LARGEST_MEMBER
from penstock.queries import Bins
from penstock.spatial import SpatialNeighbourhood
from penstock.types import Ints, Mask

T = TypeVar("T")
DEVIATION = Deviation()


class Move(NamedTuple):
    """How far the true values of a question lie apart, in L1, and how far they may."""

    verb: str
    t: int
    moved: int
    allowed: int


@dataclass
class Pooled:
    """What a pool holds, on either stream, and in which differing units it took it in."""

    sums: tuple[Ints, Ints]
    units: list[Counter[int]]  # of each bin, and how often each of them


class Witness(Listening):
    """Noise and answers for a curator, heard by somebody who knows both streams.

    ``points`` is how finely threshold noise is summed over; at 200 steps per scale a loss is off by 1e-5 of it at most.
    ``distrust``: the stream is the one, and every answer must be the truth about it with the noise that was drawn.
    """

    def __init__(
        self, noise: Noise, model: PrivacyModel, one: Ints, other: Ints, points: int = 200, *, distrust: bool = False
    ) -> None:
        super().__init__(noise)
        self._distrust = distrust
        self.moves: list[Move] = []
        self._model, self._streams, self._points = model, (one, other), points
        self._differ = (one != other).any(axis=1).tolist()
        self._bins = one.shape[1]
        self._told = 0.0
        self._runs: list[Run | Shared] = []
        self._running: dict[tuple[int, int], Run] = {}  # number of the handle, bin -> its run
        self._volleys: dict[int, Shared] = {}  # number of the handle -> its latest volley
        self._pools: dict[int, Pooled] = {}
        self._groups: dict[tuple[int, int], list[int]] = {}  # number of the grouper, bin -> units in its group

    @property
    def loss(self) -> float:
        """By how much, in nats, the transcript so far is more probable on the one stream than on the other."""
        return self._told + math.fsum(run.loss(self._points) for run in self._runs)

    def answer(self, question: Question, compute: Callable[[], T]) -> T:
        """Let the answer through, and weigh it."""
        answer = self.listen(question, compute)
        getattr(self, f"_weigh_{question.verb}")(question, answer)
        return answer

    # ---- noisy numbers ----------------------------------------------------------------------------------------------

    def _weigh_ask(self, question: Question, answer: Ints) -> None:
        if self._matters():
            query = question.details[0]
            truths = self._truths(lambda counts: query(counts, question.bins))
            self._note(question, truths, query.sensitivity(self._model))
            self._tell(question, answer, truths)

    def _weigh_sampled(self, question: Question, answer: Ints) -> None:
        chance, limit, _ = question.details
        if self._matters():
            truths = self._truths(lambda counts: np.minimum(counts, limit))
            self._note(question, truths, self._model.sensitivity)
            one, other = (log_of_sample(answer, truth, float(chance), self.drawn) for truth in truths)
            self._told += one - other
            sampled = [coins.fallen & (np.arange(limit) < truths[0][:, np.newaxis]) for coins in self.coins]
            right = [coins.rate for coins in self.coins] == [chance]
            self._require(question, right and self._noisy(np.count_nonzero(sampled[0], axis=1), answer))

    def _weigh_nearest(self, question: Question, answer: int) -> None:
        *queries, e, _ = question.details
        if self._matters():
            truths = self._truths(lambda counts: np.array([query(counts, None)[0] for query in queries]))
            for one, other, query in zip(*truths, queries, strict=True):
                self._move(question, abs(int(one - other)), query.sensitivity(self._model))
            rate = Fraction(e.nano, 2 * max(query.sensitivity(self._model) for query in queries) * NANO)
            one, other = (log_first_heads(truth, answer, float(rate)) for truth in truths)
            self._told += one - other
            steps = truths[0] - truths[0].min()
            tossed = [c for c in self.coins if c.rate == rate and np.array_equal(c.steps, steps) and c.fallen[answer]]
            self._require(question, len(tossed) == len(self.coins) == 1)

    def _weigh_median(self, question: Question, answer: int) -> None:
        if isinstance(self._model, SpatialNeighbourhood) and self._matters():
            cells, reach = self._model.snapped_to.cells, self._model.reach
            one, other = (SmoothMedian(rows[0], cells, reach, question.details[0]) for rows in self._streams)
            self._move(question, abs(one.median - other.median), reach)
            narrow, wide = (log_of_cell(answer, cells, each.median, each.width) for each in (one, other))
            self._told += narrow - wide
            fallen = iter([coins.fallen for coins in self.coins])
            right = all(coins.rate == EVEN for coins in self.coins)
            again = cauchy_cell(one.median, one.scale, cells, lambda number: next(fallen))
            self._require(question, right and again == answer)

    def _matters(self) -> bool:
        """Whether there is anything to weigh, or to distrust, about this unit."""
        return self._distrust or bool(self._differ[self.t - 1])

    def _truths(self, value: Callable[[Ints], Ints]) -> tuple[Ints, Ints]:
        one, other = self._streams
        return value(one[self.t - 1]), value(other[self.t - 1])

    def _note(self, question: Question, truths: tuple[Ints, Ints], allowed: int) -> None:
        self._move(question, int(np.abs(truths[0] - truths[1]).sum()), allowed)

    def _move(self, question: Question, moved: int, allowed: int) -> None:
        self.moves.append(Move(question.verb, self.t, moved, allowed))

    def _tell(self, question: Question, answer: Ints, truths: tuple[Ints, Ints]) -> None:
        """Noisy numbers, of these true values."""
        further = np.abs(answer - truths[1]) - np.abs(answer - truths[0])
        self._told += math.fsum(step / float(scale) for step, scale in zip(further.tolist(), self.drawn, strict=True))
        self._require(question, self._noisy(truths[0], answer))

    def _noisy(self, truth: Ints, answer: Ints) -> bool:
        return bool((truth + np.array(self.numbers, np.int64) == answer).all())

    def _require(self, question: Question, right: bool) -> None:
        if self._distrust and not right:
            raise CheckFailed(f"{question.verb} at t={self.t} does not answer what is asked with the noise it draws.")

    # ---- comparisons ------------------------------------------------------------------------------------------------

    def _weigh_above(self, question: Question, answer: bool) -> None:
        number, query, threshold, _ = question.details
        one, other = (int(value[0]) for value in self._truths(lambda counts: query(counts, None)))
        self._move(question, abs(one - other), query.sensitivity(self._model))
        *opening, scale = map(float, self.drawn)
        if opening or (number, 0) not in self._running:
            rho = self.numbers[0] if opening else 0
            self._begin_run((number, 0), opening[0] if opening else 0.0, rho)
        gaps = threshold - one, threshold - other
        self._compare(question, (number, 0), gaps, scale, self.numbers[-1], answer)

    def _weigh_extend(self, question: Question, joined: Mask) -> None:
        number, limits, joining = question.details
        for j in range(self._bins):
            group = self._groups.setdefault((number, j), [])
            if not joining[j]:
                group.clear()
                self._begin_run((number, j), float(self.drawn[j]), self.numbers[j])
            group.append(self.t - 1)
            if joining[j]:
                one, other = self._astray(group, j)
                allowed = DEVIATION.sensitivity(self._model) * sum(self._differ[t] for t in group)
                self._move(question, abs(one - other), allowed)
                gaps = int(limits[j]) - one, int(limits[j]) - other
                scale, nu = float(self.drawn[j]), self.numbers[j]
                self._compare(question, (number, j), gaps, scale, nu, not joined[j])

    def _astray(self, group: list[int], j: int) -> tuple[int, int]:
        """How far the members of a group stray, on either stream."""
        length = np.array([len(group)])
        one, other = (int(DEVIATION(rows[group, j : j + 1], length)[0]) for rows in self._streams)
        return one, other

    def _begin_run(self, key: tuple[int, int], scale: float, rho: int) -> None:
        self._running[key] = Run(scale, rho)
        self._runs.append(self._running[key])

    def _compare(
        self, question: Question, key: tuple[int, int], gaps: tuple[int, int], scale: float, nu: int, yes: bool
    ) -> None:
        run = self._running[key]
        run.gaps.append(gaps)
        run.scales.append(scale)
        run.yeses.append(yes)
        self._require(question, yes == (nu >= gaps[0] + run.rho))

    # ---- readings that share a reach --------------------------------------------------------------------------------

    def _weigh_volley(self, question: Question, answer: Ints) -> None:
        number, size, place, _ = question.details
        if self.drawn or number not in self._volleys:
            shared = self.reaches == [size] == [len(self.drawn)]
            self._volleys[number] = Shared(self.drawn[0], self.numbers) if shared else Shared(Fraction(1), [])
            self._runs.append(self._volleys[number])
        truths, volley = self._truths(lambda counts: counts), self._volleys[number]
        self._note(question, truths, self._model.sensitivity)
        right = place == volley.read
        one, other = (int(answer[0] - truth[0]) for truth in truths)
        self._require(question, volley.hear(one, other) == one and right)

    # ---- sums over time ---------------------------------------------------------------------------------------------

    def _weigh_absorb(self, question: Question, _: Any) -> None:
        pool, bins = self._pool(question), self._about(question)
        for sums, rows in zip(pool.sums, self._streams, strict=True):
            sums[bins] += np.minimum(rows[self.t - 1][bins], LARGEST_MEMBER)
        if self._differ[self.t - 1]:
            for j in bins.tolist():
                pool.units[j][self.t] += 1

    def _weigh_drop(self, question: Question, _: Any) -> None:
        self._empty(question, self._about(question))

    def _weigh_settle(self, question: Question, answer: Ints) -> None:
        pool, bins = self._pool(question), self._about(question)
        truths = pool.sums[0][bins], pool.sums[1][bins]
        self._note(question, truths, self._entered(pool, bins))
        self._tell(question, answer, truths)
        self._empty(question, bins[question.details[1]])

    def _weigh_read(self, question: Question, answer: Ints) -> None:
        pool, query = self._pool(question), question.details[1]
        truths = query(pool.sums[0], question.bins), query(pool.sums[1], question.bins)
        self._note(question, truths, self._entered(pool, self._about(question)))
        self._tell(question, answer, truths)

    def _pool(self, question: Question) -> Pooled:
        number = question.details[0]
        if number not in self._pools:
            sums = np.zeros(self._bins, np.int64), np.zeros(self._bins, np.int64)
            self._pools[number] = Pooled(sums, [Counter() for _ in range(self._bins)])
        return self._pools[number]

    def _entered(self, pool: Pooled, bins: Bins) -> int:
        """How far sums of these bins may lie apart: so much for each time a differing unit has entered one of them."""
        entered: Counter[int] = Counter()
        for j in bins.tolist():
            entered |= pool.units[j]  # the most that any bin has taken in
        return self._model.sensitivity * entered.total()

    def _empty(self, question: Question, bins: Bins) -> None:
        pool = self._pool(question)
        for sums in pool.sums:
            sums[bins] = 0
        for j in bins.tolist():
            pool.units[j].clear()

    def _about(self, question: Question) -> Bins:
        return np.arange(self._bins) if question.bins is None else question.bins
