"""Weights from numbers, files, rules and functions; on which day a unit lies; what is said of those that are wrong."""

from collections.abc import Callable
from datetime import date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.allocation.days import first_day_of, unit_of, when_of
from penstock.allocation.rules import Rule, rule_of
from penstock.allocation.weighing import Weighing, weighing_of
from penstock.allocation.weights import Listed, Unit, Weights, is_file, read_weights, weights_of
from penstock.epsilon import Epsilon

few = settings(derandomize=True, deadline=None, max_examples=80)
days = st.dates(date(1990, 1, 1), date(2090, 1, 1))
BEFORE = ps.Release(0, np.zeros(1, np.int64), np.ones(1, np.int8), np.zeros(1), Epsilon(0))


def rule(text: str, first_day: str | None = None, unit: str | None = None, **options: Any) -> Weighing:
    return weighing_of(str(rule_of(text)), first_day, unit, **{"repeat": False, "window": 5} | options)


def held(text: str, first: date, number: int = 60) -> list[date]:
    """The days that a rule holds for."""
    weights = rule(text, first.isoformat()).expected(1, number)
    return [first + timedelta(days=n) for n, weight in enumerate(weights) if weight]


# ---- rules ----------------------------------------------------------------------------------------------------------

MEANINGS: dict[str, Callable[[date], bool]] = {
    "every monday": lambda day: day.isoweekday() == 1,
    "every sunday": lambda day: day.isoweekday() == 7,
    "every monday and thursday": lambda day: day.isoweekday() in (1, 4),
    "every monday and wednesday and friday": lambda day: day.isoweekday() in (1, 3, 5),
    "weekdays": lambda day: day.isoweekday() <= 5,
    "weekends": lambda day: day.isoweekday() > 5,
    "every day": lambda day: True,
    "first day of the month": lambda day: (day - timedelta(days=1)).month != day.month,
    "last day of the month": lambda day: (day + timedelta(days=1)).month != day.month,
}


@few
@given(st.sampled_from([*MEANINGS]), days)
def test_rules_hold_on_the_days_they_say(text: str, first: date) -> None:
    expected = [day for day in (first + timedelta(days=n) for n in range(60)) if MEANINGS[text](day)]
    assert held(text, first) == held(text.upper().replace(" ", "  "), first) == expected


@few
@given(
    st.sampled_from(["every 3: 8; every 2: 1", "every 7", "every 5: 0; every day: 2"]),
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 30)), min_size=2, max_size=6),
)
def test_what_is_expected_has_nothing_to_do_with_what_was_asked_before(text: str, asked: list[tuple[int, int]]) -> None:
    """Weights are kept for who goes on from unit to unit; who goes back, or far ahead, gets the right ones too."""
    weighing = rule(text)
    for first, number in asked:
        assert weighing.expected(first, number) == rule(text).expected(first, number)


def test_every_seventh_unit_begins_with_the_first_and_needs_no_date() -> None:
    assert rule("every 7").expected(1, 15) == [1] + [0] * 6 + [1] + [0] * 6 + [1]
    assert rule("every 1").expected(5, 3) == [1, 1, 1]


def test_the_first_rule_that_holds_decides_and_where_none_does_nothing_weighs() -> None:
    first = "2026-01-01"  # a thursday
    assert rule("every monday: 5; weekdays: 1.5", first).expected(1, 7) == [1.5, 1.5, 0, 0, 5, 1.5, 1.5]
    assert rule("weekends: 0, every day", first).expected(1, 4) == [1, 1, 0, 0]
    assert rule("every day: 2; every monday: 9", first).expected(5, 1) == [2]


