"""An independent implementation as an oracle: OpenDP's integer Laplace and ours are samples of one distribution.

OpenDP's randomness cannot be fixed, so the level is 10^-6; the sizes are such that a scale off by 8% is found out with
all but certainty.
"""

from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from scipy import stats

from penstock.noise import SecureNoise
from penstock.noise.keystream import KeyStream
from penstock.types import Ints

SIZE = 100_000
LEVEL = 1e-6


def opendp_draws(scale: Fraction, size: int) -> Ints:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    return np.array(dp.m.make_laplace(*space, scale=float(scale))([0] * size), np.int64)


def our_draws(scale: Fraction, size: int) -> Ints:
    return SecureNoise(source=KeyStream(key=b"opendp".ljust(32))).laplace(scale, size)


def agreement(one: Ints, other: Ints) -> float:
    """p-value of the chi-square test that both samples have one distribution, in cells of about equal weight."""
    edges = np.unique(np.quantile(np.concatenate([one, other]), np.linspace(0, 1, 31)[1:-1], method="nearest"))
    cells = len(edges) + 1
    table = np.array([np.bincount(np.searchsorted(edges, draws), minlength=cells) for draws in (one, other)])
    return float(stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(10), Fraction(1000), Fraction(10**8)])
def test_opendp_draws_from_the_same_distribution(scale: Fraction) -> None:
    """At the claimed scale the two agree; at a scale 8% smaller or larger they do not."""
    theirs = opendp_draws(scale, SIZE)
    assert agreement(our_draws(scale, SIZE), theirs) > LEVEL
    assert agreement(our_draws(scale * Fraction(92, 100), SIZE), theirs) < LEVEL
    assert agreement(our_draws(scale * Fraction(108, 100), SIZE), theirs) < LEVEL


def test_opendp_draws_the_same_extremes() -> None:
    """The tail, which cells of equal weight hardly see: how many draws lie beyond 6 scales."""
    scale = Fraction(50)
    beyond = [int((np.abs(draws) > 6 * scale).sum()) for draws in (our_draws(scale, SIZE), opendp_draws(scale, SIZE))]
    assert stats.binomtest(beyond[0], sum(beyond), 0.5).pvalue > LEVEL
    assert min(beyond) > 100
