"""Labels of time units: which number each of them has, and what is refused."""

import string
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadInput
from penstock.streams import Calendar

LENGTHS = ["1s", "30min", "1h", "1d", "1w", "7d", "90min"]
DATES = st.dates(date(1900, 1, 1), date(2200, 1, 1))


def numbered(labels: list[str], every: str = "auto") -> list[int]:
    calendar = Calendar(every)
    return [calendar.unit(label) for label in labels]


def refused(labels: list[str], every: str = "auto") -> str:
    with pytest.raises(BadInput) as fault:
        numbered(labels, every)
    return str(fault.value)


@pytest.mark.parametrize(
    "labels",
    [
        ["0", "1", "2"],
        ["-5", "-4", "-3"],
        ["10", "20", "30"],
        ["2019", "2020", "2021"],
        ["2026-02-27", "2026-02-28", "2026-03-01"],
        ["2024-02-28", "2024-02-29", "2024-03-01"],
        ["2026-11-02", "2026-11-09", "2026-11-16"],
        ["2026-11", "2026-12", "2027-01"],
        ["2020-01", "2020-04", "2020-07"],
        ["2020-01-15", "2020-02-15", "2020-03-15"],
        ["2020-12-31", "2021-12-31", "2022-12-31"],
        ["2020-W52", "2020-W53", "2021-W01"],
        ["2021-W51", "2021-W52", "2022-W01"],
        ["2026-11-15T23:00", "2026-11-15T23:30", "2026-11-16T00:00"],
        ["2026-11-15 23:00", "2026-11-15 23:30", "2026-11-16 00:00"],
        ["2026-11-15T23:59:59", "2026-11-16T00:00:00", "2026-11-16T00:00:01"],
        ["10:00", "10:30", "11:00"],
        ["2026-10-25T02:00+02:00", "2026-10-25T02:00+01:00", "2026-10-25T03:00+01:00"],
        ["2026-11-15T23:00Z", "2026-11-16T00:00Z", "2026-11-16T01:00Z"],
    ],
)
def test_labels_that_follow_each_other_are_1_2_3(labels: list[str]) -> None:
    assert numbered(labels) == [1, 2, 3]


@pytest.mark.parametrize(
    ("every", "labels", "units"),
    [
        ("row", ["north", "south", "east"], [1, 2, 3]),
        ("row", ["2026-11-15", "1", "2026-11"], [1, 2, 3]),
        ("1mo", ["2026-01-15", "2026-03-15"], [1, 3]),
        ("3mo", ["2026-01", "2026-04", "2026-10"], [1, 2, 4]),
        ("1y", ["2026-01-01", "2028-01-01"], [1, 3]),
        ("1y", ["2024-02-29", "2028-02-29"], [1, 5]),
        ("1w", ["2020-W52", "2021-W01"], [1, 3]),
        ("30min", ["10:00", "11:00"], [1, 3]),
        ("1d", ["2026-01-01", "2026-01-03T00:00"], [1, 3]),
        ("5", ["0", "5", "15"], [1, 2, 4]),
        (" 30 MIN ", ["10:00", "10:30"], [1, 2]),
    ],
)
def test_the_length_of_a_unit_can_be_told(every: str, labels: list[str], units: list[int]) -> None:
    assert numbered(labels, every) == units


@pytest.mark.parametrize(
    ("labels", "every", "sentence"),
    [
        (["Monday 31337"], "auto", "neither a number nor a date"),
        ([""], "auto", "neither a number nor a date"),
        (["2026-13"], "auto", "neither a number nor a date"),
        (["2021-W53"], "auto", "a week that its year does not have"),
        (["2026-02-29"], "auto", "neither a number nor a date"),
        (["2026-11-15", "2026-11"], "1d", "is a month, and the first one is a time"),
        (["2026-11-15T10:00", "2026-11-15T11:00Z"], "1h", "with zone"),
        (["2026-11-15", "2026-11-16", "2026-11-16T06:00"], "auto", "not a whole number of time units"),
        (["2026-01-15", "2026-02-16"], "1mo", "not a whole number of time units"),
        (["3", "2"], "auto", "does not come after"),
    ],
)
def test_a_label_without_a_place_is_refused_and_not_shown(labels: list[str], every: str, sentence: str) -> None:
    text = refused(labels, every)
    assert sentence in text
    assert "31337" not in text


