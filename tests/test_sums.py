"""Sliding sums from a measurement of every unit: what they are under one way to move, and what they are worth."""

import math
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.primitives.sums import SlidingSums, Sums
from penstock.primitives.ways import Way, Ways
from penstock.types import Floats

WIDTH = 15
WAVE = np.sin(np.arange(400) / 4)


def only(level: float, around: float, *, spikes: float = 0.0, jumps: float = 0.0, velocity: float = 0.0) -> Ways:
    return Ways.of([Way("trend" if velocity else "walk", level, around, spikes, jumps, velocity)])


def update(estimator: SlidingSums, measured: Floats) -> Sums:
    """A reading of a unit in every bin."""
    estimator.advance()
    everywhere = np.ones(len(measured), np.bool_)
    return estimator.read(measured, np.ones_like(measured), everywhere, ~everywhere)


def run(estimator: SlidingSums, measured: Floats) -> Sums:
    found = [update(estimator, row) for row in measured]
    return Sums(np.array([each.mean for each in found]), np.array([each.deviation for each in found]))


def sliding(counts: Floats, width: int) -> Floats:
    total = np.cumsum(counts, axis=0)
    total[width:] -= total[:-width].copy()
    return total


def noisy(counts: Floats, seed: int) -> Floats:
    noise: Floats = np.random.default_rng(seed).laplace(size=counts.shape)
    return counts + noise


def dense(measured: Floats, width: int, level: float, around: float, velocity: float) -> tuple[float, float]:
    """The last sum and its variance, from the normal distribution of all units together."""
    steps = len(measured)
    state = np.diag([1e9, 4 * velocity])  # of level and velocity at the first unit
    move = np.array([[1, 0.97], [0, 0.97]])
    states = [state]
    for _ in range(steps - 1):
        states.append(move @ states[-1] @ move.T + np.diag([level, velocity]))
    powers = [np.linalg.matrix_power(move, gap) for gap in range(steps)]
    units = np.array([[(powers[abs(i - j)] @ states[min(i, j)])[0, 0] for j in range(steps)] for i in range(steps)])
    units += around * np.eye(steps)
    gain = np.linalg.solve(units + 2 * np.eye(steps), units)
    last = (np.arange(steps) >= steps - width).astype(float)
    return float(last @ gain.T @ measured), float(last @ (units - units @ gain) @ last)


@pytest.mark.parametrize(("level", "around", "velocity"), [(900.0, 400.0, 0.0), (400.0, 900.0, 400.0)])
@pytest.mark.parametrize("width", [1, 4])
def test_where_noise_may_as_well_be_normal_it_is_the_smoother_of_all_units_together(
    level: float, around: float, velocity: float, width: int
) -> None:
    measured = 1e4 + np.random.default_rng(1).normal(scale=50, size=9)
    ways = only(level, around, velocity=velocity)
    found = run(SlidingSums(1, width, seasons=False, ways=ways), measured[:, np.newaxis])
    mean, variance = dense(measured, width, level, around, velocity)
    assert found.mean[-1, 0] == pytest.approx(mean, rel=1e-7)
    assert found.deviation[-1, 0] == pytest.approx(math.sqrt(variance), rel=1e-5)


