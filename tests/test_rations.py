"""Rations: whatever the pace, no window is overspent, and no later release starves for an earlier one."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.allocation.rations import Rations
from penstock.codec import decode, encode

many = settings(derandomize=True, deadline=None, max_examples=200)

windows = st.integers(1, 12)
budgets = st.one_of(st.integers(0, 200), st.integers(10**9, 10**12))
paces = st.lists(st.integers(1, 15), min_size=1, max_size=40)


def left(spent: dict[int, int], t: int, window: int, budget: int) -> int:
    """What a window that ends at ``t`` has left, counted from everything that was ever spent."""
    return budget - sum(nano for unit, nano in spent.items() if t - window < unit <= t)


@many
@given(windows, budgets, paces, st.integers(1, 5))
def test_no_window_is_overspent_whatever_the_pace(window: int, budget: int, paces: list[int], first: int) -> None:
    rations, spent, t = Rations(window, comes_back=True), dict[int, int](), first
    for every in paces:
        fair = rations.fair(t, every, left(spent, t, window, budget))
        assert fair >= 0
        spent[t] = fair
        rations.spend(t, fair)
        t += every
    for end in range(1, t + window):
        assert left(spent, end, window, budget) >= 0


@many
@given(windows, budgets, paces, st.integers(1, 15))
def test_releases_that_follow_at_the_same_pace_can_cost_as_much(
    window: int, budget: int, paces: list[int], every: int
) -> None:
    """After any past, however uneven."""
    rations, spent, t = Rations(window, comes_back=True), dict[int, int](), 1
    for number, gap in enumerate(paces):
        remaining = left(spent, t, window, budget)
        spent[t] = remaining // (1 + number % 4)  # now and then all there is
        rations.spend(t, spent[t])
        t += gap
    least = 0
    for _ in range(3 * window):
        fair = rations.fair(t, every, left(spent, t, window, budget))
        assert fair >= least
        least = spent[t] = fair
        rations.spend(t, fair)
        t += every
    in_a_window = -(-window // every)
    assert least == budget // in_a_window  # in the end, even shares


@many
@given(windows, st.integers(0, 10**9), st.integers(1, 12), st.integers(1, 12))
def test_more_could_not_be_kept_up(window: int, budget: int, every: int, early: int) -> None:
    """What is fair is the most: with one nano-epsilon more for each, some later release could not be paid for."""
    rations, spent = Rations(window, comes_back=True), {early: budget // 2}
    rations.spend(early, budget // 2)
    t = early + every
    fair = rations.fair(t, every, left(spent, t, window, budget))
    refused = False
    for later in range(t, t + window, every):
        refused |= left(spent, later, window, budget) < fair + 1
        spent[later] = fair + 1
    assert refused


@many
@given(windows, budgets, paces, st.integers(1, 15), st.integers(1, 15))
def test_an_offer_is_what_is_fair_if_a_release_is_put_off(
    window: int, budget: int, paces: list[int], every: int, gap: int
) -> None:
    """After any past: one who waits finds just what was offered, unless what is left was spent on something else."""
    rations, spent, t = Rations(window, comes_back=True), dict[int, int](), 1
    for number, before in enumerate(paces):
        spent[t] = left(spent, t, window, budget) // (1 + number % 3)
        rations.spend(t, spent[t])
        t += before
    t += gap
    offers = rations.offers(t, every, left(spent, t, window, budget)).tolist()
    assert len(offers) == every
    assert offers == [rations.fair(later, every, left(spent, later, window, budget)) for later in range(t, t + every)]


@many
@given(st.integers(1, 60), budgets, paces)
def test_under_a_horizon_all_is_spent_by_the_end_and_never_more(horizon: int, budget: int, paces: list[int]) -> None:
    rations, remaining, t, gaps = Rations(horizon, comes_back=False), budget, 1, iter(paces)
    while t <= horizon:
        every = next(gaps, 1)
        fair = rations.fair(t, every, remaining)
        assert 0 <= fair <= remaining
        remaining -= fair
        rations.spend(t, fair)
        t += every
    assert remaining == 0


@many
@given(st.integers(1, 60), budgets, st.integers(1, 9))
def test_under_a_horizon_shares_are_even(horizon: int, budget: int, every: int) -> None:
    rations, remaining = Rations(horizon, comes_back=False), budget
    shares = []
    for t in range(1, horizon + 1, every):
        shares.append(rations.fair(t, every, remaining))
        remaining -= shares[-1]
    assert max(shares) - min(shares) <= 1


def test_what_is_remembered_does_not_grow() -> None:
    rations = Rations(5, comes_back=True)
    for t in range(1, 200):
        rations.spend(t, rations.fair(t, 1, 10))
    assert len(rations.times) == len(rations.spent) <= 6


def test_saved_and_loaded_it_goes_on_exactly() -> None:
    one, other = Rations(6, comes_back=True), Rations(6, comes_back=True)
    for t, nano in ((1, 500), (3, 100), (4, 250)):
        one.spend(t, nano)
    other.load(decode(encode(one.save())))
    for t in range(5, 12):
        fair = [each.fair(t, 2, 150 + t) for each in (one, other)]
        assert fair[0] == fair[1]
    assert isinstance(other.fair(12, 1, 1000), int)
    assert other.save().keys() == one.save().keys()
    np.testing.assert_array_equal(other.save()["times"], one.save()["times"])
