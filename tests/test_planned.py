"""Planned: published when it weighs something, with the plan's budgets, whatever happens on the way."""

from __future__ import annotations

import csv
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from in_process import Crash, crash_at, penstock, published
from penstock.allocation import plan
from penstock.allocation.weights import Unit
from penstock.charges import Fact, recount
from penstock.checks import CHECKS, Subject
from penstock.errors import OtherStream
from penstock.store import Archive
from penstock.store.verify import verify
from penstock.types import Cause, Published

few = settings(derandomize=True, deadline=None, max_examples=40)
W = ps.WEvent(epsilon=1, w=4)
USER = ps.UserLevel(epsilon=1, horizon=6)
FIRST = date(2026, 1, 1)  # a thursday
MONDAYS = [5, 12, 19, 26, 33, 40]


def rows(steps: int) -> list[list[int]]:
    return [[100 + t, 50] for t in range(steps)]


def fresh(releases: Iterable[ps.Release]) -> list[int]:
    return [release.t for release in releases if release.is_new]


def charges(releases: Iterable[ps.Release]) -> list[ps.Epsilon]:
    return [release.charged for release in releases]


def run(model: ps.PrivacyModel, steps: int, **options: Any) -> list[ps.Release]:
    return published(ps.Planned(model=model, **options), rows(steps), ps.SimulationNoise(1))


def busy(unit: Unit) -> float:
    """A function of public values: what was released last says how much the next one matters."""
    return 0 if unit.t % 3 == 0 else 1 + unit.t % 5 + abs(int(unit.last.values[0])) % 2


# ---- lists -----------------------------------------------------------------------------------------------------------


def test_a_list_is_published_with_the_budgets_of_its_plan_and_then_nothing_is() -> None:
    weights = [8, 0, 1, 1, 27, 0, 0, 1]
    releases = run(W, 12, weights=weights)
    assert charges(releases)[:8] == list(plan(weights, 4, 1).budgets)
    assert fresh(releases) == [1, 3, 4, 5, 8]


@few
@given(st.lists(st.sampled_from([0, 0, 1, 2, 1000]), min_size=6, max_size=14).filter(any), st.integers(1, 6))
def test_no_window_overspends_and_some_window_is_full(weights: list[int], w: int) -> None:
    model: ps.PrivacyModel = ps.WEvent(epsilon="0.7", w=w)
    journal = list[Fact]()
    mechanism = ps.Planned(model=model, weights=weights, error="absolute")
    releases = published(mechanism, rows(20), ps.SimulationNoise(2), journal=journal.append)
    assert fresh(releases) == [t for t, weight in enumerate(weights, start=1) if weight]
    assert model.epsilon.nano - 20 <= recount(journal, model).nano <= model.epsilon.nano


def test_equal_weights_are_uniform() -> None:
    assert charges(run(W, 8, weights=[3] * 8)) == [ps.Epsilon("0.25")] * 8
    even = charges(run(W, 30))
    assert all(ps.Epsilon("0.2499") <= e <= ps.Epsilon("0.2501") for e in even)


def test_a_list_that_is_repeated_goes_on_and_may_be_shorter_than_the_window() -> None:
    weights = [8, 0, 1]
    assert fresh(run(W, 12, weights=weights, after="repeat")) == [1, 3, 4, 6, 7, 9, 10, 12]
    with pytest.raises(ps.BadInput, match="window"):
        ps.Planned(model=W, weights=weights)


def test_under_a_horizon_a_list_is_cut_or_goes_on_with_zeros() -> None:
    short, long = [8, 1], [8, 1, 0, 0, 0, 0, 1000]
    expected = list(plan([8, 1, 0, 0, 0, 0], 6, 1).budgets)
    assert charges(run(USER, 6, weights=short)) == charges(run(USER, 6, weights=long)) == expected
    with pytest.raises(ps.BadInput, match="weigh"):
        ps.Planned(model=USER, weights=[0] * 6 + [1])


