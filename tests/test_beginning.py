"""How auto begins: small looks, a good one where it lasts, what it waits for; what surprises leave to later units."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from in_process import published
from penstock.allocation.rations import Rations
from penstock.allocation.timetable import ALONE, PROBE, SMALL, TOGETHER, Timetable
from penstock.charges import Fact, Point, recount
from penstock.types import Ints

many = settings(derandomize=True, deadline=None, max_examples=200)
LAW: ps.PrivacyModel = ps.WEvent(epsilon="0.1", w=60)
pytestmark = pytest.mark.usefixtures("own_tables")


def run(counts: Ints, model: ps.PrivacyModel = LAW, *, seed: int = 1) -> list[ps.Release]:
    """Every release is paid for by itself, so that charges tell what it takes."""
    return published(ps.Auto(model=model, sharing=False), counts, ps.SimulationNoise(seed))


def still(count: int, *, units: int = 30, bins: int = 1) -> Ints:
    return np.full((units, bins), count)


def parts(releases: list[ps.Release]) -> list[float]:
    """What every unit took of epsilon."""
    return [release.charged.nano / LAW.epsilon.nano for release in releases]


@pytest.mark.parametrize(("bins", "good"), [(1, ALONE), (40, TOGETHER)])
def test_small_counts_are_looked_at_well_at_once(bins: int, good: dict[float, float]) -> None:
    """Twenty beside noise of ten: as a rule a small look shows that, and the good one comes with it."""
    firsts = [parts(run(still(20, units=1, bins=bins), seed=seed))[0] for seed in range(15)]
    assert np.median(firsts) > PROBE + good[30]
    assert max(firsts) == pytest.approx(PROBE + good[10])


def test_many_bins_go_by_their_mean_and_not_by_the_luck_of_one() -> None:
    """Nearly all are empty, and the others small: with no seed are they taken for large ones."""
    counts = np.tile(np.where(np.arange(200) % 20 == 0, 40, 0), (1, 1))
    assert min(parts(run(counts, seed=seed))[0] for seed in range(9)) > PROBE + TOGETHER[30]


@pytest.mark.parametrize(
    ("count", "bins", "good"), [(4000, 1, ALONE[400]), (30_000, 1, ALONE[1200]), (10_000, 5, TOGETHER[150])]
)
def test_what_is_large_is_seen_twice_before_a_good_look(count: int, bins: int, good: float) -> None:
    """How large it is, is seen with the noise of a small look."""
    begun = np.array([parts(run(still(count, units=2, bins=bins), seed=seed)) for seed in range(9)])
    assert begun[:, 0] == pytest.approx(PROBE)
    assert np.median(begun[:, 1]) == pytest.approx(PROBE + good, abs=0.02)


def test_the_larger_a_count_is_the_less_a_good_look_takes() -> None:
    taken = [
        np.median([parts(run(still(count, units=2), seed=seed))[1] for seed in range(9)])
        for count in (4000, 7000, 11_000)
    ]
    assert taken[0] > taken[1] + 0.04 > taken[2] + 0.08


def test_what_leaps_gets_no_good_look() -> None:
    counts = np.random.default_rng(1).integers(0, 10**6, (60, 1))
    assert max(parts(run(counts))) == pytest.approx(PROBE)


def test_a_small_count_that_was_first_taken_for_a_large_one_is_looked_at_well_then() -> None:
    """By the luck of its first look; how large it is goes by both, so that it gets more than a count of sixty would."""
    begun = np.array([parts(run(still(20, units=2), seed=seed)) for seed in range(60)])
    unlucky = begun[begun[:, 0] < 2 * PROBE, 1]
    assert 3 < len(unlucky) < 30
    assert np.median(unlucky) > PROBE + 1.25 * ALONE[SMALL]


def test_a_good_look_and_the_small_one_before_it_are_one() -> None:
    """The release has the noise of their mean, in which each weighs by the square of what it took."""
    _, good = run(still(12_000, units=2), seed=2)
    took = parts([good])[0] - PROBE
    assert 4 * PROBE < took < 6 * PROBE
    assert good.noise_sd[0] == pytest.approx(np.sqrt(2) / (0.1 * np.hypot(took, PROBE)), rel=0.002)


def test_the_interval_of_a_good_look_is_narrow() -> None:
    small, good = run(still(2000, units=2), seed=2)
    assert small.low is not None
    assert small.high is not None
    assert good.low is not None
    assert good.high is not None
    assert good.high[0] - good.low[0] < (small.high[0] - small.low[0]) / 5


@many
@given(st.lists(st.floats(1, 1e6), min_size=2, max_size=2), st.sampled_from([1, 7]))
def test_the_smaller_counts_are_the_more_a_good_look_takes(sizes: list[float], bins: int) -> None:
    looks, good = [], ALONE if bins == 1 else TOGETHER
    for size in sorted(sizes):
        plan = Timetable(LAW, bins, "mae")
        plan.releases, plan.size = (1 if size < SMALL else 2), max(size, min(good))
        plan._pacing.best = 3
        look = plan.better(LAW.epsilon)
        assert look is not None
        assert look.size == 1  # nothing is shared
        looks.append(look.e)
        assert plan.settled
        assert plan.better(LAW.epsilon) is None  # there is but one
    assert looks[0] >= looks[1] >= LAW.epsilon.share(min(good.values()))


def test_a_constant_count_has_less_than_three_times_the_error_of_one_release_over_two_windows() -> None:
    """Of one with all of epsilon, which is ten away on average; small counts and large ones, many seeds."""
    off = [
        np.abs(np.array([release.values for release in run(still(count, units=120), seed=seed)]) - count).mean()
        for count in (30, 370, 4000)
        for seed in range(12)
    ]
    assert np.mean(off) < 3 * 10


# ---- what a release waits for ----------------------------------------------------------------------------------------


def planned(
    spent: dict[int, float], *, pace: int = 4, fixed: int = 0, law: ps.PrivacyModel = LAW, watching: bool = False
) -> Timetable:
    """A timetable in the middle of a stream, of which these units took such parts of epsilon."""
    plan = Timetable(law, 1, "mae", fixed, watching=watching)
    plan.settled, plan.begun, plan._pacing.best = True, 1, pace
    for t, part in spent.items():
        plan.spend(t, law.epsilon.share(part))
    return plan


def put_off(plan: Timetable, t: int, remaining: float, law: ps.PrivacyModel = LAW) -> int:
    """By how many units a release that is due is put off."""
    plan.due = t
    plan.put_off(t, law.epsilon.share(remaining))
    return plan.due - t


def test_a_release_waits_for_what_a_good_look_took() -> None:
    """Eighty per cent of unit 1 come back with unit 61; whoever spends the last before that is blind for long after."""
    spent = {1: 0.8, 20: 0.09, 40: 0.09}
    assert put_off(planned(spent), 55, 0.02) == 6
    assert put_off(planned(spent), 61, 0.82) == 0
    assert put_off(planned(spent), 44, 0.02) == 0  # the next would be due before


@pytest.mark.parametrize(("taken", "units"), [(0.7, 0), (0.85, 0), (0.89, 0), (0.91, 6), (0.95, 6)])
def test_a_release_waits_for_far_more_only(taken: float, units: int) -> None:
    """A quarter of epsilon can be had for each when the look has come back, beside what it left."""
    assert put_off(planned({1: taken}), 55, 1 - taken) == units


@pytest.mark.parametrize("nano", range(3))
def test_that_one_of_two_alone_could_have_what_both_share_is_no_reason_to_wait(nano: int) -> None:
    """Of 2 % left for units 44 and 59 the first would have all if it waited until the second were due after unit 61."""
    plan = planned({1: 0.8, 20: 0.09, 40: 0.09})
    plan.due = 44
    plan.put_off(44, LAW.epsilon.share(0.02) + ps.Epsilon.of_nano(nano))
    assert plan.due == 44


def test_nearly_the_most_will_do() -> None:
    """One release a window: with unit 61 it could have 85 %, and with unit 63 95 %."""
    assert put_off(planned({1: 0.8, 3: 0.1, 40: 0.05}, pace=1), 55, 0.05) == 6
    assert put_off(planned({1: 0.3, 3: 0.6, 40: 0.05}, pace=1), 55, 0.05) == 8


def test_a_surprise_does_not_wait_nor_does_a_beginning() -> None:
    spent = {1: 0.8, 20: 0.09, 40: 0.105}
    stirred, begun = planned(spent, watching=True), planned(spent)
    assert put_off(stirred, 60, 0.005) == 1
    stirred.stirred = 59
    assert stirred.stirring(60)
    assert put_off(stirred, 60, 0.005) == 0
    begun.settled = False
    assert put_off(begun, 60, 0.005) == 0


@many
@given(st.dictionaries(st.integers(1, 60), st.integers(1, 40), min_size=1, max_size=12), st.sampled_from([3, 4, 8, 12]))
def test_no_release_waits_for_longer_than_a_window(past: dict[int, int], pace: int) -> None:
    """After any past, however often it is put off again, if nothing else is spent meanwhile."""
    whole = sum(past.values())
    spent = {t: part / whole for t, part in sorted(past.items())}
    plan = planned(spent, pace=pace)
    plan.due = due = 61
    while True:
        left = 1 - sum(part for t, part in spent.items() if t > plan.due - 60)
        before = plan.due
        plan.put_off(before, LAW.epsilon.share(max(left, 0)))
        if plan.due == before:
            break
    assert plan.due <= due + 60


def test_a_pace_that_was_asked_for_is_kept_and_nothing_comes_back_within_a_horizon() -> None:
    spent = {1: 0.8, 20: 0.09, 40: 0.09}
    assert put_off(planned(spent, fixed=4), 55, 0.02) == 0
    horizon = ps.UserLevel(epsilon="0.1", horizon=60)
    assert put_off(planned(spent, law=horizon), 55, 0.02, horizon) == 0


def test_a_stream_of_small_counts_is_published_again_as_soon_as_its_first_look_is_paid_back() -> None:
    """Nearly all went into the first unit: when that leaves the window, the next release is a good one, and soon."""
    for seed in range(6):
        taken = parts(run(still(20, units=80, bins=40), seed=seed))
        good = [t for t, part in enumerate(taken, start=1) if part > 0.15]
        assert good[0] == 1
        assert 61 <= good[1] <= 70  # 78, if the release before does not wait


# ---- what surprises leave --------------------------------------------------------------------------------------------


def bursts(*, seed: int = 7, units: int = 130) -> Ints:
    """A count of 3,000 that is ten times as large now and then, for four units: each is two surprises."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(3000, units)
    for begin in (22, 31, 40, 75, 90, 110):
        counts[begin : begin + 4] += 30_000
    return counts[:, np.newaxis]


