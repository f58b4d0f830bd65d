"""Sparse-vector segments: plans, charges, comparisons under a script, and the loss lemma in exact numbers."""

import itertools
import math
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.charges import Fact, Point, Span
from penstock.curator import Curator
from penstock.epsilon import NANO, Epsilon
from penstock.errors import BadInput, OutOfOrder
from penstock.models import EventLevel, WEvent
from penstock.noise import ScriptedNoise
from penstock.primitives.segment import Segment, SegmentPlan, Verdict
from penstock.queries import Counts, Distance, Query
from penstock.types import Floats, Ints, Snapshot

fixed = settings(derandomize=True, deadline=None, max_examples=200)
SKIPPED, BELOW, ABOVE = Verdict.SKIPPED, Verdict.BELOW, Verdict.ABOVE

TABLE = {1: 1, 2: 1, 3: 2, 5: 2, 10: 3, 20: 5, 30: 10, 60: 12, 120: 17}  # tops: yeses of a run
budgets = st.integers(10**6, 10**15).map(Epsilon.of_nano)
tops = st.integers(1, 300)
PLAN = SegmentPlan(2, Epsilon(0.2), Epsilon(0.1))


def load(tops: int, c: int) -> tuple[int, int]:
    """A and B of P3: how often a window of ``tops`` yeses pays u and v, with segments of c yeses."""
    segments = math.ceil(Fraction(tops - 1, c)) + 1
    return segments, segments * c + tops


class Logged(ScriptedNoise):
    """A script that remembers the scales it was asked for."""

    def __init__(self, values: list[int]) -> None:
        super().__init__(values, strict=True)
        self.scales: list[Fraction] = []

    def laplace(self, scale: Fraction, size: int) -> Ints:
        self.scales.append(scale)
        return super().laplace(scale, size)


class Bench:
    """One bin, a segment, a script, and a journal."""

    def __init__(self, script: list[int], plan: SegmentPlan | None = PLAN, w: int = 3) -> None:
        self.noise = Logged(script)
        self.journal: list[Fact] = []
        self.curator = Curator(WEvent(epsilon=1, w=w), 1, noise=self.noise, journal=self.journal.append)
        self.segment: Segment = self.curator.segment(plan)
        self.t = 0

    def unit(self, count: int = 0) -> Snapshot:
        self.t += 1
        snapshot = Snapshot(self.t, [count])
        self.curator.begin_unit(snapshot)
        return snapshot

    def above(self, count: int, threshold: int = 10, then: float = 0) -> Verdict:
        return self.segment.above(self.unit(count), Distance([0]), threshold, then=Epsilon(then))


def test_the_best_lengths_are_the_least_noisy_ones() -> None:
    """C -> c, and the split for C = 1."""
    assert {tops: SegmentPlan.windowed(tops, Epsilon(1)).c for tops in TABLE} == TABLE
    plan = SegmentPlan.windowed(1, Epsilon(1))
    assert (round(float(plan.u), 4), round(2 * float(plan.v), 4)) == (0.3865, 0.6135)


