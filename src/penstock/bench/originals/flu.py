"""Visits to doctors for flu-like illness in the United States, as the Delphi group hands on the reports of ILINet."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

import numpy as np

from penstock.bench.originals.tables import Table, one_bin, other_format
from penstock.types import LARGEST_COUNT

WHAT = "an answer of fluview, a source of the Delphi Epidata API,"
NATION = "nat"
LAST_TOTAL = 202241  # the stream of totals, which others have measured on, ends here; the one of ages goes on
AGES = ("age_0_4", "age_5_24", "age_25_64", "age_65_up")
# The API's page calls the last of its six groups "unknown age", but the third is the old group 25 to 64, and the last
# is 65 and over: in its own example the groups add up to the total only so.
GIVEN = ("num_age_0", "num_age_1", "num_age_5")
# New York is without its city, which reports by itself. The last four have no names in the stream that others use;
# which is which is told from their sizes: the city, two that began to report later, and one that never did.
_NAMED = (
    "al:Alabama ak:Alaska az:Arizona ar:Arkansas ca:California co:Colorado ct:Connecticut de:Delaware"
    " dc:District_of_Columbia fl:Florida ga:Georgia hi:Hawaii id:Idaho il:Illinois in:Indiana ia:Iowa ks:Kansas"
    " ky:Kentucky la:Louisiana me:Maine md:Maryland ma:Massachusetts mi:Michigan mn:Minnesota ms:Mississippi"
    " mo:Missouri mt:Montana ne:Nebraska nv:Nevada nh:New_Hampshire nj:New_Jersey nm:New_Mexico"
    " ny_minus_jfk:New_York nc:North_Carolina nd:North_Dakota oh:Ohio ok:Oklahoma or:Oregon pa:Pennsylvania"
    " ri:Rhode_Island sc:South_Carolina sd:South_Dakota tn:Tennessee tx:Texas ut:Utah vt:Vermont va:Virginia"
    " wa:Washington wv:West_Virginia wi:Wisconsin wy:Wyoming jfk:region_51 mp:region_52 pr:region_53 vi:region_54"
)
STATES: Mapping[str, str] = dict(pair.split(":") for pair in _NAMED.split())

Report = Mapping[str, Any]


def totals(body: bytes) -> Table:
    """All visits, without the summer weeks in which nothing was collected in early years."""
    reports = _nation(body)
    kept = [week for week in sorted(reports) if week <= LAST_TOTAL and _collected(reports[week])]
    if not kept:
        raise other_format(WHAT)
    labels = [f"{week // 100}-W{week % 100:02}" for week in kept]
    return one_bin(labels, "ili_total", [reports[week]["num_ili"] for week in kept])


def ages(body: bytes) -> Table:
    """Visits by age, in every week; where nothing was collected they are 0."""
    reports = _nation(body)
    every = weeks(min(reports), max(reports))
    counts = np.array([_by_age(reports.get(week, {})) for week in every], np.int64)
    return Table([str(i) for i in range(len(every))], AGES, counts)


def states(body: bytes) -> Table:
    """Visits by state, in every week; who has not reported has 0."""
    reports = [report for report in _reports(body) if report["region"] in STATES]
    if not reports:
        raise other_format(WHAT)
    every = weeks(min(report["epiweek"] for report in reports), max(report["epiweek"] for report in reports))
    row, column = ({key: i for i, key in enumerate(keys)} for keys in (every, STATES))
    counts = np.zeros((len(every), len(STATES)), np.int64)
    for report in reports:
        counts[row[report["epiweek"]], column[report["region"]]] = report["num_ili"] or 0
    return Table([str(i) for i in range(len(every))], list(STATES.values()), counts)


def weeks(first: int, last: int) -> list[int]:
    """The weeks from one to another, as numbers like 199740.

    They begin on Sundays and belong to the year that has their Wednesday.

    >>> weeks(199752, 199802)
    [199752, 199753, 199801, 199802]
    """
    begin, end = _wednesday(first), _wednesday(last)
    days = (begin + timedelta(weeks=i) for i in range((end - begin).days // 7 + 1))
    return [day.year * 100 + (day.timetuple().tm_yday + 6) // 7 for day in days]


def _wednesday(week: int) -> date:
    first = date(week // 100, 1, 1)
    return first + timedelta(days=(2 - first.weekday()) % 7, weeks=week % 100 - 1)


def _nation(body: bytes) -> dict[int, Report]:
    reports = {report["epiweek"]: report for report in _reports(body) if report["region"] == NATION}
    if not reports:
        raise other_format(WHAT)
    return reports


def _reports(body: bytes) -> list[Report]:
    """The reports of an answer that is whole, every number in them looked at."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise other_format(WHAT) from None
    reports = answer.get("epidata") if isinstance(answer, dict) and answer.get("result") == 1 else None
    if not isinstance(reports, list) or not all(_is_report(report) for report in reports):
        raise other_format(WHAT)
    return reports


def _is_report(report: object) -> bool:
    if not isinstance(report, dict) or not isinstance(report.get("region"), str):
        return False
    week = report.get("epiweek")
    known = isinstance(week, int) and week // 100 in range(1990, 2100) and weeks(week, week) == [week]
    counts = [report.get(field) for field in ("num_ili", "num_patients", *GIVEN)]
    return known and all(count is None or (type(count) is int and 0 <= count <= LARGEST_COUNT) for count in counts)


def _collected(report: Report) -> bool:
    return bool(report.get("num_patients")) and report.get("num_ili") is not None


def _by_age(report: Report) -> tuple[int, int, int, int]:
    """The groups that are given, and between them what is left of the total."""
    given = [report.get(field) for field in GIVEN]
    if not _collected(report) or None in given:
        return 0, 0, 0, 0
    child, youth, old = (int(count or 0) for count in given)
    adult = report["num_ili"] - child - youth - old
    if adult < 0:
        raise other_format(WHAT)
    return child, youth, adult, old
