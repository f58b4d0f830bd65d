"""Posteriors in memory that is used again are those of ``posterior``."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.primitives.posterior import WIDE, posterior
from penstock.primitives.posteriors import Posteriors
from penstock.types import Floats


def magnitudes(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda power: 10.0**power)


def drawn(seed: int, scale: float, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """Measurements and variances of all sizes beside the noise, some of them at the switch to Gaussian noise."""
    rng = np.random.default_rng(seed)
    measured = rng.standard_normal(shape) * scale * 10 ** rng.uniform(-4, 4, shape)
    variance = scale**2 * 10 ** rng.uniform(-8, 6, shape)
    return measured, np.where(rng.random(shape) < 0.1, WIDE * scale**2 * (1 + rng.normal(0, 1e-6, shape)), variance)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.integers(0, 2**32), magnitudes(-3, 4))
def test_they_are_those_that_are_found_one_by_one(seed: int, scale: float) -> None:
    """Also the second time, when the memory holds something else."""
    shape = 3, 40
    found = Posteriors(shape, scale)
    for again in range(2):
        measured, variance = drawn(seed + again, scale, shape)
        found.find(measured, variance)
        evidence, mean, spread = posterior(measured, variance, scale)
        np.testing.assert_allclose(found.mean, mean, rtol=1e-12)
        np.testing.assert_allclose(found.variance, spread, rtol=1e-9)
        np.testing.assert_allclose(found.evidence(), evidence, rtol=1e-9, atol=1e-9)


def test_what_is_given_is_not_changed() -> None:
    measured, variance = drawn(1, 2.0, (2, 5))
    before = measured.copy(), variance.copy()
    found = Posteriors((2, 5), 2.0)
    found.find(measured, variance)
    found.evidence()
    np.testing.assert_array_equal((measured, variance), before)
