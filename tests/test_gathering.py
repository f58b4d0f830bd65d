"""Bins that are read less often than at every unit: what is known of their sums, how long they wait, what it costs."""

import contextlib
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from in_process import published
from penstock.allocation.gathering import FIRST, LENGTHS, MOST, Gathering, expected_variance, probes
from penstock.checks import CHECKS, Subject
from penstock.errors import BadState
from penstock.primitives.pool import LARGEST_MEMBER, Pool
from penstock.primitives.sums import SlidingSums, Sums
from penstock.primitives.ways import Way, Ways, all_ways
from penstock.types import Floats, Ints, Kind

WIDTH = 15
LAW: ps.PrivacyModel = ps.EventLevel(epsilon=1)
EPSILON = ps.Epsilon(1)


def read(
    sums: SlidingSums, counts: Floats, groups: Sequence[int], scale: float = 1.0, noise: Floats | None = None
) -> Sums:
    """A bin that is read after so many units each time."""
    ends, found = set(np.cumsum(groups).tolist()), Sums(np.zeros(1), np.zeros(1))
    gathered, none = 0.0, np.zeros(1, np.bool_)
    for unit, count in enumerate(counts, start=1):
        sums.advance()
        gathered += count
        now = np.array([unit in ends])
        told = gathered + (0.0 if noise is None else noise[unit - 1])
        found = sums.read(np.array([told]), np.array([scale]), now, none)
        gathered = 0.0 if unit in ends else gathered
    return found


@settings(max_examples=30, deadline=None)
@given(groups=st.lists(st.integers(1, 4), min_size=2, max_size=6), after=st.integers(0, 2), width=st.integers(1, 9))
@pytest.mark.parametrize(("level", "around", "velocity"), [(900.0, 400.0, 0.0), (400.0, 900.0, 400.0)])
def test_sums_are_those_of_the_normal_distribution_of_all_units_together(
    groups: list[int], after: int, width: int, level: float, around: float, velocity: float
) -> None:
    """Where noise may as well be normal. The first unit is read by itself; the last ones have not been read."""
    groups = [1, *groups]
    units = sum(groups) + after
    counts = 1e4 + np.random.default_rng(1).normal(scale=50, size=units)
    kind = "trend" if velocity else "walk"
    sums = SlidingSums(1, width, seasons=False, ways=Ways.of([Way(kind, level, around, 0.0, 0.0, velocity)]))
    found = read(sums, counts, groups)
    move, states = np.array([[1, 0.97], [0, 0.97]]), [np.diag([1e9, 4 * velocity])]
    for _ in range(units - 1):
        states.append(move @ states[-1] @ move.T + np.diag([level, velocity]))
    powers = [np.linalg.matrix_power(move, gap) for gap in range(units)]
    known = np.array([[(powers[abs(i - j)] @ states[min(i, j)])[0, 0] for j in range(units)] for i in range(units)])
    known += around * np.eye(units)
    seen = np.repeat(np.eye(len(groups)), groups, axis=1)
    seen = np.hstack([seen, np.zeros((len(groups), after))])
    last = (np.arange(units) >= units - width).astype(float)
    gain = np.linalg.solve(seen @ known @ seen.T + 2 * np.eye(len(groups)), seen @ known @ last)
    assert found.mean[0] == pytest.approx(float(gain @ seen @ counts), rel=1e-6)
    variance = float(last @ known @ last - gain @ seen @ known @ last)
    assert found.deviation[0] == pytest.approx(math.sqrt(variance), rel=1e-4)