@fixed
@given(tops, budgets)
def test_a_windowed_plan_costs_at_most_its_budget_and_is_the_best_there_is(tops: int, e: Epsilon) -> None:
    """A u + B v <= e exactly, and u and v are the real-number optimum to 2 nano-epsilon."""
    plan = SegmentPlan.windowed(tops, e)
    a, b = load(tops, plan.c)
    assert (plan.u * a + plan.v * b) <= e
    assert plan.opening == plan.u + plan.v * plan.c
    with localcontext() as context:
        context.prec = 60
        third, whole = Decimal(1) / 3, Decimal(e.nano)
        weights = {c: sum(Decimal(x) ** (2 * third) for x in load(tops, c)) for c in range(1, tops + 1, 1 + tops // 40)}
        best = sum(Decimal(x) ** (2 * third) for x in (a, b))
        assert best <= min(weights.values()) * (1 + Decimal("1e-12"))
        assert 0 <= whole / best / Decimal(a) ** third - plan.u.nano < 2
        assert 0 <= whole / best / Decimal(b) ** third - plan.v.nano < 2


@fixed
@given(tops, budgets)
def test_a_plan_for_a_whole_horizon_costs_at_most_its_budget(tops: int, e: Epsilon) -> None:
    """u + 2 c v <= e exactly, split as 1 : (2 c)^(2/3) to 2 nano-epsilon."""
    plan = SegmentPlan.whole_horizon(tops, e)
    assert plan.c == tops
    assert plan.u + plan.v * (2 * tops) <= e
    with localcontext() as context:
        context.prec = 60
        part = Decimal(2 * tops) ** (Decimal(2) / 3)
        assert 0 <= e.nano / (1 + part) - plan.u.nano < 2
        assert 0 <= e.nano * part / (1 + part) / (2 * tops) - plan.v.nano < 2


@pytest.mark.parametrize(("e", "u", "v"), [("1", "0.2", "0.1"), ("0.7", "0.14", "0.07")])
def test_where_cube_roots_are_whole_nothing_is_lost_by_rounding(e: str, u: str, v: str) -> None:
    """Four yeses: u : 8 v = 1 : 4, and 8 v is four fifths of epsilon."""
    assert SegmentPlan.whole_horizon(4, Epsilon(e)) == SegmentPlan(4, Epsilon(u), Epsilon(v))


@pytest.mark.parametrize(("c", "u", "v"), [(0, 1, 1), (-1, 1, 1), (1, 0, 1), (1, 1, 0), (1.0, 1, 1)])
def test_a_plan_without_yeses_or_without_noise_is_refused(c: int, u: int, v: int) -> None:
    """Nothing spent would mean nothing drawn."""
    with pytest.raises(BadInput, match=r"whole number of 1 or more|at least one nano-epsilon"):
        SegmentPlan(c, Epsilon(u), Epsilon(v))


@fixed
@given(*[st.integers(-50, 50)] * 3, st.integers(0, 50))
def test_the_comparison_is_at_or_above_the_noisy_threshold(rho: int, nu: int, threshold: int, count: int) -> None:
    """A yes if and only if q + nu >= T + rho; noise of scales D/u and D/v, drawn in this order."""
    bench = Bench([rho, nu])
    assert bench.above(count, threshold) is (ABOVE if count + nu >= threshold + rho else BELOW)
    assert bench.noise.scales == [Fraction(NANO, PLAN.u.nano), Fraction(NANO, PLAN.v.nano)]


def test_scales_follow_the_sensitivity_of_the_query() -> None:
    """Replace doubles them, several records a unit multiply them."""
    noise = Logged([0, 0])
    curator = Curator(EventLevel(epsilon=1, neighbours="replace", per_unit=3), 1, noise=noise)
    segment, snapshot = curator.segment(PLAN), Snapshot(1, [0])
    curator.begin_unit(snapshot)
    segment.above(snapshot, Distance([0]), 1, then=Epsilon(0))
    assert noise.scales == [Fraction(6) / Fraction("0.2"), Fraction(6) / Fraction("0.1")]


def test_a_run_pays_its_opening_once_v_for_every_yes_and_nothing_for_a_no() -> None:
    """rho is drawn once a run; the run is over with its last yes, and its span closes there."""
    bench = Bench([0, 0, 0, 0, 0], w=10)
    verdicts = [bench.above(count) for count in (3, 12, 4, 15)]
    assert verdicts == [BELOW, ABOVE, BELOW, ABOVE]
    assert (bench.segment.left, bench.segment.running) == (0, False)
    decide = [Point(2, Epsilon(0.1), "decide"), Point(4, Epsilon(0.1), "decide")]
    opened = Span(1, None, Epsilon(0.4), "decide", 0)
    assert bench.journal == [opened, *decide, Span(1, 4, Epsilon(0.4), "decide", 0)]
    assert bench.curator.remaining() == Epsilon(0.4)
    assert len(bench.noise.scales) == 5


def test_what_cannot_be_paid_is_skipped_without_a_trace() -> None:
    """Opening, v and the release that may follow must all fit; a skipped comparison draws and spends nothing."""
    bench = Bench([0, 0])
    assert bench.above(99, then=0.6) is SKIPPED
    assert (bench.noise.scales, bench.journal, bench.segment.running) == ([], [], False)
    assert bench.curator.remaining() == Epsilon(1)
    assert bench.above(0, then=0.5) is BELOW
    assert bench.curator.remaining() == Epsilon(0.6)


def test_a_no_gives_back_what_was_kept_free_and_a_yes_leaves_it_free() -> None:
    """``then`` is never charged by the comparison itself, but it can always be spent after a yes."""
    bench = Bench([0, 0, 0, 0])
    assert bench.above(0, then=0.5) is BELOW
    assert bench.curator.remaining() == Epsilon(0.6)
    assert bench.above(50, then=0.5) is ABOVE
    assert bench.curator.remaining("publish") == Epsilon(0.5)
    bench.curator.ask(Snapshot(2, [50]), Counts(), Epsilon(0.5))
    assert bench.above(50, then=0) is SKIPPED  # nothing remains for v until the window has moved on


def test_the_span_closes_at_the_last_comparison_not_at_the_retirement() -> None:
    """Units after the last comparison were never read."""
    bench = Bench([0, 0, 0])
    bench.above(0), bench.above(0)
    bench.unit(), bench.unit()
    bench.segment.retire()
    assert bench.journal[-1] == Span(1, 2, Epsilon(0.4), "decide", 0)
    bench.unit()
    assert bench.curator.remaining() == Epsilon(1)


def test_rho_is_fixed_within_a_run_and_drawn_anew_for_the_next() -> None:
    """A second run has a threshold noise of its own."""
    bench = Bench([5, 0, 0, 0, -5, 0], SegmentPlan(1, Epsilon(0.1), Epsilon(0.1)), w=1)
    assert [bench.above(14), bench.above(14), bench.above(15)] == [BELOW, BELOW, ABOVE]
    with pytest.raises(BadInput, match="the run of this segment is over; renew it"):
        bench.above(15)
    bench.segment.renew(SegmentPlan(1, Epsilon(0.2), Epsilon(0.1)))
    assert bench.above(5) is ABOVE
    assert [float(scale) for scale in bench.noise.scales] == [10, 10, 10, 10, 5, 10]


def test_a_segment_is_renewed_between_runs_only() -> None:
    """Before the first run, after a run, never inside; without a plan nothing can be compared."""
    bench = Bench([0, 0], None)
    with pytest.raises(BadInput, match="renew it with a plan"):
        bench.above(0)
    bench.segment.renew(SegmentPlan(1, Epsilon(0.3), Epsilon(0.3)))
    bench.segment.renew(PLAN)
    assert (bench.segment.left, bench.segment.plan) == (2, PLAN)
    bench.above(0)
    with pytest.raises(BadInput, match="renewed between two runs"):
        bench.segment.renew(PLAN)


class Doubled(Distance):
    """A question that a record moves by two, as if the kernel had one."""

    __module__ = "penstock.queries"

    def sensitivity(self, model: object) -> int:
        return 2


@pytest.mark.parametrize(("query", "wrong"), [(Doubled([0]), "one sensitivity"), (Distance([0, 0]), "one entry a bin")])
def test_a_question_that_does_not_belong_to_the_run_is_refused_unpaid(query: Query, wrong: str) -> None:
    """rho was drawn for one sensitivity; and a refusal draws and spends nothing."""
    bench = Bench([0, 0])
    bench.above(0)
    before, snapshot = bench.curator.remaining(), bench.unit()
    with pytest.raises(BadInput, match=wrong):
        bench.segment.above(snapshot, query, 10, then=Epsilon(0.1))
    assert bench.curator.remaining() == before
    assert len(bench.noise.scales) == 2


def test_another_unit_cannot_be_compared_and_asking_costs_nothing() -> None:
    """What is refused is neither drawn nor set aside."""
    bench = Bench([0, 0])
    old = bench.unit()
    bench.unit()
    with pytest.raises(OutOfOrder, match="only the current unit, t=2"):
        bench.segment.above(old, Distance([0]), 10, then=Epsilon(0.5))
    assert bench.noise.scales == []
    assert bench.curator.remaining() == Epsilon(1)


def laplace(scale: float, k: Ints) -> Floats:
    """The discrete Laplace's probabilities."""
    q = math.exp(-1 / scale)
    return np.asarray((1 - q) / (1 + q) * np.exp(-np.abs(k) / scale))


def at_least(scale: float, k: Ints) -> Floats:
    """P(nu >= k) under the discrete Laplace."""
    q = math.exp(-1 / scale)
    return np.where(k > 0, q ** np.maximum(k, 0) / (1 + q), 1 - q ** np.maximum(1 - k, 0) / (1 + q))


def patterns(steps: int, c: int) -> Iterator[tuple[bool, ...]]:
    """Every way a run of ``steps`` comparisons can go: it stops at its c-th yes."""
    for pattern in itertools.product([False, True], repeat=steps):
        stop = next((i + 1 for i in range(steps) if sum(pattern[: i + 1]) == c), steps)
        if not any(pattern[stop:]):
            yield pattern[:stop]


def chance(pattern: tuple[bool, ...], queries: tuple[int, ...], u: float, v: float, reach: int = 800) -> float:
    """The probability of a pattern of yeses at threshold 0, summed over rho."""
    rho = np.arange(-reach, reach + 1)
    product = laplace(1 / u, rho)
    for yes, query in zip(pattern, queries, strict=False):
        above = at_least(1 / v, rho - query)
        product = product * (above if yes else 1 - above)
    return float(product.sum())


@pytest.mark.parametrize(("c", "u", "v"), [(1, 0.5, 0.25), (1, 0.1, 0.9), (2, 0.3, 0.2), (2, 1.0, 0.5), (3, 0.4, 0.4)])
def test_no_pattern_tells_more_than_the_lemma_says(c: int, u: float, v: float) -> None:
    """For neighbours that differ in W, the loss is at most u + 2v a yes in W + v a yes outside: what W is charged."""
    queries, steps = (2, -3, 0, 4), 4
    worst = 0.0
    for first, last in itertools.combinations(range(steps + 1), 2):  # W: comparisons first .. last - 1
        for moves in itertools.product([-1, 1], repeat=last - first):
            moved = (0,) * first + moves + (0,) * (steps - last)
            other = tuple(q + move for q, move in zip(queries, moved, strict=True))
            for pattern in patterns(steps, c):
                inside = sum(pattern[first:last])
                bound = u + 2 * v * inside + v * (sum(pattern) - inside) if len(pattern) > first else 0
                loss = math.log(chance(pattern, queries, u, v) / chance(pattern, other, u, v))
                assert loss <= bound + 1e-9
                assert bound <= (u + c * v) + v * inside + 1e-9  # the span, and the points in W
                worst = max(worst, loss / (u + 2 * v * c))
    assert worst > 0.5  # the bound is no idle one


@pytest.mark.parametrize("threshold", [float(2**60), 0.5, "3"])
def test_a_threshold_that_is_not_whole_is_refused_unpaid(threshold: Any) -> None:
    """Added to a large float, rho would be rounded away."""
    bench = Bench([0, 0])
    snapshot = bench.unit()
    with pytest.raises(BadInput, match="a threshold is a whole number"):
        bench.segment.above(snapshot, Distance([0]), threshold, then=Epsilon(0))
    assert bench.curator.remaining() == Epsilon(1)
    assert bench.noise.scales == []
