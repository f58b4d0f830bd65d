"""The recount: the fullest protected set, from bare facts, by hand."""

import pytest

from penstock.charges import Fact, Point, Span, Touch, recount
from penstock.epsilon import Epsilon
from penstock.models import EventLevel, MContext, PrivacyModel, UserLevel, WEvent

ANN = [["ann"]] * 6


def point(t: int, nano: int) -> Point:
    return Point(t, Epsilon.of_nano(nano), "publish")


def span(a: int, b: int | None, nano: int, key: int = 0) -> Span:
    return Span(a, b, Epsilon.of_nano(nano), "decide", key)


@pytest.mark.parametrize("model", [EventLevel(epsilon=1), WEvent(epsilon=1, w=2), UserLevel(epsilon=1, horizon=3)])
def test_without_facts_nothing_was_paid(model: PrivacyModel) -> None:
    assert recount([], model) == Epsilon(0)


@pytest.mark.parametrize("presence", [None, [], [[]], ANN])
def test_without_facts_no_user_has_paid_anything(presence: list[list[str]] | None) -> None:
    assert recount([], MContext(epsilon=1, m=2), presence) == Epsilon(0)


@pytest.mark.parametrize(
    ("facts", "fullest"),
    [
        ([point(1, 5)], 5),
        ([point(1, 5), point(2, 3), point(3, 4)], 8),
        ([point(1, 5), point(3, 4)], 5),
        ([span(1, 3, 5), point(4, 2), point(5, 4)], 7),
        ([span(1, 2, 5), point(4, 2), point(5, 4)], 6),
        ([span(1, None, 5), point(9, 2)], 7),  # still open
        ([span(1, None, 5), point(9, 2), span(1, 2, 5)], 5),  # its end replaces its opening
        ([span(1, None, 5), span(2, None, 6, key=1)], 11),
    ],
)
def test_windows_of_two_units_are_added_up(facts: list[Fact], fullest: int) -> None:
    assert recount(facts, WEvent(epsilon=1, w=2)).nano == fullest


@pytest.mark.parametrize(
    ("facts", "presence", "fullest"),
    [
        ([point(1, 5), point(3, 4)], [["ann"], ["bob"], ["ann"]], 9),  # her presences follow each other
        ([point(1, 5), point(3, 4)], [["ann"], ["ann"], ["ann"]], 5),
        ([point(1, 5), point(3, 4)], [["ann"], [], ["bob"]], 5),
        ([span(1, None, 5), Touch(1, 0), Touch(3, 0), point(3, 4)], [["ann"], ["bob"], ["ann"]], 9),
        ([span(1, None, 5), Touch(1, 0), Touch(4, 0), point(3, 4)], ANN[:4], 9),  # two sets, each with one touch
        ([span(1, None, 5), Touch(1, 0), Touch(6, 0), point(3, 4)], ANN, 5),  # no set meets the span and the point
        ([span(1, None, 5), Touch(1, 0)], [["bob"], ["ann"]], 5),
        ([span(1, None, 5), Touch(1, 7)], [["ann"]], 0),  # another span's
    ],
)
def test_two_presences_in_a_row_are_added_up_for_each_user(
    facts: list[Fact], presence: list[list[str]], fullest: int
) -> None:
    assert recount(facts, MContext(epsilon=1, m=2), presence).nano == fullest