@pytest.mark.parametrize(("level", "length"), [(0.1, 1), (0.1, 4), (1.0, 2), (3.0, 5)])
def test_the_table_says_how_far_off_sums_are(level: float, length: int) -> None:
    """By a walk that is followed by the filter of its own, through three thousand units."""
    ways, rng, units = all_ways(), np.random.default_rng(2), 3000
    number = int(np.argmax((ways.level == level) & (ways.around == 0.02) & (ways.seasonal == 0)))
    counts = 500 + np.cumsum(rng.normal(scale=math.sqrt(level), size=units)) + rng.normal(scale=0.14, size=units)
    scale = 1 / (1 - probes(1)[length == LENGTHS].item())
    sums = SlidingSums(1, WIDTH, seasons=False, ways=Ways.of([Way("walk", level, 0.02, 0.0, 0.0)]))
    none, off, gathered = np.zeros(1, np.bool_), [], 0.0
    for unit, count in enumerate(counts):
        sums.advance()
        gathered += count
        now = unit == 0 or unit % length == 0
        found = sums.read(np.array([gathered + rng.laplace(scale=scale)]), np.array([scale]), np.array([now]), none)
        gathered = 0.0 if now else gathered
        off.append(found.mean[0] - counts[max(unit - WIDTH + 1, 0) : unit + 1].sum())
    expected = expected_variance(WIDTH, 1)[length == LENGTHS, number].item()
    assert np.square(off[100:]).mean() == pytest.approx(expected, rel=0.2)


def test_what_stands_still_waits_and_what_moves_does_not() -> None:
    table, ways = expected_variance(WIDTH, 64), all_ways()
    pure = (ways.around == 0.02) & (ways.velocity == 0) & (ways.seasonal == 0)
    best = {level: LENGTHS[table[:, pure & (ways.level == level)].argmin(axis=0)].max() for level in (1e-5, 1.0, 100.0)}
    assert best[1e-5] > best[1.0] > best[100.0] == 1


def test_probes_are_small_and_smaller_among_many_bins() -> None:
    for bins in (1, 10, 1000, 10**6):
        parts = probes(bins)
        assert parts[0] == 0
        assert ((parts[1:] > 0) & (parts[1:] <= MOST)).all()
        assert (np.diff(parts) >= 0).all()
    assert (probes(100)[1:] < probes(1)[1:]).any()


def test_a_bin_that_has_jumped_is_read_at_every_unit_for_a_while() -> None:
    still = (all_ways().level == 1e-5) & (all_ways().around == 0.02) & (all_ways().rates[1] < -9)
    likely, everywhere = np.where(still, 1.0, 0.0)[np.newaxis] / still.sum(), np.ones(1, np.bool_)
    plan, calm, jump, stated = Gathering(1, WIDTH), np.zeros(1), np.full(1, 60.0), np.full(1, 3.0)
    plan.plan(likely, everywhere)
    assert plan.lengths[0] > 1
    plan.learn(everywhere, jump, stated, np.ones(1, np.int64))
    plan.plan(likely, everywhere)
    assert plan.lengths[0] == 1
    for waited in range(5000):  # noqa: B007
        plan.learn(everywhere, calm, stated, np.ones(1, np.int64))
        plan.plan(likely, everywhere)
        if plan.lengths[0] > 1:
            break
    assert 100 < waited < 3000


def followed(counts: Ints, seed: int = 1, **options: object) -> tuple[Floats, Floats, list[ps.Release]]:
    """Errors of sums, those of summed plain releases, and all that was released."""
    releases = published(ps.Auto(model=LAW, width=WIDTH, **options), counts, ps.SimulationNoise(seed))
    plain = published(ps.Baseline(model=LAW), counts, ps.SimulationNoise(seed))
    truth, summed = (
        np.cumsum(each, axis=0) - np.vstack([np.zeros_like(each[:WIDTH]), np.cumsum(each, axis=0)[:-WIDTH]])
        for each in (counts, np.array([release.values for release in plain]))
    )
    return np.array([release.values for release in releases]) - truth, summed - truth, releases


def waiting(releases: list[ps.Release]) -> Floats:
    """In which units of which bins nothing was read."""
    return np.array([release.kind == Kind.REPUBLISHED.value for release in releases])


def test_calm_bins_are_read_seldom_and_have_far_less_error_and_every_unit_costs_epsilon() -> None:
    rng = np.random.default_rng(3)
    slow = 100 + np.cumsum(rng.random((400, 12)) < 0.1, axis=0) - np.cumsum(rng.random((400, 12)) < 0.1, axis=0)
    fast = rng.integers(0, 1000, (400, 2))
    off, plain, releases = followed(np.hstack([slow, fast]))
    waits = waiting(releases)[100:].mean(axis=0)
    assert (waits[:12] > 0.4).all()
    assert (waits[12:] == 0).all()
    assert np.square(off[:, :12]).mean() < 0.4 * np.square(plain[:, :12]).mean()
    assert np.square(off[:, 12:]).mean() < 1.5 * np.square(plain[:, 12:]).mean()  # which has other noise
    assert all(release.charged == EPSILON for release in releases)


