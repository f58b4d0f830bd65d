"""Histogram methods: what they spend, how near they come, what they say of their own noise, and how they are called."""

import math
import time
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import penstock as ps
from in_process import made
from penstock.charges import Fact, Point
from penstock.epsilon import NANO
from penstock.histograms import Adaptive, Histogram, Laplace, Measured, Quadtree
from penstock.histograms.catalogue import histogram_of, require_shape, shape_of
from penstock.queries import LARGEST_SUM
from penstock.types import LARGEST_COUNT, Floats, Ints, Kind

fixed = settings(derandomize=True, deadline=None, max_examples=80)

METHODS = [Laplace(), Quadtree(), Quadtree(split=3), Quadtree(split=4), Adaptive(), Adaptive(split=2)]
TREES = [Quadtree(), Quadtree(split=3), Quadtree(split=4)]
ADAPTIVE = [Adaptive(), Adaptive(split=2), Adaptive(look=0.5, worth=2.0, split=3)]
every_method = pytest.mark.parametrize("method", METHODS, ids=str)


class Logged(ps.ScriptedNoise):
    """No noise, and a list of the scales it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.scales: list[Fraction] = []

    def laplace(self, scale: Fraction, size: int) -> Ints:
        self.scales.append(scale)
        return super().laplace(scale, size)


class Bench:
    """A curator whose units a method measures."""

    def __init__(self, bins: int, noise: Any = None, epsilon: Any = 10**6, **law: Any) -> None:
        self.journal: list[Fact] = []
        self.noise: Any = ps.ScriptedNoise() if noise is None else noise
        model = ps.EventLevel(epsilon=epsilon, **law)
        self.curator = ps.Curator(model, bins, noise=self.noise, journal=self.journal.append)
        self.t = 0

    def measure(self, method: Histogram, counts: Any, e: Any, shape: Sequence[int] = (), **chosen: Any) -> Measured:
        self.t += 1
        snapshot = ps.Snapshot(self.t, counts)
        self.curator.begin_unit(snapshot)
        purse = self.curator.purse(snapshot, ps.Epsilon(e), **chosen)
        domain = tuple(shape) or ((purse.size,) if "labels" in chosen else (self.curator.bins,))
        measured = method.measure(purse, domain, ps.Epsilon(e))
        assert not purse.remaining
        assert measured.values.dtype == np.int64
        assert measured.values.shape == measured.noise_sd.shape == (purse.size,)
        assert np.isfinite(measured.noise_sd).all()
        return measured

    def spent(self) -> int:
        return sum(fact.e.nano for fact in self.journal if isinstance(fact, Point))


def once(method: Histogram, counts: Any, e: Any, shape: Sequence[int] = (), **chosen: Any) -> Measured:
    return Bench(len(counts)).measure(method, counts, e, shape, **chosen)


def off_by(
    method: Histogram, shape: tuple[int, ...], e: Any, times: int, counts: Ints, **law: Any
) -> tuple[Floats, Floats]:
    """By how much each of many measurements misses the counts, and how far it says that it does."""
    bench = Bench(math.prod(shape), ps.SimulationNoise(11), **law)
    measured = [bench.measure(method, counts, e, shape) for _ in range(times)]
    return np.array([each.values - counts for each in measured], np.float64), np.array([m.noise_sd for m in measured])


@st.composite
def domains(draw: st.DrawFn, most: int = 200) -> tuple[int, ...]:
    shape = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 4, 5, 7, 8, 13]), min_size=1, max_size=5)))
    assume(math.prod(shape) <= most)
    return shape


# ---- without noise --------------------------------------------------------------------------------------------------


@fixed
@given(domains(), st.sampled_from([Laplace(), *TREES]), st.integers(0, 2**32), st.sampled_from([9, 10**6, 2**53]))
def test_counts_come_out_exactly_without_noise(shape: tuple[int, ...], method: Histogram, seed: int, most: int) -> None:
    """However large they are: levels are compared by what they disagree on."""
    counts = np.random.default_rng(seed).integers(0, most, math.prod(shape), endpoint=True)
    measured = once(method, counts, 1, shape)
    assert np.array_equal(measured.values, counts)
    assert measured.kind is Kind.FRESH


@pytest.mark.parametrize("method", TREES, ids=str)
@pytest.mark.parametrize("bins", [512, 600, 1024, 4096])
def test_many_huge_counts_come_out_no_further_off_than_they_are_cut(method: Histogram, bins: int) -> None:
    """Sums are of counts that are cut at a public bound, which is below 2**53 for more than 512 bins."""
    bound = LARGEST_SUM // bins
    counts = np.random.default_rng(1).integers(0, LARGEST_COUNT, bins, endpoint=True)
    values = once(method, counts, 1).values
    assert (np.abs(values - counts) <= np.maximum(counts - bound, 0)).all()
    counts = np.minimum(counts, bound)
    assert np.array_equal(once(method, counts, 1).values, counts)


@pytest.mark.parametrize("method", TREES, ids=str)
def test_one_huge_count_leaves_the_others_alone(method: Histogram) -> None:
    counts = np.full(1024, 100)
    counts[3] = LARGEST_COUNT
    values = once(method, counts, 1, (32, 32)).values
    assert (np.delete(values, 3) == 100).all()


@fixed
@given(domains(), st.sampled_from(ADAPTIVE), st.integers(0, 2**32), st.integers(0, 10**6), st.sampled_from(["0.01", 1]))
def test_adaptive_keeps_the_total_and_is_never_negative(
    shape: tuple[int, ...], method: Histogram, seed: int, most: int, e: Any
) -> None:
    counts = np.random.default_rng(seed).integers(0, most, math.prod(shape), endpoint=True)
    values = once(method, counts, e, shape).values
    assert values.sum() == counts.sum()
    assert (values >= 0).all()


@fixed
@given(domains(), st.sampled_from(ADAPTIVE), st.integers(0, 2**32))
def test_adaptive_is_never_negative_whatever_the_noise(shape: tuple[int, ...], method: Histogram, seed: int) -> None:
    bench = Bench(math.prod(shape), ps.SimulationNoise(seed))
    counts = np.random.default_rng(seed).poisson(1, math.prod(shape))
    assert math.prod(shape) == 1 or (bench.measure(method, counts, "0.1", shape).values >= 0).all()


@pytest.mark.parametrize("method", ADAPTIVE, ids=str)
def test_adaptive_finds_every_cell_of_large_counts(method: Histogram) -> None:
    counts = np.random.default_rng(2).integers(10**6, 10**7, 90)
    assert np.array_equal(once(method, counts, 1, (9, 10)).values, counts)


@pytest.mark.parametrize(("bins", "split"), [(16, 4), (5, 4), (17, 4), (65, 4), (3, 2), (100, 4), (1000, 4)])
def test_adaptive_spreads_a_part_evenly_over_its_cells(bins: int, split: int) -> None:
    """Of a node that is not divided nobody knows which cell has how much, however its cells lie in the tree."""
    method = Adaptive(split=split, worth=10.0**9)
    values = once(method, np.full(bins, 1000), 1).values
    assert np.abs(values - 1000).max() <= 2


def test_adaptive_comes_near_small_counts_that_are_all_alike() -> None:
    """The same without a parameter of mine: 17 bins of 8 records with epsilon 0.01."""
    assert once(Adaptive(), np.full(17, 8), "0.01").values.max() <= 16


@pytest.mark.parametrize("counts", [[2**53] * 512, [2**50] * 4096, [2**53, 0, 7, 3]], ids=["many", "more", "one"])
def test_adaptive_keeps_huge_counts(counts: list[int]) -> None:
    """To within what a float tells apart."""
    values = once(Adaptive(), counts, 1).values
    assert np.abs(values - np.array(counts)).max() <= max(counts) * 2.0**-40


# ---- what is spent --------------------------------------------------------------------------------------------------


@every_method
@pytest.mark.parametrize("shape", [(1,), (1, 1), (2,), (16,), (4, 4), (37,), (5, 3, 2)], ids=str)
def test_the_whole_budget_is_spent_and_nothing_beyond(method: Histogram, shape: tuple[int, ...]) -> None:
    """From a nano-epsilon, which is too little for a tree, to where there is no noise at all."""
    for nano in (*range(1, 21), 999_999_999, 10**9, 50 * 10**9, 10**15):
        e = ps.Epsilon.of_nano(nano)
        bench = Bench(math.prod(shape), Logged(), epsilon=e)  # which could not pay for more
        bench.measure(method, np.arange(math.prod(shape)), e, shape)
        assert bench.spent() == nano
        assert sum(Fraction(NANO) / scale for scale in bench.noise.scales) == nano


@every_method
@pytest.mark.parametrize(("law", "s1"), [({"per_unit": 7}, 7), ({"neighbours": "replace", "per_unit": 2}, 4)])
def test_noise_follows_the_sensitivity(method: Histogram, law: dict[str, Any], s1: int) -> None:
    plain, wide = Bench(20, Logged()), Bench(20, Logged(), **law)
    for bench in (plain, wide):
        bench.measure(method, np.full(20, 10**9), 1, (4, 5))
    assert wide.noise.scales == [s1 * scale for scale in plain.noise.scales]


@pytest.mark.parametrize("height", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("e", ["0.000001", "0.7", 3])
def test_levels_of_a_square_have_geometric_budgets(height: int, e: Any) -> None:
    """e_i = e 2^((h-i)/3) (2^(1/3) - 1) / (2^((h+1)/3) - 1), cells being level 0, to a nano-epsilon or two a level."""
    bench = Bench(4**height, Logged())
    bench.measure(Quadtree(), np.zeros(4**height, np.int64), e, (2**height, 2**height))
    found = [float(NANO / scale) for scale in bench.noise.scales]
    whole, root = ps.Epsilon(e).nano, 2 ** (1 / 3)
    wanted = [whole * root ** (height - i) * (root - 1) / (root ** (height + 1) - 1) for i in range(height + 1)]
    assert found == pytest.approx(wanted, abs=height + 2)
    assert all(finer > coarser for finer, coarser in pairwise(found))


# ---- with noise -----------------------------------------------------------------------------------------------------

LEVEL = 1000
LAWS: list[dict[str, Any]] = [{}, {"neighbours": "replace"}, {"per_unit": 3}]


@pytest.mark.parametrize("method", TREES, ids=str)
@pytest.mark.parametrize(
    ("shape", "law"), [((16,), {}), ((8, 8), LAWS[1]), ((7, 5), LAWS[2]), ((3, 2, 5), {}), ((23,), LAWS[2])], ids=str
)
def test_a_tree_is_unbiased_and_as_noisy_as_it_says(
    method: Histogram, shape: tuple[int, ...], law: dict[str, Any]
) -> None:
    """Each cell, all of them together, and sums over boxes, all to 5%."""
    off, claimed = off_by(method, shape, "0.5", 1500, np.full(math.prod(shape), LEVEL), **law)
    told, error = claimed[0], np.sqrt((off**2).mean(axis=0))
    assert np.abs(off.mean(axis=0) / told).max() < 5 / math.sqrt(len(off))
    assert error / told == pytest.approx(1, abs=0.15)  # of one cell, by 1500 draws
    assert np.mean(error**2 / told**2) == pytest.approx(1, abs=0.05)
    ratios = [(off @ box).std() / sum_sd(method, shape, told, box) for box in boxes(shape)]
    assert np.sqrt(np.mean(np.square(ratios))) == pytest.approx(1, abs=0.05)
    assert ratios == pytest.approx(np.ones(len(ratios)), abs=0.1)


def boxes(shape: tuple[int, ...], number: int = 12) -> list[Floats]:
    rng, found = np.random.default_rng(4), [np.ones(math.prod(shape))]
    for _ in range(number):
        box = np.zeros(shape)
        ends = [np.sort(rng.choice(length + 1, 2, replace=False)) for length in shape]
        box[tuple(slice(*each) for each in ends)] = 1
        found.append(box.ravel())
    return found


def sum_sd(method: Histogram, shape: tuple[int, ...], noise_sd: Floats, weights: Floats) -> float:
    noises = method.noises(shape, noise_sd, weights)
    assert noises is not None
    return float(np.sqrt((noises**2).sum()))


@pytest.mark.parametrize("method", TREES, ids=str)
@pytest.mark.parametrize("e", [3, 8, 20])
def test_a_tree_does_not_say_less_noise_than_it_has(method: Histogram, e: int) -> None:
    """Where noise is about as small as what rounding to whole numbers moves a cell by."""
    off, claimed = off_by(method, (8, 8), e, 1500, np.full(64, LEVEL))
    assert math.sqrt((off**2).mean()) < 1.05 * math.sqrt((claimed**2).mean()) + 0.005


@pytest.mark.parametrize("method", TREES, ids=str)
@pytest.mark.parametrize("e", [3, 8, 20])
def test_a_tree_does_not_say_less_noise_in_sums_than_they_have(method: Histogram, e: int) -> None:
    """The noise of levels is discrete: with a large budget it is no longer in proportion to 1 / e."""
    off, claimed = off_by(method, (8, 8), e, 1500, np.full(64, LEVEL))
    found = math.sqrt(np.mean([(off @ box).var() for box in boxes((8, 8))]))
    told = math.sqrt(np.mean([sum_sd(method, (8, 8), claimed[0], box) ** 2 for box in boxes((8, 8))]))
    assert found < 1.05 * told + 0.005


def test_sums_of_laplace_are_as_noisy_as_it_says() -> None:
    off, claimed = off_by(Laplace(), (8, 8), "0.5", 1500, np.full(64, LEVEL))
    for box in boxes((8, 8)):
        assert (off @ box).std() == pytest.approx(sum_sd(Laplace(), (8, 8), claimed[0], box), rel=0.08)


@pytest.mark.parametrize("method", [Laplace(), *TREES], ids=str)
def test_sums_over_bins_that_were_measured_together(method: Histogram) -> None:
    """Others are not a number, and have no weight."""
    rng, bench = np.random.default_rng(6), Bench(63, ps.SimulationNoise(3))
    chosen = rng.random(63) < 0.4
    measured = [bench.measure(method, np.full(63, LEVEL), "0.5", (7, 9), bins=chosen) for _ in range(1500)]
    off = np.array([each.values - LEVEL for each in measured], np.float64)
    noise_sd = np.full(63, np.nan)
    noise_sd[chosen] = measured[0].noise_sd
    assert off.std() == pytest.approx(math.sqrt(np.nanmean(noise_sd**2)), rel=0.05)
    for _ in range(5):
        weights = np.where(chosen, rng.normal(0, 1, 63), 0.0)
        told = sum_sd(method, (7, 9), noise_sd, weights)
        assert (off @ weights[chosen]).std() == pytest.approx(told, rel=0.08)


@pytest.mark.parametrize("method", [Laplace(), *TREES], ids=str)
def test_a_sum_of_nothing_has_no_noise(method: Histogram) -> None:
    told = once(method, np.zeros(9, np.int64), 1).noise_sd
    assert sum_sd(method, (9,), told, np.zeros(9)) == 0
    assert sum_sd(method, (9,), np.full(9, np.nan), np.zeros(9)) == 0


def test_adaptive_cannot_tell_how_noisy_sums_are() -> None:
    assert Adaptive().noises((4,), np.ones(4), np.ones(4)) is None


@pytest.mark.parametrize("method", [Adaptive(), Adaptive(split=2), Adaptive(worth=10.0**6)], ids=str)
@pytest.mark.parametrize("shape", [(16,), (64,), (17,), (5,), (9, 5)], ids=str)
def test_adaptive_noise_is_no_wider_than_it_says(method: Histogram, shape: tuple[int, ...]) -> None:
    """Counts are alike, so that what a cell is off by is noise and not the counts of its neighbours."""
    off, claimed = off_by(method, shape, "0.05", 300, np.full(math.prod(shape), 5000))
    assert (off.std(axis=0) < 1.2 * np.sqrt((claimed**2).mean(axis=0)) + 0.5).all()


def test_adaptive_beats_laplace_where_most_cells_are_empty() -> None:
    """By far in single cells, and in ranges as well."""
    rng = np.random.default_rng(9)
    counts = np.bincount((rng.pareto(1.0, 20_000) * 8).astype(np.int64).clip(0, 1023), minlength=1024)
    boxes = [np.arange(1024) < end for end in (100, 300, 700)]
    errors = {}
    for method in (Laplace(), Adaptive()):
        off, _ = off_by(method, (1024,), "0.1", 30, counts)
        errors[method.name] = np.array([np.abs(off).mean(), np.mean([np.abs(off @ box).mean() for box in boxes])])
    assert (errors["adaptive"] < errors["laplace"] * [0.5, 1]).all()


def test_a_tree_beats_laplace_in_large_ranges() -> None:
    half = np.repeat([1.0, 0.0], [500, 524])
    nothing = np.zeros(1024, np.int64)
    told = {str(m): sum_sd(m, (1024,), once(m, nothing, 1).noise_sd, half) for m in METHODS[:4]}
    assert told["quadtree(split=4)"] < told["laplace"] / 2
    assert told["quadtree"] < told["laplace"] / 2


# ---- which cells ----------------------------------------------------------------------------------------------------


@every_method
@pytest.mark.parametrize("chosen", [[0], [4], [0, 8], [1, 2, 3, 7], [*range(9)], [8, 2, 5]])
def test_some_bins_are_measured_and_no_others_pay(method: Histogram, chosen: list[int]) -> None:
    counts = np.arange(9) * 10**6 + 10**5
    bench = Bench(9, epsilon=1)
    measured = bench.measure(method, counts, 1, (3, 3), bins=np.array(chosen))
    assert np.array_equal(measured.values, counts[chosen])
    assert bench.spent() == NANO
    others = np.setdiff1d(np.arange(9), chosen)
    snapshot = ps.Snapshot(1, counts)
    assert bench.curator.ask(snapshot, ps.queries.Counts(), ps.Epsilon(1), others).tolist() == counts[others].tolist()
    assert bench.spent() == NANO


@every_method
def test_no_bins_are_measured_for_nothing(method: Histogram) -> None:
    """A mask may turn out to be empty; Laplace answers with nothing."""
    bench = Bench(3)
    measured = bench.measure(method, [1, 2, 3], 1, bins=np.zeros(3, np.bool_))
    assert measured.values.tolist() == []
    assert bench.spent() == 0


@every_method
@pytest.mark.parametrize(
    "labels", [[0, 0, 1, 1, 2, 2], [2, -1, 0, -1, 1, 1], [0, -1, -1, -1, -1, -1], [3, 2, 1, 0, 0, 0]]
)
def test_groups_of_bins_are_measured(method: Histogram, labels: list[int]) -> None:
    counts, bench = np.arange(1, 7) * 10**6, Bench(6, epsilon=1)
    sums = [int(counts[np.array(labels) == group].sum()) for group in range(max(labels) + 1)]
    assert bench.measure(method, counts, 1, labels=np.array(labels)).values.tolist() == sums
    assert bench.spent() == NANO


@every_method
def test_a_group_may_be_empty(method: Histogram) -> None:
    """Nothing is in the fourth of eight groups, which is measured all the same."""
    counts, labels = np.array([1000, 1000, 1000, 0, 0, 0, 0, 0]), np.array([0, 1, 2, 4, 5, 6, 7, 7])
    assert once(method, counts, 1, labels=labels).values.tolist() == [1000, 1000, 1000, 0, 0, 0, 0, 0]


def test_groups_within_some_bins_are_labelled_so() -> None:
    """Both at once would leave open which of them the cells are; -1 says it as well."""
    with pytest.raises(ps.BadInput, match="labels of -1 leave bins out"):
        once(Quadtree(), [1, 2, 3], 1, labels=np.array([0, 0, 1]), bins=np.array([True, True, False]))


@every_method
def test_a_pool_is_measured(method: Histogram) -> None:
    model = ps.WEvent(epsilon=1, w=2)
    noise = Logged()
    curator = ps.Curator(model, 6, noise=noise)
    pool = curator.pool()
    for t in (1, 2, 3):
        snapshot = ps.Snapshot(t, np.arange(1, 7) * 10**6)
        curator.begin_unit(snapshot)
        pool.absorb(snapshot, ps.Epsilon("0.5"))
    purse = pool.purse()
    assert method.measure(purse, (2, 3), purse.remaining).values.tolist() == [3 * 10**6 * n for n in range(1, 7)]
    assert sum(NANO / scale for scale in noise.scales) == NANO // 2


@pytest.mark.parametrize("method", [Quadtree(), Adaptive()], ids=str)
def test_a_pool_of_many_huge_members_is_cut_alike_on_all_levels(method: Histogram) -> None:
    """A pool holds up to 2**40 a unit; 40 units of 2**17 bins pass 2**62."""
    bins, units = 2**17, 40
    curator = ps.Curator(ps.EventLevel(epsilon=1), bins, noise=ps.ScriptedNoise())
    pool, counts = curator.pool(), np.full(bins, 2**40)
    for t in range(1, units + 1):
        snapshot = ps.Snapshot(t, counts)
        curator.begin_unit(snapshot)
        pool.absorb(snapshot, ps.Epsilon(1))
    purse = pool.purse()
    values = method.measure(purse, (bins,), purse.remaining).values
    assert (values >= min(units * 2**40, LARGEST_SUM // bins) - 1).all()
    assert (values <= units * 2**40).all()


# ---- numbers --------------------------------------------------------------------------------------------------------


@every_method
@pytest.mark.parametrize("shape", [(1,), (1, 1), (1, 1, 1), (2,), (2, 1), (64,), (5, 5)], ids=str)
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_noise_is_told_as_a_number(method: Histogram, shape: tuple[int, ...], law: dict[str, Any]) -> None:
    """Finite, and above 0 unless there is none; no warning on the way, as they are errors here."""
    empty, full = np.zeros(math.prod(shape), np.int64), np.random.default_rng(3).integers(0, 2**53, math.prod(shape))
    for e in ("0.000000001", "0.000000020", "0.001", 1, 50, 700, 100_000):
        for counts in (empty, full):
            measured = Bench(math.prod(shape), ps.SimulationNoise(2), **law).measure(method, counts, e, shape)
            assert (measured.noise_sd >= 0).all()
            assert ps.Epsilon(e) > ps.Epsilon(50) or (measured.noise_sd > 0).all()
            assert e != 100_000 or (measured.noise_sd < 1e-9).all()


@pytest.mark.parametrize("method", [Laplace(), *TREES], ids=str)
def test_noise_as_wide_as_64_bits_allow(method: Histogram) -> None:
    """The widest noise there is, on many bins: sums of noisy cells must not run over."""
    bench = Bench(2**18, ps.SimulationNoise(2), per_unit=25_000_000)
    measured = bench.measure(method, np.zeros(2**18, np.int64), ps.Epsilon.of_nano(19))
    assert np.abs(measured.values).max() < 40 * measured.noise_sd.max()
    assert np.abs(measured.values.mean(dtype=np.float64)) < measured.noise_sd.max() / 50


@every_method
def test_the_same_answers_give_the_same_histogram(method: Histogram) -> None:
    counts = np.random.default_rng(1).integers(0, 99, 91)
    pair = [Bench(91, ps.SimulationNoise(5)).measure(method, counts, "0.3", (7, 13)) for _ in range(2)]
    assert pair[0].values.tobytes() == pair[1].values.tobytes()
    assert pair[0].noise_sd.tobytes() == pair[1].noise_sd.tobytes()


@every_method
def test_a_large_domain_is_measured_in_no_time(method: Histogram) -> None:
    counts, bench = np.random.default_rng(1).poisson(3, 2**18), Bench(2**18, ps.SimulationNoise(1))
    begin = time.process_time()
    bench.measure(method, counts, 1, (512, 512))
    assert time.process_time() - begin < 5


# ---- how methods are called -----------------------------------------------------------------------------------------

shares = st.floats(1e-6, 1, exclude_max=True)


@fixed
@given(
    st.one_of(
        st.just(Laplace()),
        st.builds(Quadtree, split=st.integers(2, 1024)),
        st.builds(Adaptive, look=shares, worth=st.floats(1e-6, 1e20), split=st.integers(2, 1024)),
    )
)
def test_a_method_is_read_as_it_is_written(method: Histogram) -> None:
    assert histogram_of(str(method)) == method
    assert histogram_of(method) is method
    uniform = ps.Uniform(model=ps.WEvent(epsilon=1, w=2), histogram=method)
    told = uniform.parameters.get("histogram", "laplace")
    assert told == str(method)
    assert ps.Uniform(model=uniform.model, histogram=told) == uniform


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("Quadtree", Quadtree()),
        (" quadtree ( split = 3 ) ", Quadtree(split=3)),
        ("ADAPTIVE(look=0.5, worth=1)", Adaptive(look=0.5, worth=1.0)),
        ("laplace()", Laplace()),
    ],
)
def test_case_and_blanks_do_not_matter(text: str, method: Histogram) -> None:
    assert histogram_of(text) == method


WRONG = ["", "quadtre", "quad tree", "quadtree(4)", "quadtree(split)", "quadtree(split=)", "quadtree(splits=4)"]
WRONG += ["quadtree(split=1)", "quadtree(split=0)", "quadtree(split=-3)", "quadtree(split=1025)", "quadtree(split=2.0)"]
WRONG += ["quadtree(split='4')", "quadtree(split=true)", "quadtree(split=2020-01-01)", "quadtree(split=[2])"]
WRONG += ["quadtree(split=2, split=3)", "quadtree(split=4", "quadtree)", "quadtree(split=4)(x)", "quadtree(a.b=1)"]
WRONG += ["quadtree([split])", "laplace(split=2)", "adaptive(look=0)", "adaptive(look=1)", "adaptive(look=nan)"]
WRONG += ["adaptive(worth=0)", "adaptive(worth=-1)", "adaptive(worth=inf)", "adaptive(split=1)", "histogram"]
WRONG += [f"quadtree(split={'9' * 5000})", f"quadtree(split={'[' * 3000})", f"{'x' * 5000}", "quadtree(# split=4)"]
WRONG_OBJECTS = [None, 5, 2.5, True, b"quadtree", Quadtree, ["quadtree"], Kind.FRESH]


@pytest.mark.parametrize("told", [*WRONG, *WRONG_OBJECTS], ids=lambda told: repr(told)[:30])
def test_anything_else_is_refused_in_one_clear_sentence(told: object) -> None:
    with pytest.raises(ps.BadInput) as refused:
        histogram_of(told)
    sentence = str(refused.value)
    assert sentence.endswith((".", "?"))
    assert "\n" not in sentence
    assert len(sentence) < 300
    with pytest.raises(ps.BadInput):
        ps.Uniform(model=ps.WEvent(epsilon=1, w=2), histogram=told)


@pytest.mark.parametrize("kind", [Quadtree, Adaptive])
@pytest.mark.parametrize("split", [1, 0, 2000])
def test_a_refused_split_is_named_as_it_was_given(kind: Any, split: int) -> None:
    """And a range that is told holds for what is told."""
    with pytest.raises(ps.BadInput, match=rf"split must .* 2 to .*got {split}\."):
        kind(split=split)


SHAPES: list[tuple[Any, tuple[int, ...]]] = [("96x2x12", (96, 2, 12)), ("4", (4,)), (4, (4,)), ([2, 2], (2, 2))]
SHAPES += [("2X2", (2, 2)), ((2, np.int64(2)), (2, 2)), (np.int64(4), (4,)), ((1,), (1,))]


@pytest.mark.parametrize(("told", "shape"), SHAPES, ids=repr)
def test_a_shape_is_told_as_text_or_as_numbers(told: Any, shape: tuple[int, ...]) -> None:
    assert shape_of(told) == shape


NO_SHAPES: list[Any] = ["", "x", "4x", "2x2.5", "axb", "0x4", "-1x-4", (), [0], [2, -2], [2.7, 2], (2.5,), [True, 4]]
NO_SHAPES += [True, 2.0, {"a": 1}, [None], [[2], [2]], "9" * 5000, float("nan"), [float("inf")]]


@pytest.mark.parametrize("told", NO_SHAPES, ids=lambda told: repr(told)[:30])
def test_what_is_no_shape_is_refused_in_one_clear_sentence(told: Any) -> None:
    with pytest.raises(ps.BadInput, match="shape") as refused:
        shape_of(told)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("shape", [(2, 2), (4,), (1, 1), (3, 3)])
def test_a_shape_that_does_not_fit_the_bins_is_refused(shape: tuple[int, ...]) -> None:
    cells = math.prod(shape)
    model = ps.WEvent(epsilon=1, w=2)
    for histogram in ("laplace", "quadtree", "adaptive"):
        mechanism = ps.Uniform(model=model, histogram=histogram, shape=shape)
        with pytest.raises(ps.BadInput, match=f"has {cells} cells, and there are 3 bins; mend the shape"):
            mechanism.start(ps.Curator(model, 3))
    require_shape(shape, cells)


@pytest.mark.parametrize("told", ["quadtree", "quadtree(split=4)", "adaptive(look=0.25)"])
def test_a_state_is_of_one_method_and_one_shape(told: str) -> None:
    """Whoever measures otherwise does not load it."""
    model = ps.WEvent(epsilon=1, w=2)

    def started(**options: Any) -> ps.Mechanism:
        return made("Uniform", model, **options).start(ps.Curator(model, 4, noise=ps.SimulationNoise(1)))

    saved = started(histogram=told, shape="2x2").save()
    started(histogram=told, shape=(2, 2)).load(saved)
    for options in ({}, {"histogram": "laplace", "shape": "2x2"}, {"histogram": told}, {"histogram": told, "shape": 4}):
        with pytest.raises(ps.PenstockError, match="load it where it was saved"):
            started(**options).load(saved)
