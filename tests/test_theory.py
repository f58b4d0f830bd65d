"""Theory against what it is about: exact convolutions, seeded noise, and the mechanisms themselves.

Seeds are fixed. Where a mean of n draws is compared, it may be off by six of its standard errors.
"""

import doctest
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import penstock as ps
from in_process import made, published
from penstock.epsilon import NANO
from penstock.noise import laplace_sd
from penstock.post.sliding import SlidingSum
from penstock.primitives.segment import SegmentPlan
from penstock.theory import dsft, ranges, rg, spas, sums
from penstock.types import Ints

fixed = settings(derandomize=True, deadline=None, max_examples=60)
scales = st.fractions(Fraction(1, 10), 30, max_denominator=20)
confidences = st.floats(0.05, 0.9999)


def agree(samples: NDArray[Any], expected: float) -> None:
    error = 6 * float(samples.std()) / math.sqrt(samples.size)
    assert abs(float(samples.mean()) - expected) <= error, (float(samples.mean()), expected, error)


def chance_agrees(hits: int, of: int, least: float, most: float = 1.0) -> None:
    """Whether a chance between two bounds explains so many hits."""
    allowed = 6 * math.sqrt(0.25 / of)
    assert least - allowed <= hits / of <= most + allowed, (hits / of, least, most)


def test_the_numbers_of_the_document_are_those_of_the_code() -> None:
    document = Path(__file__).parent.parent / "docs" / "theory.md"
    outcome = doctest.testfile(str(document), module_relative=False)
    assert (outcome.failed, outcome.attempted > 10) == (0, True)


# ---- sums -----------------------------------------------------------------------------------------------------------


def convolved(scales: list[Fraction]) -> NDArray[np.float64]:
    """The chances of the absolute value of the sum, 0, 1, 2, ..., term by term."""
    whole = np.ones(1)
    for scale in scales:
        k = np.abs(np.arange(-int(40 * scale) - 2, int(40 * scale) + 3))
        p = math.exp(-1 / scale)
        whole = np.convolve(whole, (1 - p) / (1 + p) * p**k)
    zero = len(whole) // 2
    return np.array([whole[zero], *(2 * whole[zero + 1 :])])


@fixed
@given(st.lists(scales, min_size=1, max_size=5), confidences)
def test_sums_of_discrete_noise_are_those_of_a_convolution(terms: list[Fraction], confidence: float) -> None:
    chances = convolved(terms)
    sds = [laplace_sd(scale) for scale in terms]
    inside = np.cumsum(chances)
    h = int(sums.half_width(sds, confidence))
    assert inside[h] >= confidence - 1e-9
    assert h == 0 or inside[h - 1] < confidence + 1e-9
    assert sums.expected_absolute(sds) == pytest.approx((chances * np.arange(len(chances))).sum(), rel=1e-9, abs=1e-9)
    assert sums.standard_deviation(sds) == pytest.approx(math.sqrt((chances * np.arange(len(chances)) ** 2).sum()))


@fixed
@given(st.lists(scales, min_size=1, max_size=8), st.floats(0.0001, 0.9))
def test_the_tail_bound_of_the_lemma_is_a_bound(terms: list[Fraction], beta: float) -> None:
    sds = [laplace_sd(scale) for scale in terms]
    assert sums.half_width(sds, 1 - beta) <= sums.tail_bound(sds, beta)
    largest, nu = float(max(terms)), sums.tail_bound(sds, beta) / math.sqrt(8 * math.log(2 / beta))
    assert nu**2 >= float(sum(scale**2 for scale in terms)) * (1 - 1e-9)  # what the lemma asks for
    assert sums.tail_bound(sds, beta) <= 2 * math.sqrt(2) * nu**2 / largest * (1 + 1e-9)


@fixed
@given(st.floats(0.01, 1e6), confidences)
def test_laplace_variables_have_their_closed_forms(sd: float, confidence: float) -> None:
    b = sd / math.sqrt(2)
    assert sums.half_width([sd], confidence, discrete=False) == pytest.approx(-b * math.log(1 - confidence))
    assert sums.expected_absolute([sd], discrete=False) == pytest.approx(b)
    h = sums.half_width([sd, sd], confidence, discrete=False) / b
    assert (1 + h / 2) * math.exp(-h) == pytest.approx(1 - confidence, abs=1e-8)
    assert sums.expected_absolute([sd, sd], discrete=False) == pytest.approx(1.5 * b)
    unlike = sums.half_width([sd, sd / 3], confidence, discrete=False) / b  # the exact mixture of two scales
    assert (9 * math.exp(-unlike) - math.exp(-3 * unlike)) / 8 == pytest.approx(1 - confidence, abs=1e-8)


