"""How many readings share a volley: by their noise, and never more than there is room for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.allocation.rations import Rations
from penstock.allocation.volleys import SIZES, WORTH, quietest, steady, wider
from penstock.epsilon import NANO, Epsilon

ONE = Epsilon(1)


def evenly(total: int, window: int, every: int) -> dict[int, int]:
    """What a volley of each size may cost in a horizon, and a reading alone."""
    return {size: total // -(-window // (size * every)) for size in (1, *SIZES)}


@given(st.integers(2, 300), st.integers(1, 40), st.integers(10_000, NANO))
def test_it_is_as_quiet_as_any_and_fits_into_a_window(window: int, every: int, total: int) -> None:
    fair = evenly(total, window, every)
    alone = Epsilon.of_nano(max(fair[1], 1))
    plan = quietest(alone, every, window, fair.__getitem__)
    noises = [wider(size) / nano for size, nano in fair.items() if nano and (size == 1 or size * every <= window)]
    assert plan.size == 1 or plan.size * every <= window
    assert plan.e == alone or plan.e.nano == fair[plan.size]
    assert wider(plan.size) / plan.e.nano <= min(noises) / WORTH * (1 + 1e-12)


def test_a_reading_alone_is_left_alone_where_little_is_gained() -> None:
    def just_as_quiet(size: int) -> int:
        return int(NANO * wider(size))

    assert quietest(ONE, 1, 100, lambda size: int(0.99 * just_as_quiet(size) / WORTH)).size == 1
    assert quietest(ONE, 1, 100, lambda size: int(1.01 * just_as_quiet(size) / WORTH)).size > 1
    assert quietest(ONE, 1, 100, lambda size: 0).size == 1


@pytest.mark.parametrize(
    ("window", "every", "comes_back", "part"), [(120, 1, True, 0.505), (120, 1, False, 0.459), (120, 40, True, 0.943)]
)
def test_what_tables_of_risk_count_on(window: int, every: int, comes_back: bool, part: float) -> None:
    """Of the noise of readings that pay for themselves: half at every unit, and nearly all where they are seldom."""
    assert steady(window, every, comes_back=comes_back) == pytest.approx(part * window / every, rel=0.02)


def test_that_is_what_a_sliding_window_has_room_for() -> None:
    """Volleys of twelve at every unit, one after another, each for the eleventh of epsilon that tables count on."""
    rations, window, size, open_until = Rations(window=120, comes_back=True), 120, 12, list[tuple[int, int]]()
    each = NANO // 11
    for begin in range(1, 1000, size):
        held = sum(nano for end, nano in open_until if end > begin - window)
        assert rations.fair(begin, size, NANO - held, size - 1) >= each
        rations.spend(begin + size - 1, each)
        open_until.append((begin + size - 1, each))


def test_what_is_read_for_longer_comes_back_later() -> None:
    rations = Rations(window=10, comes_back=True)
    rations.spend(3, 600)
    rations.move(3, 7, 600)
    assert rations.offers(t=13, every=1, remaining=0)[0] == 0
    assert rations.fair(t=17, every=10, remaining=600) == 600
    rations.move(7, 30, 600)  # over a gap: it had come back meanwhile
    assert rations.times == [30]
