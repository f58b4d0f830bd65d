"""Sparse-vector segments: asking "is it above the threshold?" and paying for the yeses.

A segment draws threshold noise rho of scale D/u once and query noise nu of scale D/v at every comparison, where D is
the query's sensitivity. It ends after c yeses. For a protected set W it costs at most

    u + 2 v * (yeses inside W) + v * (yeses outside W),   and nothing if no comparison falls into W,

so it is charged as an open span of u + c v and a point of v at each yes. (Shift rho by D: a no inside W is implied, a
yes inside W moves by 2 D, a yes outside W by D. Nothing is assumed about the query but D; docs/guarantees.md.)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np

from penstock.desk import Desk, Handle, Question, scale_of, spendable
from penstock.epsilon import Epsilon
from penstock.errors import BadInput
from penstock.parameters import at_least_one, require_exactly
from penstock.queries import Query, known_query
from penstock.types import Ints, Snapshot
from penstock.uncopied import Unchanging

DIGITS = 10**30


class Verdict(Enum):
    """The outcome of a comparison. SKIPPED: not affordable now, so nothing was compared or spent."""

    SKIPPED = "skipped"
    BELOW = "below"
    ABOVE = "above"


@dataclass(frozen=True, slots=True)
class SegmentPlan(Unchanging):
    """How a segment spends: ``c`` yeses, ``u`` on the threshold, ``v`` on each comparison."""

    c: int
    u: Epsilon
    v: Epsilon

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", at_least_one("the number of yeses c", self.c))
        spendable(self.u)
        spendable(self.v)

    @property
    def opening(self) -> Epsilon:
        """What opening costs every protected set that sees the segment at all."""
        return self.u + self.v * self.c

    @property
    def first(self) -> Epsilon:
        """What the first comparison may cost: the opening, and a yes."""
        return self.opening + self.v

    @staticmethod
    @lru_cache(maxsize=64)
    def windowed(tops: int, e: Epsilon) -> SegmentPlan:
        """The least noisy plan for at most ``tops`` yeses per window from budget ``e``, segments one after another.

        A window with ``tops`` yeses meets A segments at most and pays A u + B v in all, B = A c + tops. The noise is
        least at u = e / (A + (A B^2)^(1/3)), v = e / (B + (A^2 B)^(1/3)).
        """
        at_least_one("tops", tops)
        c = _best_length(tops)
        a, b = _load(tops, c)
        return SegmentPlan(c, _part(e, a, a * b * b), _part(e, b, a * a * b))

    @staticmethod
    def whole_horizon(tops: int, e: Epsilon) -> SegmentPlan:
        """One segment of ``tops`` yeses for a whole horizon: u + 2 tops v = e, u : 2 tops v = 1 : (2 tops)^(2/3)."""
        at_least_one("tops", tops)
        b = 2 * tops
        return SegmentPlan(tops, _part(e, 1, b * b), _part(e, b, b))


class Segment(Handle):
    """Comparisons under a secret threshold noise, one run of ``plan.c`` yeses after another.

    A run opens, and pays, at its first affordable comparison, and is over with its last yes. Between two runs
    ``renew`` says how the next one spends.
    """

    __slots__ = ("_last", "_left", "_plan", "_rho", "_sensitivity", "_span")

    def __init__(self, desk: Desk, number: int, plan: SegmentPlan | None = None) -> None:
        super().__init__(desk, number)
        self._plan = plan if plan is None else require_exactly(SegmentPlan, plan)
        self._left = plan.c if plan else 0
        self._span: int | None = None
        self._sensitivity = 0
        self._last = 0
        self._rho: int | None = None

    @property
    def plan(self) -> SegmentPlan | None:
        """How this run spends; None before the first."""
        return self._plan

    @property
    def left(self) -> int:
        """How many yeses there are until the run is over."""
        return self._left

    @property
    def running(self) -> bool:
        """Whether a run is open: its plan is fixed then."""
        return self._span is not None

    def renew(self, plan: SegmentPlan) -> None:
        """Plan the next run."""
        if self.running:
            raise BadInput("a segment is renewed between two runs; look at running first.")
        self._plan, self._left = require_exactly(SegmentPlan, plan), plan.c

    def can_ask(self, then: Epsilon) -> bool:
        """Whether a comparison could be paid now, with ``then`` for the release a yes leads to. Public."""
        if self._plan is None or self._left <= 0:
            return False
        decide = self._plan.v if self.running else self._plan.first
        return self._desk.ledger.can(self._span, decide=decide, publish=then)

    def above(self, snapshot: Snapshot, query: Query, threshold: int, then: Epsilon) -> Verdict:
        """Compare the query (one number) with ``threshold``, keeping ``then`` free for the release a yes leads to."""
        known_query(query)
        if self._plan is None or self._left <= 0:
            raise BadInput("the run of this segment is over; renew it with a plan.")
        counts, whole = self._desk.counts(snapshot), as_whole(threshold)
        plan, v, ledger = self._plan, self._plan.v, self._desk.ledger
        opening = not self.running
        if not self.can_ask(then):
            return Verdict.SKIPPED
        sensitivity = self._fixed_sensitivity(query)
        scale_of(sensitivity, plan.u.nano)  # refused now rather than when rho is drawn
        details = (self._number, query, whole, then)
        question = Question("above", scale_of(sensitivity, v.nano), 2 if opening else 1, None, details, hides=opening)
        if self._span is None:
            self._span = ledger.open(plan.opening, "decide").key
        ledger.touch(self._span)
        reserved = {"decide": v, "publish": then}
        ledger.reserve(**reserved)
        self._last = ledger.t
        above = self._desk.answer(question, lambda: self._compare(counts, query, whole, plan))
        ledger.settle(reserved, {"decide": v} if above else {})
        return self._counted_down() if above else Verdict.BELOW

    def _compare(self, counts: Ints, query: Query, threshold: int, plan: SegmentPlan) -> bool:
        noise = self._desk.noise
        if self._rho is None:
            self._rho = int(noise.laplace(scale_of(self._sensitivity, plan.u.nano), 1)[0])
        nu = int(noise.laplace(scale_of(self._sensitivity, plan.v.nano), 1)[0])
        return int(query(counts, None)[0]) + nu >= threshold + self._rho

    def _fixed_sensitivity(self, query: Query) -> int:
        """The query's sensitivity, which is that of the query that opened the run: rho was drawn for it."""
        if query.size(None, self._desk.bins) != 1:
            raise BadInput("a segment compares one number with the threshold; ask for a single number.")
        sensitivity = query.sensitivity(self._desk.model)
        if self.running and sensitivity != self._sensitivity:
            raise BadInput("all queries of a run must have one sensitivity; use a second segment.")
        self._sensitivity = sensitivity
        return sensitivity

    def _counted_down(self) -> Verdict:
        self._left -= 1
        if self._left <= 0:
            self._retire()
        return Verdict.ABOVE

    def _retire(self, last: int | None = None) -> None:
        """End the run: forget rho and close the span at the last comparison."""
        self._left, self._rho = 0, None
        if self._span is not None:
            self._desk.ledger.close(self._span, self._last if last is None else last)
            self._span = None

    def _save(self) -> tuple[dict[str, Any], dict[str, Any]]:
        plan = self._plan and [self._plan.c, self._plan.u, self._plan.v]
        public = {"plan": plan, "left": self._left, "span": self._span, "last": self._last}
        # an array, because the digits of a number would show in the length of what is sealed
        rho = np.array([] if self._rho is None else [self._rho], np.int64)
        return public | {"sensitivity": self._sensitivity}, {"rho": rho}

    def _load(self, public: dict[str, Any], sealed: dict[str, Any] | None) -> None:
        self._plan = public["plan"] and SegmentPlan(*public["plan"])
        self._left, self._span, self._last = public["left"], public["span"], public["last"]
        self._sensitivity = public["sensitivity"]
        if sealed is None:
            self._retire()
        else:
            self._rho = int(sealed["rho"][0]) if len(sealed["rho"]) else None