@settings(fixed, max_examples=20)
@given(st.lists(st.floats(50, 1e7), min_size=2, max_size=6), confidences)
def test_wide_noise_does_not_notice_that_it_is_whole(sds: list[float], confidence: float) -> None:
    whole, smooth = (sums.half_width(sds, confidence, discrete=kind) for kind in (True, False))
    assert -1 <= whole - smooth <= 1.01
    assert sums.expected_absolute(sds) == pytest.approx(sums.expected_absolute(sds, discrete=False), rel=1e-3)


def test_very_many_terms_are_a_bell() -> None:
    sds = np.full(1_000_000, 3.0)
    assert sums.half_width(sds, 0.95) == pytest.approx(1.959964 * 3000, abs=1)
    assert sums.expected_absolute(sds) == pytest.approx(math.sqrt(2 / math.pi) * 3000, rel=1e-5)


@pytest.mark.parametrize("terms", [[Fraction(4)], [Fraction(1, 2), Fraction(9)], [Fraction(20)] * 12])
def test_sums_of_what_is_drawn(terms: list[Fraction]) -> None:
    noise = ps.SimulationNoise(1)
    drawn = np.sum([noise.laplace(scale, 100_000) for scale in terms], axis=0)
    sds = [laplace_sd(scale) for scale in terms]
    agree(np.abs(drawn), sums.expected_absolute(sds))
    agree(drawn**2, sums.standard_deviation(sds) ** 2)
    h = sums.half_width(sds, 0.9)
    chance_agrees(int((np.abs(drawn) <= h).sum()), len(drawn), 0.9)
    chance_agrees(int((np.abs(drawn) < h).sum()), len(drawn), 0, 0.9)


def test_no_noise_is_no_width() -> None:
    assert sums.half_width([], 0.95) == sums.half_width([0, 0], 0.95) == sums.half_width([1e-60], 0.95) == 0
    assert sums.half_width([0.0], 0.95, discrete=False) == sums.expected_absolute([]) == sums.tail_bound([], 0.1) == 0
    assert sums.half_width([5.0, 0.0], 0.9) == sums.half_width([5.0], 0.9)


@pytest.mark.parametrize("sds", [[-1], [math.nan], [math.inf], [1e60]])
def test_what_is_no_deviation_is_refused(sds: list[float]) -> None:
    with pytest.raises(ps.BadInput, match="noise_sd of releases"):
        sums.half_width(sds, 0.9)


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 1.1, 0.99999999])
def test_what_is_no_confidence_is_refused(confidence: float) -> None:
    with pytest.raises(ps.BadInput, match="confidence"):
        sums.half_width([1.0, 2.0], confidence)


@fixed
@given(st.fractions(Fraction(1, 100), 10**9))
def test_scales_and_deviations_are_two_names(scale: Fraction) -> None:
    assert sums.laplace_scale(laplace_sd(scale)) == pytest.approx(float(scale), rel=1e-9)


# ---- range queries --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bins", "neighbours"), [(1, "add-remove"), (3, "replace"), (20, "add-remove")])
def test_range_queries_of_uniform(bins: int, neighbours: Any) -> None:
    model: ps.PrivacyModel = ps.WEvent(epsilon="0.7", w=4, neighbours=neighbours)
    share, s1 = model.epsilon / 4, model.sensitivity
    releases = published(made("Uniform", model), np.full((200, bins * 50), 7), ps.SimulationNoise(2))
    off = np.array([release.values for release in releases]).reshape(-1, bins).sum(axis=1) - 7 * bins
    agree(off.astype(float) ** 2, ranges.squared_error(bins, share, s1))
    agree(np.abs(off), ranges.absolute_error(bins, share, s1))
    h = ranges.bound(bins, share, 0.1, s1)
    chance_agrees(int((np.abs(off) > h).sum()), len(off), 0, 0.1)
    chance_agrees(int((np.abs(off) >= h).sum()), len(off), 0.1)
    assert releases[0].noise_sd[0] == ranges.noise_sd(share, s1)


def test_nothing_is_bought_for_nothing() -> None:
    with pytest.raises(ps.BadInput, match="at least one nano-epsilon"):
        ranges.squared_error(1, ps.Epsilon(0))


# ---- DSFT and DSAT --------------------------------------------------------------------------------------------------

EXACT = {"releases": 3, "total": 1000, "threshold": 0.1, "decide_share": 0.001}  # releases have no noise to speak of
USER = ps.UserLevel(epsilon=1000, horizon=20)
PLAN = SegmentPlan.whole_horizon(2, ps.Epsilon(1))


