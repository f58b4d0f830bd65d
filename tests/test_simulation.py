"""The table of errors: filters that are a bank's, draws in one order, and the digits that stored streams rely on."""

from __future__ import annotations

import hashlib
import os
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.allocation.filters import Filters
from penstock.allocation.risk import compute
from penstock.allocation.simulation import Schedule, Streams, count_steps, simulate_counts
from penstock.primitives.bank import Bank
from penstock.primitives.dynamics import dynamics
from penstock.types import Floats

# Window, squares, windows and sharing of tables, and what they were when the first streams were stored.
STORED = {
    (2, False, 12, False): "525af9d38999f28d",
    (5, True, 12, True): "1b85857e462ca3d2",
    (6, False, 1, False): "2beee04fe9215a8c",
    (12, True, 12, False): "cc6ce7048d6facc0",
    (24, False, 12, True): "bae06f688968088e",
    (52, False, 1, False): "4ea5ac877f733ee0",
}


def digest(table: Floats) -> str:
    return hashlib.sha256(np.rint(table * 1e4).astype("<i8").tobytes()).hexdigest()[:16]


@pytest.mark.parametrize("key", STORED)
def test_a_table_stays_what_it_was(key: tuple[int, bool, int, bool]) -> None:
    """A stream that was stored in the middle of its pace would ask otherwise with another table, and be refused."""
    window, squared, windows, shared = key
    (table,) = compute(window, squared, windows, shared=[shared])
    assert digest(table) == STORED[key]


def test_tables_that_are_made_together_are_those_that_are_made_alone() -> None:
    both = compute(12, False, 12, shared=[False, True])
    for shared, table in zip((False, True), both, strict=True):
        np.testing.assert_array_equal(table, compute(12, False, 12, shared=[shared])[0])


@pytest.mark.parametrize("processors", [1, 3])
def test_a_table_does_not_depend_on_the_number_of_processors(processors: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    assert digest(compute(24, False, 12, shared=[True])[0]) == STORED[24, False, 12, True]


@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.integers(2, 2000), st.integers(1, 30), st.floats(-1, 3).map(lambda power: 10.0**power), st.integers(0, 99))
def test_filters_find_what_those_of_a_bank_do(window: int, every: int, scale: float, seed: int) -> None:
    models, rng = dynamics(window), np.random.default_rng(seed)
    made = np.empty((8 * every, 3, models.size))
    simulate_counts(models, rng, made)
    counts = made[::every]
    measured = counts + rng.laplace(0, scale, counts.shape)
    filters, bank, scales = Filters(models, 3, every, scale), Bank(3, models), np.full((3, 1), scale)
    filters.begin(measured[0])
    bank.begin(measured[0], scales)
    for each in measured[1:]:
        bank.advance(every)
        expected = bank.level.copy()
        estimate = expected + bank.correct(each - expected, scales, every).found
        size = 1e-7 * (scale + np.abs(each))
        assert (np.abs(filters.follow(each) - estimate) <= size).all()
        assert (np.abs(filters.level - bank.level) <= size).all()


def test_noise_is_that_of_numpy_wherever_it_is_taken_up() -> None:
    models, seeds = dynamics(3), [(4, 0), (4, 1)]
    streams, skipped = Streams(models, 4, 2, seeds), 3
    expected = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        simulate_counts(models, rng, np.empty((4, 2, models.size)))
        expected.append(rng.laplace(0, 2.5, (skipped + 2, 2, models.size))[skipped:])
    drawn = [noise.copy() for noise in islice(streams.draw_noise(2.5, skipped), 2)]
    np.testing.assert_allclose(drawn, np.concatenate(expected, axis=1), rtol=1e-13)


def test_how_far_it_is_is_shown_from_the_beginning_to_the_end() -> None:
    said: list[tuple[int, int]] = []
    compute(12, False, 12, shared=[False, True], show=lambda done, total: said.append((done, total)))
    total = said[0][1]
    assert (said[0], said[-1]) == ((0, total), (total, total))
    assert said == sorted(said)


def test_every_measurement_is_a_step() -> None:
    schedules = [Schedule(1, 4, (1.0, 2.0)), Schedule(4, 1, (4.0, 3.0))]
    assert count_steps(8, schedules) == 2 * 2 + 2 * 8
    assert count_steps(9, schedules[:1]) == 2 * 3
