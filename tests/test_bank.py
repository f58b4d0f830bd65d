"""A bank of filters: each is the filter of its model, and the mixture believes what foretold the measurements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.codec import decode, encode
from penstock.primitives.bank import Bank, Belief, passage
from penstock.primitives.dynamics import DAMPING, Dynamics, dynamics
from penstock.primitives.trust import dominant
from penstock.types import Floats

few = settings(derandomize=True, deadline=None, max_examples=40)
NONE = np.zeros((1, 1))


def only(
    *,
    level: float = 0.0,
    around: float = 0.02,
    jump: float = 0.0,
    burst: float = 0.0,
    rate: float = 0.0,
    velocity: float = 0.0,
) -> Dynamics:
    """A bank's worth of one model."""
    one = np.ones(1)
    return Dynamics(
        level=level * one,
        around=around * one,
        rate=rate * one,
        jump=jump * one,
        burst=burst * one,
        velocity=velocity * one,
        seasonal=np.zeros(1, np.bool_),
        prior=one,
        flat=one,
        sudden=slice(0, int(rate > 0)),
        trends=slice(int(not velocity), 1),
    )


def column(*values: float) -> Floats:
    return np.array(values, np.float64)[:, np.newaxis]


def follow(bank: Bank, measured: Floats, scale: float = 1.0, gap: int = 1) -> list[Belief]:
    """What is believed after each row of measurements, one a bin."""
    bins = measured.shape[1]
    noise, season = np.full((bins, 1), scale), np.zeros((bins, 1))
    first, *others = measured
    return [
        bank.begin(first[:, np.newaxis], noise),
        *(bank.update(row[:, np.newaxis], noise, gap, season) for row in others),
    ]


# ---- single filters --------------------------------------------------------------------------------------------------


@few
@given(st.integers(1, 30), st.floats(1e3, 1e5), st.floats(0.02, 1e4), st.integers(0, 1000))
def test_where_noise_may_as_well_be_normal_a_walk_has_the_filter_of_textbooks(
    gap: int, level: float, around: float, seed: int
) -> None:
    """Kalman's, of a level with noise around it, which is measured every ``gap`` units."""
    measured = np.random.default_rng(seed).normal(0, 300, 6)
    bank = Bank(1, only(level=level, around=around))
    believed = follow(bank, measured[:, np.newaxis], gap=gap)
    mean, variance = measured[0], 2 + around
    for value, belief in zip(measured[1:], believed[1:], strict=True):
        variance += gap * level
        whole = variance + around + 2
        count = mean + (variance + around) / whole * (value - mean)
        mean, variance = mean + variance / whole * (value - mean), variance - variance**2 / whole
        assert belief.mean[0] == pytest.approx(count, rel=1e-9)
        assert belief.deviation[0] ** 2 == pytest.approx(2 - 4 / whole, rel=1e-6)
        assert belief.level[0] == pytest.approx(mean, rel=1e-9)
    assert bank.variance[0, 0] == pytest.approx(variance, rel=1e-9)


@few
@given(st.integers(1, 12), st.floats(0.1, 1e4), st.integers(0, 1000))
def test_a_gap_does_what_its_units_do_one_after_another(gap: int, velocity: float, seed: int) -> None:
    """To levels, velocities and all that is uncertain about them; whatever they are when it begins."""
    at_once, in_steps = Bank(1, only(velocity=velocity)), Bank(1, only(velocity=velocity))
    for bank in (at_once, in_steps):
        follow(bank, np.random.default_rng(seed).normal(0, 50, (4, 1)), gap=2)
    at_once.advance(gap)
    for _ in range(gap):
        in_steps.advance(1)
    for name, value in at_once.save().items():
        assert value == pytest.approx(in_steps.save()[name], rel=1e-9), name


