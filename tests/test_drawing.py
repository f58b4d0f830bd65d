"""The width that noise should have, and that narrower noise is told from it."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.audit.broken.narrow_cube import NarrowNoise
from penstock.checks.drawing import DRAWS, FINE, Width, coin_width, cube_width, laplace_width
from penstock.noise import SecureNoise


@given(st.fractions(Fraction(1, 4), 6, max_denominator=9))
def test_the_width_of_laplace_noise_is_that_of_its_distribution(scale: Fraction) -> None:
    far = np.arange(0, 400)
    weights = np.exp(-far / float(scale)) * np.where(far, 2, 1)
    weights /= weights.sum()
    mean = float(weights @ far)
    assert laplace_width(scale).mean == pytest.approx(mean)
    assert laplace_width(scale).deviation == pytest.approx(math.sqrt(float(weights @ (far - mean) ** 2)))


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1)])
def test_the_width_of_a_cube_is_that_of_all_its_places(scale: Fraction, size: int) -> None:
    """Added up one by one."""
    reach = 28
    weights = np.zeros(reach + 1)
    for place in product(range(-reach, reach + 1), repeat=size):
        farthest = max(map(abs, place))
        weights[farthest] += math.exp(-farthest / scale)
    weights /= weights.sum()
    mean = float(weights @ np.arange(reach + 1))
    assert cube_width(scale, size).mean == pytest.approx(mean, rel=1e-6)
    assert cube_width(scale, size).deviation ** 2 == pytest.approx(float(weights @ (np.arange(reach + 1) - mean) ** 2))


@pytest.mark.parametrize("size", [1, 2, 12])
def test_a_fine_cube_is_as_wide_as_its_limit(size: int) -> None:
    summed, limit = cube_width(Fraction(FINE) - 1, size), cube_width(Fraction(FINE), size)
    assert summed.mean / limit.mean == pytest.approx((FINE - 1) / FINE, rel=1e-3)
    assert summed.deviation / limit.deviation == pytest.approx((FINE - 1) / FINE, rel=1e-3)


@pytest.mark.parametrize("size", [2, 3, 12])
def test_a_reach_of_one_variable_too_few_is_told_from_a_whole_one(size: int) -> None:
    scale = Fraction(50)
    farthest = [
        np.array([np.abs(noise.cube(scale, size)).max() for _ in range(DRAWS)], np.float64)
        for noise in (SecureNoise(), NarrowNoise())
    ]
    assert [cube_width(scale, size).fits(drawn) for drawn in farthest] == [True, False]


def test_coins_and_chance() -> None:
    assert coin_width(0.2).mean == 0.2
    assert coin_width(0.2).deviation == pytest.approx(0.4)
    assert Width(1.0, 0.0).fits(np.ones(9))
    assert not Width(1.0, 0.1).fits(np.full(100, 1.07))
