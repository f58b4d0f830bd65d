"""Two looks at the same unit are one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.primitives.reading import Reading

many = settings(derandomize=True, deadline=None, max_examples=100)
counts = st.integers(-(10**12), 10**12)
deviations = st.floats(0.01, 1e9)


def seen(value: int, noise_sd: float) -> Reading:
    return Reading.of(np.array([value]), np.array([noise_sd]))


@many
@given(counts, counts, deviations, deviations)
def test_both_together_are_surer_than_either_and_lie_between(
    one: int, other: int, one_sd: float, other_sd: float
) -> None:
    joined = seen(one, one_sd).joined(seen(other, other_sd))
    slack = 1e-9 * (abs(one) + abs(other))
    assert min(one, other) - slack <= joined.values[0] <= max(one, other) + slack
    assert joined.noise_sd[0] <= min(one_sd, other_sd) * (1 + 1e-12)
    swapped = seen(other, other_sd).joined(seen(one, one_sd))
    assert joined.values[0] == pytest.approx(swapped.values[0], abs=slack)
    assert joined.noise_sd[0] == pytest.approx(swapped.noise_sd[0])


@many
@given(counts, counts, deviations)
def test_a_look_without_noise_is_believed(one: int, other: int, deviation: float) -> None:
    for both in (seen(one, 0.0).joined(seen(other, deviation)), seen(other, deviation).joined(seen(one, 0.0))):
        assert (both.values[0], both.noise_sd[0]) == (pytest.approx(one, abs=1e-9 * abs(other)), 0)
    twice = seen(one, 0.0).joined(seen(one, 0.0))
    assert (twice.values[0], twice.noise_sd[0]) == (one, 0)


def test_the_noise_of_the_mean_is_what_it_says() -> None:
    rng, bins = np.random.default_rng(1), 200_000
    looks = [
        Reading.of(np.rint(rng.laplace(0, scale, bins)).astype(np.int64), np.array(scale * np.sqrt(2)))
        for scale in (80, 30)
    ]
    joined = looks[0].joined(looks[1])
    assert joined.values.std() == pytest.approx(joined.noise_sd[0], rel=0.01)
    assert joined.noise_sd[0] < 0.95 * looks[1].noise_sd[0]


def test_noise_is_never_taken_for_less_than_whole_numbers_have() -> None:
    values, scale = seen(500, 0.01).scaled(unit=10.0, least_sd=0.3)
    assert values == pytest.approx([50.0])
    assert scale == pytest.approx([0.03 / np.sqrt(2)])