@given(st.lists(st.tuples(st.sampled_from([*MEANINGS, "every 4"]), st.floats(1e-40, 1e40)), min_size=1, max_size=4))
@few
def test_a_rule_is_written_as_it_is_read(clauses: list[tuple[str, float]]) -> None:
    text = " ; ".join(f" {name} :{weight!r}" for name, weight in clauses)
    found = rule_of(text)
    assert isinstance(found, Rule)
    assert rule_of(str(found)) == found
    assert [(clause.name, clause.weight) for clause in found.clauses] == clauses


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("every mondey", "Did you mean every monday?"),
        ("every monday and thorsday", "Did you mean thursday?"),
        ("mondays", "Did you mean every monday?"),
        ("Weekday", "Did you mean weekdays?"),
        ("first day of month", "Did you mean first day of the month?"),
        ("every monday: 5; lst day of the month", "Did you mean last day of the month?"),
        ("every 0", "no rule is called 'every 0'"),
        ("every 7.5", "no rule is called 'every 7.5'"),
        (f"every 1{'0' * 40}", "no rule is called"),
        ("qwxyz", 'and "every 7".'),
        ("every monday: -1", 'the weight of "every monday" must be 0 or a positive number'),
        ("every monday: much", 'the weight of "every monday" must be 0 or a positive number'),
        ("every monday: nan", "must be 0 or a positive number"),
        ("every monday: 0; weekends: 0", "no unit weighs anything"),
        (" ; , ", "this one says nothing"),
        ("", "this one says nothing"),
    ],
)
def test_a_mistyped_rule_is_one_sentence_with_the_nearest_name(text: str, hint: str) -> None:
    with pytest.raises(ps.BadInput) as caught:
        weights_of(text)
    assert hint in str(caught.value)
    assert "\n" not in str(caught.value)


# ---- days -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "day", "unit"),
    [
        ("2026-01-05", date(2026, 1, 5), "day"),
        ("2026-01-05T23:30", date(2026, 1, 5), "hour"),
        ("2026-01-05 23:30:00", date(2026, 1, 5), "hour"),
        ("2026-01-05T23:30:00+05:00", date(2026, 1, 5), "hour"),
        ("2026-W02", date(2026, 1, 5), "week"),
        ("2026-02", date(2026, 2, 1), "month"),
    ],
)
def test_labels_tell_the_day(label: str, day: date, unit: str) -> None:
    when = when_of(label)
    assert when is not None
    assert (when.moment.date(), when.unit) == (day, unit)


@pytest.mark.parametrize("label", ["5", "20260105", "2026", "10:30", "monday", "2026-02-30", "2026-W60", "2026-13", ""])
def test_other_labels_tell_none(label: str) -> None:
    assert when_of(label) is None
    with pytest.raises(ps.BadInput, match=r"every monday.*nobody says what day t=3 is.*first_day=2026-01-05"):
        rule("every monday").weight(3, label, BEFORE)
    assert rule("every 2; every day: 2").weight(3, label, BEFORE) == 1


@few
@given(days, st.sampled_from(["hour", "day", "week", "month"]), st.integers(0, 200))
def test_units_follow_each_other(first: date, unit: str, number: int) -> None:
    """Each begins where the one before ends, and its days do, too."""
    when = when_of(first.isoformat(), unit)
    assert when is not None
    here, there = when.after(number), when.after(number + 1)
    assert here is not None
    assert there is not None
    if unit == "month":
        assert here.days()[0].day == 1
        assert here.days()[-1] + timedelta(days=1) == there.days()[0]
    else:
        assert there.moment - here.moment == timedelta(**{f"{unit}s": 1})
        assert len(here.days()) == (7 if unit == "week" else 1)
    assert when_of(str(here), unit) == here._replace(form=when_of(str(here)).form)  # type: ignore[union-attr]


def test_a_unit_has_a_day_if_one_of_its_days_is_it() -> None:
    assert rule("first day of the month", "2026-W01").expected(1, 6) == [1, 0, 0, 0, 1, 0]  # from 29 December on
    assert rule("last day of the month", "2026-01-05", "week").expected(1, 5) == [0, 0, 0, 1, 0]
    assert rule("every monday", "2026-01").expected(1, 3) == [1, 1, 1]
    assert rule("weekends", "2026-01-02T22:00").expected(1, 4) == [0, 0, 1, 1]


def test_labels_count_more_than_a_first_day() -> None:
    known = rule("every monday", "2026-01-01")
    assert known.weight(5, "5", BEFORE) == 1  # by its number, the fifth of January
    assert known.weight(5, "2026-01-06", BEFORE) == 0
    known.turn(5, "2026-01-06", BEFORE)
    assert known.expected(6, 7) == [0, 0, 0, 0, 0, 1, 0]


