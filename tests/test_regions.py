"""RescueDP, SecWeb and RGP: against a reference in plain Python, over long streams, and with parameters from hell."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from in_process import PriceList, made, models, penstock, published, script
from penstock.charges import Fact, recount
from penstock.primitives.grouping import small_together
from penstock.transcript import Recorder
from penstock.types import Ints

T = TypeVar("T")
thorough = settings(derandomize=True, deadline=None, max_examples=100)

LAW: ps.PrivacyModel = ps.WEvent(epsilon=1, w=4)
NANO = 10**9
KINDS = ["RescueDP", "SecWeb", "RGP"]
REPUBLISHED, ESTIMATED = int(ps.Kind.REPUBLISHED), int(ps.Kind.ESTIMATED)


def measured(release: ps.Release) -> bool:
    return bool((release.kind != ps.Kind.REPUBLISHED).any())


def noise_sd(model: ps.PrivacyModel, nano: int) -> float:
    """Of the discrete Laplace with P(k) ~ exp(-|k| e / s1): sqrt(2 q) / (1 - q) with q = exp(-e / s1)."""
    rate = nano / NANO / model.sensitivity
    return math.sqrt(2 * math.exp(-rate)) / -math.expm1(-rate)


@dataclass
class Cell:
    """A region's filter: a random walk of variance ``drift`` a unit, measured now and then."""

    drift: float
    value: float = 0.0
    uncertainty: float = math.inf
    noise: float = 0.0

    def measure(self, measured: float, sd: float, band: float = 0.0) -> None:
        """``band``: how far apart those may lie that were measured together, evenly, which has variance band^2 / 12."""
        variance = sd * sd + band * band / 12
        gain = 1.0 if math.isinf(self.uncertainty) else self.uncertainty / (self.uncertainty + variance)
        self.value += gain * (measured - self.value)
        self.noise = math.hypot((1 - gain) * self.noise, gain * sd)
        self.uncertainty = gain * variance


# ---- RescueDP by its formulas, with one ledger for all regions ------------------------------------------------------


