"""What bins say about each other: small ones are pulled to what is common, large ones stay, none is negative."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.codec import decode, encode
from penstock.primitives.shrinkage import SIZES, Shrinkage
from penstock.types import Floats

many = settings(derandomize=True, deadline=None, max_examples=60)
MANY = 1000  # bins, of which all sizes are expected alike


def one_of_many() -> Shrinkage:
    """One bin of them, before anything is known."""
    shrinkage = Shrinkage(MANY)
    shrinkage.shares = shrinkage.shares[:1]
    return shrinkage


def of_one_size(number: int) -> Shrinkage:
    shrinkage = Shrinkage(MANY)
    shrinkage.shares = (np.arange(len(SIZES)) == number).astype(np.float64)
    return shrinkage


def fitted(mean: Floats, deviation: Floats) -> tuple[Floats, Floats]:
    shrinkage = Shrinkage(len(mean))
    shrinkage.fit(mean, deviation)
    return shrinkage.improved(mean, deviation)


def integrated(mean: float, deviation: float, shares: Floats) -> tuple[float, float, float]:
    """Mean, deviation and median of a count from a mixture of half-normals that was measured with Laplace noise."""
    largest, scale = SIZES[shares > 0].max(), deviation / np.sqrt(2)
    apart = scale * np.concatenate([[0.0], np.geomspace(1e-4, 60, 2_000)])
    prior = np.geomspace(1e-3 * SIZES.min(), 12 * largest, 8_000)
    counts = np.unique(np.concatenate([[0.0], mean + apart, mean - apart, prior]))
    counts = counts[counts >= 0]
    points, widths = (counts[1:] + counts[:-1]) / 2, np.diff(counts)
    parts = np.exp(-0.5 * np.square(points[:, np.newaxis] / SIZES)) / SIZES
    logs = np.log(parts @ shares + 1e-300) - np.abs(points - mean) / scale
    mass = widths * np.exp(logs - logs.max())
    mass /= mass.sum()
    found = mass @ points
    median = points[np.searchsorted(np.cumsum(mass), 0.5)]
    return float(found), float(np.sqrt(mass @ np.square(points - found))), float(median)


@many
@given(st.integers(2, 10), st.floats(-6, 12), st.floats(-1, 2).map(lambda power: 10.0**power))
def test_with_one_size_it_is_what_integration_finds(size: int, place: float, deviation: float) -> None:
    """From estimates far below zero to those beyond all that the size allows; ``place`` is in deviations."""
    mean, shrinkage = place * deviation, of_one_size(size)
    found, left = shrinkage.improved(np.array([mean]), np.array([deviation]))
    expected = integrated(mean, deviation, shrinkage.shares)
    assert found[0] == pytest.approx(expected[0], rel=5e-3, abs=5e-3 * expected[1])
    assert left[0] == pytest.approx(expected[1], rel=3e-2)


@many
@given(st.floats(-4, 8), st.floats(-1, 2).map(lambda power: 10.0**power))
def test_with_all_sizes_it_is_what_integration_finds(place: float, deviation: float) -> None:
    """Which sizes are likely is weighed by how well they explain the estimate."""
    mean, even = place * deviation, one_of_many()
    found, left = even.improved(np.array([mean]), np.array([deviation]))
    expected = integrated(mean, deviation, even.shares[0])
    assert found[0] == pytest.approx(expected[0], rel=1e-2, abs=1e-2 * expected[1])
    assert left[0] == pytest.approx(expected[1], rel=3e-2)


@many
@given(st.floats(-4, 8), st.floats(-1, 2).map(lambda power: 10.0**power))
def test_medians_are_what_integration_finds(place: float, deviation: float) -> None:
    mean, even = place * deviation, one_of_many()
    expected = integrated(mean, deviation, even.shares[0])
    median = even.medians(np.array([mean]), np.array([deviation]))
    assert median[0] == pytest.approx(expected[2], rel=0.03, abs=0.03 * expected[1])


def test_medians_of_counts_that_are_mostly_nothing_are_below_their_means() -> None:
    mean, deviation = np.zeros(50), np.full(50, 5.0)
    mean[:3] = 4.0, -1.0, 3000.0
    empty = Shrinkage(50)
    empty.fit(np.zeros(50), np.full(50, 5.0))
    medians, means = empty.medians(mean, deviation), empty.improved(mean, deviation)[0]
    assert (medians[:2] < 0.5 * means[:2]).all()
    assert medians[2] == pytest.approx(3000, abs=2)


def test_shares_are_of_the_sizes_that_counts_have() -> None:
    shrinkage = Shrinkage(500)
    shrinkage.fit(np.abs(np.random.default_rng(6).normal(0, 1000, 500)), np.full(500, 1.0))
    assert shrinkage.shares.sum(axis=1) == pytest.approx(1)
    assert shrinkage.shares[:, (SIZES > 200) & (SIZES < 5000)].sum(axis=1).min() > 0.8


@many
@given(st.floats(-50, 1e6))
def test_no_bin_bears_witness_for_its_own_size(mean: float) -> None:
    """What is likely of a single bin is what was expected, whatever is found."""
    shrinkage, before = Shrinkage(1), Shrinkage(1).shares
    shrinkage.fit(np.array([mean]), np.array([10.0]))
    assert shrinkage.shares == pytest.approx(before)


def test_a_bin_that_is_large_alone_is_doubted_far_more_than_one_of_several() -> None:
    """Three deviations above zero, of Laplace noise, among two dozen bins of which the others are empty, or not all."""
    mean, deviation = np.zeros(24), np.full(24, 10.0)
    mean[0] = 30.0
    alone = fitted(mean, deviation)[0][0]
    mean[1:5] = 30.0
    assert alone < 0.25 * fitted(mean, deviation)[0][0]


def test_bins_that_are_all_empty_are_pulled_to_zero() -> None:
    """What was measured is noise; nearly all of it goes."""
    mean = np.random.default_rng(1).normal(0, 10, 100)
    found, left = fitted(mean, np.full(100, 10.0))
    assert found.mean() < 0.3 * np.maximum(mean, 0).mean()
    assert left.mean() < 5


@many
@given(st.floats(0.5, 3), st.floats(0, 1).map(lambda power: 10.0**power))
def test_a_single_bin_is_not_taken_for_empty_as_soon_as_one_of_many_is(place: float, deviation: float) -> None:
    """Nobody knows anything but one estimate, which is a few deviations above zero."""
    mean = np.array([place * deviation])
    single, among = (each.medians(mean, np.array([deviation]))[0] for each in (Shrinkage(1), one_of_many()))
    assert among < single < mean[0]


def test_a_few_large_bins_among_empty_ones_stay_where_they_are() -> None:
    rng = np.random.default_rng(2)
    truth = np.where(np.arange(100) < 5, 2000.0, 0.0)
    mean = truth + rng.normal(0, 10, 100)
    found, left = fitted(mean, np.full(100, 10.0))
    assert np.abs(found[:5] - mean[:5]).max() < 2
    assert left[:5] == pytest.approx(10.0, rel=0.1)
    assert found[5:].mean() < 0.3 * np.maximum(mean[5:], 0).mean()


def test_bins_that_are_all_large_are_left_alone() -> None:
    mean = 5000 + np.random.default_rng(3).normal(0, 500, 50)
    found, left = fitted(mean, np.full(50, 20.0))
    assert np.abs(found - mean).max() < 5
    assert left == pytest.approx(20.0, rel=0.05)


@pytest.mark.parametrize("typical", [1.0, 5.0, 30.0])
def test_counts_of_a_size_are_nearer_to_the_truth_than_cut_off_at_zero(typical: float) -> None:
    """By squared error, on counts that no mixture of half-normals has made."""
    rng = np.random.default_rng(4)
    truth = rng.exponential(typical, 300)
    mean = truth + rng.normal(0, 10, 300)
    found, _ = fitted(mean, np.full(300, 10.0))
    assert np.square(found - truth).mean() < 0.95 * np.square(np.maximum(mean, 0) - truth).mean()


@many
@given(
    st.lists(st.tuples(st.floats(-1e18, 1e18), st.floats(-2, 6)), min_size=1, max_size=5), st.sampled_from([1, 1e-3])
)
def test_nothing_is_below_zero_and_all_is_finite(bins: list[tuple[float, float]], unit: float) -> None:
    mean, power = (np.array(column) for column in zip(*bins, strict=True))
    shrinkage = Shrinkage(len(mean))
    shrinkage.fit(mean * unit, 10.0**power)
    found, left = shrinkage.improved(mean * unit, 10.0**power)
    medians = shrinkage.medians(mean * unit, 10.0**power)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert (left > 0).all()
    assert np.isfinite(medians).all()
    assert (medians >= 0).all()


@many
@given(st.floats(3, 18), st.floats(0, 2))
def test_counts_far_above_all_sizes_are_not_pulled_by_more_than_noise(size: float, noise: float) -> None:
    """However large counts are, in units of the noise that epsilon buys: no prior knows better than a measurement."""
    mean, deviation = 10.0**size, 10.0**noise
    found, left = fitted(np.array([mean]), np.array([deviation]))
    assert abs(found[0] - mean) < deviation + 1e-12 * mean
    if mean > 100 * deviation:
        assert left[0] == pytest.approx(deviation, rel=0.1)


@many
@given(st.floats(0, 18), st.floats(0, 5))
def test_medians_of_uncertain_counts_are_of_their_size(size: float, place: float) -> None:
    """Counts that are known to a fifth or worse, and however large they are."""
    deviation = 10.0**size
    mean = place * deviation
    median = one_of_many().medians(np.array([mean]), np.array([deviation]))[0]
    assert median <= mean + deviation
    assert median >= min(mean - 2 * deviation, 0.5 * mean)


def followed(means: list[float], deviation: float, new: float) -> Shrinkage:
    """A single bin that was estimated to be so large, one time after another."""
    shrinkage = Shrinkage(1)
    for mean in means:
        shrinkage.fit(np.array([mean]), np.array([deviation]), new)
    return shrinkage


def test_a_bin_that_was_never_small_is_not_pulled_to_zero_by_one_estimate() -> None:
    mean, deviation = np.array([300.0]), np.array([200.0])
    known, unknown = followed([700.0, 900.0, 500.0, 600.0], 50.0, new=1.0), Shrinkage(1)
    for each in (known, unknown):
        each.fit(mean, deviation, 1.0)
    assert unknown.medians(mean, deviation)[0] < 0.8 * mean[0]
    assert known.medians(mean, deviation)[0] > 0.9 * mean[0]
    assert known.improved(mean, deviation)[0][0] > unknown.improved(mean, deviation)[0][0]


def test_what_was_usual_is_forgotten_when_a_bin_has_been_small_for_long() -> None:
    was, deviation = followed([5000.0] * 10 + [20.0] * 60, 5.0, new=1.0), np.array([20.0])
    never = followed([20.0] * 70, 5.0, new=1.0)
    mean = np.array([30.0])
    assert was.medians(mean, deviation)[0] == pytest.approx(never.medians(mean, deviation)[0], rel=0.02)


def test_an_estimate_that_only_lasts_does_not_speak_for_itself() -> None:
    """It was not estimated anew, and that it still is what it was makes it no surer."""
    assert not followed([40.0] * 20, 20.0, new=0.0).usual.any()


def test_bins_that_may_be_empty_stay_as_others_are() -> None:
    """Their noise, which is new every time, is no size of their own."""
    rng, shrinkage = np.random.default_rng(7), Shrinkage(200)
    for _ in range(20):
        mean, deviation = rng.laplace(0, 10 / np.sqrt(2), 200), np.full(200, 10.0)
        shrinkage.fit(mean, deviation, 1.0)
    assert shrinkage.usual.sum(axis=1).mean() < 0.2
    assert shrinkage.medians(mean, deviation).mean() < 0.5


def test_saved_and_loaded_it_says_the_same() -> None:
    rng = np.random.default_rng(5)
    mean, deviation = rng.exponential(5, 20), np.full(20, 3.0)
    one, other = Shrinkage(20), Shrinkage(20)
    for _ in range(2):
        one.fit(mean, deviation, 0.5)
    before = other.improved(mean, deviation)[0]
    other.load(decode(encode(one.save())))
    np.testing.assert_array_equal(one.improved(mean, deviation), other.improved(mean, deviation))
    assert (before != other.improved(mean, deviation)[0]).all()
