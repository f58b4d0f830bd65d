"""A second opinion on the budget: what was learnt, priced from the noise that was really drawn.

A shadow stands between curator and noise and at the door for answers. It knows nothing of the ledger. From the scale
of every draw it works out what the answer tells about each bin of each time unit (sensitivity / scale), and for
comparisons what a run tells as a whole: u, and v for each yes, and v more at the yes itself. Readings that share a
reach tell sensitivity / scale, all of them together. Recounted, that must keep the law too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from penstock.charges import Fact, Point, Span, Touch
from penstock.checks.listening import Listening
from penstock.desk import Question
from penstock.epsilon import LARGEST, NANO, Epsilon
from penstock.models import PrivacyModel
from penstock.noise import Noise
from penstock.primitives.grouper import Deviation
from penstock.queries import Bins
from penstock.types import Ints, Mask

T = TypeVar("T")
UNBOUNDED = LARGEST * NANO  # the price of a comparison without threshold noise, or of a reading without its own


@dataclass
class Run:
    """Comparisons under one threshold noise, or readings under one reach: those cost u, and it is counted how many."""

    key: int
    first: int
    u: int
    v: int = 0
    last: int = 0
    yeses: int = 0
    read: int = 0


class Shadow(Listening):
    """Noise and answers for a curator, with a price list."""

    def __init__(self, noise: Noise, model: PrivacyModel, bins: int) -> None:
        super().__init__(noise)
        self._model, self._bins = model, bins
        self._worth: dict[int, Ints] = {}  # time unit -> what was learnt about each bin, in nano-epsilon
        self._runs: list[Run] = []
        self._running: dict[int, Run] = {}  # by the number of the segment
        self._touches: list[Touch] = []
        self._members: dict[tuple[int, int], list[int]] = {}  # number of the pool, bin -> units it holds
        self._ended: dict[int, Mask] = {}  # number of the grouper -> bins whose series of comparisons is over

    # ---- at the door for answers ------------------------------------------------------------------------------------

    def answer(self, question: Question, compute: Callable[[], T]) -> T:
        """Let the answer through, and price it."""
        answer = self.listen(question, compute)
        getattr(self, f"_price_{question.verb}")(question, answer)
        return answer

    def learnt(self, t: int) -> int:
        """What the answers of unit ``t`` tell about its dearest bin, runs of comparisons apart."""
        return int(self._worth[t].max()) if t in self._worth else 0

    def facts(self) -> list[Fact]:
        """What was learnt, as charges that ought to have been made."""
        points = [Point(t, Epsilon.of_nano(self.learnt(t)), "publish") for t in self._worth]
        spans = [Span(r.first, r.last, Epsilon.of_nano(r.u + r.v * r.yeses), "decide", r.key) for r in self._runs]
        return [*points, *spans, *self._touches]

    def retired(self) -> None:
        """The curator has given up what was sealed."""
        self._running.clear()
        self._members.clear()

    # ---- the price list ---------------------------------------------------------------------------------------------

    def _price_ask(self, question: Question, answer: Any) -> None:
        bins, prices = self._about(question), self._prices(self._model.sensitivity)
        self._at(self.t)[bins] += prices if len(prices) == len(bins) else prices.max(initial=0)

    def _price_nearest(self, question: Question, answer: Any) -> None:
        *_, e, _ = question.details
        self._at(self.t)[:] += e.nano

    def _price_sampled(self, question: Question, answer: Any) -> None:
        rate, inner = float(question.details[0]), self._prices(self._model.sensitivity) / NANO
        self._at(self.t)[:] += np.floor(np.log1p(rate * np.expm1(inner)) * NANO).astype(np.int64)

    def _price_above(self, question: Question, answer: Any) -> None:
        number = question.details[0]
        *opening, v = self._prices(self._model.sensitivity).tolist()
        run = self._run(number, opening)
        run.v = max(run.v, v)
        if answer:
            run.yeses += 1
            self._at(self.t)[:] += v

    def _price_volley(self, question: Question, answer: Any) -> None:
        number, size, place, _ = question.details
        prices = self._prices(self._model.sensitivity).tolist()
        shared = self.reaches == [size] == [len(prices)]
        run = self._run(number, prices[:1] if shared else [UNBOUNDED] * bool(prices))
        if place != run.read or place >= size:  # not the next noise, or none that was drawn
            run.u = UNBOUNDED
        run.read += 1

    def _run(self, number: int, opening: list[int]) -> Run:
        """The run that an answer belongs to: a new one if it drew noise for one, or should have."""
        if opening or number not in self._running:
            self._runs.append(Run(len(self._runs), self.t, *(opening or [UNBOUNDED])))
            self._running[number] = self._runs[-1]
        run = self._running[number]
        run.last = self.t
        self._touches.append(Touch(self.t, run.key))
        return run

    def _price_extend(self, question: Question, answer: Any) -> None:
        number, _, comparing = question.details
        prices = np.where(comparing, 4, 2) * self._prices(Deviation().sensitivity(self._model))
        ended = comparing & self._ended.get(number, np.zeros(self._bins, np.bool_))  # and no threshold drawn since
        self._at(self.t)[:] += np.where(ended, UNBOUNDED, prices)  # of e, rho has one half and nu one quarter
        self._ended[number] = ~answer

    def _price_absorb(self, question: Question, answer: Any) -> None:
        for chosen in self._about(question).tolist():
            self._members.setdefault((question.details[0], chosen), []).append(self.t)

    def _price_drop(self, question: Question, answer: Any) -> None:
        for chosen in self._about(question).tolist():
            self._members.pop((question.details[0], chosen), None)

    def _price_settle(self, question: Question, answer: Any) -> None:
        number, last = question.details
        prices = self._prices(self._model.sensitivity)
        for chosen, price, emptied in zip(self._about(question).tolist(), prices, last, strict=True):
            for t in self._members.get((number, chosen), []):
                self._at(t)[chosen] += price
            if emptied:
                del self._members[number, chosen]

    def _price_read(self, question: Question, answer: Any) -> None:
        number, prices = question.details[0], self._prices(self._model.sensitivity)
        for chosen in self._about(question).tolist():
            for t in self._members.get((number, chosen), []):
                self._at(t)[chosen] += prices.max(initial=0)

    def _prices(self, sensitivity: int) -> Ints:
        """What each value drawn tells, in nano-epsilon."""
        return np.array([math.floor(sensitivity * NANO / scale) for scale in self.drawn], np.int64)

    def _at(self, t: int) -> Ints:
        return self._worth.setdefault(t, np.zeros(self._bins, np.int64))

    def _about(self, question: Question) -> Bins:
        return np.arange(self._bins) if question.bins is None else question.bins
