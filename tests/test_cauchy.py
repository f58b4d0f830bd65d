"""Cauchy noise drawn exactly, what it costs, and the median it is drawn for: against definitions and other digits."""

import math
import time
from collections import Counter
from collections.abc import Iterator
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from penstock.checks.likelihood import log_of_cell
from penstock.epsilon import Epsilon
from penstock.noise import SimulationNoise
from penstock.noise.cauchy import Bounds, Coins, Scale, _tangent, calibrated, cauchy_cell, pi
from penstock.noise.digits import exp_interval
from penstock.points import FINENESS, SmoothMedian
from penstock.types import Mask

fixed = settings(derandomize=True, deadline=None, max_examples=60)
DIGITS = Context(prec=400)
Points = tuple[int, ...]


# ---- digits by other ways -------------------------------------------------------------------------------------------


@cache
def digits_of_pi() -> Decimal:
    """By the arithmetic-geometric mean."""
    with localcontext(DIGITS):
        a, b, t, p = Decimal(1), Decimal("0.5").sqrt(), Decimal("0.25"), Decimal(1)
        for _ in range(10):
            a, b, t, p = (a + b) / 2, (a * b).sqrt(), t - p * ((a - b) / 2) ** 2, 2 * p
        return (a + b) * (a + b) / (4 * t)


def arctangent(x: Fraction) -> Decimal:
    """By halving the angle until the series is short."""
    halved = 40
    with localcontext(DIGITS):
        small = Decimal(x.numerator) / x.denominator
        for _ in range(halved):
            small /= 1 + (1 + small * small).sqrt()
        terms = (Decimal(-1) ** k * small ** (2 * k + 1) / (2 * k + 1) for k in range(20))
        return sum(terms, Decimal(0)) * (1 << halved)


def place_of(size: Fraction, bits: int) -> int:
    """The first binary places of the chance that a standard Cauchy variable is no larger than ``size``."""
    with localcontext(DIGITS):
        return int(2 * arctangent(size) / digits_of_pi() * 2**bits)


def thrown(*places: int, upwards: bool = True) -> tuple[Coins, list[int]]:
    """Coins that spell binary places, 64 at a time, and a list of how many were asked for."""
    digits = "".join(f"{place:064b}" for place in places)
    coins: Iterator[bool] = iter([upwards, *(digit == "0" for digit in digits)])
    asked: list[int] = []

    def throw(number: int) -> Mask:
        asked.append(number)
        return np.array([next(coins) for _ in range(number)])

    return throw, asked


def known(scale: Fraction) -> Scale:
    return lambda bits: (scale, scale)


# ---- intervals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", [1, 7, 64, *range(192, 1000, 128)])
def test_pi(precision: int) -> None:
    with localcontext(DIGITS):
        assert 0 < digits_of_pi() * 2**precision - pi(precision) < 2


@settings(fixed, max_examples=20)
@given(st.sampled_from([64, 128, 192]), st.floats(0, 1, exclude_max=True), st.integers(-3, 3))
def test_tangents_are_enclosed(bits: int, part: float, beside: int) -> None:
    """Both bounds, and closely; near 0, near 1, and between."""
    place = min(max(int(Fraction(part) * 2**bits) + beside, 0), 2**bits - 1)
    for at in {place, 2**bits - 1 - place, 0, 1, 2**bits - 1}:
        low, high = _tangent(at, bits)
        with localcontext(DIGITS):
            for bound, side in ((low, -1), (high, 1)):
                assert (2 * arctangent(bound) / digits_of_pi() * 2**bits - at) * side >= 0
        assert 0 <= low < high
        assert high - low <= (1 + high**2) * Fraction(1, 2 ** (2 * bits + 32))


@fixed
@given(st.fractions(0, 90, max_denominator=10**20), st.sampled_from([8, 64, 192, 320]))
def test_weights_are_enclosed(x: Fraction, bits: int) -> None:
    low, high = exp_interval(x, bits)
    with localcontext(DIGITS):
        exact = (-Decimal(x.numerator) / x.denominator).exp() * 2**bits
        assert low <= exact <= high <= low + 4


# ---- drawing --------------------------------------------------------------------------------------------------------


@fixed
@given(st.fractions(Fraction(1, 50), 50, max_denominator=997), st.integers(0, 4), st.booleans())
def test_cells_begin_where_their_chances_do(scale: Fraction, steps: int, upwards: bool) -> None:
    """Just below the place of an edge it is the one cell, just above it the next; on it more coins are needed."""
    edge = (steps + Fraction(1, 2)) / scale
    place, finer = place_of(edge, 64), place_of(edge, 128) % 2**64
    way = 1 if upwards else -1
    once = [([place - 1], steps), ([place + 1], steps + 1)]
    for spelled, expected in [*once, ([place, finer - 1], steps), ([place, finer + 1], steps + 1)]:
        coins, asked = thrown(*spelled, upwards=upwards)
        assert cauchy_cell(20, known(scale), 41, coins) == 20 + way * expected
        assert asked == [1] + [64] * len(spelled)


