"""What readings of a volley say: of the count, and of how far their noise goes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from penstock.primitives.reach import Reach, boxed
from penstock.types import Floats

few = settings(derandomize=True, deadline=None, max_examples=60)
ALL = slice(None)


def one(value: float) -> Floats:
    return np.full((1, 1), value)


def joint(noise: list[float], scale: float) -> float:
    """The logarithm of the density of these numbers, all of a volley: its constant is n! (2 b)^n."""
    size = len(noise)
    return -max(map(abs, noise)) / scale - math.log(math.factorial(size)) - size * math.log(2 * scale)


def told(noise: list[float], scale: float, size: int) -> float:
    """The same as a reach has it, reading by reading, where all that is uncertain is the noise."""
    reach, total = Reach.of(scale, size), 0.0
    for number in noise:
        found, evidence = reach.posterior(one(number), one(1e-9), ALL)
        reach.learn(evidence)
        total += float(found.evidence[0, 0])
    return total


@few
@given(st.floats(-6, 6), st.floats(0.05, 20), st.floats(0.2, 20))
def test_the_posterior_is_that_of_a_normal_cut_off_at_both_ends_of_the_box(
    measured: float, deviation: float, reach: float
) -> None:
    measured *= math.hypot(deviation, reach)
    found = boxed(one(measured), one(deviation**2), np.array([reach]))
    middle = min(max(0.0, measured - reach), measured + reach)  # where the posterior is highest: seen from there

    def moment(power: int) -> float:
        def density(x: float) -> float:
            return (x - middle) ** power * math.exp((middle**2 - x**2) / (2 * deviation**2))

        ends = max(measured - reach, middle - 12 * deviation), min(measured + reach, middle + 12 * deviation)
        steep = deviation**2 / max(abs(middle), deviation)
        inner = sorted({end for end in (middle - 20 * steep, middle + 20 * steep) if ends[0] < end < ends[1]})
        parts = [ends[0], *inner, ends[1]]
        return sum(integrate.quad(density, a, b, limit=200)[0] for a, b in itertools.pairwise(parts))

    whole = moment(0)
    mean, second = moment(1) / whole, moment(2) / whole
    spread = math.sqrt(second - mean**2)
    assert found.mean[0, 0] == pytest.approx(middle + mean, abs=0.03 * spread)
    assert found.variance[0, 0] == pytest.approx(second - mean**2, rel=0.03)
    log = math.log(whole / (2 * reach * deviation * math.sqrt(2 * math.pi))) - middle**2 / (2 * deviation**2)
    assert found.evidence[0, 0] == pytest.approx(log, abs=0.01)


@pytest.mark.parametrize("size", [2, 3, 12])
def test_all_readings_together_are_as_likely_as_the_kernel_draws_them(size: int) -> None:
    """In the mean, as a reach is one of few places, and a box with an edge has or has not a reading in it."""
    rng, apart = np.random.default_rng(size), []
    for _ in range(100):
        noise = (rng.uniform(-1, 1, size) * rng.gamma(size + 1, 7.0)).tolist()
        apart.append(told(noise, 7.0, size) - joint(noise, 7.0))
    assert abs(np.mean(apart)) < 0.15
    assert np.std(apart) < 0.6


def test_a_first_reading_is_as_likely_as_what_is_left_of_all_others() -> None:
    """Its distribution is that of noise whose reach is a gamma variable, where what is measured is not known well."""
    scale, deviation = 7.0, 10.0
    for far in (0.0, 10.0, 40.0):
        found, _ = Reach.of(scale, 2).posterior(one(far), one(deviation**2), ALL)

        def both(reach: float, x: float, far: float = far) -> float:
            inside = 1 / (2 * reach) if abs(far - x) <= reach else 0.0
            return inside * reach**2 * math.exp(-reach / scale - x**2 / (2 * deviation**2)) / (2 * scale**3)

        whole, step = 0.0, 0.25
        reaches = np.arange(step / 2, 150, step)
        for x in np.arange(-40, 40, step):
            whole += step * step * sum(both(float(reach), float(x)) for reach in reaches)
        expected = math.log(whole / (deviation * math.sqrt(2 * math.pi)))
        assert found.evidence[0, 0] == pytest.approx(expected, abs=0.03)


def test_a_small_reach_is_learnt_and_then_believed() -> None:
    """After readings that were hardly off the next one says more, and after some that were far off less."""
    left = []
    for missed in (2.0, 180.0):
        reach = Reach.of(10.0, 8)
        for _ in range(6):
            reach.learn(reach.posterior(one(missed), one(1e-6), ALL)[1])
        left.append(float(reach.posterior(one(3.0), one(400.0), ALL)[0].variance[0, 0]))
    usual = float(Reach.of(10.0, 8).posterior(one(3.0), one(400.0), ALL)[0].variance[0, 0])
    assert left[0] < 0.8 * usual < usual < left[1]


def test_every_model_learns_from_its_own_forecasts() -> None:
    """One that foretold all, and one that takes the readings to be far off."""
    reach = Reach.of(10.0, 8)
    for _ in range(4):
        missed = np.array([[1.0, 120.0]])
        reach.learn(reach.posterior(missed, np.full((1, 2), 1.0), ALL)[1])
    means = [float(np.exp(w - np.logaddexp.reduce(w)) @ reach.places) for w in reach.weights[0]]
    assert means[0] < 90 < 110 < means[1]
    second = reach.posterior(np.array([[120.0]]), np.full((1, 1), 1.0), slice(1, 2))[0]
    both = reach.posterior(np.array([[1.0, 120.0]]), np.full((1, 2), 1.0), ALL)[0]
    assert second.evidence[0, 0] == both.evidence[0, 1]


def test_what_is_known_of_a_reach_is_kept() -> None:
    reach = Reach.of(3.0, 5)
    reach.learn(reach.posterior(one(2.0), one(4.0), ALL)[1])
    again = Reach.load(reach.save())
    for found, other in zip(
        reach.posterior(one(5.0), one(4.0), ALL), again.posterior(one(5.0), one(4.0), ALL), strict=True
    ):
        np.testing.assert_array_equal(np.asarray(found), np.asarray(other))