@settings(max_examples=25, deadline=None)
@given(
    surprise=st.floats(-40, 40),
    level=st.floats(0.01, 20),
    around=st.floats(0.05, 20),
    spikes=st.floats(0, 0.1),
    jumps=st.floats(0, 0.1),
)
def test_the_second_unit_corrects_the_first_as_by_integration(
    surprise: float, level: float, around: float, spikes: float, jumps: float
) -> None:
    """After a first measurement the level is normal, and moves with the first count."""
    first = 1000.0
    whole = 2 + around + level + around  # the variance of the second count
    counts = np.linspace(-60, 60, 400_001)
    likely = np.exp(-(counts**2) / (2 * whole) - np.abs(surprise - counts)) / np.sqrt(2 * np.pi * whole) / 2
    stayed = likely.sum() * (counts[1] - counts[0])
    mean = (likely * counts).sum() / likely.sum()
    spread = (likely * (counts - mean) ** 2).sum() / likely.sum()
    along = 1 + 2 / whole  # the first count and its level have covariance 2: by so much a sum moves with the second
    size = math.log1p(abs(surprise))
    wild = (surprise**2 / (surprise**2 + 64)) ** 2 / (2 * math.exp(size) * (1 + size) ** 2)
    shares = np.array([(1 - spikes - jumps) * stayed, (spikes + jumps) * wild])
    shares /= shares.sum()
    means = np.array([along * mean, surprise])
    spreads = np.array([2 - 4 / whole + along**2 * spread, 4.0])  # apart, both counts are only as measured
    expected = shares @ means
    ways = only(level, around, spikes=spikes, jumps=jumps)
    found = run(SlidingSums(1, 2, seasons=False, ways=ways), np.array([[first], [first + surprise]]))
    assert found.mean[-1, 0] - 2 * first == pytest.approx(expected, abs=2e-3)
    assert found.deviation[-1, 0] ** 2 == pytest.approx(shares @ (spreads + (means - expected) ** 2), rel=2e-3)


def walk(seed: int, step: float) -> Floats:
    moves: Floats = np.random.default_rng(seed).normal(scale=step, size=(400, 3))
    return 500 + np.cumsum(moves, axis=0)


ACTIVE = {
    "a fast walk": walk(1, 10),
    "a slow walk": walk(2, 1),
    "drawn anew": np.random.default_rng(3).uniform(0, 100, (400, 3)),
    "waves": 100 * (1.5 + WAVE[:, np.newaxis] * np.ones(3)),
    "weekends": np.where(np.arange(400) % 7 < 5, 60.0, 10.0)[:, np.newaxis] * np.ones(3),
    "millions": 1e7 * np.random.default_rng(4).lognormal(size=(400, 3)),
}


def relative_error(counts: Floats, found: Sums, measured: Floats, width: int = WIDTH) -> float:
    """Squared errors, over those of measurements that are summed and cut off at 0."""
    truth = sliding(counts, width)
    published = np.maximum(sliding(measured, width), 0)
    return float(np.square(found.mean - truth).sum() / np.square(published - truth).sum())


@pytest.mark.parametrize("name", ACTIVE)
@pytest.mark.parametrize("width", [1, WIDTH])
def test_it_is_hardly_ever_worse_than_a_sum_of_measurements(name: str, width: int) -> None:
    measured = noisy(ACTIVE[name], 5)
    found = run(SlidingSums(3, width), measured)
    assert relative_error(ACTIVE[name], found, measured, width) < 1.08