def test_the_calendar_ends_quietly() -> None:
    known = rule("every friday and saturday", "9999-12-31")  # a friday
    assert known.expected(1, 3) == [1, 0, 0]


@pytest.mark.parametrize("told", ["tomorrow", "5", "2026-02-30", 7, ""])
def test_a_first_day_is_a_date(told: object) -> None:
    with pytest.raises(ps.BadInput, match="first_day is the day of the first time unit, written 2026-01-05"):
        first_day_of(told)


def test_toml_has_dates_of_its_own() -> None:
    assert first_day_of(date(2026, 1, 5)) == "2026-01-05"
    assert first_day_of(datetime(2026, 1, 5, 7)) == "2026-01-05T07:00:00"
    assert first_day_of(None) is None
    assert unit_of("week") == "week"
    with pytest.raises(ps.BadInput, match=r"a unit is one of hour, day, week, month; got 'weeks'. Did you mean week\?"):
        unit_of("weeks")


# ---- numbers and files ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("told", [[0, 5, 1], (0.0, 5.0, 1.0), np.array([0, 5, 1]), [0, Fraction(5), "1"]])
def test_numbers_are_plain(told: object) -> None:
    found = weights_of(told)
    assert found == (0.0, 5.0, 1.0)
    assert isinstance(found, tuple)
    assert all(type(each) is float for each in found)
    assert weights_of(found) == found


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ([0, 0], "must have a weight above 0"),
        ([], "must have a weight above 0"),
        ([1, -2], "the weight of t=2 must be 0 or a positive number"),
        ([1, float("nan")], "the weight of t=2"),
        ([float("inf")], "the weight of t=1"),
        ([True], "the weight of t=1"),
        ([[1, 2]], "the weight of t=1"),
        ([10**400], "the weight of t=1"),
        (5, "weights are numbers, a rule, the name of a file or a function"),
        (None, "weights are numbers"),
        (b"every day", "weights are numbers"),
        ({"monday": 1}, "weights are numbers"),
    ],
)
def test_other_things_are_not(told: object, said: str) -> None:
    with pytest.raises(ps.BadInput, match=said):
        weights_of(told)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1\n0\n2.5\n", Listed((1, 0, 2.5))),
        ("\ufeff1\r\n0\r\n2.5\r\n\r\n\r\n", Listed((1, 0, 2.5))),
        ("Weight\n1\n0\n2.5", Listed((1, 0, 2.5))),
        ("day,weight\n2026-01-01,1\n2026-01-02,0\n", Listed((1, 0), ("2026-01-01", "2026-01-02"))),
        ("weight,day,note\n1,a,x\n2,b,\n", Listed((1, 2), ("a", "b"))),
    ],
)
def test_a_file_is_a_list_with_labels(text: str, found: Listed, tmp_path: Path) -> None:
    path = tmp_path / "weights.csv"
    path.write_text(text, encoding="utf-8", newline="")
    assert read_weights(str(path)) == found
    assert weights_of(str(path)) == found.weights


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "weights.csv is empty"),
        ("\n \n", "weights.csv is empty"),
        ("1\n\n2\n", "weights.csv, line 2 is blank; write 0"),
        ("1\nmany\n", "weights.csv, line 2: a weight must be 0 or a positive number"),
        ("1\n-2\n", "weights.csv, line 2: a weight must be 0 or a positive number"),
        ("-1\n", "weights.csv, line 1: a weight must be"),
        ("0\n0\n", "weights.csv must have a weight above 0"),
        ("weight\n", "weights.csv must have a weight above 0"),
        ("day,weigth\n1,2\n", r"line 1: neither a weight nor a header with a column .weight.*Did you mean weight\?"),
        ("1,2\n3,4\n", "line 1: neither a weight nor a header"),
        ("day,weight\n1,2\n2\n", "weights.csv, line 3: 1 columns instead of 2"),
        ("day,weight\n1,\n", "weights.csv, line 2: a weight must be"),
        ('day,weight\n"1,2\n', "is no text in UTF-8, one row a line"),
        ("1\n\udcff\n", "is no text in UTF-8"),
    ],
)
def test_a_malformed_file_is_refused_at_its_line(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "weights.csv"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ps.BadInput, match=said):
        weights_of(str(path))


