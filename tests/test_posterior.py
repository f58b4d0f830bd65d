"""What a noisy measurement says, against numerical integration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from penstock.primitives.posterior import WIDE, erfcx, posterior

many = settings(derandomize=True, deadline=None, max_examples=150)

deviations = st.floats(-2, 1).map(lambda power: 10.0**power)  # of the prior, in noise scales
scales = st.floats(-3, 3).map(lambda power: 10.0**power)
places = st.floats(-40, 40)


def integrated(measured: float, variance: float, scale: float) -> tuple[float, float, float]:
    """Log-evidence, mean and variance on a grid that is fine wherever something can be, with a point at the kink."""
    deviation = np.sqrt(variance)
    tip = float(np.clip(measured, -variance / scale, variance / scale))  # where the posterior is highest
    apart = scale * np.geomspace(1e-4, 60, 1500)
    around = tip + deviation * np.linspace(-12, 12, 4000)
    edges = np.sort(np.concatenate([around, measured + apart, measured - apart, [measured]]))
    points, widths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    logs = -(points**2) / (2 * variance) - np.abs(measured - points) / scale
    mass = widths * np.exp(logs - logs.max())
    mean = mass @ points / mass.sum()
    evidence = np.log(mass.sum()) + logs.max() - np.log(2 * scale) - 0.5 * np.log(2 * np.pi * variance)
    return float(evidence), float(mean), float(mass @ (points - mean) ** 2 / mass.sum())


def found(measured: float, variance: float, scale: float) -> tuple[float, ...]:
    return tuple(float(part[0]) for part in posterior(np.array([measured]), np.array([variance]), scale))


def test_erfcx_is_that_of_the_library() -> None:
    x = np.concatenate([np.linspace(0, 30, 3001), np.geomspace(30, 1e12, 50)])
    np.testing.assert_allclose(erfcx(x), special.erfcx(x), rtol=3e-7)


@many
@given(places, deviations, scales)
def test_it_is_what_integration_finds(place: float, deviation: float, scale: float) -> None:
    """Whatever the units, from priors much narrower than the noise to those of a hundred times its variance."""
    measured, variance = place * scale, (deviation * scale) ** 2
    evidence, mean, spread = integrated(measured, variance, scale)
    got = found(measured, variance, scale)
    assert got[0] == pytest.approx(evidence, abs=1e-4)
    assert got[1] == pytest.approx(mean, abs=1e-4 * np.sqrt(spread) + 1e-4 * abs(mean))
    assert got[2] == pytest.approx(spread, rel=1e-3)


@pytest.mark.parametrize("ratio", [0.3 * WIDE, 0.99 * WIDE, 1.01 * WIDE, 10 * WIDE, 1e6 * WIDE])
@pytest.mark.parametrize("place", [0.0, 0.5, -1.0, 3.0])
def test_on_both_sides_of_the_switch_it_is_near_what_integration_finds(ratio: float, place: float) -> None:
    """``place`` is in deviations of the prior. Far above the switch only noise of the same variance is left."""
    scale, variance = 2.0, 4.0 * ratio
    measured = place * np.sqrt(variance)
    evidence, mean, spread = integrated(measured, variance, scale)
    got = found(measured, variance, scale)
    assert got[0] == pytest.approx(evidence, abs=0.01)
    assert got[1] == pytest.approx(mean, abs=0.1 * np.sqrt(spread))
    assert got[2] == pytest.approx(spread, rel=0.1)


@pytest.mark.parametrize("far", [1e2, 1e4, 1e9, 1e15])
def test_far_outliers_move_the_mean_by_a_bounded_step_and_leave_the_variance(far: float) -> None:
    """Noise with tails is to blame for them, not the prior: the log of the evidence falls with the distance alone."""
    evidence, mean, spread = found(-far, 4.0, 0.5)
    assert evidence == pytest.approx(4.0 / (2 * 0.25) - far / 0.5 - np.log(2 * 0.5), rel=1e-9)
    assert (mean, spread) == pytest.approx((-8.0, 4.0))


@many
@given(st.floats(-1e6, 1e6), st.floats(1e-4, 1e8), st.floats(1e-3, 1e3))
def test_it_is_symmetric_and_lies_between_prior_and_measurement(measured: float, variance: float, scale: float) -> None:
    evidence, mean, spread = found(measured, variance, scale)
    other = found(-measured, variance, scale)
    assert other == pytest.approx((evidence, -mean, spread), rel=1e-12, abs=0)
    assert 0 < spread <= variance * (1 + 1e-9)
    assert mean * measured >= 0
    assert abs(mean) <= abs(measured) + 1e-6 * scale


def test_every_row_has_its_own_scale() -> None:
    """Columns of scales beside rows of bins and columns of models, narrow and wide ones mixed."""
    scale = np.array([[0.5], [3.0], [40.0]])
    measured = np.array([[1.0, -7.0], [2.0, 9.0], [-30.0, 60.0]])
    variance = np.array([[1e-3, 1e6], [4.0, 9.0], [2.0, 1e9]])
    whole = posterior(measured, variance, scale)
    for row, column in np.ndindex(3, 2):
        alone = found(float(measured[row, column]), float(variance[row, column]), float(scale[row, 0]))
        assert tuple(float(part[row, column]) for part in whole) == pytest.approx(alone, rel=1e-12)