def repeats(moved: int, runs: int) -> int:
    """How often DSFT repeats its first release although the counts have moved so far."""
    rows, mechanism = [[5000], [5000 - moved]], made("DSFT", USER, **EXACT)
    noises = (ps.SimulationNoise(seed) for seed in range(runs))
    return sum(not published(mechanism, rows, noise)[1].is_new for noise in noises)


@pytest.mark.parametrize("beta", [0.05, 0.3])
def test_a_unit_that_repeats_is_as_near_as_theorem_5_1_says(beta: float) -> None:
    """The bound is not only safe: one count nearer to the threshold, too many units are off by more than that."""
    bound = dsft.repeated_bound(100, PLAN.u, PLAN.v, beta)
    noise = dsft.decision_noise(PLAN.u, PLAN.v)
    chance_agrees(repeats(int(bound) + 1, 3000), 3000, beta - 0.06, beta)
    assert sums.half_width(noise, 1 - 2 * beta) == bound - 99
    assert repeats(int(bound) - 20, 500) > repeats(int(bound) + 1, 500)


def test_dsat_stays_within_theorem_5_2() -> None:
    """At the last compared unit, with the threshold to which it was steered then; and without luck it would not."""
    beta, far, nearer, compared, runs = 0.1, 0, 0, 0, 600
    model = ps.UserLevel(epsilon=40, horizon=40)
    plan = SegmentPlan.whole_horizon(19, ps.Epsilon(2))
    for seed in range(runs):
        told = {"releases": 20, "total": 1000, "threshold": 0.05, "decide_share": 0.05, "margin": 0, "gain": 5}
        mechanism: Any = made("DSAT", model, **told)
        rows = 500 + np.cumsum(np.random.default_rng(seed).integers(-16, 17, (10, 2)), axis=0)
        mechanism.start(ps.Curator(model, 2, noise=ps.SimulationNoise(seed)))
        releases = [mechanism.step(snapshot) for snapshot in ps.streams.Stream(rows)]
        if not releases[-1].is_new:
            compared += 1
            threshold, off = math.ceil(mechanism.at * 1000), abs(int(releases[-1].values.sum() - rows[-1].sum()))
            far += off > dsft.repeated_bound(threshold, plan.u, plan.v, beta)
            nearer += np.abs(releases[-1].values - rows[-1]).sum() > threshold - 1
    assert compared > runs / 4
    assert nearer > 0
    chance_agrees(far, runs, 0, beta)


def test_unions_widen_the_bound() -> None:
    one, many = (dsft.repeated_bound(100, PLAN.u, PLAN.v, 0.1, at_once=n) for n in (1, 50))
    assert many == dsft.repeated_bound(100, PLAN.u, PLAN.v, 0.1 / 50) > one
    assert dsft.repeated_bound(100, PLAN.u, PLAN.v, 0.6) == 99
    assert dsft.repeated_bound(0, PLAN.u, PLAN.v, 0.6) == 0


@fixed
@given(st.sampled_from(["0.01", "0.05", "0.5"]), st.floats(0.01, 0.9), st.integers(1, 3))
def test_the_least_number_of_records_is_the_least(alpha: str, beta: float, s1: int) -> None:
    n = dsft.least_records(alpha, beta, PLAN.u, PLAN.v, s1)
    h = sums.half_width(dsft.decision_noise(PLAN.u, PLAN.v, s1), 1 - beta)
    assert Fraction(alpha) * (n - 1) < h <= Fraction(alpha) * n


def test_decisions_of_that_many_records_stay_within_alpha() -> None:
    n, noise = dsft.least_records("0.02", 0.1, PLAN.u, PLAN.v), ps.SimulationNoise(3)
    rho, nu = (noise.laplace(Fraction(NANO, e.nano), 100_000) for e in (PLAN.u, PLAN.v))
    chance_agrees(int((np.abs(rho - nu) <= 0.02 * n).sum()), len(rho), 0.9)
    chance_agrees(int((np.abs(rho - nu) <= 0.02 * n - 1.02).sum()), len(rho), 0, 0.9)


@pytest.mark.parametrize("alpha", [0, -1])
def test_no_part_of_the_records_is_refused(alpha: int) -> None:
    with pytest.raises(ps.BadInput, match="alpha must be above 0"):
        dsft.least_records(alpha, 0.1, PLAN.u, PLAN.v)


