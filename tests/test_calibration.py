"""How far stated spreads are trusted: as far as forecasts came true."""

import numpy as np
import pytest

from penstock.codec import decode, encode
from penstock.primitives.calibration import WIDER, Calibration
from penstock.types import Floats

STEPS = 120


def calibrated(truth: Floats, *, stated: float = 10.0, noise: float = 5.0) -> Calibration:
    """What has seen forecasts of bins that are off by ``truth`` as a rule, and said to be off by ``stated``."""
    rng = np.random.default_rng(1)
    bins = len(truth)
    calibration = Calibration(bins)
    for _ in range(STEPS):
        missed = rng.normal(0, truth) + rng.laplace(0, noise, bins)
        calibration.update(missed, np.full(bins, stated), np.full(bins, noise))
    return calibration


def test_forecasts_that_are_as_good_as_they_say_are_trusted() -> None:
    assert calibrated(np.full(6, 10.0)).factor == pytest.approx(1.0, abs=0.25)


@pytest.mark.parametrize("wrong", [2.0, 4.0])
def test_forecasts_that_are_too_sure_of_themselves_are_widened_to_what_they_are(wrong: float) -> None:
    factors = calibrated(np.full(6, 10.0 * wrong)).factor
    assert factors.mean() == pytest.approx(wrong, rel=0.25)
    assert factors.min() > 0.6 * wrong


def test_forecasts_that_are_better_than_they_say_are_not_widened() -> None:
    assert calibrated(np.full(6, 1.0)).factor.max() < 1


def test_the_noise_of_measurements_is_not_held_against_forecasts() -> None:
    """They miss by ten times what they state, all of it noise that the measurement is known to have."""
    assert calibrated(np.full(4, 10.0), noise=100.0).factor.max() < 1.15 * Calibration(1).factor[0]


@pytest.mark.parametrize("truth", [1.0, 10.0, 40.0])
def test_what_was_just_measured_is_as_far_off_as_its_noise_whatever_was_foretold(truth: float) -> None:
    """Taken as it is, it keeps the spread of its noise; if it tells nothing, that of the forecast."""
    calibration = calibrated(np.full(1, truth))
    noise = np.array([5.0])
    assert calibration.factor_now(np.sqrt(2) * noise, noise) == pytest.approx(1.0)
    assert calibration.factor_now(np.array([10.0]), 1e6 * noise) == pytest.approx(calibration.factor)
    between = sorted([1.0, float(calibration.factor[0])])
    assert between[0] <= calibration.factor_now(0.7 * noise, noise)[0] <= between[1]


def test_measurements_are_taken_at_their_word_as_far_as_forecasts_were_wrong() -> None:
    """An estimate of 100 where 130 was measured, with noise of deviation 20 and as much doubt of the forecast."""
    mean, measured, scale = np.array([100.0]), np.array([130.0]), np.array([20 / np.sqrt(2)])
    left = np.array([20 / np.sqrt(2)])  # of two that are as good
    good, bad = (calibrated(np.full(1, truth)).corrected(mean, left, measured, scale) for truth in (1.0, 50.0))
    assert (good[0][0], good[1][0]) == (100, left[0])
    assert 110 < bad[0][0] < 130
    assert left[0] < bad[1][0] < 20
    worst = calibrated(np.full(1, 1e9))
    assert worst.factor == pytest.approx(WIDER.max())
    assert worst.corrected(mean, left, measured, 1e-3 * scale)[0] == pytest.approx(measured, abs=2)


def test_every_bin_has_its_own_factor() -> None:
    """One bin is too sure of itself among seven that are not. It is widened, the others hardly."""
    truth = np.array([40.0, *[10.0] * 7])
    factors = calibrated(truth).factor
    assert factors[0] > 2.5
    assert factors[1:].max() < 1.6


def test_a_bin_that_has_seen_little_takes_a_hint_from_the_others() -> None:
    """Its own forecasts were off alike, those of the others were not."""
    factors = []
    for others in (1.0, 40.0):
        calibration = Calibration(5)
        for own in (15.0, -9.0):
            missed = np.array([own, others, -others, others, -others])
            calibration.update(missed, np.full(5, 10.0), np.full(5, 2.0))
        factors.append(float(calibration.factor[0]))
    assert factors[1] > 1.1 * factors[0]


def test_nothing_known_is_close_to_what_is_stated_and_factors_stay_in_bounds() -> None:
    assert 1 <= Calibration(3).factor[0] <= 2
    wild = calibrated(np.full(2, 1e15)).factor
    assert np.isfinite(wild).all()
    assert (wild <= WIDER.max() * (1 + 1e-12)).all()


def test_what_was_long_ago_is_forgotten() -> None:
    rng = np.random.default_rng(2)
    calibration = Calibration(1)
    factors = []
    for truth in (50.0, 10.0):
        for _ in range(200):
            calibration.update(rng.normal(0, [truth]) + rng.laplace(0, 5, 1), np.array([10.0]), np.array([5.0]))
        factors.append(float(calibration.factor[0]))
    assert factors[0] > 3 > 1.5 > factors[1]


def test_saved_and_loaded_it_says_the_same() -> None:
    one, other = Calibration(2), Calibration(2)
    one.update(np.array([90.0, 3.0]), np.array([10.0, 10.0]), np.array([1.0, 1.0]))
    assert not np.array_equal(one.factor, other.factor)
    other.load(decode(encode(one.save())))
    np.testing.assert_array_equal(one.factor, other.factor)