@pytest.mark.parametrize("options", [{"weights": [8, 0, 1], "after": "repeat"}, {"weights": "every 3: 8; every 2"}])
def test_under_a_horizon_all_of_epsilon_is_spent_by_its_end(options: dict[str, Any]) -> None:
    """Seen from the first unit on: nothing is kept for what lies past it."""
    spent = sum(e.nano for e in charges(run(USER, 6, **options)))
    assert 10**9 - 10 <= spent <= 10**9


def test_a_plan_is_better_than_uniform_where_it_matters() -> None:
    """By the noise that releases say they carry."""
    weights = np.array([100.0, 0, 1, 1, 0, 1] * 5)
    law = ps.WEvent(epsilon=1, w=6)
    planned = np.array([release.noise_sd[0] for release in run(law, 30, weights=weights)]) ** 2
    uniform = published(ps.Uniform(model=law), rows(30), ps.SimulationNoise(1))[0].noise_sd[0] ** 2
    assert float(weights @ planned) < 0.3 * float(weights.sum() * uniform)


# ---- rules -----------------------------------------------------------------------------------------------------------


def dated(steps: int) -> list[ps.Snapshot]:
    return [ps.Snapshot(t + 1, row, label=(FIRST + timedelta(days=t)).isoformat()) for t, row in enumerate(rows(steps))]


def by_label(steps: int, **options: Any) -> list[ps.Release]:
    mechanism = ps.Planned(**{"model": ps.WEvent(epsilon=1, w=30)} | options)
    mechanism.start(ps.Curator(mechanism.model, 2, noise=ps.SimulationNoise(1)))
    return [mechanism.step(snapshot) for snapshot in dated(steps)]


def test_on_mondays_by_label_and_by_the_first_day() -> None:
    labelled = by_label(45, weights="every monday")
    counted = run(ps.WEvent(epsilon=1, w=30), 45, weights="every Monday", first_day="2026-01-01")
    assert fresh(labelled) == fresh(counted) == MONDAYS
    assert charges(labelled) == charges(counted)
    assert all(ps.Epsilon("0.15") < e < ps.Epsilon("0.26") for e in charges(labelled) if e)  # five in thirty days


def test_what_is_known_ahead_is_planned_nearly_as_well_as_offline() -> None:
    text, law = "first day of the month: 50; every monday: 5; weekdays", ps.WEvent(epsilon=1, w=14)
    spent = np.array([float(e) for e in charges(by_label(120, model=law, weights=text))])
    counted = ps.Planned(model=law, weights=text, first_day="2026-01-01").weighing.expected(1, 120)
    weights = np.array(counted)
    best = plan(weights, 14, 1)
    here = weights > 0
    assert float((weights[here] / spent[here] ** 2).sum()) < 1.05 * best.value


def test_units_without_a_day_are_refused_before_anything_happens(tmp_path: Path) -> None:
    mechanism = ps.Planned(model=W, weights="weekends")
    curator = ps.Curator(W, 1, noise=ps.SimulationNoise(1))
    mechanism.start(curator)
    with pytest.raises(ps.BadInput, match="nobody says what day t=1 is"):
        mechanism.step(ps.Snapshot(1, [5]))
    assert (curator.ledger.t, curator.ledger.sequence) == (0, 0)
    with ps.Store(tmp_path / "db") as store:
        publisher = ps.Publisher(mechanism, store, "s", bins=["a"])
        with pytest.raises(ps.BadInput, match="nobody says what day t=1 is"):
            publisher.publish(ps.Snapshot(1, [5]))
        publisher.publish(ps.Snapshot(1, [5], label="2026-01-03"))
        with pytest.raises(ps.BadInput, match="nobody says what day t=2 is"):
            publisher.publish(ps.Snapshot(2, [5], label="sunday"))
        assert publisher.miss().cause is Cause.MISSING  # nobody asks for its day
        assert [release.cause for release in publisher.releases()] == [Cause.DECIDED, Cause.MISSING]