@fixed
@given(st.integers(1, 10**6), st.integers(1, 50), st.integers(1, 6), st.integers(51, 10**4))
def test_the_best_share_is_the_best(bins: int, releases: int, s1: int, window: int) -> None:
    best, most = dsft.best_share(bins, releases, s1, window), 1 - releases / window
    a, b = 8 * s1**2 * (1 + 4 * (releases - 1) ** 2), bins * releases**2
    assert best == min(1 / (1 + math.cbrt(b / a)), 1 - releases / window)  # to the last bit: streams are replayed
    others = np.linspace(0.001, most, 200)
    least = dsft.variance(best, bins, releases, s1)
    assert all(least <= dsft.variance(float(k), bins, releases, s1) * (1 + 1e-9) for k in others if k < 1)


def test_the_best_share_weighs_what_is_drawn() -> None:
    """Half of k epsilon for rho and half for nu, and what is left for releases of 5 bins; epsilon is 0.1."""
    k, bins, releases, draws, noise = 0.3, 5, 4, 40_000, ps.SimulationNoise(4)
    budget = k / 10
    rho, nu = (noise.laplace(Fraction(scale / budget), draws) for scale in (2, 4 * (releases - 1)))
    release = noise.laplace(Fraction(10 * releases / (1 - k)), draws * bins).reshape(-1, bins)
    far = np.abs(release).sum(axis=1)
    total = (rho - nu).astype(float) ** 2 + (far - far.mean()) ** 2
    agree(total / 100, dsft.variance(k, bins, releases, 1))


# ---- SPAS -----------------------------------------------------------------------------------------------------------

budgets = st.floats(0.01, 50)
thetas = st.floats(0.01, 1)


@fixed
@given(st.floats(0, 1e8), budgets, st.integers(1, 4), st.integers(1, 500), thetas)
def test_the_optimal_count_is_optimal(variance: float, e: float, s1: int, w: int, theta: float) -> None:
    best = spas.optimal_count(variance, e, s1, w, theta)
    least = spas.window_error(best, w, variance, e, s1, theta)
    for other in (0.0, best / 2, best * 0.99, best * 1.01, best * 2, best + 1):
        assert least <= spas.window_error(other, w, variance, e, s1, theta) + 1e-9 * abs(least) + 1e-9


@fixed
@given(st.floats(0, 1e12), budgets, st.integers(1, 6))
def test_at_one_half_the_count_is_computed_as_ever(variance: float, e: float, s1: int) -> None:
    assert spas.optimal_count(variance, e, s1) == e * math.sqrt(3 * variance) / (6 * s1)
    near = spas.optimal_count(variance, e, s1, window=1, theta=0.5 + 1e-12)
    assert near == pytest.approx(spas.optimal_count(variance, e, s1), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("every", "w"), [(1, 12), (4, 12), (12, 12)])
def test_the_warm_up_of_spas_has_the_error_of_theta_one(every: int, w: int) -> None:
    """Nobody decides there, so all that is not published drifts; bins stand for repetitions."""
    model, bins, drift = ps.WEvent(epsilon="0.4", w=w), 3000, 20.0
    counts = np.rint(np.random.default_rng(5).normal(1000, drift, (w, bins))).astype(np.int64)
    mechanism = made("SPAS", model, warm_up=every)
    releases = published(mechanism, counts, ps.SimulationNoise(5))
    squares = np.array([(release.values - row) ** 2 for release, row in zip(releases, counts, strict=True)])
    count = math.ceil(w / every)
    variance = 2 * drift**2 + 2 * 2 * (count / 0.3) ** 2  # of the difference between two noisy releases
    agree(squares.sum(axis=0), spas.window_error(count, w, variance, 0.3, theta=1))


def test_spas_follows_the_optimal_count() -> None:
    mechanism: Any = made("SPAS", ps.WEvent(epsilon="0.4", w=20), warm_up=5)
    published(mechanism, ps.streams.synthetic("jumps", bins=3, steps=60, seed=1).counts, ps.SimulationNoise(6))
    last = max(mechanism.times)
    optimum = spas.optimal_count(mechanism.spread.variance(last), 0.3)
    assert 1 < mechanism.count == math.floor(optimum) < 20


@pytest.mark.parametrize(
    "wrong", [(-1.0, 1.0, 0.5), (1.0, 0.0, 0.5), (1.0, 1.0, 0.0), (1.0, 1.0, 1.1), (math.nan, 1.0, 1.0)]
)
def test_what_cannot_be_weighed_is_refused(wrong: tuple[float, float, float]) -> None:
    variance, e, theta = wrong
    with pytest.raises(ps.BadInput, match="mend them"):
        spas.optimal_count(variance, e, theta=theta)
    with pytest.raises(ps.BadInput, match="mend them"):
        spas.window_error(1, 10, variance, e, theta=theta)