@pytest.mark.parametrize("every", ["fortnight", "0d", "-1d", "1.5h", "d1", "row2", "1 d x", "99999999999999999999d?"])
def test_a_length_that_means_nothing_is_refused(every: str) -> None:
    with pytest.raises(BadInput, match="every is a length like"):
        Calendar(every)


def test_a_repeated_label_has_the_same_number() -> None:
    assert numbered(["5", "6", "6", "5"]) == [1, 2, 2, 1]
    assert numbered(["x", "y", "y", "x"], "row") == [1, 2, 2, 1]


def test_months_count_across_long_gaps() -> None:
    assert numbered(["2026-11-01", "2026-12-01", "2027-03-01"]) == [1, 2, 5]


@pytest.mark.parametrize("every", ["auto", "1mo"])
def test_the_last_days_of_months_are_a_month_apart(every: str) -> None:
    assert numbered(["2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30"], every) == [1, 2, 3, 4]


def test_what_a_month_is_called_is_a_label_it_knows() -> None:
    calendar = Calendar("1mo")
    calendar.unit("2026-01-31")
    assert [calendar.unit(calendar.label(t)) for t in range(1, 14)] == list(range(1, 14))


@pytest.mark.parametrize("offset", ["+01:00", "-05:00", "Z"])
def test_months_begin_at_midnight_of_their_own_zone(offset: str) -> None:
    labels = [f"2026-{month:02d}-01T00:00{offset}" for month in range(1, 8)]
    assert numbered(labels) == [1, 2, 3, 4, 5, 6, 7]


def test_hours_that_begin_with_a_bare_date_keep_their_hour() -> None:
    """A data frame writes midnight without its hour."""
    calendar = Calendar()
    assert [calendar.unit("2026-01-01"), calendar.unit("2026-01-01T01:00:00")] == [1, 2]
    assert [calendar.unit(calendar.label(t)) for t in range(1, 50)] == list(range(1, 50))


def test_a_time_of_day_is_called_a_time_of_day() -> None:
    calendar = Calendar("30min")
    calendar.unit("10:00")
    assert calendar.label(2).startswith("10:30")


def test_a_zone_is_kept_when_a_missing_unit_is_named() -> None:
    calendar = Calendar("1h")
    calendar.unit("2026-11-15T10:00+02:00")
    calendar.unit("2026-11-15T12:00+02:00")
    assert datetime.fromisoformat(calendar.label(2)) == datetime(2026, 11, 15, 9, tzinfo=UTC)


@pytest.mark.parametrize("every", ["1mo", "1y"])
@pytest.mark.parametrize("label", ["1700000000000", "-1700000000000", "999999999999999999"])
def test_numbers_too_large_for_a_date_are_refused_in_a_sentence(every: str, label: str) -> None:
    refused(["0", label], every)


@pytest.mark.parametrize("every", ["1d", "1w", "30min", "1mo"])
def test_plain_numbers_are_not_lengths_of_time(every: str) -> None:
    """Twice sixty seconds or twice a day: nobody who writes 86401 means a second."""
    refused(["1", "2"], every)


@pytest.mark.parametrize("label", ["0001-01-01T00:30+10:00", "9999-12-31T23:30-10:00"])
def test_times_at_the_end_of_the_calendar_do_not_overflow(label: str) -> None:
    refused([label])


def test_known_labels_keep_their_numbers() -> None:
    dated = Calendar("auto", [(1, "2026-11-01"), (2, "2026-11-08")])
    assert [dated.unit("2026-11-01"), dated.unit("2026-11-15"), dated.unit("2026-11-29")] == [1, 3, 5]
    named = Calendar("row", [(1, "x"), (2, "y")])
    assert [named.unit("y"), named.unit("z")] == [2, 3]


def test_one_known_label_and_a_new_one_make_a_step() -> None:
    calendar = Calendar("auto", [(1, "2026-11-01")])
    calendar.last = 1
    assert [calendar.unit("2026-11-08"), calendar.unit("2026-11-15")] == [2, 3]