@dataclass
class Rescue:
    """Budget, intervals and PID error, region by region, without numpy; grouping has tests of its own."""

    model: ps.PrivacyModel
    bins: int
    drift: float
    draws: Iterator[int]
    unit: int = 1  # in which ``small`` and ``apart`` are meant
    spent: list[int] = field(default_factory=list)
    history: list[list[float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cells = [Cell(self.drift) for _ in range(self.bins)]
        self.interval = [1.0] * self.bins
        self.due = [1] * self.bins
        self.errors: list[list[float]] = [[] for _ in range(self.bins)]
        epsilon = self.model.epsilon.nano
        self.least = min(self.asked([1.0], epsilon), epsilon // self.model.window) // 2

    def asked(self, intervals: list[float], left: int) -> int:
        """e = min(min(phi ln(I + 1), p_max) rm, eps / 5)."""
        part = min(0.2 * math.log(max(intervals, default=0.0) + 1), 0.6)
        return min(int(left * Fraction(str(part))), self.model.epsilon.nano // 5)

    def step(self, t: int, counts: list[int]) -> tuple[list[int], list[int], int]:
        for cell in self.cells:
            cell.uncertainty += cell.drift
        due = [j for j in range(self.bins) if self.due[j] <= t]
        left = self.model.epsilon.nano - sum(self.spent[max(t - self.model.window, 0) :])
        e = self.asked([self.interval[j] for j in due], left)
        kinds = [REPUBLISHED] * self.bins
        if e < self.least:
            self.spent.append(0)
            return [round(cell.value) for cell in self.cells], kinds, 0
        for group in self.groups(due):
            mean = (sum(counts[j] for j in group) + next(self.draws)) / len(group)
            for j in group:
                band = 30.0 * self.unit if len(group) > 1 else 0.0
                self.cells[j].measure(mean, noise_sd(self.model, e) / len(group), band)
                kinds[j] = ESTIMATED
        self.pace(t, due, left)
        self.spent.append(e)
        return [round(cell.value) for cell in self.cells], kinds, e

    def groups(self, due: list[int]) -> list[list[int]]:
        if not self.history:
            return [[j] for j in due]
        which = np.isin(np.arange(self.bins), due)
        labels = small_together(np.array(self.history), which, 30 * self.unit, 25 * self.unit, 0.5)
        return [np.flatnonzero(labels == label).tolist() for label in range(int(labels.max()) + 1)]

    def pace(self, t: int, due: list[int], left: int) -> None:
        """I = max(1, I + 10 (1 - (delta / lambda_r)^2)), lambda_r = s1 / rm, at most a window; none at the start."""
        now = [cell.value for cell in self.cells]
        if not self.history:
            self.history = [now] * 3
            return
        for j in due:
            self.errors[j].append(abs(now[j] - self.history[-1][j]))
            recent = self.errors[j][-3:]
            delta = 0.9 * recent[-1] + 0.1 * (sum(recent) / len(recent))
            ratio = delta / (self.model.sensitivity / (left / NANO))
            self.interval[j] = min(max(self.interval[j] + 10.0 * (1 - ratio**2), 1.0), self.model.window)
            self.due[j] = t + round(self.interval[j])
        self.history = [*self.history[1:], now]


EPSILONS = ["0.001", "0.333333333", "1", "10", "50"]


@st.composite
def cases(draw: st.DrawFn) -> tuple[ps.PrivacyModel, Ints, list[int], float]:
    """Streams with many small regions beside a large one, so that not everything is 0 at once."""
    bins, steps = draw(st.integers(1, 6)), draw(st.integers(1, 25))
    small = st.integers(0, 14) | st.integers(0, 80) | st.sampled_from([0, 9, 2**40])
    large = st.integers(1000, 1100)
    rows = draw(st.lists(st.tuples(large, *[small] * (bins - 1)), min_size=steps, max_size=steps))
    if draw(st.booleans()):  # long rest
        rows = [rows[i // 8] for i in range(steps)]
    draws = draw(st.lists(st.integers(-4, 4) | st.integers(-90, 90), max_size=90))
    return draw(models(EPSILONS, 9, steps)), np.array(rows, np.int64), draws, draw(st.sampled_from([0.125, 16.0, 1e9]))


@pytest.mark.parametrize("kind", ["RescueDP", "SecWeb"])
@thorough
@given(case=cases())
def test_step_by_step_by_the_formulas(kind: str, case: tuple[ps.PrivacyModel, Ints, list[int], float]) -> None:
    model, rows, draws, drift = case
    unit = model.per_unit if kind == "SecWeb" else 1
    reference = Rescue(model, rows.shape[1], drift, script(draws), unit)
    journal = list[Fact]()
    mechanism = made(kind, model, process=drift)
    for release in published(mechanism, rows, ps.ScriptedNoise(draws), journal=journal.append):
        values, kinds, e = reference.step(release.t, rows[release.t - 1].tolist())
        assert (release.kind.tolist(), release.charged.nano) == (kinds, e)
        assert release.values.tolist() == values
        assert np.allclose(release.noise_sd, [cell.noise for cell in reference.cells])
    assert recount(journal, model) <= model.epsilon


def test_with_one_record_a_unit_the_two_are_one() -> None:
    rows = ps.streams.synthetic("bursts", bins=12, steps=80, seed=1).counts
    one, other = (published(made(kind, LAW), rows, ps.SimulationNoise(1)) for kind in ("RescueDP", "SecWeb"))
    assert all(a.same_as(b) for a, b in zip(one, other, strict=True))


def test_a_stream_of_zeros_is_sampled_ever_more_seldom() -> None:
    """Nothing changes, E = 0, so the interval grows by 10 at every sample, as it does on any other level."""
    model = ps.WEvent(epsilon=100, w=50)
    zeros, fives = (
        published(made("RescueDP", model), np.full((40, 2), level), ps.ScriptedNoise()) for level in (0, 500)
    )
    assert [measured(release) for release in fives].count(True) < 6
    assert [release.charged for release in zeros] == [release.charged for release in fives]


# ---- RGP -------------------------------------------------------------------------------------------------------------


@dataclass
class Rings:
    """RGP in plain Python: bands of the last release, a g-th of the noise in a group of g, alone at every refresh."""

    model: ps.PrivacyModel
    bins: int
    drift: float
    width: float
    refresh: int
    draws: Iterator[int]

    def __post_init__(self) -> None:
        self.cells = [Cell(self.drift) for _ in range(self.bins)]
        self.last = [0] * self.bins
        self.e = self.model.epsilon.nano // self.model.window

    def step(self, t: int, counts: list[int]) -> tuple[list[int], list[int]]:
        sd = noise_sd(self.model, self.e)
        alone = (t - 1) % self.refresh == 0
        width = self.width * sd  # values are whole, so that no band is narrower than 1
        of = [j if alone else math.floor(self.last[j] / max(width, 1.0)) for j in range(self.bins)]
        kinds = [ESTIMATED] * self.bins
        for cell in self.cells:
            cell.uncertainty += cell.drift
        for band in sorted(set(of)):
            group = [j for j in range(self.bins) if of[j] == band]
            mean = (sum(counts[j] for j in group) + next(self.draws)) / len(group)
            for j in group:
                self.cells[j].measure(mean, sd / len(group), width if len(group) > 1 else 0.0)
                kinds[j] = ESTIMATED
        self.last = [round(cell.value) for cell in self.cells]
        return self.last, kinds


@thorough
@given(case=cases(), width=st.sampled_from([0.01, 0.7, 1.0, 5.0]), refresh=st.integers(1, 12))
def test_rgp_step_by_step(case: tuple[ps.PrivacyModel, Ints, list[int], float], width: float, refresh: int) -> None:
    model, rows, draws, drift = case
    reference = Rings(model, rows.shape[1], drift, width, refresh, script(draws))
    mechanism = made("RGP", model, width=width, refresh=refresh, process=drift)
    journal = list[Fact]()
    for release in published(mechanism, rows, ps.ScriptedNoise(draws), journal=journal.append):
        values, kinds = reference.step(release.t, rows[release.t - 1].tolist())
        assert (release.values.tolist(), release.kind.tolist()) == (values, kinds)
        assert release.charged.nano == reference.e
        assert np.allclose(release.noise_sd, [cell.noise for cell in reference.cells])
    assert recount(journal, model) <= model.epsilon


def test_a_group_carries_its_share_of_the_noise_and_says_so() -> None:
    """Sixteen bins that are alike, a filter that follows every measurement: claimed and seen noise agree."""
    bins, model = 16, ps.WEvent(epsilon=1, w=20)
    wide = noise_sd(model, NANO // 20)
    level = round(1000.5 * 12 * wide)  # in the middle of a band
    mechanism = made("RGP", model, width=12.0, refresh=10**6, process=1e12)
    releases = published(mechanism, np.full((3000, bins), level), ps.SimulationNoise(1))[1:]
    assert all((release.kind == ps.Kind.ESTIMATED).all() for release in releases)
    for j in range(bins):
        seen = float(np.std([release.values[j] for release in releases]))
        assert seen == pytest.approx(wide / bins, rel=0.1)
    assert [float(sd) for release in releases for sd in release.noise_sd] == pytest.approx([wide / bins] * 2999 * bins)


@pytest.mark.parametrize("options", [{}, {"process": 1.0}], ids=["learnt", "given"])
@pytest.mark.parametrize("kind", ["RescueDP", "RGP"])
def test_values_stray_as_far_as_they_say(kind: str, options: dict[str, Any]) -> None:
    """A release: "noise_sd is the standard deviation of the noise in the value". Nothing moves, so all error is noise.

    Groups are chosen by values, and so by noise: a quarter more or less is left to that. (Rounding has 1/12.)
    """
    level, steps, runs = 1000, 25, 60
    standard = np.zeros((steps, runs, 16))
    for seed in range(runs):
        mechanism = made(kind, ps.WEvent(epsilon=1, w=20), **options)
        for release in published(mechanism, np.full((steps, 16), level), ps.SimulationNoise(seed)):
            standard[release.t - 1, seed] = (release.values - level) / np.sqrt(release.noise_sd**2 + 1 / 12)
    far = np.sqrt(np.mean(np.square(standard), axis=(1, 2)))
    assert float(far.min()) > 0.75
    assert float(far.max()) < 1.3
    assert np.mean(np.abs(standard) > 4) < 0.01


def test_bins_that_part_are_told_apart_again() -> None:
    """``refresh``: "so that no group stays together by itself". Two of 64 alike bins part, each by 29 times the noise.

    That the sum of the group stays where it was must not hide it for ever: 58 refreshes are enough to see it.
    """
    model = ps.WEvent(epsilon=1, w=120)
    rows = np.full((600, 64), 10_000)
    rows[15:, 0], rows[15:, 1] = 15_000, 5_000
    late = published(made("RGP", model), rows, ps.SimulationNoise(1))[-1]
    assert late.values[0] > 14_000
    assert late.values[1] < 6_000


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("kind", ["RescueDP", "RGP"])
def test_levels_that_have_jumped_are_found_again(kind: str, seed: int) -> None:
    """Two windows after all levels have changed, by 1333 in the mean, values are about as near as those of Uniform.

    (Its error is w.) A filter that learns how much to trust what it sees must not come to trust nothing but itself.
    """
    w, blocks, length = 120, 6, 250
    levels = np.random.default_rng(1).integers(0, 4000, (blocks, 64))
    rows = levels.repeat(length, axis=0)
    late = published(made(kind, ps.WEvent(epsilon=1, w=w)), rows, ps.SimulationNoise(seed))[-20:]
    assert np.mean([np.abs(release.values - levels[-1]) for release in late]) < 1.25 * w


def test_every_refresh_measures_every_bin_alone() -> None:
    rows, told = np.full((31, 5), 40), Recorder()
    published(made("RGP", ps.WEvent(epsilon=1, w=4), refresh=6), rows, ps.ScriptedNoise(), answers=told)
    alone = [t for t, (_, sums) in enumerate(told.tape, start=1) if len(sums) == 5]
    assert alone == [1, 7, 13, 19, 25, 31]


# ---- one ledger for all regions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("bins", [5, 64])
@pytest.mark.parametrize(
    "model",
    [
        ps.WEvent(epsilon=1, w=40),
        ps.WEvent(epsilon="0.7", w=13, neighbours="replace", per_unit=3),
        ps.UserLevel(epsilon=2, horizon=120),
        ps.DeltaNeighbourhood(epsilon=1, steps=9),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("kind", KINDS)
def test_whoever_moves_from_region_to_region_pays_epsilon_at_most(kind: str, model: ps.PrivacyModel, bins: int) -> None:
    """Regions at many speeds, sampled at different units: with a ledger for each region one could pay more."""
    rng = np.random.default_rng(bins)
    speeds = 2.0 ** rng.integers(-3, 8, bins)
    rows = np.abs(np.cumsum(rng.normal(0, speeds, (120, bins)), axis=0)).astype(np.int64)
    prices, journal = PriceList(model, bins), list[Fact]()
    curator = ps.Curator(model, bins, noise=ps.SimulationNoise(1), journal=journal.append, answers=prices)
    mechanism = made(kind, model).start(curator)
    for snapshot in ps.streams.Stream(rows):
        prices.begin()
        release = mechanism.step(snapshot)
        assert max(prices.told[-1]) == Fraction(release.charged.nano, NANO)
        asked = [bool(price) for price in prices.told[-1]]
        assert asked == (release.kind != ps.Kind.REPUBLISHED).tolist()
    assert prices.dearest_walk() == Fraction(recount(journal, model).nano, NANO)
    assert recount(journal, model) <= model.epsilon


@pytest.mark.parametrize("kind", ["RescueDP", "SecWeb"])
def test_what_is_not_due_stays_as_it_was(kind: str) -> None:
    rows = ps.streams.synthetic("jumps", bins=8, steps=150, seed=3).counts
    before, some = None, 0
    for release in published(made(kind, ps.WEvent(epsilon=1, w=30)), rows, ps.SimulationNoise(1)):
        rests = release.kind == ps.Kind.REPUBLISHED
        if before is not None:
            assert np.array_equal(release.values[rests], before.values[rests])
            assert np.array_equal(release.noise_sd[rests], before.noise_sd[rests])
            some += 0 < rests.sum() < len(rests)
        before = release
    assert some > 10


@pytest.mark.parametrize("kind", ["RescueDP", "SecWeb"])
@pytest.mark.parametrize("level", ["calm", "restless"])
def test_an_endless_stream_keeps_being_published(kind: str, level: str) -> None:
    """In every window something is measured, however the budget of the one before was used."""
    w = 20
    rng = np.random.default_rng(2)
    rows = np.full((40 * w, 3), 400) if level == "calm" else rng.integers(0, 10_000, (40 * w, 3))
    releases = published(made(kind, ps.WEvent(epsilon=1, w=w)), rows, ps.SimulationNoise(1))
    times = [release.t for release in releases if measured(release)]
    assert max(np.diff([0, *times, len(rows)])) <= 2 * w
    assert recount_of(releases, w) > 0.3


def recount_of(releases: list[ps.Release], w: int) -> float:
    """What the last window has spent."""
    return sum(float(release.charged) for release in releases[-w:])


def test_a_region_that_moves_is_measured_more_often_than_one_that_rests() -> None:
    rng = np.random.default_rng(4)
    rows = np.full((400, 2), 5000)
    rows[:, 1] = rng.integers(0, 10_000, 400)
    releases = published(made("RescueDP", ps.WEvent(epsilon=5, w=20)), rows, ps.SimulationNoise(1))
    rests, moves = (sum(release.kind[j] != ps.Kind.REPUBLISHED for release in releases) for j in (0, 1))
    assert 2 * rests < moves


def test_many_bins_are_no_trouble() -> None:
    rng = np.random.default_rng(6)
    rows = rng.poisson(2.0 ** rng.integers(0, 12, 5000), (12, 5000))
    for kind in KINDS:
        told = Recorder()
        published(made(kind, LAW), rows, ps.SimulationNoise(1), answers=told)
        about = [(question.draws, 5000 if question.bins is None else len(question.bins)) for question, _ in told.tape]
        assert any(groups < bins for groups, bins in about)


# ---- extremes --------------------------------------------------------------------------------------------------------


def wild(name: str, steps: int, bins: int) -> Ints:
    rng = np.random.default_rng(8)
    if name == "in turns":
        return np.tile(2**53 * (np.arange(steps) % 2)[:, np.newaxis], bins)
    if name == "rarely":
        return np.tile(2**53 * (np.arange(steps) % 37 == 5)[:, np.newaxis], bins)
    if name == "any size":
        return np.floor(2.0 ** rng.uniform(0, 53, (steps, bins))).astype(np.int64)
    return rng.integers(0, 2**53, (steps, bins), endpoint=True)


@pytest.mark.parametrize("name", ["in turns", "rarely", "any size", "anything"])
@pytest.mark.parametrize("kind", ["RescueDP", "RGP"])
@pytest.mark.parametrize("options", [{}, {"process": 1e-9}, {"process": 1e30}], ids=["learnt", "stiff", "loose"])
def test_counts_of_any_size_give_values_in_reach(kind: str, name: str, options: dict[str, Any]) -> None:
    """No warning, no overflow: what comes out lies near what may go in."""
    for model in (ps.EventLevel(epsilon=3), ps.WEvent(epsilon="0.01", w=50)):
        for bins in (1, 6):
            values = [
                r.values for r in published(made(kind, model, **options), wild(name, 80, bins), ps.SimulationNoise(1))
            ]
            assert np.min(values) > -(2**40)
            assert np.max(values) < 2**53 + 2**40


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [30, 400, 2000, 10**6])
def test_a_large_epsilon_gives_exact_values(kind: str, epsilon: int) -> None:
    """Nobody should want it, but epsilon may be up to a million, and then noise is 0: values, not nonsense."""
    rows = np.array([[5, 7, 900]] * 4 + [[50, 70, 9]] * 8)
    releases = published(made(kind, ps.EventLevel(epsilon=epsilon)), rows, ps.SimulationNoise(1))
    assert np.isfinite([release.noise_sd for release in releases]).all()
    assert np.abs(releases[-1].values - rows[-1]).max() <= 2


@pytest.mark.parametrize("kind", ["RescueDP", "SecWeb"])
@pytest.mark.parametrize(
    ("model", "options"),
    [
        pytest.param(ps.WEvent(epsilon=1, w=4), {"most": 1e-10}, id="most"),
        pytest.param(ps.WEvent(epsilon=1, w=4), {"phi": 5e-9}, id="phi"),
        pytest.param(ps.WEvent(epsilon="0.0000001", w=120), {}, id="epsilon"),
        pytest.param(ps.WEvent(epsilon=1, w=10**10), {}, id="window"),
        pytest.param(ps.UserLevel(epsilon=1, horizon=10**10), {}, id="horizon"),
    ],
)
def test_a_budget_that_comes_to_nothing_is_refused_at_once_or_never(
    kind: str, model: ps.PrivacyModel, options: dict[str, Any]
) -> None:
    """In a store a step that fails costs all that is left: so what cannot work is refused before the first one."""
    try:
        mechanism = made(kind, model, **options)
    except ps.BadInput:
        return
    assert len(published(mechanism, np.full((60, 3), 500), ps.SimulationNoise(1))) == 60


# ---- restarts and losses ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", [b"", b"k" * 32])
def test_saved_and_loaded_anywhere_it_goes_on_as_it_was(kind: str, key: bytes) -> None:
    """With the key or without: nothing in it is secret."""
    model, rows = ps.WEvent(epsilon=1, w=6), ps.streams.synthetic("bursts", bins=9, steps=60, seed=2).counts
    whole = published(made(kind, model), rows, ps.SimulationNoise(4))
    noise = ps.SimulationNoise(4)
    mechanism = made(kind, model).start(ps.Curator(model, 9, noise=noise))
    for snapshot, expected in zip(ps.streams.Stream(rows), whole, strict=True):
        successor = made(kind, model).start(ps.Curator(model, 9, noise=noise))
        successor.load(mechanism.save(key or None), key or None)
        mechanism = successor
        assert mechanism.step(snapshot).same_as(expected)


@pytest.mark.parametrize("lost", ["0.05", "0.5", "1"])
@pytest.mark.parametrize("kind", KINDS)
def test_after_a_loss_it_waits_and_publishes_again(kind: str, lost: str) -> None:
    model: ps.PrivacyModel = ps.WEvent(epsilon=1, w=5)
    rng, journal = np.random.default_rng(7), list[Fact]()
    curator = ps.Curator(model, 3, noise=ps.SimulationNoise(2), journal=journal.append)
    mechanism = made(kind, model).start(curator)
    fresh = []
    for t in range(1, 61):
        snapshot = ps.Snapshot(t, rng.integers(0, 10_000, 3))
        if t in (2, 17, 18, 30):
            mechanism.pass_over(snapshot, ps.Epsilon(lost))
        elif measured(mechanism.step(snapshot)):
            fresh.append(t)
    assert recount(journal, model) <= model.epsilon
    assert all(any(t < late <= t + 10 for late in fresh) for t in (2, 18, 30))


@pytest.mark.parametrize("kind", KINDS)
def test_reopened_after_every_unit_a_store_plays_it_back(kind: str, tmp_path: Path) -> None:
    """Opening the store replays what was told; anything that is not a function of it would be refused."""
    rows = ps.streams.synthetic("bursts", bins=4, steps=12, seed=2).counts
    for snapshot in ps.streams.Stream(rows):
        with (
            ps.Store(tmp_path / "store.db") as store,
            ps.Publisher(made(kind, LAW), store, "s", bins=list("abcd")) as publisher,
        ):
            publisher.publish(snapshot)
            causes = [release.cause.value for release in publisher.releases()]
    assert causes == ["decided"] * 12


# ---- parameters ------------------------------------------------------------------------------------------------------

NO_NUMBER: list[Any] = ["0.5", "x", True, None, [0.5], float("nan"), float("inf"), 1j]
BELOW: list[Any] = [0, -1e-9, -1e300]
IN_BETWEEN = ["phi", "most"]
ABOVE_0 = ["gain", "small", "apart"]


def refused(kind: str, **options: Any) -> str:
    """One sentence."""
    with pytest.raises(ps.BadInput) as fault:
        made(kind, LAW, **options)
    sentence = str(fault.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize("value", [*NO_NUMBER, *BELOW], ids=repr)
@pytest.mark.parametrize("name", [*IN_BETWEEN, *ABOVE_0])
def test_a_parameter_of_rescue_dp_that_cannot_work_is_refused(name: str, value: Any) -> None:
    refused("RescueDP", **{name: value})


@pytest.mark.parametrize("value", [1, 1.0, 2, 1e300, 10**400])
@pytest.mark.parametrize("name", IN_BETWEEN)
def test_a_part_lies_below_one(name: str, value: Any) -> None:
    assert name in refused("RescueDP", **{name: value})


@pytest.mark.parametrize("value", NO_NUMBER, ids=repr)
def test_alike_is_a_number(value: Any) -> None:
    refused("RescueDP", alike=value)


@pytest.mark.parametrize("value", [*(value for value in NO_NUMBER if value is not None), *BELOW], ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_a_process_that_cannot_work_is_refused(kind: str, value: Any) -> None:
    refused(kind, process=value)


@pytest.mark.parametrize("value", [*NO_NUMBER, *BELOW], ids=repr)
def test_a_width_that_cannot_work_is_refused(value: Any) -> None:
    refused("RGP", width=value)


@pytest.mark.parametrize("value", [*NO_NUMBER, *BELOW, 1.5, 2.0], ids=repr)
def test_a_refresh_that_cannot_work_is_refused(value: Any) -> None:
    assert "refresh" in refused("RGP", refresh=value)


@pytest.mark.parametrize("value", [float("nan"), "x", -1], ids=repr)
@pytest.mark.parametrize(
    ("kind", "name"), [("RescueDP", "phi"), ("RescueDP", "small"), ("RGP", "width"), ("RGP", "refresh")]
)
def test_the_sentence_names_the_parameter(kind: str, name: str, value: Any) -> None:
    assert name in refused(kind, **{name: value})


@pytest.mark.parametrize(("kind", "name"), [("RescueDP", "gain"), ("RGP", "width"), ("RGP", "process")])
@pytest.mark.parametrize("value", [1e300, 10**400], ids=["float", "int"])
def test_an_absurd_size_is_called_so(kind: str, name: str, value: Any) -> None:
    """It is a number, so a sentence that asks for one is no help."""
    with pytest.raises(ps.BadInput, match=rf"{name} .*(large|at most|up to|between|1e\+?50)"):
        made(kind, LAW, **{name: value})


@pytest.mark.parametrize(
    "value", [5e-324, 1e-50, 1e-20, 1e20, 1e50, 1e300, 10**400], ids=lambda value: f"{str(value)[:6]}"
)
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("RescueDP", name) for name in (*ABOVE_0, "process")),
        ("SecWeb", "small"),
        ("RGP", "width"),
        ("RGP", "process"),
    ],
)
def test_an_absurd_size_is_refused_or_works(kind: str, name: str, value: Any) -> None:
    """Never accepted first and an error, or a warning, in the middle of a stream."""
    model = ps.WEvent(epsilon=1, w=4, per_unit=3)
    try:
        mechanism = made(kind, model, **{name: value})
    except ps.BadInput:
        return
    rows = np.random.default_rng(1).integers(0, 900, (60, 4))
    values = [release.values for release in published(mechanism, rows, ps.SimulationNoise(1))]
    assert np.abs(values).max() < 10**6


@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        *(("rescue_dp", f"phi={text}") for text in ("0", "1", "nan", "x", '"0.2"', "true", "[0.2]")),
        *(("rescue_dp", f"most={text}") for text in ("0", "1", "inf", '"0.5"', "false")),
        *(("rescue_dp", f"{name}={text}") for name in ABOVE_0 for text in ("0", "nan", '"3"')),
        *(("rescue_dp", f"alike={text}") for text in ("nan", "inf", "x", '"0.5"', "true")),
        *((kind, f"process={text}") for kind in ("rescue_dp", "rgp") for text in ("0", "nan", "none", '"5"', "true")),
        *(("rgp", f"width={text}") for text in ("0", "nan", "x", '"1"', "true", "1979-05-27")),
        *(("rgp", f"refresh={text}") for text in ("0", "1.5", "nan", '"10"', "true")),
        *(("sec_web", text) for text in ("scale=3", "per_unit=3", "phi", "=1", "filter=1", "history=[1]")),
    ],
)
def test_the_command_line_refuses_in_one_sentence(tmp_path: Path, kind: str, setting: str) -> None:
    (tmp_path / "in.csv").write_text("t,a,b\n1,5,6\n2,7,8\n")
    files = (f"--input={tmp_path / 'in.csv'}", f"--store={tmp_path / 's.db'}", f"--output={tmp_path / 'out.csv'}")
    law = ("--model", "w-event", "--epsilon", "1", "--w", "3")
    code, err = penstock("run", *files, *law, "--mechanism", kind, "--set", setting)
    assert code == 2, err
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "s.db").exists()
