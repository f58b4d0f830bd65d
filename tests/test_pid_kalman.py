"""The controller and the filter against textbook ones, one loop and one bin at a time."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.primitives.kalman import Kalman
from penstock.primitives.pid import PID

fixed = settings(derandomize=True, deadline=None, max_examples=150)
weights = st.sampled_from([0.0, 0.1, 0.9, 1.0, -2.0])
seeds = st.integers(0, 2**32)


class SlowPID:
    """One loop, with all of its past at hand."""

    def __init__(self, proportional: float, integral: float, derivative: float, reach: int) -> None:
        self.weights, self.reach = (proportional, integral, derivative), reach
        self.past: list[tuple[int, float]] = []

    def update(self, t: int, error: float) -> float:
        self.past.append((t, error))
        recent = [e for _, e in self.past[-self.reach :]]
        slope = 0.0
        if len(self.past) > 1:
            (before, last), _ = self.past[-2:]
            slope = (error - last) / (t - before)
        p, i, d = self.weights
        return p * error + i * sum(recent) / len(recent) + d * slope


@fixed
@given(weights, weights, weights, st.integers(1, 6), st.integers(1, 4), seeds)
def test_every_loop_is_a_controller_of_its_own(p: float, i: float, d: float, reach: int, loops: int, seed: int) -> None:
    """Loops are updated at different times, some never; nothing of one shows in another; saving changes nothing."""
    rng = np.random.default_rng(seed)
    fast, slow = PID(p, i, d, reach, loops), [SlowPID(p, i, d, reach) for _ in range(loops)]
    t = 0
    for _ in range(25):
        t += int(rng.integers(1, 4))
        which = rng.random(loops) < 0.6
        errors = rng.normal(size=int(which.sum()))
        given_errors = errors.copy()
        output = fast.update(t, errors, which)
        assert np.array_equal(errors, given_errors)
        expected = [slow[j].update(t, e) for j, e in zip(np.flatnonzero(which), errors.tolist(), strict=True)]
        assert output == pytest.approx(expected)
        successor = PID(p, i, d, reach, loops)
        successor.load(fast.save())
        fast = successor


def test_all_loops_at_once_without_a_choice() -> None:
    """The usual call."""
    pid = PID(2, 0, 0, 3, loops=2)
    assert pid.update(1, np.array([1.0, 5.0])).tolist() == [2, 10]


def test_what_was_saved_is_not_touched_by_what_follows() -> None:
    """Neither the controller that saved it nor the one that loaded it writes into it."""
    pid, other = PID(1, 1, 1, 3), PID(1, 1, 1, 3)
    pid.update(1, np.array([4.0]))
    saved = pid.save()
    other.load(saved)
    pid.update(2, np.array([9.0]))
    other.update(2, np.array([7.0]))
    third = PID(1, 1, 1, 3)
    third.load(saved)
    assert third.update(2, np.array([0.0])).tolist() == [0 + 2 - 4]


@pytest.mark.parametrize("reach", [0, -1, 1.5, "3", None, True, float("nan"), 10**9])
def test_a_reach_that_is_no_number_of_errors_is_refused(reach: Any) -> None:
    with pytest.raises(ps.BadInput, match="reach must"):
        PID(1, 0, 0, reach)


class SlowKalman:
    """One bin of a random walk with known drift; and what every measurement weighs in the estimate."""

    def __init__(self, drift: float) -> None:
        self.drift, self.p, self.x = drift, 0.0, 0.0
        self.parts: list[tuple[float, float]] = []  # weight and noise of each measurement

    def predict(self) -> None:
        self.p += self.drift

    def correct(self, z: float, variance: float, noise_sd: float) -> None:
        first = not self.parts
        k = 1.0 if first else self.p / (self.p + variance)
        self.x += k * (z - self.x)
        self.p = variance if first else (1 - k) * self.p
        self.parts = [(w * (1 - k), sd) for w, sd in self.parts] + [(k, noise_sd)]

    @property
    def noise_sd(self) -> float:
        return float(np.sqrt(sum((w * sd) ** 2 for w, sd in self.parts)))


@fixed
@given(st.sampled_from([0.0, 1e-3, 2.0, 1e5, 1e12]), st.integers(1, 4), seeds)
def test_every_bin_is_a_filter_of_its_own(drift: float, bins: int, seed: int) -> None:
    """x, P and the noise carried are the textbook's, for bins measured at different times with different trust."""
    rng = np.random.default_rng(seed)
    fast, slow = Kalman(bins, drift), [SlowKalman(drift) for _ in range(bins)]
    for _ in range(30):
        fast.predict()
        for each in slow:
            each.predict()
        which = rng.random(bins) < 0.4
        z, variance = rng.integers(0, 10**6, which.sum()), 10.0 ** rng.uniform(-2, 7, which.sum())
        noise_sd = rng.uniform(0, 1000, which.sum())
        fast.correct(z, variance, noise_sd, which)
        for j, *measured in zip(np.flatnonzero(which), z, variance, noise_sd, strict=True):
            slow[j].correct(*map(float, measured))
        assert fast.values == pytest.approx([each.x for each in slow])
        assert fast.noise_sd == pytest.approx([each.noise_sd for each in slow])
        successor = Kalman(bins, drift)
        successor.load(fast.save())
        fast = successor


