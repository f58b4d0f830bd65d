"""What is known of a unit follows from the measurements, and not from who asked before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.codec import decode, encode
from penstock.primitives.estimator import Estimate, Estimator

WINDOW, BINS = 20, 3
many = settings(derandomize=True, deadline=None, max_examples=25)


def followed(seed: int, asked: list[int]) -> Estimator:
    """One that has seen ten units, and was meanwhile asked about any of ``asked`` that was the present or to come."""
    rng, estimator = np.random.default_rng(seed), Estimator(BINS, WINDOW)
    for t in range(1, 11):
        estimator.observe(t, rng.normal(100, 10, BINS), np.full(BINS, 5.0))
        for unit in asked:
            estimator.at(max(unit, t))
    return estimator


def same(one: Estimate, other: Estimate) -> bool:
    return all(np.array_equal(*pair) for pair in zip(one, other, strict=True))


@many
@given(st.integers(0, 100), st.lists(st.integers(1, 15), max_size=4), st.integers(10, 15))
def test_asking_changes_nothing(seed: int, asked: list[int], t: int) -> None:
    asking, silent = followed(seed, asked), followed(seed, [])
    assert same(asking.at(t), silent.at(t))
    assert same(asking.at(t), silent.at(t))  # once more
    assert encode(asking.save()) == encode(silent.save())


def test_a_measurement_changes_what_was_foretold_of_its_unit() -> None:
    estimator = followed(1, [])
    foretold = estimator.at(11)
    estimator.observe(11, np.full(BINS, 400.0), np.full(BINS, 5.0))
    assert (estimator.at(11).mean > foretold.mean + 100).all()


@pytest.mark.parametrize("t", [10, 12])
def test_one_that_takes_up_the_state_of_another_knows_what_that_one_knew(t: int) -> None:
    one, other = followed(1, []), followed(2, [])
    before = other.at(t)
    other.load(decode(encode(one.save())))
    assert same(other.at(t), one.at(t))
    assert not same(other.at(t), before)
