"""Grouping alike units on sealed values: by hand, against a slow model, and what a pattern of groups can tell."""

import itertools
import math
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.charges import Fact, Point
from penstock.codec import decode, encode
from penstock.curator import Curator
from penstock.epsilon import NANO, Epsilon
from penstock.errors import BadInput, BudgetExceeded, OutOfOrder
from penstock.models import WEvent
from penstock.noise import ScriptedNoise
from penstock.primitives.grouper import Grouper
from penstock.types import Floats, Ints, Snapshot

fixed = settings(derandomize=True, deadline=None, max_examples=150)
GRID = 64


class Logged(ScriptedNoise):
    """A script that remembers which scale each value was drawn with."""

    def __init__(self, values: Sequence[int] = ()) -> None:
        super().__init__(values)
        self.scales: list[Fraction] = []

    def laplace_each(self, scales: Sequence[Fraction], which: NDArray[np.intp]) -> Ints:
        self.scales += [scales[i] for i in which]
        return super().laplace_each(scales, which)


class Bench:
    """A grouper, a script, and a journal."""

    def __init__(self, bins: int, script: Sequence[int] = (), e: Any = 0.1, longest: int = 64, **options: Any) -> None:
        self.noise = Logged(script)
        self.journal: list[Fact] = []
        model = WEvent(epsilon=1, w=2, **options)
        self.curator = Curator(model, bins, noise=self.noise, journal=self.journal.append)
        self.grouper: Grouper = self.curator.grouper(Epsilon(e), longest)
        self.t = 0

    def extend(self, counts: Sequence[int], threshold: Any = 3) -> list[bool]:
        self.t += 1
        snapshot = Snapshot(self.t, counts)
        self.curator.begin_unit(snapshot)
        joined: list[bool] = self.grouper.extend(snapshot, np.broadcast_to(threshold, len(counts))).tolist()
        return joined

    def state(self) -> tuple[list[int], list[bool]]:
        return self.grouper.length.tolist(), self.grouper.open.tolist()


def test_a_walk_by_hand() -> None:
    """Two bins, threshold 3 (192 on the grid); a group closes when its deviation, with noise, reaches the limit."""
    bench = Bench(2, [10, 0, 73, 192, 0, -5, 0, 186])
    assert bench.extend((10, 5)) == [True, True]  # both open, with threshold noise 10 and 0
    assert bench.state() == ([1, 1], [True, True])
    # first bin: |10 - 12| is 128 on the grid, 128 + 73 < 192 + 10 joins; second: 0 + 192 < 192 + 0 does not
    assert bench.extend((12, 5)) == [True, False]
    assert bench.state() == ([2, 1], [True, False])
    # first bin: 10, 12, 30 stray by 76/3, no; second: its rejected unit was a group of its own, so a group opens
    assert bench.extend((30, 5)) == [False, True]
    assert bench.state() == ([1, 1], [False, True])
    # first bin opens anew; second: 0 + 186 < 192 - 5 joins
    assert bench.extend((30, 5)) == [True, True]
    assert bench.state() == ([1, 2], [True, True])
    assert bench.noise.left == 0


def test_every_unit_costs_e_and_the_noise_follows_from_it() -> None:
    """Threshold noise of scale D / (e/2) where a bin opens, query noise of scale D / (e/4) where it compares."""
    bench = Bench(2, [0, 0, 0, 10**6], e="0.1", neighbours="replace")
    for _ in range(3):
        bench.extend((5, 5))
    spread = Fraction(2 * (2 * GRID + 1))
    low, high = spread * NANO / 50_000_000, spread * NANO / 25_000_000
    assert bench.noise.scales == [low, low, high, high, high, low]
    assert bench.journal == [Point(t, Epsilon(0.1), "monitor") for t in (1, 2, 3)]


def test_parts_of_e_are_rounded_down() -> None:
    """The noise is what e/2 and e/4 buy in whole nano-epsilon: never less than was paid for."""
    bench = Bench(1, e="0.000000007")
    bench.extend([5]), bench.extend([5])
    assert bench.noise.scales == [Fraction(129 * NANO, 3), Fraction(129 * NANO, 1)]
    with pytest.raises(BadInput, match="at least one nano-epsilon"):
        Bench(1, e="0.000000003")


@pytest.mark.parametrize("longest", [1, 2, 3])
def test_a_group_of_the_largest_length_is_closed(longest: int) -> None:
    """The next unit opens another; a longest length of 1 means that nothing is ever compared."""
    bench = Bench(1, longest=longest)
    walked = []
    for _ in range(7):
        assert bench.extend([5]) == [True]
        walked.append(bench.state())
    assert walked == [([t % longest + 1], [t % longest + 1 < longest]) for t in range(7)]
    assert len(set(bench.noise.scales)) == min(longest, 2)
    with pytest.raises(BadInput, match="max_length must be a whole number of 1 or more"):
        Bench(1, longest=0)


def test_a_retired_grouper_starts_anew() -> None:
    """Members and threshold noise are forgotten; what was paid stays paid."""
    bench = Bench(1, [-(10**6), 0, 0])
    bench.extend([5])
    bench.curator.retire()
    assert bench.state() == ([1], [False])
    assert bench.extend([500]) == [True]  # under the old threshold noise, and with 5 in the group, it would not
    assert bench.curator.remaining() == Epsilon(0.8)


def test_what_cannot_be_paid_or_is_not_now_is_refused() -> None:
    """Nothing is drawn and no group moves."""
    bench = Bench(1, [1, 2, 3], e=0.6)
    bench.extend([5])
    state = bench.state()
    with pytest.raises(BudgetExceeded, match=r"0\.6 for monitor at t=2"):
        bench.extend([5])
    with pytest.raises(OutOfOrder):
        bench.grouper.extend(Snapshot(1, [5]), [3])
    assert (bench.noise.left, bench.state()) == (2, state)