def test_a_jump_of_a_bin_that_waits_is_seen_at_once() -> None:
    counts = np.full((200, 4), 50)
    counts[150:, 2] = 3000
    off, _, releases = followed(counts)
    assert waiting(releases)[130:150, 2].any()
    assert not waiting(releases)[150, 2]
    assert np.abs(off[150:, 2]).max() < 60
    assert np.abs(off[150:, [0, 1, 3]]).max() < 25


@pytest.mark.parametrize("unit", range(151, 155))
def test_a_jump_too_small_for_a_probe_is_made_good_with_the_next_reading(unit: int) -> None:
    counts = np.full((200, 1), 50)
    counts[unit:] = 70
    off, _, releases = followed(counts)
    group = 1 + int(np.argmin(waiting(releases)[unit:, 0]))
    assert group < 8
    assert np.abs(off[unit + group :]).max() < 80  # of a jump that adds up to 300
    assert np.abs(off[unit + WIDTH + 10 :]).mean() < 8


def test_intervals_hold_where_bins_wait() -> None:
    rng = np.random.default_rng(4)
    counts = np.rint(200 + np.cumsum(rng.normal(scale=0.5, size=(600, 5)), axis=0)).astype(np.int64)
    off, _, releases = followed(counts)
    low, high = (np.array([getattr(each, name) - each.values for each in releases]) for name in ("low", "high"))
    assert waiting(releases).mean() > 0.2
    assert 0.9 < ((low <= -off) & (-off <= high)).mean() <= 1


def test_other_histogram_methods_read_every_unit() -> None:
    _, _, releases = followed(np.full((60, 4), 50), histogram="quadtree")
    assert not waiting(releases).any()


def test_nothing_waits_before_a_few_units_were_read() -> None:
    _, _, releases = followed(np.full((30, 20), 50))
    assert not waiting(releases)[:FIRST].any()


def with_gaps(counts: Ints, missing: Callable[[int], bool], **lost: ps.Epsilon) -> tuple[Ints, list[ps.Release]]:
    """What comes of units that are not missing, and how far it is off."""
    mechanism = ps.Auto(model=LAW, width=WIDTH).start(ps.Curator(LAW, counts.shape[1], noise=ps.SimulationNoise(5)))
    off, releases = [], []
    for snapshot in ps.streams.Stream(counts):
        t = snapshot.t
        if missing(t):
            assert not mechanism.pass_over(snapshot, **lost).is_new
            continue
        releases.append(mechanism.step(snapshot))
        assert releases[-1].charged == EPSILON
        off.append(releases[-1].values - counts[max(t - WIDTH, 0) : t].sum(axis=0))
    return np.array(off), releases


DRIFTING = np.rint(100 + 0.05 * np.arange(420)).astype(np.int64)[:, np.newaxis] * np.ones(6, np.int64)


@pytest.mark.parametrize("period", [2, 3, 7, 20])
@pytest.mark.parametrize("lost", [{}, {"lost": EPSILON}])
def test_gaps_that_come_again_and_again_keep_no_bin_from_being_read(period: int, lost: dict[str, ps.Epsilon]) -> None:
    """What was gathered before a gap is given up: a bin that waits for longer than from gap to gap would starve."""
    off, releases = with_gaps(DRIFTING, lambda t: t % period == 0, **lost)
    read = 1 - waiting(releases)[60:].mean()
    assert 1 / period < read < 1 - 0.2 * (period > 2)
    assert np.abs(off[60:]).mean() < 10


def test_a_step_that_failed_is_a_gap() -> None:
    mechanism = ps.Auto(model=LAW, width=WIDTH).start(ps.Curator(LAW, 2, noise=ps.SimulationNoise(6)))
    for snapshot in ps.streams.Stream(np.full((40, 2), 1000)):
        if snapshot.t in (8, 30, 31):
            with mock.patch.object(ps.Curator, "purse", side_effect=OSError), contextlib.suppress(OSError):
                mechanism.step(snapshot)
        else:
            release = mechanism.step(snapshot)
            assert np.abs(release.values - 1000 * min(snapshot.t, WIDTH)).max() < 60, snapshot.t