@pytest.mark.parametrize("seed", range(6))
def test_however_many_surprises_there_are_later_units_are_not_left_blind(seed: int) -> None:
    counts = bursts()
    releases = run(counts, seed=seed)
    off = np.abs(np.array([release.values for release in releases]) - counts)[:, 0] > 15_000
    changes = np.flatnonzero(np.diff(np.concatenate([[0], off, [0]])))
    assert max(changes[1::2] - changes[::2], default=0) <= 8  # of seventeen, if nothing is kept for them


def test_no_window_is_overspent_by_surprises() -> None:
    journal = list[Fact]()
    published(ps.Auto(model=LAW, sharing=False), bursts(), ps.SimulationNoise(1), journal=journal.append)
    assert len([fact for fact in journal if isinstance(fact, Point) and fact.envelope == "decide"]) >= 4  # yeses
    assert LAW.epsilon.share(0.9) < recount(journal, LAW) <= LAW.epsilon


@many
@given(
    st.integers(1, 12),
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 300)), max_size=12),
    st.integers(0, 40),
    st.booleans(),
)
def test_what_is_owed_is_just_enough_for_every_later_unit(
    window: int, past: list[tuple[int, int]], each: int, comes_back: bool
) -> None:
    """So much left over pays for every unit from then on, and less does not, unless nothing is needed."""
    rations, spent, t = Rations(window, comes_back=comes_back), dict[int, int](), 0
    for gap, nano in past:
        t += gap
        spent[t] = nano
        rations.spend(t, nano)
    t += 1
    owed = rations.owed(t, each)
    until = range(t, t + window) if comes_back else range(t, window + 1)
    left = [
        owed
        + sum(nano for unit, nano in spent.items() if comes_back and t - window < unit <= now - window)
        - each * (now - t + 1)
        for now in until
    ]
    assert min(left, default=0) >= 0
    assert owed == 0 or min(left) == 0
