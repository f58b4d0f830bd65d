"""Draws have the distribution they claim, three ways: at the claimed scale they fit, at 3% less and more they do not.

Keys and seeds are fixed, so every figure here is the same at every run.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from penstock.noise import Noise, SecureNoise, SimulationNoise
from penstock.noise.keystream import KeyStream
from penstock.types import Floats, Ints

SIZE = 300_000
FITS = 1e-4
FAILS = 1e-9
LESS, MORE = Fraction(97, 100), Fraction(103, 100)


def secure(word_bits: int = 32) -> SecureNoise:
    return SecureNoise(word_bits=word_bits, source=KeyStream(key=b"fit".ljust(32)))


def simulated() -> SimulationNoise:
    return SimulationNoise(20240229)


SOURCES = pytest.mark.parametrize("source", [secure, simulated])


def fit(draws: Ints, scale: Fraction) -> float:
    """p-value of the chi-square test against the discrete Laplace, in about 40 cells of about equal weight."""
    claimed = stats.dlaplace(float(1 / scale))
    edges = np.unique(claimed.ppf(np.linspace(0, 1, 41)[1:-1]))
    expected = np.diff(claimed.cdf(edges), prepend=0, append=1) * len(draws)
    observed = np.bincount(np.searchsorted(edges, draws), minlength=len(expected))
    return float(stats.chisquare(observed, expected).pvalue)


def assert_fits_three_ways(draws: Ints, scale: Fraction) -> None:
    assert fit(draws, scale) > FITS
    assert fit(draws, scale * LESS) < FAILS
    assert fit(draws, scale * MORE) < FAILS


@SOURCES
@pytest.mark.parametrize("scale", [Fraction(3, 7), Fraction(10), Fraction(1000), Fraction(10**9)])
def test_laplace_has_the_claimed_scale(source: Callable[[], Noise], scale: Fraction) -> None:
    """Over rows of 16, 32 and 64 coins."""
    assert_fits_three_ways(source().laplace(scale, SIZE), scale)


@pytest.mark.parametrize("word_bits", [8, 16, 64])
def test_laplace_has_the_claimed_scale_with_every_word_width(word_bits: int) -> None:
    """With words of 8 bits, one draw in 16 goes on to further digits."""
    assert_fits_three_ways(secure(word_bits).laplace(Fraction(10), SIZE), Fraction(10))


@SOURCES
def test_laplace_each_gives_every_bin_its_own_scale(source: Callable[[], Noise]) -> None:
    """Three scales in a mixed order over many blocks: each group fits its own, and none of the others."""
    scales = [Fraction(3, 7), Fraction(10), Fraction(1000)]
    which = np.random.default_rng(1).integers(0, 3, 3 * SIZE).astype(np.intp)
    draws = source().laplace_each(scales, which)
    for i, scale in enumerate(scales):
        assert_fits_three_ways(draws[which == i], scale)
    assert fit(draws[which == 1], scales[2]) < FAILS
    assert fit(draws[which == 2], scales[1]) < FAILS


@SOURCES
@pytest.mark.parametrize("chance", [Fraction(2, 7), Fraction(1, 2), Fraction(9, 10)])
def test_bernoulli_has_the_claimed_chance(source: Callable[[], Noise], chance: Fraction) -> None:
    """Over more than one block of coins, in two dimensions."""
    coins = source().bernoulli(chance, (3, 100_000))
    assert coins.shape == (3, 100_000)
    heads = int(coins.sum())
    assert stats.binomtest(heads, coins.size, float(chance)).pvalue > FITS
    assert stats.binomtest(heads, coins.size, float(chance * LESS)).pvalue < FAILS
    assert stats.binomtest(heads, coins.size, float(chance * MORE)).pvalue < FAILS


@SOURCES
def test_bernoulli_exp_gives_every_coin_its_own_chance(source: Callable[[], Noise]) -> None:
    """Steps in a mixed order, with certain coins among them."""
    steps = np.array([0, 1, 5, 11])
    which = np.random.default_rng(2).integers(0, 4, 120_000)
    coins = source().bernoulli_exp(Fraction(1, 10), steps[which])
    assert coins[which == 0].all()
    for i, x in list(enumerate(steps / 10))[1:]:
        thrown, chance = coins[which == i], float(np.exp(-x))
        heads = int(thrown.sum())
        assert stats.binomtest(heads, len(thrown), chance).pvalue > FITS
        assert stats.binomtest(heads, len(thrown), chance * 0.94).pvalue < FAILS
        assert stats.binomtest(heads, len(thrown), chance * 1.06).pvalue < FAILS


def largest_correlation(table: Ints | Floats) -> float:
    """In units of its standard deviation under independence."""
    correlations = np.corrcoef(table, rowvar=False) - np.eye(table.shape[1])
    return float(np.abs(correlations).max() * np.sqrt(len(table)))


@SOURCES
def test_bins_are_independent(source: Callable[[], Noise]) -> None:
    """Neither values nor sizes of the noise in 10 bins and in the 10 of the release before are correlated."""
    noise = source()
    releases = np.array([noise.laplace(Fraction(1000), 10) for _ in range(5000)])
    pairs = np.hstack([releases[1:], releases[:-1]])
    assert largest_correlation(pairs) < 4.5
    assert largest_correlation(np.abs(pairs)) < 4.5
    assert len(np.unique(releases, axis=0)) == len(releases)
    shared = pairs + releases[1:, :1] // 4  # a little of the first bin's noise in all the others is found
    assert largest_correlation(shared) > 10


@SOURCES
def test_noise_is_symmetric(source: Callable[[], Noise]) -> None:
    """As many draws above zero as below, and the sizes of both are alike."""
    draws = source().laplace(Fraction(10), SIZE)
    above, below = draws[draws > 0], -draws[draws < 0]
    assert stats.binomtest(len(above), len(above) + len(below), 0.5).pvalue > FITS
    assert stats.ks_2samp(above, below).pvalue > FITS


@SOURCES
def test_orders_are_uniform(source: Callable[[], Noise]) -> None:
    """All 24 orders of four things come up equally often."""
    noise = source()
    orders = np.array([noise.order(4) for _ in range(12_000)])
    assert (np.sort(orders, axis=1) == np.arange(4)).all()
    codes, counts = np.unique(orders @ np.array([64, 16, 4, 1]), return_counts=True)
    assert len(codes) == 24
    assert stats.chisquare(counts).pvalue > FITS


@SOURCES
def test_every_place_of_a_long_order_is_uniform(source: Callable[[], Noise]) -> None:
    """The first, the middle and the last place of an order of 100 are as likely to hold any number."""
    noise = source()
    orders = np.array([noise.order(100) for _ in range(5000)])
    for place in (0, 50, 99):
        assert stats.chisquare(np.bincount(orders[:, place], minlength=100)).pvalue > FITS
