"""A stream at rest is watched: jumps are seen when they happen, for a few hundredths of epsilon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from in_process import published
from penstock.allocation.pacing import Pacing
from penstock.allocation.risk import compute, paces
from penstock.allocation.timetable import Timetable
from penstock.allocation.watch import LONG, SEEN, SELDOM, YESES, Experience, Watch, alarms, in_time, pays
from penstock.charges import Fact, Point, Span, recount
from penstock.checks import CHECKS, Subject
from penstock.errors import BadState
from penstock.primitives.dynamics import dynamics
from penstock.types import Ints

few = settings(derandomize=True, deadline=None, max_examples=25)
LAW: ps.PrivacyModel = ps.WEvent(epsilon=1, w=60)
SHORT: ps.PrivacyModel = ps.WEvent(epsilon=1, w=24)
pytestmark = pytest.mark.usefixtures("own_tables")


def watcher(model: ps.PrivacyModel, **options: Any) -> ps.Auto:
    """One that reads by itself whatever it reads: volleys make streams move faster than a watch is for."""
    return ps.Auto(model=model, sharing=False, **options)


def run(counts: Ints, model: ps.PrivacyModel = LAW, *, seed: int = 1, **options: Any) -> Ints:
    noise = ps.SimulationNoise(seed)
    return np.array([release.values for release in published(watcher(model, **options), counts, noise)])


def steps(*levels: int, units: int = 100, bins: int = 1) -> Ints:
    """Levels that stand still for so many units each."""
    return np.repeat([[level] * bins for level in levels], units, axis=0)


def journalled(model: ps.PrivacyModel, counts: Ints, seed: int = 1, **options: Any) -> list[Fact]:
    journal = list[Fact]()
    published(watcher(model, **options), counts, ps.SimulationNoise(seed), journal=journal.append)
    return journal


def yeses(journal: list[Fact]) -> list[int]:
    return [fact.t for fact in journal if isinstance(fact, Point) and fact.envelope == "decide"]


# ---- what it sees ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_a_jump_after_a_calm_is_seen_when_it_happens(seed: int) -> None:
    """At the unit itself, as well as a look can; and better and better after that. Unwatched, it takes up to a third of
    a window.
    """
    counts = steps(1000, 5000)
    watched, unwatched = (np.abs(run(counts, seed=seed, watching=on) - counts)[100:, 0] for on in (True, False))
    assert watched[0] < 400
    assert watched[20:].mean() < 40
    assert watched[:20].mean() < 0.2 * unwatched[:20].mean()


def test_a_second_jump_in_the_window_of_a_first_one_is_seen_as_well() -> None:
    """With every seed; unwatched, a stream may have been published at every unit since the first one, by chance."""
    counts = steps(1000, 5000)
    counts[150:] = 1500
    off: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(4):
        assert yeses(journalled(LAW, counts, seed)) == [101, 151]
        for watching, means in off.items():
            after = np.abs(run(counts, seed=seed, watching=watching) - counts)[150:170, 0]
            means.append(after.mean())
            assert not watching or after[0] < 400
    assert max(off[True]) < 40
    assert np.mean(off[True]) < 0.3 * np.mean(off[False])


def test_one_bin_of_many_is_enough() -> None:
    counts = steps(300, 300, bins=12)
    counts[100:, 7] = 4000
    off = np.abs(run(counts)[100:, 7] - 4000)
    assert off[0] < 500
    assert off[20:].mean() < 60


def test_a_jump_down_is_seen_as_well() -> None:
    counts = steps(5000, 200)
    assert np.abs(run(counts) - counts)[100, 0] < 400


def test_what_is_back_at_once_is_forgotten_soon() -> None:
    """A burst is published when it is there, and not for long after: there are looks at what comes next."""
    counts = steps(1000, 1000)
    counts[100] = 9000
    off = np.abs(run(counts) - counts)[:, 0]
    assert off[100] < 1000
    assert off[110:].mean() < 60


def test_a_calm_stream_pays_a_few_hundredths_for_it() -> None:
    """Over many windows; now and then there is a false alarm."""
    counts = steps(500, units=900)
    watched, unwatched = (
        np.mean([np.abs(run(counts, seed=seed, watching=on) - counts)[300:].mean() for seed in range(5)])
        for on in (True, False)
    )
    assert watched < 1.5 * unwatched + 0.2


def test_a_stream_that_is_published_often_is_not_watched() -> None:
    counts = np.random.default_rng(1).integers(0, 10**6, (150, 2))
    facts = journalled(LAW, counts)[60:]
    assert {fact.envelope for fact in facts if isinstance(fact, (Point, Span))} == {"publish"}
    np.testing.assert_array_equal(run(counts)[60:], run(counts, watching=False)[60:])


def test_rare_jumps_that_a_watch_sees_are_no_reason_to_publish_often() -> None:
    models = dynamics(60)
    large = (models.rate > 0) & (models.rate < 1 / 200) & (models.jump > (2 * SEEN) ** 2)
    seldom = np.array([pays(pace, -(-60 // pace)) for pace in paces(60).tolist()])
    unwatched, watched = compute(60, False, 6)[0]
    assert large.any()
    saved = (unwatched - watched)[seldom][:, large]
    assert (saved > 0).all()
    assert saved.mean() > 0.5  # in logarithms
    np.testing.assert_array_equal(watched[~seldom], unwatched[~seldom])
    np.testing.assert_array_equal(watched[:, models.rate == 0], unwatched[:, models.rate == 0])


def test_jumps_that_are_too_small_to_be_seen_take_no_yes() -> None:
    models, window = dynamics(240), 240
    wanted = alarms(models, window)
    assert (wanted[models.rate == 0] == 0).all()
    assert (wanted <= window * models.rate).all()
    small, large = (models.jump + models.burst < (SEEN / 5) ** 2), (models.jump > (8 * SEEN) ** 2)
    assert wanted[small].max() < 1e-4
    assert large.any()
    np.testing.assert_allclose(wanted[large], window * models.rate[large], rtol=0.1)


def test_a_watch_has_a_yes_left_if_few_are_wanted_and_none_if_there_are_many() -> None:
    """By Poisson's law; here it is counted out."""
    drawn = np.random.default_rng(1).poisson([[0.5], [2.0], [5.0], [20.0]], (4, 50_000))
    found = in_time(np.array([0.0, 0.5, 2.0, 5.0, 20.0]))
    assert found[0] == 1
    np.testing.assert_allclose(found[1:], (drawn < YESES).mean(axis=1), atol=0.01)