@pytest.mark.parametrize("threshold", [1e17, 1e30, float("inf")])
@pytest.mark.parametrize("rho", [-5, 5])
def test_no_threshold_is_too_high(threshold: float, rho: int) -> None:
    """Above every deviation means: always join, whatever the threshold noise."""
    bench = Bench(1, [rho, 0])
    assert bench.extend([5], threshold) == [True]
    assert bench.extend([9], threshold) == [True]


@pytest.mark.parametrize("shape", [(3,), (2, 1), (2, 2), (1, 2)])
def test_thresholds_are_one_a_bin(shape: tuple[int, ...]) -> None:
    """Refused before anything is paid: a table would compare one noisy value with several thresholds."""
    bench, snapshot = Bench(2), Snapshot(1, [5, 5])
    bench.curator.begin_unit(snapshot)
    with pytest.raises(BadInput):
        bench.grouper.extend(snapshot, np.ones(shape))
    assert bench.curator.remaining() == Epsilon(1)


def test_writing_to_the_public_arrays_buys_nothing() -> None:
    """``open`` is for looking at: a group that has closed stays closed, or one threshold noise would serve twice."""
    bench = Bench(1, [0, 10**6])
    bench.extend([5]), bench.extend([5])
    with suppress(ValueError):
        bench.grouper.open[:] = True
    bench.extend([5])
    assert bench.noise.scales[2] == bench.noise.scales[0] != bench.noise.scales[1]


class Slow:
    """One bin's groups, in fractions."""

    def __init__(self, longest: int) -> None:
        self.longest, self.group, self.open, self.rho = longest, [0], False, 0

    def extend(self, count: int, threshold: Fraction, noise: int) -> bool:
        if not self.open:
            self.group, self.rho, self.open = [count], noise, self.longest > 1
            return True
        grown = [*self.group, count]
        mean = Fraction(sum(grown), len(grown))
        astray = math.floor(GRID * sum(abs(c - mean) for c in grown))
        joined = astray + noise < math.ceil(threshold * GRID) + self.rho
        self.group = grown if joined else [count]
        self.open = joined and len(grown) < self.longest
        return joined


steps = st.lists(
    st.tuples(*[st.lists(st.integers(*bounds), min_size=2, max_size=2) for bounds in ((0, 9), (0, 24), (-300, 300))]),
    max_size=20,
)


@fixed
@given(steps, st.integers(1, 4), st.integers(0, 20))
def test_groups_are_those_of_the_slow_model(schedule: list[Any], longest: int, restart: int) -> None:
    """Random counts, thresholds (in quarters) and noise; a restart in between changes nothing."""
    bench = Bench(2, [value for _, _, noise in schedule for value in noise], longest=longest)
    slow = [Slow(longest), Slow(longest)]
    for number, (counts, quarters, noise) in enumerate(schedule):
        if number == restart:
            bench.grouper._load(*decode(encode(bench.grouper._save())))
        expected = [slow[j].extend(counts[j], Fraction(quarters[j], 4), noise[j]) for j in range(2)]
        assert bench.extend(counts, np.array(quarters) / 4) == expected
        assert bench.state() == ([len(one.group) for one in slow], [one.open for one in slow])


def laplace(scale: float, k: Ints) -> Floats:
    """The discrete Laplace's probabilities."""
    q = math.exp(-1 / scale)
    return np.asarray((1 - q) / (1 + q) * np.exp(-np.abs(k) / scale))


def below(scale: float, k: Ints) -> Floats:
    """P(nu < k) under the discrete Laplace."""
    q = math.exp(-1 / scale)
    return np.where(k > 0, 1 - q ** np.maximum(k, 0) / (1 + q), q ** np.maximum(1 - k, 0) / (1 + q))


def chance(joined: tuple[bool, ...], counts: list[int], e: float, limit: int) -> float:
    """The probability of a pattern of joins, group by group, summed over each group's threshold noise."""
    spread = 2 * GRID + 1
    rho = np.arange(-30 * int(spread / e), 30 * int(spread / e) + 1)
    total, first = 1.0, 0
    while first < len(counts):
        inside, last = laplace(2 * spread / e, rho), first
        while last + 1 < len(counts) and (last == first or joined[last]):
            last += 1
            mean = Fraction(sum(counts[first : last + 1]), last + 1 - first)
            astray = math.floor(GRID * sum(abs(c - mean) for c in counts[first : last + 1]))
            joins = below(4 * spread / e, limit + rho - astray)
            inside = inside * (joins if joined[last] else 1 - joins)
        total *= float(inside.sum())
        first = last + 1
    return total


@pytest.mark.parametrize("e", [1.0, 3.0])
def test_no_pattern_of_groups_tells_more_than_e_about_a_unit(e: float) -> None:
    """One record more or less in one of four units: every unit takes part in one series, which costs e."""
    counts, limit = [5, 9, 2, 7], 4 * GRID
    patterns = [(True, *rest) for rest in itertools.product([True, False], repeat=3)]
    possible = [p for p in patterns if all(p[i] or p[i - 1] for i in range(1, 4))]  # who opens a group always joins
    assert sum(chance(pattern, counts, e, limit) for pattern in possible) == pytest.approx(1, abs=1e-6)
    worst = 0.0
    for unit, move, pattern in itertools.product(range(4), (-1, 1), possible):
        other = [count + move * (t == unit) for t, count in enumerate(counts)]
        worst = max(worst, abs(math.log(chance(pattern, counts, e, limit) / chance(pattern, other, e, limit))))
    assert 0.1 * e < worst <= e