def test_a_velocity_carries_a_level_and_is_damped() -> None:
    """One unit, by hand."""
    bank = Bank(1, only(velocity=3.0))
    bank.level[:], bank.variance[:], bank.velocity[:], bank.crossed[:], bank.velocity_variance[:] = 10, 5, 2, 1, 4
    bank.advance(1)
    after = (bank.level, bank.velocity, bank.variance, bank.crossed, bank.velocity_variance)
    d = DAMPING
    expected = (10 + 2 * d, 2 * d, 5 + 2 * d + 4 * d**2 + 3, d * (1 + 4 * d), 4 * d**2 + 3)
    assert [float(part[0, 0]) for part in after] == pytest.approx(expected)
    assert passage(1).reach == pytest.approx(d)


def test_a_trend_is_followed_where_a_walk_lags_behind() -> None:
    """Both know how much counts move in a unit; the trend also knows that they go on."""
    counts = 40.0 * np.arange(60)[:, np.newaxis] + np.random.default_rng(5).laplace(0, 10, (60, 1))
    trend = follow(Bank(1, only(velocity=4.0)), counts, scale=10)[-1]
    walk = follow(Bank(1, only(level=1600.0)), counts, scale=10)[-1]
    assert trend.velocity[0] == pytest.approx(40, abs=6)
    assert walk.velocity[0] == 0
    foreseen = trend.level[0] + passage(3).reach * trend.velocity[0]
    assert abs(foreseen - 40 * 62) < 20 < abs(walk.level[0] - 40 * 62)


# ---- jumps -----------------------------------------------------------------------------------------------------------


def test_a_jump_is_found_at_once_and_what_stands_still_is_averaged() -> None:
    """With a model that jumps, of a hundred noise scales: before and after it, the level is known better and better."""
    noise = np.random.default_rng(3).laplace(0, 1, (40, 1))
    counts = np.where(np.arange(40) < 20, 0.0, 100.0)[:, np.newaxis]
    bank = Bank(1, only(jump=1e4, rate=1 / 50))
    believed = follow(bank, counts + noise)
    off = np.array([abs(belief.mean[0] - count) for belief, count in zip(believed, counts[:, 0], strict=True)])
    deviations = np.array([belief.deviation[0] for belief in believed])
    assert off[20] < abs(noise[20, 0]) + 0.1  # the very unit it jumped
    assert deviations[20] > 2.5 * deviations[19]
    assert deviations[39] < 0.5 * deviations[20]
    assert max(off[15:20].max(), off[35:].max()) < 1


def test_what_bursts_comes_back_to_its_level() -> None:
    """For a unit it is believed to be where it was measured; its level has stayed. A jump would have moved that."""
    counts = np.full((30, 1), 100.0)
    counts[20] = 900
    noise = np.random.default_rng(5).laplace(0, 1, counts.shape)
    bursting, jumping = (
        follow(Bank(1, only(rate=1 / 50, **{name: 1e5})), counts + noise) for name in ("burst", "jump")
    )
    assert bursting[20].mean[0] == pytest.approx(900, abs=10)
    assert bursting[20].level[0] == pytest.approx(100, abs=2)
    assert jumping[20].level[0] == pytest.approx(900, abs=10)
    assert abs(bursting[29].mean[0] - 100) < 1


def test_of_all_models_those_that_jump_are_believed_after_one() -> None:
    """The others can say that such a thing happens, and then not that it happens once."""
    models = dynamics(20)
    bank = Bank(1, models)
    noise = np.random.default_rng(4).laplace(0, 1, (36, 1))
    counts = np.where(np.arange(36) < 30, 50.0, 2000.0)[:, np.newaxis]
    believed = follow(bank, counts + noise)
    assert bank.weights[0, models.sudden].sum() > 2 * models.prior[models.sudden].sum()
    assert abs(believed[29].mean[0] - 50) < 1
    assert abs(believed[30].mean[0] - 2000) < 5
    assert abs(believed[35].mean[0] - 2000) < 2


def test_a_jump_is_as_likely_over_a_gap_as_in_one_of_its_units() -> None:
    """The same surprise after a longer gap is more likely a jump, so that more of it is believed."""
    levels = []
    for gap in (1, 40):
        bank = Bank(1, only(jump=1e4, rate=1 / 100))
        follow(bank, np.zeros((12, 1)))
        bank.update(column(6.0), column(1.0), gap, NONE)
        levels.append(bank.level[0, 0])
    assert levels[1] > 1.5 * levels[0] > 0