def test_what_may_have_been_published_under_an_unknown_label_gets_no_number() -> None:
    for calendar in (Calendar(last=5), Calendar("row", [(1, "a")], last=5)):
        with pytest.raises(BadInput, match="must not be drawn again"):
            calendar.unit("9")
    assert Calendar("row", [(1, "a")], last=5).unit("a") == 1
    assert Calendar("1d", [(1, "2026-11-15")], last=5).unit("2026-11-20") == 6


@given(start=st.integers(-(10**12), 10**12), step=st.integers(1, 10**6), t=st.integers(1, 10**5))
def test_numbers_come_back(start: int, step: int, t: int) -> None:
    calendar = Calendar(str(step))
    assert calendar.unit(str(start)) == 1
    assert calendar.label(t) == str(start + (t - 1) * step)
    assert calendar.unit(calendar.label(t)) == t


@given(start=DATES, every=st.sampled_from(LENGTHS), t=st.integers(1, 5000))
def test_dates_and_times_come_back(start: date, every: str, t: int) -> None:
    calendar = Calendar(every)
    calendar.unit(f"{start.isoformat()}T00:00:00")
    assert calendar.unit(calendar.label(t)) == t


@given(start=DATES, t=st.integers(1, 3000))
def test_weeks_come_back_and_53_weeks_count(start: date, t: int) -> None:
    def name(day: date) -> str:
        return f"{day.isocalendar().year}-W{day.isocalendar().week:02d}"

    calendar = Calendar("1w")
    calendar.unit(name(start))
    later = start + timedelta(weeks=t - 1)
    assert calendar.unit(name(later)) == t
    assert calendar.label(t) == name(later)


@given(start=st.integers(1900 * 12, 2200 * 12), step=st.integers(1, 24), t=st.integers(1, 300))
def test_months_come_back(start: int, step: int, t: int) -> None:
    def name(month: int) -> str:
        return f"{month // 12:04d}-{month % 12 + 1:02d}"

    calendar = Calendar(f"{step}mo")
    calendar.unit(name(start))
    assert calendar.label(t) == name(start + (t - 1) * step)
    assert calendar.unit(calendar.label(t)) == t


@given(day=st.integers(27, 31), year=st.integers(1900, 2200), step=st.integers(1, 24), t=st.integers(1, 100))
def test_late_days_of_months_come_back(day: int, year: int, step: int, t: int) -> None:
    calendar = Calendar(f"{step}mo")
    calendar.unit(date(year, 1, day).isoformat())
    assert calendar.unit(calendar.label(t)) == t


@given(
    start=st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1)).map(lambda when: when.replace(microsecond=0)),
    hours=st.integers(-12, 14),
    steps=st.lists(st.integers(1, 500), max_size=20),
)
def test_order_is_kept_and_every_gap_is_seen(start: datetime, hours: int, steps: list[int]) -> None:
    zone = timezone(timedelta(hours=hours))
    calendar, at, expected = Calendar("15min"), start.replace(tzinfo=zone), 1
    assert calendar.unit(at.isoformat()) == 1
    for step in steps:
        at, expected = at + step * timedelta(minutes=15), expected + step
        assert calendar.unit(at.isoformat()) == expected


@given(st.lists(st.text(), max_size=30))
def test_names_are_numbered_in_the_order_they_come(names: list[str]) -> None:
    assert numbered(names, "row") == [list(dict.fromkeys(names)).index(name) + 1 for name in names]


strange = st.text(st.characters(exclude_characters=string.ascii_lowercase), max_size=30)  # no words of a sentence


@given(strange, strange)
def test_any_text_is_numbered_or_refused(first: str, second: str) -> None:
    calendar, said = Calendar(), ""
    for label in (first, second):
        try:
            assert isinstance(calendar.unit(label), int)
        except BadInput as fault:
            said = str(fault)
        assert len(label) < 4 or label not in said


@pytest.mark.parametrize("label", ["2014-W53", "1997-W53", "2026-W54", "2026-W00"])
def test_a_week_that_is_not_there_is_called_by_its_name(label: str) -> None:
    with pytest.raises(BadInput, match="a week that its year does not have"):
        Calendar().unit(label)


def test_the_closest_two_of_the_first_labels_tell_the_length_of_a_unit() -> None:
    calendar = Calendar()
    calendar.preview(["2026-W01", "not a time", "2026-W03", "2026-W04"])
    assert [calendar.unit(label) for label in ("2026-W01", "2026-W03", "2026-W04")] == [1, 3, 4]