def as_whole(threshold: object) -> int:
    """Refuse a threshold that is not a whole number: adding rho to a large float would swallow it."""
    if isinstance(threshold, (int, np.integer)):
        return int(threshold)
    raise BadInput("a threshold is a whole number; round it up, which is public.")


@lru_cache(maxsize=64)
def _best_length(tops: int) -> int:
    """The segment length c in 1 .. tops with the least noise."""
    return min(range(1, tops + 1), key=lambda c: sum(x ** (2 / 3) for x in _load(tops, c)))


def _load(tops: int, c: int) -> tuple[int, int]:
    """How often a window of ``tops`` yeses pays u and v at most, if segments have ``c`` yeses."""
    segments = -(-(tops - 1) // c) + 1
    return segments, segments * c + tops


def _part(e: Epsilon, weight: int, cube: int) -> Epsilon:
    """e / (weight + cube ** (1/3)), rounded down, in whole numbers."""
    return Epsilon.of_nano(e.nano * DIGITS // (weight * DIGITS + _cube_root_up(cube * DIGITS**3)))


def _cube_root_up(n: int) -> int:
    """The least whole r with r**3 >= n, by Newton's method from above."""
    r = 1 << -(-n.bit_length() // 3)
    while True:
        smaller = (2 * r + n // (r * r)) // 3
        if smaller >= r:
            return r if r**3 == n else r + 1
        r = smaller