def test_days_that_are_left_out_of_a_stream_are_no_surprise_to_the_law() -> None:
    """Rows for weekdays only: Mondays come sooner than a calendar foresees, and a plan is made anew."""
    law: ps.PrivacyModel = ps.WEvent(epsilon=1, w=10)
    weekdays = [day for day in (FIRST + timedelta(days=n) for n in range(120)) if day.weekday() < 5]
    journal = list[Fact]()
    mechanism = ps.Planned(model=law, weights="every monday: 5; every friday")
    mechanism.start(ps.Curator(law, 1, noise=ps.SimulationNoise(1), journal=journal.append))
    snapshots = [ps.Snapshot(t, [9], label=day.isoformat()) for t, day in enumerate(weekdays, start=1)]
    releases = [mechanism.step(snapshot) for snapshot in snapshots]
    assert recount(journal, law) <= law.epsilon
    wanted = [t for t, day in enumerate(weekdays, start=1) if day.weekday() in (0, 4)]
    assert len(fresh(releases)) > 0.8 * len(wanted)
    assert set(fresh(releases)) <= set(wanted)


# ---- functions -------------------------------------------------------------------------------------------------------


def test_for_a_function_half_of_an_even_share_is_always_left() -> None:
    for weigh in (busy, lambda unit: 10.0**unit.t if unit.t < 40 else 1, lambda unit: 10.0 ** -(unit.t % 30)):
        releases = run(ps.WEvent(epsilon=1, w=6), 45, weights=weigh)
        weighing = [release.t for release in releases if weigh is not busy or release.t % 3]
        assert fresh(releases) == weighing
        assert min(e.nano for e in charges(releases) if e) >= 10**9 // 12


def test_a_function_that_gives_no_weight_stops_the_stream_and_costs_nothing() -> None:
    mechanism = ps.Planned(model=W, weights=lambda unit: -1 if unit.t == 3 else 1)
    curator = ps.Curator(W, 1, noise=ps.SimulationNoise(1))
    mechanism.start(curator)
    for t in (1, 2):
        mechanism.step(ps.Snapshot(t, [5]))
    with pytest.raises(ps.BadInput, match="gives to t=3 must be 0 or a positive number"):
        mechanism.step(ps.Snapshot(3, [5]))
    assert curator.ledger.t == 2


# ---- what every mechanism promises, for every kind of weights --------------------------------------------------------

KINDS: dict[str, dict[str, Any]] = {
    "list": {"weights": [8, 0, 1, 3, 0, 1] * 3},
    "repeated": {"weights": [8, 0, 1], "after": "repeat", "error": "absolute"},
    "days": {"weights": "every monday: 5; weekdays", "first_day": "2026-01-01"},
    "weeks": {"weights": "first day of the month", "first_day": "2026-W01"},
    "function": {"weights": busy},
}
LAWS = [ps.WEvent(epsilon=1, w=4), ps.DeltaNeighbourhood(epsilon=1, steps=3), ps.UserLevel(epsilon=2, horizon=7)]
CASES = [(kind, LAWS[number % 3]) for number, kind in enumerate([*KINDS, "list", "function"])]
BRIEFLY = [("list", LAWS[0]), ("days", LAWS[2]), ("function", LAWS[2])]
RUNS = [(check, *case) for check in ("never_overspends", "resumes_exactly") for case in CASES]
RUNS += [(check, *case) for check in ("non_interference", "resumes_soundly") for case in BRIEFLY]


@pytest.mark.parametrize(("check", "kind", "law"), RUNS, ids=lambda part: str(getattr(part, "called", part)))
def test_the_checks_hold_for_all_weights(check: str, kind: str, law: ps.PrivacyModel) -> None:
    CHECKS[check](Subject(ps.Planned, law, parameters=KINDS[kind]))