def test_bins_that_jump_together_are_told_by_experience_from_bins_that_do_not() -> None:
    """Models of single bins cannot know. What is known of long ago fades."""
    each = np.full(32, 0.5)
    at_first = Experience(60).expected(each)
    together, apart = Experience(60), Experience(60)
    for unit in range(120):
        together.add(yes=unit == 50)
        apart.add(yes=unit % 6 == 0)
    assert together.expected(each) < at_first < 0.5 * apart.expected(each)
    assert apart.expected(each) == pytest.approx(10, rel=0.25)
    apart.fade(60 * 40)
    assert apart.expected(each) == pytest.approx(at_first, rel=0.01)


def test_yeses_that_are_used_up_by_other_bins_are_a_reason_to_publish_more_often() -> None:
    """Each bin alone is best watched; of thirty that jump by themselves the yeses do not last."""
    models = dynamics(60)
    jumps = (models.rate > 1 / 200) & (models.rate < 1 / 100) & (models.jump > (2 * SEEN) ** 2)
    weights = np.tile(np.where(jumps, 1.0, 1e-12) / jumps.sum(), (30, 1))
    paces_found = []
    for often in (False, True):
        plan = Pacing(30, 60, "mae", endless=True)
        for t in range(10, 300, 10):
            for unit in range(10):
                plan.experience.add(yes=often and unit % 2 == 0)
            plan.update(t, weights, np.ones(30), np.ones(30))
        paces_found.append(plan.best)
    assert paces_found[0] < paces_found[1]


# ---- what it costs ---------------------------------------------------------------------------------------------------


LAWS = (
    *(ps.WEvent(epsilon=epsilon, w=w) for epsilon in ("0.1", "1", "40") for w in (24, 31)),
    ps.DeltaNeighbourhood(epsilon=1, steps=24),
    ps.UserLevel(epsilon=1, horizon=90),
)


@few
@given(
    st.sampled_from(LAWS), st.lists(st.sampled_from([0, 50, 10**4, 10**6]), min_size=3, max_size=3), st.integers(0, 99)
)
def test_no_protected_set_is_overspent_whatever_jumps(model: ps.PrivacyModel, levels: list[int], seed: int) -> None:
    journal = journalled(model, steps(*levels, units=30, bins=2), seed)
    assert recount(journal, model) <= model.epsilon
    found = yeses(journal)
    assert all(later - earlier >= model.window for earlier, later in zip(found, found[YESES:], strict=False))


def test_a_yes_costs_what_is_said_of_it() -> None:
    journal = journalled(LAW, steps(1000, 9000), seed=2)
    (yes,) = (fact for fact in journal if isinstance(fact, Point) and fact.envelope == "decide")
    span = next(fact for fact in journal if isinstance(fact, Span))
    assert (yes.t, float(yes.e), float(span.e)) == (101, 0.012, 0.022)


def test_in_a_horizon_nothing_is_left_of_what_was_kept_for_looks() -> None:
    model: ps.PrivacyModel = ps.UserLevel(epsilon=1, horizon=90)
    spent = recount(journalled(model, steps(500, units=90)), model)
    assert spent.nano > 0.98 * model.epsilon.nano  # a yes that never came is not paid