# ---- RG -------------------------------------------------------------------------------------------------------------


class NeverAlarmed(ps.SimulationNoise):
    """Noise that tells the monitor that every bin is where it was last published."""

    def __init__(self, mechanism: Any, counts: Ints, watching: ps.Epsilon) -> None:
        super().__init__(7)
        self.mechanism, self.counts, self.scale = mechanism, counts, Fraction(NANO, watching.nano)

    def laplace(self, scale: Fraction, size: int) -> Ints:
        if scale == self.scale:
            return np.asarray(self.mechanism.last.values - self.counts[self.mechanism.last.t], np.int64)
        return super().laplace(scale, size)


def rested(counts: Ints, **options: Any) -> list[ps.Release]:
    """RG at epsilon 0.02 of counts that nobody finds to have moved."""
    mechanism: Any = made("RG", ps.EventLevel(epsilon="0.02"), **options)
    return published(mechanism, counts, NeverAlarmed(mechanism, counts, mechanism.unit_in_two(0.1)[0]))


@pytest.mark.parametrize(("units", "options"), [(31, {}), (50, {"growth": 1.5}), (40, {"max_length": 3}), (1, {})])
def test_resting_units_have_the_error_of_theorem_7(units: int, options: dict[str, Any]) -> None:
    counts = np.full((units, 8000), 1000)
    releases = rested(counts, **options)
    squares = np.array([(release.values - 1000.0) ** 2 for release in releases])
    sd = float(releases[0].noise_sd[0])
    agree(squares.mean(axis=0), rg.unit_error(units, sd, **options))
    for width in (4, 15):
        sliding = np.array([release.values for release in map(SlidingSum(width), releases)], np.float64)
        sliding -= 1000.0 * np.minimum(np.arange(1, units + 1), width)[:, np.newaxis]
        agree((sliding**2).mean(axis=0), rg.sliding_error(units, width, sd, **options))
        if units > 1:  # the paper's value is far below what is measured, because repeated noise adds up
            assert 1.5 * rg.sliding_error_as_printed(units, width, sd, **options) < (sliding**2).mean()


def test_groups_have_the_error_of_theorem_6() -> None:
    """The third group, of eight units: seven repeat the mean of four, the last one publishes the mean of all eight."""
    path = np.array([500] * 3 + [500, 500, 500, 500] + [500, 540, 600, 500, 450, 520, 480, 510])
    releases = rested(np.repeat(path[:, np.newaxis], 8000, axis=1))
    assert [release.t for release in releases if release.is_new] == [1, 3, 7, 15]
    sd = float(releases[0].noise_sd[0])
    squares = np.array([(releases[t].values - float(path[t])) ** 2 for t in range(7, 15)])
    agree(squares.mean(axis=0), rg.group_error(path[7:], 500, sd / 4, sd))


@pytest.mark.parametrize("groups", range(1, 12))
def test_the_closed_form_is_the_sum(groups: int) -> None:
    assert rg.closed_form(groups, 3.0) == pytest.approx(rg.unit_error(2 ** (groups + 1) - 1, 3.0), rel=1e-12)


@fixed
@given(st.integers(1, 300), st.integers(1, 40), st.floats(1.1, 4), st.integers(1, 50))
def test_sliding_sums_count_shared_noise_as_shared(units: int, width: int, growth: float, longest: int) -> None:
    """Against the covariances of all pairs of units, written out."""
    of, size = [0], [1]  # which release each unit shows; of how many units that is the mean
    while len(of) < units:
        group = min(math.ceil(growth * size[-1]), longest)
        of += [len(size) - 1] * (group - 1) + [len(size)]
        size.append(group)
    shown = np.array(of[:units])
    variances = np.array([1 / n**2 for n in size])[shown]
    covariance = np.where(shown[:, np.newaxis] == shown, variances, 0)
    sums_of = [covariance[max(t - width + 1, 0) : t + 1, max(t - width + 1, 0) : t + 1].sum() for t in range(units)]
    assert rg.sliding_error(units, width, growth=growth, max_length=longest) == pytest.approx(np.mean(sums_of))
    assert rg.unit_error(units, growth=growth, max_length=longest) == pytest.approx(variances.mean())


@pytest.mark.parametrize("wrong", [{"units": 0}, {"growth": 1.0}, {"max_length": 0}, {"width": 0}])
def test_what_is_no_schedule_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ps.BadInput):
        rg.sliding_error(**({"units": 10, "width": 3} | wrong))