@fixed
@given(seeds, st.sampled_from([10, 10**4, 2**53]), st.sampled_from([0.05, 1.0, 500.0]))
def test_a_filter_that_learns_stays_between_what_it_has_seen(seed: int, largest: int, noise_sd: float) -> None:
    """Any jumps, any gaps: estimates are averages of measurements, noise never exceeds a measurement's own."""
    rng = np.random.default_rng(seed)
    learner = Kalman(2, None)
    low, high = np.full(2, np.inf), np.full(2, -np.inf)
    for _ in range(60):
        learner.predict()
        which = rng.random(2) < 0.5
        z = rng.integers(0, largest + 1, which.sum()) if rng.random() < 0.3 else np.full(which.sum(), largest // 3)
        learner.correct(z, noise_sd**2, noise_sd, which)
        low[which], high[which] = np.minimum(low[which], z), np.maximum(high[which], z)
        seen = np.isfinite(low)
        slack = 1e-9 * largest
        assert (learner.values[seen] >= low[seen] - slack).all()
        assert (learner.values[seen] <= high[seen] + slack).all()
        assert (learner.noise_sd <= noise_sd * (1 + 1e-9)).all()


def test_a_learner_averages_noise_away_and_follows_jumps() -> None:
    """What an error of 15, which noise of 10 explains, and one of 1000, which it does not, move the estimate by."""

    def follows(history: Any, error: float) -> float:
        learner = Kalman(1, None)
        for z in history:
            learner.predict()
            learner.correct([z], 100.0, 10.0)
        before = float(learner.values[0])
        learner.predict()
        learner.correct([before + error], 100.0, 10.0)
        return float(learner.values[0] - before) / error

    rng = np.random.default_rng(1)
    calm, walk = 500 + rng.normal(0, 10, 60), 500 + rng.normal(0, 200, 60).cumsum()
    assert follows(calm, 15) < 0.3 < 0.45 < follows(walk, 15)
    assert follows(calm, 1000) > 0.9
    assert follows(walk, 1000) > 0.9


def test_bins_that_are_not_measured_keep_what_they_are() -> None:
    """And grow uncertain: the next measurement counts for more."""
    kalman = Kalman(2, drift=100)
    kalman.correct([10, 10], 100.0, 1.0)
    for _ in range(9):
        kalman.predict()
        kalman.correct([10], 100.0, 1.0, np.array([True, False]))
    assert kalman.values.tolist() == [10, 10]
    kalman.predict()
    kalman.correct([20, 20], 100.0, 1.0)
    assert kalman.values[0] < kalman.values[1] == pytest.approx(10 + 10 * 1100 / 1200)


@pytest.mark.parametrize("drift", [None, 3.0])
def test_an_exact_measurement_is_taken_as_it_is(drift: float | None) -> None:
    """A budget may buy noise of next to nothing; its variance is then 0."""
    kalman = Kalman(1, drift)
    for z in (5, 8, 8, 2):
        kalman.predict()
        kalman.correct([z], 0.0, 0.0)
        assert kalman.values == pytest.approx([z], abs=1e-6)
        assert kalman.noise_sd.tolist() == [0]


@pytest.mark.parametrize("drift", [None, 3.0])
def test_what_a_filter_saved_is_not_touched_by_what_follows(drift: float | None) -> None:
    """Neither by the filter that saved it nor by one that loaded it."""
    first, second, third = (Kalman(1, drift) for _ in range(3))
    first.correct([5], 4.0, 2.0)
    saved = first.save()
    second.load(saved)
    for kalman, z in ((first, 50), (second, 500)):
        kalman.predict()
        kalman.correct([z], 4.0, 2.0)
    third.load(saved)
    assert (third.values.tolist(), third.noise_sd.tolist()) == ([5], [2])


def test_measurements_are_not_written_into() -> None:
    """They are somebody's answers."""
    measured = np.array([5, 6])
    kalman = Kalman(2, 1.0)
    kalman.correct(measured, 1.0, 1.0)
    kalman.predict()
    kalman.correct(np.array([9, 9]), 1.0, 1.0)
    assert measured.tolist() == [5, 6]
