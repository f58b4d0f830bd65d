"""Seasons: found where there are any, and no harm where there are none."""

import numpy as np
import pytest

from penstock.codec import decode, encode
from penstock.primitives.season import PERIODS, Season
from penstock.types import Floats

WINDOW = 30


def learnt(counts: Floats, *, noise: float, every: int = 1, seed: int = 1, until: int = 0) -> Season:
    """A season that has seen a measurement every so many units; of all bins, with Laplace noise."""
    rng = np.random.default_rng(seed)
    season = Season(counts.shape[1], WINDOW)
    for t in range(1, (until or len(counts)) + 1, every):
        season.update(t, counts[t - 1] + rng.laplace(0, noise, counts.shape[1]), 0.01)
    return season


def shape(period: int, units: int) -> Floats:
    """A cycle with a peak and a shoulder, of mean 0."""
    angle = 2 * np.pi * np.arange(1, units + 1) / period
    cycle: Floats = np.cos(angle - 1) + 0.4 * np.sin(2 * angle)
    return cycle[:, np.newaxis]


@pytest.mark.parametrize(("period", "every"), [(7, 1), (7, 3), (24, 1), (24, 5), (168, 5)])
def test_a_cycle_of_a_listed_period_is_foretold_better_than_by_a_flat_line(period: int, every: int) -> None:
    """From measurements as noisy as the cycle is high, of two bins, of which one goes up when the other goes down."""
    units = 10 * period if period > 100 else 300
    counts = 500 + 40 * shape(period, units + period) * np.array([1.0, -2.0])
    season = learnt(counts, noise=30, every=every, until=units)
    later = range(units + 1, units + period + 1)
    foretold = np.array([season.at(t) for t in later])
    truth = counts[units:] - 500
    assert np.abs(foretold - truth).mean() < 0.5 * np.abs(truth).mean()
    assert np.abs(foretold.mean(axis=0)).max() < 10  # the mean is the level's


def test_between_the_few_hours_that_are_ever_measured_a_day_is_taken_for_smooth() -> None:
    """Every twenty hours: six hours of the day, in which a wave of one turn and one of five look the same."""
    units, turns = 720, 2 * np.pi / 24
    counts = 500 + 100 * np.cos(turns * np.arange(1, units + 25))[:, np.newaxis]
    season = learnt(counts, noise=5, every=20, until=units)
    foretold = np.array([season.at(t) for t in range(units + 1, units + 25)])
    assert np.abs(foretold - (counts[units:] - 500)).max() < 25


def test_hours_that_were_never_measured_are_known_less_well() -> None:
    """Every twenty hours: hours 1, 5, 9 and so on. More noise is more doubt; without a season there is none."""
    counts = 500 + 100 * np.cos(2 * np.pi / 24 * np.arange(1, 721))[:, np.newaxis]
    season = learnt(counts, noise=5, every=20)
    assert PERIODS[season.chosen] == 24
    seen, unseen = (np.mean([season.deviation(720 + hour) for hour in range(first, 24, 4)]) for first in (1, 3))
    assert unseen > 2 * seen > 0
    noisier = Season(1, WINDOW)
    noisier.load(season.save() | {"products": season.products / 4, "weight": season.weight / 4})
    assert noisier.deviation(723) == pytest.approx(2 * season.deviation(723))
    assert Season(1, WINDOW).deviation(3) == 0


def test_the_shortest_period_that_explains_a_cycle_is_not_beaten_by_its_multiples() -> None:
    """A day of 24 hours is also two of 12 and half of 48; whichever is taken has to repeat what there is."""
    counts = 100 + 80 * shape(24, 400)
    season = learnt(counts, noise=10)
    assert PERIODS[season.chosen] % 24 == 0
    repeated = season.at(401)
    assert np.abs(repeated - season.at(401 + int(PERIODS[season.chosen]))).max() < 1e-6


