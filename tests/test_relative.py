"""The guess whose relative error is smallest, against a fine grid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.primitives.relative import relative_median
from penstock.types import Floats

many = settings(derandomize=True, deadline=None, max_examples=150)

means = st.one_of(st.floats(0, 20), st.floats(0, 4).map(lambda power: 10.0**power))
deviations = st.floats(-1, 3).map(lambda power: 10.0**power)


def grid(mean: float, deviation: float) -> tuple[Floats, Floats]:
    """Counts, and how likely each is by a normal that is cut off at zero."""
    edges = np.linspace(max(mean - 6 * deviation, 0.0), mean + 6 * deviation, 20_001)
    points = (edges[1:] + edges[:-1]) / 2
    return points, np.exp(-0.5 * np.square((points - mean) / deviation))


def guess(mean: float, deviation: float) -> float:
    return float(relative_median(np.array([mean]), np.array([deviation]))[0])


@many
@given(means, deviations)
def test_it_is_the_median_of_counts_that_weigh_what_their_relative_error_does(mean: float, deviation: float) -> None:
    points, mass = grid(mean, deviation)
    below = np.cumsum(mass / np.maximum(points, 1))
    expected = points[np.searchsorted(below, below[-1] / 2)]
    assert guess(mean, deviation) == pytest.approx(expected, rel=0.02, abs=0.03)


@many
@given(means, deviations, st.floats(0.8, 1.25))
def test_no_other_guess_has_a_smaller_relative_error(mean: float, deviation: float, factor: float) -> None:
    """Neither a little more, nor a little less, nor the mean; up to how fine the grid is."""
    points, mass = grid(mean, deviation)

    def expected_error(value: float) -> float:
        return float((mass * np.abs(points - value) / np.maximum(points, 1)).sum() / mass.sum())

    found = guess(mean, deviation)
    least = min(expected_error(found * factor), expected_error(mean), expected_error(found + factor - 1))
    assert expected_error(found) <= 1.003 * least + 1e-4


@many
@given(st.floats(-1e6, 1e15), st.floats(-3, 6).map(lambda power: 10.0**power))
def test_it_is_never_negative_and_not_above_what_is_likely(mean: float, deviation: float) -> None:
    found = guess(mean, deviation)
    assert 0 <= found <= max(mean, 0) + 5 * deviation + 1e-12 * abs(mean)
    assert found >= mean - 5 * deviation - 1e-12 * abs(mean)


def test_large_and_certain_counts_stay_and_uncertain_ones_are_guessed_low() -> None:
    certain, uncertain = relative_median(np.array([5000.0, 50.0]), np.array([3.0, 60.0]))
    assert certain == pytest.approx(5000, abs=0.5)
    assert uncertain < 40


def test_every_bin_is_guessed_by_itself() -> None:
    mean, deviation = np.array([0.2, 30.0, 4e4]), np.array([2.0, 30.0, 10.0])
    together = relative_median(mean, deviation)
    assert together == pytest.approx([guess(*pair) for pair in zip(mean, deviation, strict=True)], rel=1e-12)