# ---- through a store -------------------------------------------------------------------------------------------------


def opened(store: ps.Store, **options: Any) -> ps.Publisher:
    model = ps.WEvent(epsilon=1, w=10)
    return ps.Publisher(ps.Planned(**{"model": model} | options), store, "s", bins=["a", "b"])


@pytest.mark.parametrize(
    "options", [{"weights": "every monday and thursday: 5; every day"}, {"weights": [5, 0, 1], "after": "repeat"}]
)
def test_stopped_and_started_again_it_spends_what_it_would_have(options: dict[str, Any], tmp_path: Path) -> None:
    """Also where a state was saved on the way (every hundred units), and what followed is played back."""
    steps = 112
    expected = [release.charged for release in by_label(steps, model=ps.WEvent(epsilon=1, w=10), **options)]
    found: list[Published] = []
    for begin, end in ((0, 7), (7, 8), (8, 104), (104, 107), (107, steps)):
        with ps.Store(tmp_path / "db") as store, opened(store, **options) as publisher:
            found += [publisher.publish(snapshot) for snapshot in dated(steps)[begin:end]]
    assert charges(found) == expected
    with Archive(tmp_path / "db") as archive:
        assert verify(archive, "s").peak == max_window(expected, 10)


def max_window(spent: list[ps.Epsilon], w: int) -> ps.Epsilon:
    return ps.Epsilon.of_nano(max(sum(e.nano for e in spent[t : t + w]) for t in range(len(spent))))


@pytest.mark.parametrize("options", [{"weights": "every monday and thursday"}, {"weights": [5, 0, 1] * 20}])
def test_a_crash_takes_what_it_may_have_spent_and_the_stream_recovers(options: dict[str, Any], tmp_path: Path) -> None:
    with ps.Store(tmp_path / "db") as store, opened(store, **options) as publisher:
        for snapshot in dated(11):
            publisher.publish(snapshot)
    with suppress(Crash), ps.Store(tmp_path / "db", at=crash_at("draw")) as store:
        opened(store, **options).publish(dated(12)[11])
    with ps.Store(tmp_path / "db") as store, opened(store, **options) as publisher:
        for snapshot in dated(50)[12:]:
            publisher.publish(snapshot)
        releases = list(publisher.releases())
    assert releases[11].cause is Cause.LOST
    assert {release.cause for release in releases[12:]} == {Cause.DECIDED}
    undisturbed = charges(by_label(50, model=ps.WEvent(epsilon=1, w=10), **options))
    assert fresh(releases[22:]) == [t for t, e in enumerate(undisturbed, start=1) if e and t > 22]
    assert max(charges(releases[12:21])) <= max(undisturbed)
    with Archive(tmp_path / "db") as archive:
        assert verify(archive, "s").peak == ps.Epsilon(1)  # at the crash, which took all that was left


def test_units_without_input_are_passed_over(tmp_path: Path) -> None:
    with ps.Store(tmp_path / "db") as store, opened(store, weights="every monday") as publisher:
        for snapshot in dated(40):
            if snapshot.t in (5, 6, 7, 8, 20):
                publisher.miss(snapshot.label)
            else:
                publisher.publish(snapshot)
        assert fresh(publisher.releases()) == [12, 19, 26, 33, 40]