def test_another_period_takes_over_when_the_stream_changes() -> None:
    """From a week to a day of 24 hours, with time enough to forget."""
    counts = 500 + np.concatenate([90 * shape(7, 150), 90 * shape(24, 500)])
    before, after = learnt(counts, noise=10, until=150), learnt(counts, noise=10)
    assert PERIODS[before.chosen] % 7 == 0
    assert PERIODS[after.chosen] % 24 == 0


@pytest.mark.parametrize("seed", range(4))
def test_of_noise_alone_no_season_is_made_that_would_do_harm(seed: int) -> None:
    """What is foretold of a flat stream is small beside the noise of a measurement."""
    season = learnt(np.full((300, 3), 200.0), noise=30, seed=seed)
    foretold = np.array([season.at(t) for t in range(301, 337)])
    assert np.abs(foretold).mean() < 0.4 * 30


@pytest.mark.parametrize("seed", range(4))
def test_no_season_is_taken_from_a_few_answers_that_are_all_noise(seed: int) -> None:
    """A good look at empty bins, then every three units one that tells nothing: waves can be laid through these."""
    rng, season, bins = np.random.default_rng(seed), Season(24, 120), 24
    season.update(1, rng.laplace(0, 1, bins), 1.0)
    for t in range(4, 121, 3):
        season.update(t, rng.laplace(0, 250, bins), 250.0**-2)
        assert np.abs(season.at(t + 3)).max() < 250


def test_a_season_that_is_over_is_given_up() -> None:
    counts = 500 + np.concatenate([90 * shape(7, 150), np.zeros((600, 1))])
    before, after = learnt(counts, noise=30, until=150), learnt(counts, noise=30)
    assert PERIODS[before.chosen] % 7 == 0
    assert after.chosen < 0


def test_a_season_that_is_not_doubted_is_whichever_forecasts_best() -> None:
    """Where every unit is read it is for models without a season to show that there is none."""
    doubted, taken = Season(1, WINDOW), Season(1, WINDOW, doubted=False)
    for t, measured in enumerate(np.random.default_rng(2).laplace(500, 30, (60, 1)), start=1):
        doubted.update(t, measured, 1.0)
        taken.update(t, measured, 1.0)
    assert doubted.chosen < 0 <= taken.chosen


def test_before_a_period_was_seen_and_proven_there_is_no_season() -> None:
    counts = 500 + 90 * shape(7, 100)
    early, late = learnt(counts, noise=1, until=8), learnt(counts, noise=1)
    assert early.chosen < 0
    assert not early.at(9).any()
    assert late.at(101).any()


def test_a_period_is_not_fitted_before_it_has_passed() -> None:
    """However many measurements there are."""
    season = learnt(500 + 90 * shape(7, 60), noise=1)
    assert season.fitted.any()
    assert not season.fitted[PERIODS > 60].any()


def test_measurements_weigh_what_their_budget_is_worth() -> None:
    """A few that are all but exact are not drowned by many that say nothing."""
    rng = np.random.default_rng(3)
    counts = 50 * shape(7, 400)
    season = Season(1, WINDOW)
    for t in range(1, 300):
        exact = t % 5 == 0
        season.update(t, counts[t - 1] + rng.laplace(0, 1 if exact else 500, 1), 1.0 if exact else 1 / 500**2)
    season.chosen = int(np.flatnonzero(PERIODS == 7)[0])
    foretold = np.array([season.at(t) for t in range(300, 321)])
    assert np.abs(foretold - counts[299:320]).mean() < 10


def test_saved_and_loaded_it_goes_on_exactly() -> None:
    counts = 500 + 40 * shape(7, 120) * np.array([1.0, 3.0])
    one, other = learnt(counts, noise=20, until=80), Season(2, WINDOW)
    other.load(decode(encode(one.save())))
    for t in range(81, 121):
        np.testing.assert_array_equal(one.at(t), other.at(t))
        for season in (one, other):
            season.update(t, counts[t - 1], 0.01)
    assert one.at(121).any()
    for name, value in one.save().items():
        np.testing.assert_array_equal(value, other.save()[name])
