"""Auto: a pace that fits the stream, estimates that are worth more than releases, and never more than epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from in_process import models, published
from penstock.charges import Fact, recount
from penstock.checks import CHECKS, Subject
from penstock.store import Archive
from penstock.store.verify import verify
from penstock.types import Cause, Ints, Kind

few = settings(derandomize=True, deadline=None, max_examples=40)
LAW: ps.PrivacyModel = ps.WEvent(epsilon=1, w=20)
SHORT: ps.PrivacyModel = ps.WEvent(epsilon=1, w=6)
pytestmark = pytest.mark.usefixtures("own_tables")


def auto(model: ps.PrivacyModel = LAW, **options: Any) -> Any:
    return ps.Auto(model=model, **options)


def run(counts: Any, model: ps.PrivacyModel = LAW, *, seed: int = 1, **options: Any) -> list[ps.Release]:
    return list(ps.publish(ps.streams.Stream(counts), auto(model, **options), noise=ps.SimulationNoise(seed)))


def released(releases: Sequence[ps.Release]) -> list[int]:
    """The units that were measured."""
    return [release.t for release in releases if (release.kind == Kind.ESTIMATED.value).any()]


def values(releases: Sequence[ps.Release]) -> Ints:
    return np.array([release.values for release in releases])


def walk(step: float, *, units: int, bins: int = 2, begin: float = 1e4, seed: int = 1) -> Ints:
    """Counts that move by ``step`` a unit as a rule."""
    moved = begin + np.cumsum(np.random.default_rng(seed).normal(0, step, (units, bins)), axis=0)
    return np.maximum(moved, 0).astype(np.int64)


def sparse(seed: int, *, units: int = 120, bins: int = 20) -> Ints:
    """Most bins hold a few, some hold many."""
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.lognormal(2, 2, bins), (units, bins))


def intervals(releases: Sequence[ps.Release]) -> tuple[Ints, Ints]:
    """Their lower and upper ends; every release has them."""
    ends = [(release.low, release.high) for release in releases if release.low is not None]
    assert len(ends) == len(releases)
    low, high = np.array(ends).swapaxes(0, 1)
    return low, high


def covered(counts: Ints, releases: Sequence[ps.Release]) -> float:
    """The share of counts that lie in their intervals."""
    low, high = intervals(releases)
    return float(np.mean((low <= counts) & (counts <= high)))


# ---- pace and error --------------------------------------------------------------------------------------------------


def test_a_stream_that_stands_still_is_published_seldom_and_known_well() -> None:
    """Better than a release that all of epsilon buys: many of them are averaged."""
    counts = np.full((300, 3), 500)
    errors = []
    for seed in range(4):
        releases = run(counts, seed=seed)
        assert len(released(releases[-20:])) <= 5
        errors.append(np.abs(values(releases) - counts)[200:].mean())
    assert np.mean(errors) < 1.5  # of Uniform, it is 20


def test_a_stream_that_leaps_is_published_at_every_unit_with_an_even_share() -> None:
    counts = np.random.default_rng(1).integers(0, 10**6, (70, 2))
    releases = run(counts)
    assert released(releases)[-60:] == list(range(11, 71))
    assert {release.charged for release in releases[40:]} == {LAW.epsilon / 20}
    assert np.abs(values(releases) - counts)[20:].mean() == pytest.approx(20, rel=0.25)  # the noise of such a share


def test_the_faster_a_stream_the_more_often_it_is_published() -> None:
    numbers = [len(released(run(walk(step, units=160))[80:])) for step in (0.1, 10, 2000)]
    assert numbers == sorted(set(numbers))
    assert numbers[2] > 3 * numbers[0]


def test_it_wakes_up_when_a_stream_does_and_calms_down_again() -> None:
    calm, wild = np.full((150, 1), 5000), np.random.default_rng(2).integers(0, 10**5, (60, 1))
    releases = run(np.concatenate([calm, wild, calm, calm]))
    stretches = [len(released(releases[begin : begin + 40])) for begin in (110, 170, 470)]
    assert stretches[1] > 2 * stretches[0]
    assert stretches[1] > 2 * stretches[2]


def test_a_jump_is_seen_at_the_next_release() -> None:
    counts = np.repeat([[1000], [4000]], 150, axis=0)
    releases = run(counts)
    seen = next(t for t in released(releases) if t > 150)
    assert seen <= 150 + 20
    off = np.abs(values(releases) - counts)[:, 0]
    assert off[seen - 1] < 100
    assert off[seen + 40 :].mean() < 10


def test_a_season_is_foretold_between_releases() -> None:
    """A day of 24 hours; without its seasons the same mechanism knows less."""
    hours = np.arange(500)
    counts = np.rint(1000 + 300 * np.sin(2 * np.pi * hours / 24))[:, np.newaxis].astype(np.int64)
    law = ps.WEvent(epsilon="0.1", w=20)
    with_seasons, without = (
        np.mean([np.abs(values(run(counts, law, seed=seed, seasons=seasons)) - counts)[250:].mean() for seed in (1, 2)])
        for seasons in (True, False)
    )
    assert with_seasons < 0.8 * without


def test_alike_bins_correct_each_other() -> None:
    """Many empty bins: what was measured in them is noise."""
    counts = np.zeros((60, 30), np.int64)
    law = ps.WEvent(epsilon="0.1", w=10)
    shrunken, plain = (
        np.mean([values(run(counts, law, seed=seed, shrinking=shrinking))[10:].mean() for seed in (1, 2)])
        for shrinking in (True, False)
    )
    assert shrunken < 0.5 * plain


@pytest.mark.parametrize("period", [12, 24, 48])
def test_a_cycle_is_met_at_several_of_its_hours(period: int) -> None:
    """It is too small to be followed, so releases are seldom; they do not come at the same hours for ever."""
    counts = (100 + 3 * np.sin(2 * np.pi * np.arange(900) / period)).astype(np.int64)[:, np.newaxis]
    units = released(run(counts, ps.WEvent(epsilon="0.1", w=72)))[10:]
    assert len(units) < 900 / 8
    assert len({unit % period for unit in units}) >= 3


@pytest.mark.parametrize(("pace", "every"), [(1, 20), (4, 5), (7, 3), (20, 1)])
def test_a_pace_that_is_given_is_kept(pace: int, every: int) -> None:
    releases = run(walk(100, units=90), pace=pace)
    assert released(releases) == list(range(1, 91, every))
    in_a_window = -(-20 // every)
    even = LAW.epsilon / in_a_window
    assert all(even - release.charged <= ps.Epsilon.of_nano(1) for release in releases if release.charged)


def test_relative_errors_are_smaller_if_they_are_the_objective_and_absolute_ones_are_not() -> None:
    law = ps.WEvent(epsilon="0.1", w=20)
    mean, relative = np.zeros(2), np.zeros(2)
    for seed in range(16):
        counts = sparse(seed)
        for number, objective in enumerate(("mae", "mre")):
            off = np.abs(values(run(counts, law, seed=seed, objective=objective)) - counts)
            mean[number] += off.mean()
            relative[number] += (off / np.maximum(counts, 1)).mean()
    assert relative[1] < 0.8 * relative[0]
    assert mean[1] >= 0.9 * mean[0]


@pytest.mark.parametrize("objective", ["mae", "rmse", "mre"])
def test_every_objective_beats_publishing_always_on_a_slow_stream(objective: str) -> None:
    counts = walk(2, units=150, bins=3, begin=300)
    off = np.abs(values(run(counts, objective=objective)) - counts)[20:]
    uniform = values(published(ps.Uniform(model=LAW), counts, ps.SimulationNoise(1)))
    assert off.mean() < 0.6 * np.abs(uniform - counts)[20:].mean()


# ---- sums ------------------------------------------------------------------------------------------------------------

EVENT: ps.PrivacyModel = ps.EventLevel(epsilon="0.1")


def sums_of(counts: Ints, width: int) -> Ints:
    total = np.cumsum(counts, axis=0)
    total[width:] -= total[:-width].copy()
    return total


@pytest.mark.parametrize("width", [1, 2, 9])
def test_at_event_level_sums_of_the_last_units_are_better_than_those_of_releases(width: int) -> None:
    """On a slow stream, from its first unit on."""
    counts = walk(1, units=120, begin=200)
    releases = run(counts, EVENT, width=width)
    plain = values(published(ps.Baseline(model=EVENT), counts, ps.SimulationNoise(1)))
    truth = sums_of(counts, width)
    off, others = np.abs(values(releases) - truth), np.abs(sums_of(plain, width) - truth)
    assert off[20:].mean() < 0.6 * others[20:].mean()
    assert off[:width].mean() <= 1.1 * others[:width].mean()
    assert {release.charged for release in releases} == {EVENT.epsilon}
    assert covered(truth, releases) > 0.8


def test_units_without_input_are_no_part_of_later_sums() -> None:
    """What was expected of them is: a sum stays one of as many units."""
    mechanism = auto(EVENT, width=4).start(ps.Curator(EVENT, 2, noise=ps.SimulationNoise(1)))
    steps = [
        mechanism.pass_over(snapshot) if snapshot.t in (1, 2, 40, 50, 51, 52, 53, 54) else mechanism.step(snapshot)
        for snapshot in ps.streams.Stream(np.full((70, 2), 1000))
    ]
    assert np.abs(values(steps)[[41, 42, 55, 69]] - 4000).max() < 150


# ---- intervals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1.0, 6.0, 200.0])
def test_intervals_hold_the_counts_of_a_walk_as_often_as_they_say(step: float) -> None:
    found = []
    for seed in range(3):
        counts = walk(step, units=200, bins=3, seed=seed)
        releases = run(counts, seed=seed)
        found.append(covered(counts, releases))
    assert 0.85 <= np.mean(found) <= 1


def test_of_a_first_release_the_noise_is_all_that_is_known() -> None:
    (release,) = run(np.full((1, 1), 10**6), shrinking=False)
    low, high = intervals([release])
    assert (high - low).item() / 2 == pytest.approx(np.log(20) / np.sqrt(2) * release.noise_sd[0], rel=0.03)


def test_intervals_are_no_wider_than_they_need_be_and_widen_between_releases() -> None:
    """A walk of 30 a unit, published every fifth: the next unit is as uncertain as a step is, the fifth more so."""
    releases = run(walk(30, units=200), pace=4)
    low, high = intervals(releases[100:])
    by_age = (high - low).reshape(-1, 5, 2).mean(axis=(0, 2))  # units 101, 106, ... are released
    assert (np.diff(by_age) > 0).all()
    assert by_age[-1] < 2 * 1.96 * 4 * 30


# ---- budgets ---------------------------------------------------------------------------------------------------------


@few
@given(models(["0.1", "1", "8"], 9, 30), st.integers(0, 2**20), st.sampled_from([0, 1, 30, 10**5]))
def test_no_protected_set_is_overspent_and_none_is_left_unused(model: ps.PrivacyModel, seed: int, step: int) -> None:
    journal = list[Fact]()
    counts = walk(step, units=30, seed=seed)
    releases = published(auto(model), counts, ps.SimulationNoise(seed), journal=journal.append)
    spent = recount(journal, model)
    assert spent <= model.epsilon
    assert spent.nano > 0.5 * model.epsilon.nano
    assert all(np.isfinite(release.noise_sd).all() and (release.values >= 0).all() for release in releases)


@few
@given(st.integers(1, 8), st.data())
def test_a_pace_that_is_given_overspends_nothing(window: int, data: st.DataObject) -> None:
    law: ps.PrivacyModel = ps.WEvent(epsilon="0.7", w=window)
    if data.draw(st.booleans()):
        law = ps.UserLevel(epsilon="0.7", horizon=25)
    pace = data.draw(st.integers(1, law.window))
    journal = list[Fact]()
    published(auto(law, pace=pace), walk(5, units=25), ps.SimulationNoise(1), journal=journal.append)
    assert 0.99 * law.epsilon.nano <= recount(journal, law).nano <= law.epsilon.nano


def test_at_event_level_every_unit_is_published_with_all_of_epsilon() -> None:
    releases = run(walk(10, units=20), ps.EventLevel(epsilon=1))
    assert {release.charged for release in releases} == {ps.Epsilon(1)}


def test_under_a_horizon_little_is_left_at_the_end() -> None:
    law = ps.UserLevel(epsilon=1, horizon=60)
    for step in (0.0, 50.0, 1e5):
        spent = sum(release.charged.nano for release in run(walk(step, units=60), law))
        assert 0.6 * 10**9 <= spent <= 10**9


# ---- restarts, missing units, stores ---------------------------------------------------------------------------------

VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "relative": {"objective": "mre", "seasons": False},
    "at a pace": {"pace": 2, "shrinking": False},
    "quadtree": {"histogram": "quadtree", "pooling": False},
}


def test_sums_saved_in_the_middle_and_loaded_go_on_the_same() -> None:
    counts, noise = walk(20, units=30, bins=3), ps.SimulationNoise(4)
    expected = published(auto(EVENT, width=5), counts, ps.SimulationNoise(4))
    mechanism = auto(EVENT, width=5).start(ps.Curator(EVENT, 3, noise=noise))
    key, waited = ps.new_key(), False
    for snapshot, before in zip(ps.streams.Stream(counts), expected, strict=True):
        state = mechanism.save(key)
        mechanism = auto(EVENT, width=5).start(ps.Curator(EVENT, 3, noise=noise))
        mechanism.load(state, key)
        assert mechanism.step(snapshot).same_as(before), snapshot.t
        waited |= Kind.REPUBLISHED.value in before.kind
    assert waited  # what was gathered has been saved as well


def test_sums_whose_seal_is_lost_go_on_from_what_was_read() -> None:
    """At every unit: whatever waits is given up, and nothing is paid for twice."""
    counts, noise, waited = 200 + 3 * np.arange(60)[:, np.newaxis] * np.ones(3, np.int64), ps.SimulationNoise(5), 0
    mechanism = auto(EVENT, width=5).start(ps.Curator(EVENT, 3, noise=noise))
    for snapshot in ps.streams.Stream(counts):
        state = mechanism.save()
        mechanism = auto(EVENT, width=5).start(ps.Curator(EVENT, 3, noise=noise))
        mechanism.load(state)
        release = mechanism.step(snapshot)
        assert release.charged == EVENT.epsilon
        waited += int((release.kind == Kind.REPUBLISHED.value).sum())
    assert waited > 5
    assert np.abs(release.values - counts[-5:].sum(axis=0)).max() < 100


@pytest.mark.parametrize("variant", VARIANTS)
def test_saved_in_the_middle_and_loaded_it_releases_the_same(variant: str) -> None:
    """At any unit, long enough for a season to be found."""
    counts, noise = walk(20, units=60, bins=3) + 300 * (np.arange(60) % 7 == 0)[:, np.newaxis], ps.SimulationNoise(4)
    expected = published(auto(SHORT, **VARIANTS[variant]), counts, ps.SimulationNoise(4))
    mechanism = auto(SHORT, **VARIANTS[variant]).start(ps.Curator(SHORT, 3, noise=noise))
    for snapshot, before in zip(ps.streams.Stream(counts), expected, strict=True):
        if snapshot.t in (1, 2, 3, 5, 17, 40, 41, 55):
            state = mechanism.save()
            mechanism = auto(SHORT, **VARIANTS[variant]).start(ps.Curator(SHORT, 3, noise=noise))
            mechanism.load(state)
        assert mechanism.step(snapshot).same_as(before), snapshot.t


@pytest.mark.parametrize("missing", [{1}, {2, 3}, {1, 2, 3, 4}, {30}, set(range(25, 45)), {3, 7, 8, 21, 22, 23, 50}])
def test_units_without_input_are_survived(missing: set[int]) -> None:
    counts, journal = np.full((70, 2), 800), list[Fact]()
    mechanism = auto(SHORT).start(ps.Curator(SHORT, 2, noise=ps.SimulationNoise(1), journal=journal.append))
    releases = []
    for snapshot in ps.streams.Stream(counts):
        step = mechanism.pass_over if snapshot.t in missing else mechanism.step
        releases.append(step(snapshot))
    assert not missing & set(released(releases))
    assert recount(journal, SHORT) <= SHORT.epsilon
    assert np.abs(values(releases)[-10:] - 800).max() < 30


def test_a_step_that_was_lost_costs_a_window_and_no_more() -> None:
    """All that remained may have been spent: nothing can be, until it has left the window; then it is as before."""
    counts = np.random.default_rng(1).integers(0, 10**6, (60, 2))
    mechanism = auto(SHORT).start(ps.Curator(SHORT, 2, noise=ps.SimulationNoise(1)))
    releases = []
    for snapshot in ps.streams.Stream(counts):
        lost = mechanism._curator.ledger.remaining_next() if snapshot.t == 30 else None
        step = mechanism.step(snapshot) if lost is None else mechanism.pass_over(snapshot, lost)
        releases.append(step)
    assert set(range(45, 61)) <= set(released(releases))
    assert len(released(releases[30:40])) >= 3


def test_through_a_store_it_goes_on_where_it_was(tmp_path: Path) -> None:
    """Opened again and again, with units that have no input; releases with their intervals are kept, and verify."""
    stream = list(ps.streams.Stream(walk(30, units=40)))
    for begin, end in ((0, 1), (1, 9), (9, 25), (25, 40)):
        with ps.Store(tmp_path / "db") as store, ps.Publisher(auto(SHORT), store, "s", bins=["a", "b"]) as publisher:
            for snapshot in stream[begin:end]:
                release = publisher.miss() if snapshot.t in (2, 13, 14) else publisher.publish(snapshot)
                assert release.t == snapshot.t
            assert publisher.publish(stream[end - 1]).link == release.link  # the very same again
            kept = list(publisher.releases())
    assert [release.cause for release in kept].count(Cause.MISSING) == 3
    assert {release.cause for release in kept} == {Cause.MISSING, Cause.DECIDED}
    assert sum(release.low is not None for release in kept) == 37
    with Archive(tmp_path / "db") as archive:
        found = verify(archive, "s")
    assert found.peak is not None
    assert found.peak <= SHORT.epsilon


CHECKED = [
    (check, variant)
    for check in ("never_overspends", "non_interference", "same_on_neighbours", "resumes_soundly")
    for variant in ("relative", "at a pace")
]


@pytest.mark.parametrize(("check", "variant"), CHECKED)
def test_the_checks_hold_for_other_parameters(check: str, variant: str) -> None:
    parameters = VARIANTS[variant] | {"histogram": "laplace"}
    CHECKS[check](Subject(ps.Auto, ps.WEvent(epsilon=1, w=5), parameters=parameters))


# ---- what is refused, and what is not --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"pace": 21}, "pace"),
        ({"pace": -1}, "pace"),
        ({"pace": 2.5}, "pace"),
        ({"width": 2}, "width"),
        ({"width": 0, "model": EVENT}, "width"),
        ({"width": 2**40, "model": EVENT}, "width"),
        ({"pace": True}, "pace"),
        ({"objective": "median"}, '"mae"'),
        ({"seasons": "no"}, "seasons"),
        ({"model": ps.WEvent(epsilon="0.000000005", w=10)}, "epsilon"),
        ({"model": ps.UserLevel(epsilon="0.000000005", horizon=100)}, "epsilon"),
    ],
    ids=str,
)
def test_what_cannot_work_is_refused_with_a_sentence(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ps.BadInput, match=told) as refused:
        auto(**{"model": LAW} | options)
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize("window", [1, 2, 3, 5])
@pytest.mark.parametrize("kind", ["w", "horizon"])
def test_the_shortest_windows_work(window: int, kind: str) -> None:
    law = ps.WEvent(epsilon=1000, w=window) if kind == "w" else ps.UserLevel(epsilon=1000, horizon=window)
    releases = run(np.full((window if kind == "horizon" else 20, 2), 77), law)
    assert np.abs(values(releases) - 77).max() <= 1


def test_two_thousand_bins() -> None:
    counts = np.random.default_rng(1).poisson(np.geomspace(0.01, 1000, 2000), (12, 2000))
    releases = run(counts, SHORT)
    uniform = values(published(ps.Uniform(model=SHORT), counts, ps.SimulationNoise(1)))
    off, others = (np.abs(found - counts)[6:].mean() for found in (values(releases), uniform))
    assert off < 0.8 * others


@pytest.mark.parametrize("method", ["quadtree", "adaptive"])
def test_other_histogram_methods(method: str) -> None:
    counts = np.full((60, 16), 200) + 100 * np.arange(16)
    releases = run(counts, ps.WEvent(epsilon=1, w=6), histogram=method, shape=(4, 4))
    off = np.abs(values(releases) - counts)[30:]
    assert off.mean() < 15
    assert covered(counts, releases) > 0.8


@pytest.mark.parametrize("epsilon", ["0.001", "1", "1000"])
def test_nothing_but_zeros(epsilon: str) -> None:
    """What is published of them is small beside the noise of a release, and the interval holds 0."""
    law = ps.WEvent(epsilon=epsilon, w=6)
    releases = run(np.zeros((40, 4), np.int64), law)
    assert values(releases)[10:].mean() < 3 / float(law.epsilon)
    assert (intervals(releases[3:])[0] == 0).mean() > 0.9


@pytest.mark.parametrize("objective", ["mae", "rmse", "mre"])
@pytest.mark.parametrize("epsilon", ["0.001", "1", "1000"])
@pytest.mark.parametrize("count", [2**30, 2**50])
def test_huge_counts_are_known_as_well_as_others(count: int, epsilon: str, objective: str) -> None:
    law = ps.WEvent(epsilon=epsilon, w=6)
    counts = np.full((30, 4), count)
    releases = run(counts, law, objective=objective)
    unit = 1 / float(law.epsilon) + (count / 2**50) * (objective == "mre")  # a relative error that nobody sees
    assert np.abs(values(releases) - counts)[10:].mean() < 6 * unit + 1
    assert covered(counts, releases) > 0.8
    low, high = intervals(releases[10:])
    assert (high - low).mean() < 40 * unit + 10


def test_with_a_very_large_epsilon_counts_are_all_but_exact() -> None:
    """Also those that leap by millions, one after another."""
    counts = np.random.default_rng(5).integers(0, 10**7, (40, 3))
    releases = run(counts, ps.WEvent(epsilon=1000, w=6))
    assert np.abs(values(releases) - counts)[10:].max() <= 2


@pytest.mark.parametrize("w", [3, 6, 20])
@pytest.mark.parametrize("epsilon", [2_500, 1_000_000])
def test_where_there_is_no_noise_at_all_counts_are_exact(epsilon: int, w: int) -> None:
    """Whoever tries what comes out without noise: two looks at a unit are equally sure, of nothing but the count."""
    counts = np.repeat([[0, 0], [7, 9]], 20, axis=0)
    releases = run(counts, ps.WEvent(epsilon=epsilon, w=w))
    assert np.array_equal(values(releases)[-15:], counts[-15:])


@pytest.mark.parametrize("seed", [30, 32])
def test_leaps_of_all_sizes_leave_filters_of_sums_sound(seed: int) -> None:
    """Up to the largest counts there are, with hardly any noise: what is known of a level is a difference then."""
    rng, units, bins = np.random.default_rng(seed), 80, 10
    sizes = (10 ** rng.uniform(0, np.log10(9e15), (units, bins))).astype(np.int64)
    leaps = rng.random((units, bins)) < rng.choice([0.02, 0.1, 0.5])
    leaps[0] = True
    latest = np.maximum.accumulate(np.where(leaps, np.arange(units)[:, np.newaxis], 0), axis=0)
    there = rng.random((units, bins)) < rng.choice([1, 0.9, 0.5])
    counts = np.take_along_axis(sizes, latest, axis=0) * there
    releases = run(counts, ps.EventLevel(epsilon=100), seed=seed)
    assert all((release.values >= 0).all() for release in releases)


def test_noise_that_fits_into_no_number_is_refused_before_anything_is_spent() -> None:
    mechanism = ps.Auto(model=ps.WEvent(epsilon=1, w=120, per_unit=24 * 10**13))
    with pytest.raises(ps.BadInput, match="does not fit in 64 bits"):
        mechanism.start(ps.Curator(mechanism.model, 1, noise=ps.ScriptedNoise()))


def test_between_releases_of_a_stream_that_leaps_estimates_are_of_its_size() -> None:
    """Noise does not matter, and what the last release was is no more than a guess for what comes after it."""
    counts = np.random.default_rng(6).integers(10**6, 10**7, (40, 4))
    releases = run(counts, ps.WEvent(epsilon=1000, w=6), pace=1)
    assert 2 * 10**6 < np.median(values(releases)[7:]) < 9 * 10**6


def test_with_a_very_small_epsilon_it_goes_on() -> None:
    law = ps.WEvent(epsilon="0.000001", w=6)
    releases = run(walk(5, units=40), law)
    assert released(releases)
    assert all((release.values >= 0).all() for release in releases)


def test_the_same_seed_gives_the_same_releases_and_another_one_does_not() -> None:
    counts = walk(30, units=40)
    one, same, other = (run(counts, SHORT, seed=seed) for seed in (1, 1, 2))
    assert all(a.same_as(b) for a, b in zip(one, same, strict=True))
    assert not np.array_equal(values(one), values(other))


def test_a_stream_that_begins_late_is_published_like_one_that_begins_at_once() -> None:
    """What has been seen counts, not the number of the unit: waits do not grow with units that nobody measured."""
    rows = [[300]] * 60
    early = [release.t for release in published(auto(), rows, ps.ScriptedNoise()) if release.charged]
    late = auto().start(ps.Curator(LAW, 1, noise=ps.ScriptedNoise()))
    charged = []
    for snapshot in ps.streams.Stream([[300]] * 160):
        release = late.pass_over(snapshot) if snapshot.t <= 100 else late.step(snapshot)
        charged += [release.t - 100] if release.charged else []
    assert charged == early


@pytest.mark.parametrize("window", [3, 4, 6])
def test_short_windows_are_not_explored_for_less_than_an_even_share(window: int) -> None:
    model = ps.WEvent(epsilon=1, w=window)
    releases = published(auto(model), [[300]] * 3)
    assert all(release.charged >= ps.Epsilon(1) / window for release in releases[:2])


def test_more_bins_than_a_state_can_hold_are_refused_before_anything_is_spent() -> None:
    curator = ps.Curator(ps.EventLevel(epsilon=1), 2000)
    with pytest.raises(ps.BadInput, match="another mechanism"):
        auto(curator.model, width=1000).start(curator)


def test_a_window_that_nobody_can_plan_for_is_refused() -> None:
    with pytest.raises(ps.BadInput, match="another mechanism"):
        auto(ps.WEvent(epsilon=1, w=50_001))


def test_a_year_of_quarter_hours_is_a_window() -> None:
    assert auto(ps.WEvent(epsilon=1, w=366 * 96)).model.window == 35_136