def test_a_stream_is_declared_with_plain_weights(tmp_path: Path) -> None:
    (tmp_path / "weights.csv").write_text("day,weight\na,5\nb,0\nc,1\n", encoding="utf-8")
    assert ps.Planned(model=W, weights=str(tmp_path / "weights.csv"), after="repeat").parameters == {
        "weights": [5.0, 0.0, 1.0],
        "after": "repeat",
    }
    assert ps.Planned(model=W, weights="Every  Monday").parameters == {"weights": "every monday"}
    assert ps.Planned(model=W, weights=busy).parameters == {"weights": f"{busy.__module__}.busy"}
    assert ps.Planned(model=W, weights="weekends", first_day=FIRST).parameters["first_day"] == "2026-01-01"
    with ps.Store(tmp_path / "db") as store:
        with opened(store, weights="every monday: 5; every day") as publisher:
            publisher.publish(dated(1)[0])
        with opened(store, weights="EVERY monday:5.0,every day") as publisher:
            publisher.publish(dated(2)[1])
        with pytest.raises(OtherStream):
            opened(store, weights="every tuesday")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"weights": []}, "weight above 0"),
        ({"weights": [0, 0, 0, 0]}, "weight above 0"),
        ({"weights": [1, 1, 1, -1]}, "the weight of t=4"),
        ({"weights": "every mondy"}, r"Did you mean every monday\?"),
        ({"weights": "nowhere.txt"}, "cannot be read"),
        ({"weights": 7}, "weights are numbers"),
        ({"weights": [1] * 4, "after": "begin"}, '"stop" or "repeat"'),
        ({"weights": [1] * 4, "error": "cubed"}, '"squared" or "absolute"'),
        ({"unit": "fortnight"}, "a unit is one of"),
        ({"unit": 7}, "unit must be text or nothing"),
        ({"first_day": "yesterday"}, "first_day is the day"),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_made(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ps.BadInput, match=said):
        ps.Planned(model=W, **options)


def test_it_is_not_proven_for_presences_and_single_events() -> None:
    for model in (ps.EventLevel(epsilon=1), ps.MContext(epsilon=1, m=3)):
        with pytest.raises(ps.NotProven):
            ps.Planned(model=model)


# ---- as a new user ---------------------------------------------------------------------------------------------------


def test_killed_on_the_way_a_run_publishes_on_mondays_only(tmp_path: Path) -> None:
    days = [FIRST + timedelta(days=t) for t in range(180)]
    written = "".join(f"{day},{100 + t},{t}\n" for t, day in enumerate(days))
    (tmp_path / "counts.csv").write_text(f"day,north,south\n{written}", encoding="utf-8")
    told = ["--input", "counts.csv", "--output", "out.csv", "--store", "db", "--mechanism", "planned"]
    law = ["--model", "w-event", "--epsilon", "1", "--w", "30", "--set", "weights=every monday"]
    command = [sys.executable, "-m", "penstock", "run", *told, *law]
    child = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    output, give_up = tmp_path / "out.csv", time.monotonic() + 60
    while child.poll() is None and time.monotonic() < give_up:
        if output.exists() and output.read_bytes().count(b"\n") > 40:
            break
        time.sleep(0.002)
    child.kill()
    child.wait()
    subprocess.run(command, cwd=tmp_path, check=True, stderr=subprocess.DEVNULL)
    with output.open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert [row["t"] for row in found] == [day.isoformat() for day in days]
    published_on = {row["t"] for row in found if row["kind"] == "fresh"}
    mondays = {day.isoformat() for day in days if day.weekday() == 0}
    assert published_on <= mondays
    lost = [row["t"] for row in found if row["cause"] == "lost"]
    assert len(mondays - published_on) <= (5 if lost else 0)  # what was lost has to leave the window
    with Archive(tmp_path / "db") as archive:
        assert verify(archive, "counts").peak is not None


def test_an_undated_run_is_one_sentence_and_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "counts.csv").write_text("t,a\n1,5\n2,6\n", encoding="utf-8")
    told = [f"--input={tmp_path}/counts.csv", f"--output={tmp_path}/out.csv", f"--store={tmp_path}/db"]
    law = ["--mechanism=planned", "--model=w-event", "--epsilon=1", "--w=30", "--set=weights=weekends"]
    code, said = penstock("run", *told, *law)
    assert (code, len(said.splitlines())) == (2, 1)
    assert "nobody says what day t=1 is" in said
    code, said = penstock("run", *told, *law, "--set=first_day=2026-01-03")
    assert code == 0
    assert "2 new releases, 2 fresh" in said
