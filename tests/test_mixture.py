"""The median of a mixture of normals: as near to what may be as any number can be, on average."""

from __future__ import annotations

from math import erf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.primitives.mixture import median
from penstock.types import Floats

many = settings(derandomize=True, deadline=None, max_examples=100)


def distance(x: Floats, weights: Floats, means: Floats, variances: Floats) -> Floats:
    """How far a number is from the mixture, on average: exactly."""
    deviations, apart = np.sqrt(variances), means - x[:, np.newaxis]
    z = apart / deviations
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    away: Floats = weights * (2 * deviations * density + apart * np.vectorize(erf)(z / np.sqrt(2)))
    total: Floats = away.sum(axis=1)
    return total


def mixtures(seed: int, rows: int = 20, models: int = 30) -> tuple[Floats, Floats, Floats]:
    """Some of many models in each row, from narrow to wide, each off by as much as it says."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(models, 0.1), rows)
    variances = 10 ** rng.uniform(0, 4, (rows, models))
    return weights, rng.normal(0, np.sqrt(variances)), variances


@many
@given(st.integers(0, 10**6))
def test_no_number_is_much_nearer(seed: int) -> None:
    """Not the mean, and none of a fine grid between the smallest and the largest of the means."""
    weights, means, variances = mixtures(seed)
    found = distance(median(weights, means, variances), weights, means, variances)
    low, high = means.min(axis=1), means.max(axis=1)
    least = np.min(
        [distance(low + part * (high - low), weights, means, variances) for part in np.linspace(0, 1, 101)], 0
    )
    mean = distance((weights * means).sum(axis=1), weights, means, variances)
    assert (found <= 1.2 * np.minimum(least, mean)).all()
    assert found.mean() <= 1.05 * np.minimum(least, mean).mean()


def test_it_is_a_thousandth_above_the_least_on_average() -> None:
    """The exact median is found by halving, a thousand mixtures at a time."""
    weights, means, variances = mixtures(1, rows=1000)
    low, high = means.min(axis=1), means.max(axis=1)
    for _ in range(40):
        middle = (low + high) / 2
        z = (middle[:, np.newaxis] - means) / np.sqrt(2 * variances)
        below = (weights * (1 + np.vectorize(erf)(z)) / 2).sum(axis=1)
        low, high = np.where(below < 0.5, middle, low), np.where(below < 0.5, high, middle)
    found, least = (distance(x, weights, means, variances) for x in (median(weights, means, variances), low))
    assert (found >= least * (1 - 1e-9)).all()
    assert found.mean() < 1.002 * least.mean()


@many
@given(st.integers(0, 10**6), st.floats(-1e9, 1e9))
def test_it_lies_among_the_means_and_moves_with_them(seed: int, by: float) -> None:
    weights, means, variances = mixtures(seed)
    found = median(weights, means, variances)
    assert (means.min(axis=1) <= found).all()
    assert (found <= means.max(axis=1)).all()
    assert median(weights, means + by, variances) == pytest.approx(found + by, abs=1e-4 + 1e-6 * abs(by))


def test_of_one_normal_it_is_the_mean_and_models_without_weight_do_not_count() -> None:
    weights, means, variances = np.array([[0.0, 1.0]]), np.array([[1e12, -3.0]]), np.array([[1.0, 4.0]])
    assert median(weights, means, variances) == pytest.approx([-3.0])


def test_a_few_wild_models_do_not_move_it_where_they_would_move_the_mean() -> None:
    weights, means, variances = np.array([[0.8, 0.2]]), np.array([[100.0, 900.0]]), np.array([[1.0, 1e4]])
    assert (weights * means).sum() == 260
    assert median(weights, means, variances)[0] < 101