def test_a_scale_that_is_not_known_well_is_asked_for_again() -> None:
    """The bounds of the scale are as good as the places: where they are not, more of both are needed."""
    asked: list[int] = []

    def scale(bits: int) -> Bounds:
        asked.append(bits)
        return Fraction(1) - Fraction(1, bits), Fraction(1) + Fraction(1, bits)

    def coins(number: int) -> Mask:  # v = 0.010011 = 76/256, so that |C| is 0.5027, and 127/128 of it less than a half
        return np.array([digit == "0" for digit in f"010011{0:058b}"[:number]])

    assert cauchy_cell(5, scale, 11, coins) == 6
    assert asked == [64, 128, 192]


@pytest.mark.parametrize(("upwards", "end"), [(True, 6), (False, 0)])
def test_what_is_endlessly_far_is_at_the_end(upwards: bool, end: int) -> None:
    for middle, scale in product((0, 3, 6), (Fraction(1, 10**9), Fraction(10**30))):
        coins, asked = thrown(2**64 - 1, upwards=upwards)
        assert cauchy_cell(middle, known(scale), 7, coins) == end
        assert asked == [1, 64]


@pytest.mark.parametrize(("middle", "cells", "scale"), [(0, 2, "1"), (3, 7, "0.7"), (6, 7, "9"), (1, 5, "0.05")])
def test_cells_are_as_frequent_as_they_should_be(middle: int, cells: int, scale: str) -> None:
    noise, number = SimulationNoise(7), 1500
    coins: Coins = lambda size: noise.bernoulli(Fraction(1, 2), (size,))  # noqa: E731
    drawn = Counter(cauchy_cell(middle, known(Fraction(scale)), cells, coins) for _ in range(number))
    angles = [math.atan((edge + 0.5 - middle) / float(scale)) / math.pi + 0.5 for edge in range(cells - 1)]
    chances = np.diff([0.0, *angles, 1.0])
    assert chisquare([drawn[cell] for cell in range(cells)], chances * number).pvalue > 1e-4
    told = [math.exp(log_of_cell(cell, cells, middle, float(scale))) for cell in range(cells)]
    np.testing.assert_allclose(told, chances, rtol=1e-9)


# ---- what it costs --------------------------------------------------------------------------------------------------

nanos = st.integers(1, 10**15) | st.integers(1, 15).flatmap(lambda power: st.integers(1, 10**power))


def loss(r: Decimal, d: Decimal) -> Decimal:
    """The largest ratio of two Cauchy densities of scales 1 and r whose middles lie d apart, as a logarithm."""
    excess = ((r - 1) ** 2 + d * d) / (2 * r)  # cosh - 1
    return (1 + excess + (excess * (2 + excess)).sqrt()).ln()


@fixed
@given(nanos)
def test_no_neighbours_lose_more_than_is_paid(nano: int) -> None:
    shift, rate = calibrated(Epsilon.of_nano(nano))
    with localcontext(Context(prec=120)):
        d, most = (Decimal(part.numerator) / part.denominator for part in (shift, rate))
        losses = [loss((most * k / 16).exp(), d * j / 4) for k in range(17) for j in range(5)]
        paid = Decimal(nano).scaleb(-9)
        assert max(losses) <= paid
        assert max(losses) >= min(paid, Decimal(50)) * Decimal("0.999999")
        free = (paid.exp() + (-paid).exp() - 1).ln()  # the rate that costs no shift
        assert abs(most - max(paid / 2, free)) < Decimal("1e-18") or paid > 50


@fixed
@given(nanos, nanos)
def test_more_buys_no_more_noise(one: int, other: int) -> None:
    less, more = (calibrated(Epsilon.of_nano(nano)) for nano in sorted((one, other)))
    assert less.shift <= more.shift
    assert less.rate <= more.rate


def test_from_50_on_more_buys_no_less_noise() -> None:
    assert calibrated(Epsilon(49)).shift < calibrated(Epsilon("49.5")).shift < calibrated(Epsilon(50)).shift
    assert calibrated(Epsilon(50)) == calibrated(Epsilon("50.5")) == calibrated(Epsilon(10**6))


def test_ratios_of_densities_are_what_they_are_said_to_be() -> None:
    """By looking at many places."""
    z = np.tan(np.linspace(-np.pi / 2, np.pi / 2, 200_001)[1:-1])
    for r, d in ((1.0, 0.5), (2.0, 0.0), (1.7, 1.1), (3.0, 4.0)):
        ratio = np.abs(np.log(1 / (1 + z**2)) - np.log(r / (r**2 + (z - d) ** 2))).max()
        assert ratio == pytest.approx(float(loss(Decimal(r), Decimal(d))), rel=1e-5)


# ---- the median -----------------------------------------------------------------------------------------------------


def smooth(points: Points, cells: int, reach: int, e: str) -> SmoothMedian:
    return SmoothMedian(np.array(points, np.int64), cells, reach, Epsilon(e))


def one_moved(points: Points, cells: int, reach: int) -> set[Points]:
    ways = ((i, to) for i, at in enumerate(points) for to in range(cells) if abs(to - at) <= reach)
    return {tuple(sorted((*points[:i], to, *points[i + 1 :]))) for i, to in ways}