@pytest.mark.parametrize("steps_between", [1, 2, 3, 4])
def test_looks_become_smaller_and_there_is_always_one_more(steps_between: int) -> None:
    watch, remaining = Watch.of(LAW), LAW.epsilon.share(0.03)
    looks = []
    for _ in range(steps_between):
        looks.append(watch.look(remaining))
        remaining -= looks[-1]
    assert looks == sorted(looks, reverse=True)
    assert remaining > ps.Epsilon(0)


def test_after_something_happened_releases_come_at_growing_distances() -> None:
    counts = steps(300, 300, bins=12)
    counts[100:, 7] = 3000
    paid = (fact for fact in journalled(LAW, counts, seed=2) if isinstance(fact, Point) and fact.envelope == "publish")
    assert [fact.t - 101 for fact in paid if fact.t > 100][:5] == [0, 1, 3, 7, 15]


@pytest.mark.parametrize(("pace", "every", "expected"), [(3, 20, True), (12, 10, True), (13, 9, False), (3, 7, False)])
def test_a_watch_is_for_releases_that_are_few_and_far_between(pace: int, every: int, expected: bool) -> None:
    assert (SELDOM, LONG) == (12, 8)
    assert pays(pace, every) is expected


def test_nothing_is_watched_before_a_plan_at_a_given_pace_or_if_told_so() -> None:
    """All of them at a pace for which a watch is worth its price; once there is a plan, it is there."""
    early, paced, unwatched = (
        Timetable(LAW, 1, "mae"),
        Timetable(LAW, 1, "mae", 3),
        Timetable(LAW, 1, "mae", watching=False),
    )
    for timetable in (early, paced, unwatched):
        timetable._pacing.best = 3
    unwatched.settled = True
    assert not any(timetable.at_rest for timetable in (early, paced, unwatched))
    early.settled = True
    assert early.at_rest


def test_a_watch_that_is_not_needed_any_more_costs_nothing_after_a_window() -> None:
    """Calm first, then at every unit: all of epsilon is for releases again."""
    calm, wild = np.full((100, 1), 5000), np.random.default_rng(2).integers(0, 10**6, (200, 1))
    releases = published(watcher(SHORT), np.concatenate([calm, wild]), ps.SimulationNoise(1))
    assert {release.charged for release in releases[-60:]} == {SHORT.epsilon / 24}


def test_where_no_look_could_follow_nothing_is_asked() -> None:
    """After the last release of a horizon there is nothing left to look with."""
    model: ps.PrivacyModel = ps.UserLevel(epsilon=1, horizon=120)
    counts = steps(500, units=120)
    counts[116:] = 9000
    journal = journalled(model, counts)
    last = max(fact.t for fact in journal if isinstance(fact, Point) and fact.envelope == "publish")
    assert all(t <= last for t in yeses(journal))


# ---- restarts --------------------------------------------------------------------------------------------------------


def test_saved_in_the_middle_and_loaded_it_goes_on_the_same() -> None:
    """At every unit: before a jump, at it, and while it is looked at. The threshold is sealed, so it takes the key."""
    counts, noise, key = steps(300, 9000, units=70), ps.SimulationNoise(2), ps.new_key()
    expected = published(ps.Auto(model=LAW), counts, ps.SimulationNoise(2))
    mechanism = ps.Auto(model=LAW).start(ps.Curator(LAW, 1, noise=noise))
    running = 0
    for snapshot, before in zip(ps.streams.Stream(counts), expected, strict=True):
        running += mechanism.reader.watching
        state = mechanism.save(key)
        mechanism = ps.Auto(model=LAW).start(ps.Curator(LAW, 1, noise=noise))
        mechanism.load(state, key)
        assert mechanism.step(snapshot).same_as(before), snapshot.t
    assert running > 50
    assert mechanism.plan.stirred == 71


def test_a_state_of_a_version_with_other_parts_is_refused_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A state is saved every hundred units; one with a second segment is not what this version has."""
    begin = ps.Auto.begin

    def with_another(self: ps.Auto) -> None:
        begin(self)
        self.curator.segment()

    monkeypatch.setattr(ps.Auto, "begin", with_another)
    with ps.Store(tmp_path / "db") as store, ps.Publisher(ps.Auto(model=SHORT), store, "s", bins=["a"]) as publisher:
        for snapshot in ps.streams.Stream(steps(100, units=101)):
            publisher.publish(snapshot)
    monkeypatch.setattr(ps.Auto, "begin", begin)
    with ps.Store(tmp_path / "db") as store, pytest.raises(BadState, match=r"go on with the version that the releases"):
        ps.Publisher(ps.Auto(model=SHORT), store, "s", bins=["a"])


@pytest.mark.parametrize(
    "check", ["never_overspends", "non_interference", "same_on_neighbours", "resumes_exactly", "resumes_soundly"]
)
def test_the_checks_hold_while_it_watches(check: str) -> None:
    CHECKS[check](Subject(ps.Auto, SHORT))