# ---- the mixture -----------------------------------------------------------------------------------------------------


@few
@given(st.integers(1, 5), st.integers(1, 20), st.sampled_from([0.1, 1.0, 30.0]), st.integers(0, 10**6))
def test_weights_add_up_and_all_is_finite_whatever_is_measured(bins: int, gap: int, scale: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bank = Bank(bins, dynamics(8))
    wild = rng.laplace(0, 10.0 ** rng.integers(-3, 14), (6, bins))
    for belief in follow(bank, wild, scale, gap):
        assert np.isfinite(np.array(belief)).all()
        assert (belief.deviation > 0).all()
        assert (belief.spread >= belief.deviation * (1 - 1e-9)).all()
        np.testing.assert_allclose(bank.weights.sum(axis=1), 1)
        np.testing.assert_allclose(dominant(bank.weights).sum(axis=1), 1)
    assert (bank.variance > 0).all()
    assert (bank.velocity_variance >= 0).all()


def expected_of(bank: Bank, values: Floats) -> Floats:
    means: Floats = bank.weights @ np.log(values)
    return means


def test_the_models_that_made_the_measurements_are_believed() -> None:
    """A bin that stands still, and one that moves by many noise scales a unit: what each is believed to move by."""
    models = dynamics(10)
    rng = np.random.default_rng(6)
    counts = np.stack([np.full(80, 1000.0), 1e4 + np.cumsum(rng.normal(0, 300, 80))], axis=1)
    bank = Bank(2, models, pooling=False)
    follow(bank, counts + rng.laplace(0, 1, counts.shape))
    moving = models.level + models.velocity + models.rate * models.jump + 1e-9
    still, fast = expected_of(bank, moving)
    assert still < np.log(1.0)
    assert np.log(300**2 / 30) < fast < np.log(300**2 * 30)


def test_bins_lend_each_other_what_they_know_about_models_and_not_about_levels() -> None:
    """One bin has seen next to nothing; pooled with others that stand still, it is believed to do so, too."""
    models = dynamics(10)
    rng = np.random.default_rng(7)
    levels = np.arange(1.0, 7.0) * 1000
    counts = levels + rng.laplace(0, 1, (25, 6))
    apart = {}
    for pooling in (True, False):
        bank = Bank(6, models, pooling=pooling)
        believed = follow(bank, counts)
        apart[pooling] = np.abs(bank.weights - bank.weights.mean(axis=0)).sum(axis=1).mean()
        assert np.abs(believed[-1].mean - levels).max() < 3
    assert apart[True] < 0.7 * apart[False]


def test_pooling_counts_what_a_bin_has_seen_once() -> None:
    """With a word from others that is always the prior's, a bin is as it would be alone, but for forgetting."""
    models = dynamics(6)
    alone = Bank(1, models)
    pooled = Bank(2, models)
    measured = 100 + np.random.default_rng(8).laplace(0, 1, (12, 1))
    follow(alone, measured)
    season, noise = np.zeros((2, 1)), np.array([[1.0], [1e9]])  # the other one is not measured, to speak of
    pooled.begin(np.array([measured[0], [0.0]]), noise)
    for row in measured[1:]:
        pooled.update(np.array([row, [0.0]]), noise, 1, season)
    np.testing.assert_allclose(pooled.weights[0], alone.weights[0], atol=0.02)


def test_a_bin_that_no_model_foretold_starts_again_from_what_was_measured() -> None:
    """A bank of a single model that stands still: after a jump of thousands, everything else is beside the point."""
    bank = Bank(2, only(level=1e-6))
    noise = np.random.default_rng(9).laplace(0, 1, (10, 2))
    before = follow(bank, noise)[-1]
    after = bank.update(column(5000.0, 0.0), column(1.0, 1.0), 1, column(0.0, 0.0))
    assert after.mean[0] == after.level[0] == bank.level[0, 0] == 5000.0
    assert after.deviation[0] == after.spread[0] == pytest.approx(np.sqrt(2))
    assert after.deviation[1] < 0.7 * after.deviation[0]  # the other bin goes on as before
    assert abs(after.mean[1] - before.mean[1]) < 0.5
    again = bank.update(column(5002.0, 0.0), column(1.0, 1.0), 1, column(0.0, 0.0))
    assert 5000 < again.mean[0] < 5002


def test_starting_again_leaves_the_season_where_it_is() -> None:
    """What was measured is level and season together, for those models that have one."""
    models = dynamics(6)
    bank = Bank(1, models)
    follow(bank, 100 + np.random.default_rng(1).laplace(0, 1, (8, 1)))
    seasonal = models.seasonal
    bank.level[:] = np.where(seasonal, 70.0, 100.0)
    belief = bank.update(column(1e13), column(1.0), 1, column(30.0))
    assert belief.mean[0] == pytest.approx(1e13, rel=1e-9)
    assert bank.level[0, ~seasonal] == pytest.approx(1e13, rel=1e-9)
    assert bank.level[0, seasonal] + 30 == pytest.approx(bank.level[0, ~seasonal][0], rel=1e-15)


def test_seasons_are_taken_off_what_only_seasonal_models_follow() -> None:
    """Those foretell a wave that the others cannot; if its season is exchanged, sums stay."""
    models = dynamics(10)
    season = 60 * np.sin(np.arange(60) / 2)
    measured = 500 + season + np.random.default_rng(2).laplace(0, 1, 60)
    bank = Bank(1, models)
    bank.begin(column(measured[0]), column(1.0))
    for value, wave in zip(measured[1:], season[1:], strict=True):
        belief = bank.update(column(value), column(1.0), 1, column(wave))
    assert belief.seasonal[0] > 0.9
    assert belief.level[0] == pytest.approx(500, abs=3)
    before = bank.level.copy()
    bank.move_seasonal(column(25.0))
    np.testing.assert_allclose(bank.level - before, np.where(models.seasonal, 25.0, 0.0)[np.newaxis], rtol=1e-9)


def test_saved_and_loaded_it_goes_on_exactly() -> None:
    """Through the bytes of a store, with all that a later measurement depends on."""
    rng = np.random.default_rng(10)
    one, other = Bank(3, dynamics(6)), Bank(3, dynamics(6))
    follow(one, rng.normal(100, 30, (7, 3)))
    other.load(decode(encode(one.save())))
    noise, season = np.full((3, 1), 2.0), np.full((3, 1), 5.0)
    for _ in range(3):
        measured = rng.normal(100, 30, (3, 1))
        believed = [bank.update(measured, noise, 2, season) for bank in (one, other)]
        np.testing.assert_array_equal(np.array(believed[0]), np.array(believed[1]))
    for name, value in one.save().items():
        np.testing.assert_array_equal(value, other.save()[name])


def test_a_saved_bank_does_not_change_with_the_one_that_saved_it() -> None:
    bank = Bank(1, dynamics(6))
    follow(bank, np.ones((3, 1)))
    other = Bank(1, dynamics(6))
    other.load(bank.save())
    kept = {name: value.copy() for name, value in other.save().items()}
    bank.update(column(50.0), column(1.0), 1, NONE)
    for name, value in other.save().items():
        np.testing.assert_array_equal(value, kept[name])


# ---- what models there are -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [1, 2, 7, 120, 1000])
def test_models_of_every_window_are_well_formed(window: int) -> None:
    """Priors are shares; what moves less is more likely to begin with; slices are where they say."""
    models = dynamics(window)
    for shares in (models.prior, models.flat):
        assert shares.sum() == pytest.approx(1)
        assert (shares > 0).all()
    walks = ~models.seasonal & (models.level > 0)
    slow, fast = (models.level < np.median(models.level[walks])), (models.level > np.median(models.level[walks]))
    assert models.prior[walks & slow].mean() > models.prior[walks & fast].mean()
    every = np.arange(models.size)
    np.testing.assert_array_equal(every[models.sudden], np.flatnonzero(models.jump + models.burst))
    np.testing.assert_array_equal(every[models.trends], np.flatnonzero(models.velocity))
    np.testing.assert_array_equal(models.rate > 0, models.jump + models.burst > 0)
    assert not (models.jump * models.burst).any()
    assert (models.around > 0).all()