def test_a_missing_file_is_no_rule() -> None:
    assert is_file("weights.txt")
    assert is_file("./weekdays")
    assert not is_file("every monday: 0.5; every day: 1.25")
    for text in ("none.csv", "no/such", "/"):
        with pytest.raises(ps.BadInput, match=r'cannot be read.*write a rule: "every monday"'):
            weights_of(text)


# ---- functions, and what is expected --------------------------------------------------------------------------------


def busy(unit: Unit) -> float:
    return 3 if unit.t % 2 else unit.last.t


def test_a_function_is_called_by_its_name() -> None:
    found = weights_of(busy)
    assert str(found) == repr(found) == f"{busy.__module__}.busy"
    assert weights_of(found) == found == weights_of(busy)
    assert str(weights_of(Named())) == f"{Named.__module__}.Named"


class Named:
    """Something that can be called, and has no name of its own."""

    def __call__(self, unit: Unit) -> float:
        return 1.0


def test_a_function_sees_what_is_public() -> None:
    seen: list[Unit] = []

    def looks(unit: Unit) -> float:
        seen.append(unit)
        return 1

    weighing_of(weights_of(looks), None, None, repeat=False, window=3).turn(7, "2026-W02", BEFORE)
    weighing_of(weights_of(looks), "2026-01-01", None, repeat=False, window=3).turn(7, "7", BEFORE)
    weighing_of(weights_of(looks), None, None, repeat=False, window=3).turn(7, "7", BEFORE)
    assert seen == [
        (7, "2026-W02", date(2026, 1, 5), BEFORE),
        (7, "7", date(2026, 1, 7), BEFORE),
        (7, "7", None, BEFORE),
    ]


@pytest.mark.parametrize("bad", [-1, float("nan"), None, "x", [1]])
def test_a_function_has_to_give_a_weight(bad: Any) -> None:
    known = weighing_of(weights_of(lambda unit: bad), None, None, repeat=False, window=3)
    with pytest.raises(ps.BadInput, match=r"the weight that .*<lambda> gives to t=4 must be 0 or a positive number"):
        known.weight(4, "4", BEFORE)


def test_the_last_window_is_expected_again() -> None:
    weights = {1: 5.0, 2: 0.0, 3: 7.0, 4: 1.0}
    known = weighing_of(weights_of(lambda unit: weights[unit.t]), None, None, repeat=False, window=3)
    expected = {1: [5, 5, 5, 5], 2: [5, 0, 5, 0], 3: [5, 0, 7, 5], 4: [0, 7, 1, 0]}
    for t, coming in expected.items():
        assert known.turn(t, str(t), BEFORE) == weights[t]
        again = weighing_of(weights_of(lambda unit: weights[unit.t]), None, None, repeat=False, window=3)
        again.load(known.save())
        assert known.expected(t + 1, 4) == coming
        assert list(known.save()["seen"]) == again.save()["seen"]
    assert not known.known


@few
@given(
    st.lists(st.floats(1e-9, 9) | st.just(0.0), min_size=1, max_size=9).filter(any), st.integers(1, 30), st.booleans()
)
def test_a_list_stops_or_repeats(weights: list[float], first: int, repeat: bool) -> None:
    known = weighing_of(weights_of(weights), None, None, repeat=repeat, window=3)
    whole = weights * 6 if repeat else weights + [0.0] * 60
    assert known.expected(first, 20) == [known.weight(t, "", BEFORE) for t in range(first, first + 20)]
    assert known.expected(first, 20) == whole[first - 1 : first + 19] or len(whole) < first + 19
    assert known.known


@pytest.mark.parametrize("told", [[1, 2], "every day: 2", lambda unit: 2])
def test_past_a_horizon_nothing_is_expected(told: Any) -> None:
    weights: Weights = weights_of(told)
    known = weighing_of(weights, None, None, repeat=True, window=5, horizon=5)
    known.turn(3, "3", BEFORE)
    assert [weight > 0 for weight in known.expected(4, 4)] == [True, True, False, False]
    assert known.expected(7, 2) == [0, 0]