def test_estimates_that_measurements_keep_contradicting_are_given_up() -> None:
    """One day of the week is off by what noise may be as well, for ten weeks at a time: no way to move sees to that."""
    days = np.arange(700) % 7
    off = np.where(days == 0, np.where(np.arange(700) // 70 % 2, 6.0, -6.0), 0.0)
    counts = (60 + 30 * np.sin(2 * np.pi * days / 7) + off)[:, np.newaxis] * np.ones(2)
    measured = noisy(counts, 13)
    found, late = run(SlidingSums(2, WIDTH), measured), slice(350, None)
    truth = sliding(counts, WIDTH)[late]
    errors = np.square(found.mean[late] - truth).mean(), np.square(sliding(measured, WIDTH)[late] - truth).mean()
    assert errors[0] < 1.2 * errors[1]
    assert np.square(found.deviation[late]).mean() > 0.5 * errors[0]


def test_it_is_far_better_where_bins_are_small_or_still() -> None:
    rng = np.random.default_rng(6)
    counts: Floats = rng.poisson(rng.lognormal(-2, 1.5, 40), (400, 40)) * np.float64(0.1)
    counts[:, :3] = 50
    measured = noisy(counts, 7)
    found = run(SlidingSums(40, WIDTH), measured)
    assert relative_error(counts, found, measured) < 0.15
    inside = np.abs(found.mean - sliding(counts, WIDTH)) <= 1.96 * found.deviation
    assert 0.9 < inside.mean() < 1


def test_a_spike_is_in_every_sum_that_it_belongs_to_and_forgotten_after_that() -> None:
    counts = np.full((120, 1), 5.0)
    counts[60] = 300
    measured = noisy(counts, 8)
    found = run(SlidingSums(1, WIDTH), measured)
    off = np.abs(found.mean - sliding(counts, WIDTH))[:, 0]
    assert off[60 : 60 + WIDTH].max() < 12
    assert off[60 + WIDTH :].max() < 6
    assert np.all(found.deviation[60 : 60 + WIDTH] < 8)


def test_sums_before_a_jump_stay_and_sums_after_it_are_of_the_new_level() -> None:
    counts = np.where(np.arange(160) < 100, 200.0, 20.0)[:, np.newaxis]
    found = run(SlidingSums(1, WIDTH), noisy(counts, 9))
    off = np.abs(found.mean - sliding(counts, WIDTH))[:, 0]
    assert off[98:].max() < 12
    assert off[-20:].mean() < 5


def test_a_cycle_of_a_public_period_is_learnt() -> None:
    counts = 60 * (1.2 + np.sin(2 * np.pi * np.arange(500) / 24))[:, np.newaxis]
    measured = noisy(counts, 10)
    learnt = run(SlidingSums(1, WIDTH), measured)
    without = run(SlidingSums(1, WIDTH, seasons=False), measured)
    half = slice(250, None)
    truth = sliding(counts, WIDTH)[half]
    assert np.square(learnt.mean[half] - truth).mean() < 0.5 * np.square(without.mean[half] - truth).mean()


def test_bins_that_are_alike_help_each_other() -> None:
    counts = np.zeros((60, 60))
    measured = noisy(counts, 11)
    together = run(SlidingSums(60, WIDTH), measured).mean
    alone = run(SlidingSums(60, WIDTH, pooling=False, shrinking=False), measured).mean
    assert np.square(together).mean() < 0.5 * np.square(alone).mean()


@settings(max_examples=15, deadline=None)
@given(
    bins=st.sampled_from([1, 9]),
    width=st.integers(1, 6),
    before=st.integers(0, 20),
    scale=st.sampled_from([0.1, 30.0, 1e6]),
    seed=st.integers(0, 99),
)
def test_a_saved_one_goes_on_exactly_as_if_nothing_had_happened(
    bins: int, width: int, before: int, scale: float, seed: int
) -> None:
    measured = noisy(np.random.default_rng(seed).exponential(scale, (before + 20, bins)), seed)
    whole = SlidingSums(bins, width)
    run(whole, measured[:before])
    again = SlidingSums(bins, width)
    saved = deepcopy(whole.save())
    sizes = {name: np.size(value) for name, value in saved.items()}
    expected = run(whole, measured[before:])
    again.load(saved)
    found = run(again, measured[before:])
    assert np.array_equal(found.mean, expected.mean)
    assert np.array_equal(found.deviation, expected.deviation)
    assert sizes == {name: np.size(value) for name, value in whole.save().items()}  # however many units have passed


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from([0.0, -3.0, 7.5, 40.0, 1e4, 1e9, -1e6]), min_size=1, max_size=25))
def test_whatever_is_measured_sums_are_numbers_and_not_negative(values: list[float]) -> None:
    found = run(SlidingSums(9, 3), np.outer(values, np.linspace(0, 1, 9)))
    assert np.isfinite(found.mean).all()
    assert (found.mean >= 0).all()
    assert (found.deviation > 0).all()
    assert np.isfinite(found.deviation).all()