def test_a_sum_has_the_noise_that_is_left_beside_its_probe() -> None:
    _, _, releases = followed(np.full((60, 1), 50))
    curator = ps.Curator(LAW, 1)
    sums = {round(curator.noise_sd(EPSILON - EPSILON.share(float(part))), 9) for part in probes(1)[1:]}
    late = [release for release in releases[20:] if release.kind[0] == Kind.ESTIMATED.value]
    assert len(late) > 5
    assert {round(float(release.noise_sd[0]), 9) for release in late} <= sums


def test_forecasts_that_were_worse_than_they_said_shorten_groups_and_widen_intervals() -> None:
    still = (all_ways().level == 0.1) & (all_ways().around == 0.02) & (all_ways().seasonal == 0)
    likely, everywhere, stated = still[np.newaxis] / still.sum(), np.ones(1, np.bool_), np.full(1, 3.0)
    plan, lengths = Gathering(1, WIDTH), []
    for missed in (1.7, 4.5):  # as often as not, and less than what is sudden
        for _ in range(100):
            plan.learn(everywhere, np.full(1, missed), stated, np.ones(1, np.int64))
        plan.plan(likely, everywhere)
        assert plan.worse[0] == pytest.approx(max(missed / math.sqrt(3), 1), rel=0.02)
        lengths.append(int(plan.lengths[0]))
    assert lengths[0] > lengths[1]
    mechanism = ps.Auto(model=LAW, width=WIDTH).start(ps.Curator(LAW, 5, noise=ps.SimulationNoise(7)))
    for snapshot in ps.streams.Stream(np.full((50, 5), 80)):
        mechanism.step(snapshot)
    assert mechanism.sums is not None
    assert (mechanism.sums.lengths > 1).all()
    with mock.patch.object(Gathering, "worse", np.full(5, 4.0)):
        assert mechanism.sums.known.spread == pytest.approx(4 * mechanism.sums.known.deviation)


LAWS: tuple[ps.PrivacyModel, ...] = (
    ps.EventLevel(epsilon=1),
    ps.EventLevel(epsilon=2, neighbours="replace", per_unit=2),
)


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("check", CHECKS)
def test_the_checks_hold_where_bins_wait(check: str, law: ps.PrivacyModel) -> None:
    CHECKS[check](Subject(ps.Auto, law, parameters={"width": WIDTH}))


def test_in_checks_bins_do_wait() -> None:
    """Otherwise the test before would say nothing."""
    with mock.patch.object(Pool, "settle", autospec=True, side_effect=Pool.settle) as settled:
        for check in ("never_overspends", "non_interference", "noise_is_as_claimed"):
            CHECKS[check](Subject(ps.Auto, LAW, parameters={"width": WIDTH}))
    assert settled.call_count > 5


def test_counts_that_a_pool_would_cut_are_read_at_once() -> None:
    counts = np.full((60, 2), [2 * LARGEST_MEMBER, 50])
    off, _, releases = followed(counts)
    assert not waiting(releases)[:, 0].any()
    assert waiting(releases)[:, 1].any()
    assert np.abs(off).max() < 100


def test_answers_that_another_version_was_given_are_refused_with_a_sentence(tmp_path: Path) -> None:
    """That one read every bin at every unit; this one would ask about those that do not wait."""
    counts = np.full((30, 3), 60)
    counts[:, 0] = np.random.default_rng(8).integers(0, 1000, 30)

    def opened(store: ps.Store) -> ps.Publisher:
        return ps.Publisher(ps.Auto(model=LAW, width=WIDTH), store, "s", bins=["a", "b", "c"])

    with ps.Store(tmp_path / "db") as store, mock.patch.object(Gathering, "plan"), opened(store) as publisher:
        list(publisher.run(ps.streams.Stream(counts)))
    with ps.Store(tmp_path / "db") as store, pytest.raises(BadState, match="does not do again what it did"):
        opened(store)
    with ps.Store(tmp_path / "db") as store, mock.patch.object(Gathering, "plan"):
        opened(store).close()  # it goes on: nothing was spent
