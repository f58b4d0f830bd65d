"""Meters by themselves: what both kinds have in common, and what is kept of who was present."""

import numpy as np
import pytest

from penstock.meters import Meter, PresenceMeter, Roll, WindowMeter

SOMEBODY = np.array([0], np.intp)
METERS = [WindowMeter(2), PresenceMeter(2)]


@pytest.mark.parametrize("meter", METERS, ids=lambda meter: type(meter).__name__)
def test_a_span_counts_from_the_moment_it_is_opened(meter: Meter) -> None:
    meter.advance(SOMEBODY)
    meter.open(1, 5)
    assert (meter.total, meter.recount(), meter.fullest()) == (5, 5, 5)
    meter.touch(1)
    assert (meter.total, meter.if_touched(1)) == (5, 5)


@pytest.mark.parametrize("kind", [WindowMeter, PresenceMeter])
def test_before_the_first_unit_nothing_was_paid_by_anybody(kind: type[WindowMeter] | type[PresenceMeter]) -> None:
    meter = kind(2)
    assert (meter.total, meter.recount(), meter.fullest(), meter.leaving) == (0, 0, 0, 0)


def test_what_leaves_with_the_next_unit_is_what_the_oldest_unit_of_the_window_paid() -> None:
    meter = WindowMeter(2)
    leaving = []
    for nano in (3, 4, 0, 0):
        meter.advance(SOMEBODY)
        meter.add(nano)
        leaving.append((meter.total, meter.leaving))
    assert leaving == [(3, 0), (7, 3), (4, 4), (0, 0)]


def test_where_presence_decides_all_may_leave() -> None:
    """The next users are not known, and may have paid nothing."""
    meter = PresenceMeter(2)
    meter.advance(SOMEBODY)
    meter.add(3)
    assert meter.leaving == 3


@pytest.mark.parametrize(("m", "assumed"), [(1, 0), (2, 7)])
def test_rows_that_nobody_has_yet_hold_what_is_assumed_of_a_presence_before(m: int, assumed: int) -> None:
    """With m = 1 no protected set reaches back to a presence before, so nothing is."""
    meter = PresenceMeter(m)
    meter.forget(7)
    for users in (1, 2, 3):
        meter.advance(np.arange(users))
    assert meter.total == assumed
    assert meter.fullest() == assumed


def test_users_are_hashed_under_a_key_of_256_bits_into_128_bits_each() -> None:
    roll = Roll(3)
    assert roll.rows(("ann", "bob")).tolist() == [0, 1]
    saved = roll.save()
    assert (len(saved["key"]), len(saved["marks"])) == (32, 32)