@cache
def local_sensitivity(points: Points, cells: int, reach: int) -> int:
    middle = math.ceil(len(points) / 2) - 1
    return max(abs(points[middle] - near[middle]) for near in one_moved(points, cells, reach))


def by_definition(points: Points, cells: int, reach: int) -> list[int]:
    """The largest local sensitivity of all that differ in k points, wherever those lie; k = 0, 1, ... n."""
    found, near = [], {points}
    for _ in range(len(points) + 1):
        found.append(max(local_sensitivity(each, cells, reach) for each in near))
        near = set().union(*(one_moved(each, cells, cells) for each in near))
    return found


@pytest.mark.parametrize(("n", "cells"), [(1, 2), (1, 6), (2, 5), (3, 5), (4, 4), (5, 3)])
def test_stretches_are_local_sensitivities_further_away(n: int, cells: int) -> None:
    for reach, points in product((1, 2, cells - 1), combinations_with_replacement(range(cells), n)):
        if reach < cells:
            found = smooth(points, cells, reach, "0.001")
            assert found.moves == n
            assert found.stretches.tolist() == by_definition(points, cells, reach)
            assert found.median == points[math.ceil(n / 2) - 1]


@pytest.mark.parametrize("e", ["0.001", "0.5", "3", "20", "1000"])
def test_the_scale_is_the_largest_weighted_sensitivity(e: str) -> None:
    """Or a bit more, where so many moves are left out as no longer matter."""
    shift, rate = calibrated(Epsilon(e))
    for points in combinations_with_replacement(range(5), 4):
        with localcontext(DIGITS):
            beta, unit = (Decimal(part.numerator) / part.denominator for part in (rate, shift))
            exact = max(b * (-beta * k).exp() for k, b in enumerate(by_definition(points, 5, 3)))
            bounds = smooth(points, 5, 3, e).scale(64)
            low, high = (Decimal(bound.numerator) / bound.denominator * unit for bound in bounds)
            assert exact <= high
            assert low <= max(exact, Decimal(1) / FINENESS)
            assert high - low <= low * Decimal("1e-30")


@fixed
@given(st.lists(st.integers(0, 30), min_size=1, max_size=40), st.data())
def test_the_scale_is_smooth(row: list[int], data: st.DataObject) -> None:
    reach, e = data.draw(st.integers(1, 30)), data.draw(st.sampled_from(["0.0001", "0.1", "1", "5", "60"]))
    which, to = data.draw(st.integers(0, len(row) - 1)), data.draw(st.integers(-30, 30))
    there = min(max(row[which] + max(min(to, reach), -reach), 0), 30)
    one, other = (smooth(tuple(sorted(each)), 31, reach, e) for each in (row, [*row[:which], there, *row[which + 1 :]]))
    allowed = Fraction(2**400, exp_interval(calibrated(Epsilon(e)).rate, 400)[0])
    assert one.scale(64)[0] <= allowed * other.scale(64)[1]
    assert other.scale(64)[0] <= allowed * one.scale(64)[1]
    assert (np.diff(one.stretches) >= 0).all()
    assert abs(one.median - other.median) <= min(one.stretches[0], other.stretches[0])


@pytest.mark.parametrize("e", ["0.05", "0.7", "2", "9"])
@pytest.mark.parametrize(("n", "cells"), [(1, 7), (2, 6), (3, 5)])
def test_no_cell_tells_neighbours_apart_by_more_than_epsilon(n: int, cells: int, e: str) -> None:
    """All neighbours on a small grid; and with a quarter of the noise some do, unless the grid is too coarse for it."""
    for reach in (1, 2, cells - 1):
        logs = {}
        for points in combinations_with_replacement(range(cells), n):
            found = smooth(points, cells, reach, e)
            logs[points] = [
                np.array([log_of_cell(cell, cells, found.median, found.width * part) for cell in range(cells)])
                for part in (1, 0.25)
            ]
        pairs = [(one, other) for one in logs for other in one_moved(one, cells, reach)]
        full, narrow = (max(np.abs(logs[one][i] - logs[other][i]).max() for one, other in pairs) for i in (0, 1))
        assert full <= float(e) * (1 + 1e-9)
        assert narrow > float(e) or reach < cells - 1 or float(e) > 2


def test_it_takes_no_longer_than_it_may() -> None:
    started = time.process_time()
    found = smooth((0,) * 50_000 + (10**6,) * 50_000, 10**6 + 1, 10**6, "1e-9")
    assert found.moves <= 8192
    assert cauchy_cell(found.median, found.scale, found.cells, lambda number: np.ones(number, np.bool_)) == 0
    assert time.process_time() - started < 5


def test_the_work_is_the_same_whatever_the_points_are() -> None:
    """How long a median takes must not tell where the points lie, and every weight takes its time."""
    apart, together = (0,) * 5000 + (1000,) * 5000, (500,) * 10_000
    work = [len(smooth(points, 1001, 1000, "1e-9")._candidates) for points in (apart, together)]
    assert max(work) <= 8 * min(work)
