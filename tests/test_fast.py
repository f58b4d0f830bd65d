"""FAST against a second, slow implementation written from the paper; its schedule, its blocks, its noise."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from in_process import Logged, promises
from penstock.charges import Fact, recount

fixed = settings(derandomize=True, deadline=None, max_examples=150)
NANO = 10**9
REPUBLISHED, ESTIMATED = ps.Kind.REPUBLISHED, ps.Kind.ESTIMATED


def made(model: ps.PrivacyModel, **options: Any) -> ps.Mechanism:
    return ps.mechanism("fast")(model=model, **options)


@dataclass
class Twin:
    """The paper's FAST, with one schedule for all bins."""

    model: ps.PrivacyModel
    script: Iterator[int]
    rate: Fraction
    blocks: bool
    process: float
    measurement: float
    proportional: float
    integral: float
    derivative: float
    reach: int
    setpoint: float
    gain: float
    sampled: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.most = math.ceil(self.rate * self.model.window)
        halved = self.blocks and not self.model.horizon_bound  # a horizon is one block
        self.part = self.model.epsilon.nano // (2 if halved else 1) // self.most
        scale = self.model.sensitivity * NANO / self.part
        self.drawn_variance = 2 * math.exp(-1 / scale) / (1 - math.exp(-1 / scale)) ** 2
        self.restart()

    def restart(self) -> None:
        self.x: list[float] = []
        self.p, self.variance, self.interval, self.due, self.block = 0.0, 0.0, 1.0, 0, 0
        self.errors: list[tuple[int, float]] = []

    def step(self, t: int, counts: list[int]) -> bool:
        """Whether the unit is sampled; x and variance are what is known then."""
        if self.blocks and (t - 1) % self.model.window == 0:
            self.restart()
        self.p += self.process
        paid = self.part * sum(then > t - self.model.window for then in self.sampled)
        full = self.blocks and self.block == self.most
        if t < self.due or full or paid + self.part > self.model.epsilon.nano:
            return False
        self.sampled.append(t)
        self.block += 1
        self.correct(t, [count + next(self.script) for count in counts])
        return True

    def correct(self, t: int, z: list[int]) -> None:
        if not self.x:
            self.x, self.p, self.variance = [float(value) for value in z], 100.0, self.drawn_variance
            return
        k = self.p / (self.p + self.measurement)
        before, self.x = self.x, [x + k * (value - x) for x, value in zip(self.x, z, strict=True)]
        self.p, self.variance = (1 - k) * self.p, (1 - k) ** 2 * self.variance + k**2 * self.drawn_variance
        self.plan(t, sum(abs(x - y) / max(x, 1) for x, y in zip(self.x, before, strict=True)) / len(z))

    def plan(self, t: int, error: float) -> None:
        slope = (error - self.errors[-1][1]) / (t - self.errors[-1][0]) if self.errors else 0.0
        self.errors.append((t, error))
        if len(self.errors) + 1 >= self.reach:  # the first sample has no error
            recent = [e for _, e in self.errors[-self.reach :]]
            pid = self.proportional * error + self.integral * sum(recent) / len(recent) + self.derivative * slope
            off = min((pid - self.setpoint) / self.setpoint, 300.0)
            self.interval = max(1.0, self.interval + self.gain * (1 - math.exp(off)))
        self.due = t + round(self.interval)


@st.composite
def laws(draw: st.DrawFn) -> ps.PrivacyModel:
    common = draw(promises())
    length = draw(st.integers(1, 20))
    kinds: list[Callable[[], ps.PrivacyModel]] = [
        lambda: ps.UserLevel(horizon=3 * length, **common),
        lambda: ps.WEvent(w=length, **common),
        lambda: ps.DeltaNeighbourhood(steps=length, **common),
        lambda: ps.EventLevel(**common),
    ]
    return draw(st.sampled_from(kinds))()


options = st.fixed_dictionaries(
    {
        "rate": st.sampled_from([0.015625, 0.125, 0.5, 0.75, 1]),
        "blocks": st.booleans(),
        "process": st.sampled_from([0.5, 30.0, 1e5]),
        "measurement": st.sampled_from([3.0, 500.0, 1e6]),
        "proportional": st.sampled_from([0.0, 0.9, 2.0]),
        "integral": st.sampled_from([0.0, 0.1, 0.5]),
        "derivative": st.sampled_from([0.0, 0.3, -1.0]),
        "reach": st.integers(1, 5),
        "setpoint": st.sampled_from([0.001, 0.1, 3.0]),
        "gain": st.sampled_from([0.1, 1.3, 5.0, 40.0]),
    }
)


@fixed
@given(laws(), options, st.integers(1, 3), st.integers(0, 2**32))
def test_fast_does_what_the_paper_says(model: ps.PrivacyModel, chosen: dict[str, Any], bins: int, seed: int) -> None:
    """Horizon, sliding and blocks: the same units are sampled, for the same price, and filtered to the same values."""
    rng = np.random.default_rng(seed)
    script = rng.integers(-40, 41, 400).tolist()
    steps = model.window if isinstance(model, ps.UserLevel) else 60
    counts = np.maximum(rng.integers(0, 500, bins) + rng.integers(-30, 31, (steps, bins)).cumsum(axis=0), 0).tolist()
    twin = Twin(model, iter(script), **chosen | {"rate": Fraction(chosen["rate"])})
    noise, facts, last = Logged(script), list[Fact](), [0] * bins
    mechanism = made(model, **chosen).start(ps.Curator(model, bins, noise=noise, journal=facts.append))
    for t, row in enumerate(counts, start=1):
        sampled, release = twin.step(t, row), mechanism.step(ps.Snapshot(t, row))
        assert set(release.kind.tolist()) == {ESTIMATED if sampled else REPUBLISHED}, t
        assert release.charged.nano == (twin.part if sampled else 0)
        if sampled:
            assert release.values == pytest.approx(twin.x, abs=0.5 + 1e-6)
            assert release.noise_sd == pytest.approx([math.sqrt(twin.variance)] * bins)
            last = release.values.tolist()
        assert release.values.tolist() == last
    assert set(noise.scales) <= {Fraction(model.sensitivity * NANO, twin.part)}
    assert recount(facts, model) <= model.epsilon


@pytest.mark.parametrize(
    ("rate", "window", "most"), [("0.07", 100, 7), ("0.14", 50, 7), ("0.15", 120, 18), ("0.2", 7, 2)]
)
@pytest.mark.parametrize("blocks", [False, True])
def test_a_decimal_rate_is_taken_at_its_word(rate: str, window: int, most: int, blocks: bool) -> None:
    """M = ceil(rate * w): seven hundredths of a hundred are seven, and each gets a seventh of epsilon."""
    model = ps.WEvent(epsilon=1, w=window)
    first = next(ps.publish(ps.streams.Stream([[5]]), made(model, rate=float(rate), blocks=blocks)))
    assert first.charged == ps.Epsilon("0.5" if blocks else "1") / most


def sampled(mechanism: ps.Mechanism, counts: Any, missing: Callable[[int], bool] = lambda t: False) -> list[int]:
    """The units that are sampled, without noise, if those that are ``missing`` are passed over."""
    mechanism.start(ps.Curator(mechanism.model, len(counts[0]), noise=ps.ScriptedNoise()))
    releases = [
        (mechanism.pass_over if missing(t) else mechanism.step)(ps.Snapshot(t, row))
        for t, row in enumerate(counts, start=1)
    ]
    return [release.t for release in releases if release.kind[0] == ESTIMATED]


@pytest.mark.parametrize("first", [1, 11, 21])
def test_a_block_begins_even_if_its_first_unit_is_missing(first: int) -> None:
    """Every block of w units has M samples, whatever has become of its first unit."""
    mechanism = made(ps.WEvent(epsilon=1, w=10), blocks=True, rate=0.3)
    units = sampled(mechanism, [[500]] * 40, missing=lambda t: t == first)
    assert [sum(start < t <= start + 10 for t in units) for start in (0, 10, 20, 30)] == [3, 3, 3, 3]


@pytest.mark.parametrize("blocks", [False, True])
def test_units_that_are_not_sampled_may_as_well_be_missing(blocks: bool) -> None:
    """Nothing is read in them, so that the filter's trust in a sample after a gap does not depend on their input."""
    model, chosen = ps.WEvent(epsilon=1, w=40), {"rate": 0.3, "process": 50.0, "measurement": 900.0, "reach": 1}
    counts = (100 + 10 * np.arange(120)).reshape(-1, 1).tolist()

    def values(missing: Callable[[int], bool]) -> list[int]:
        mechanism = made(model, blocks=blocks, **chosen)
        mechanism.start(ps.Curator(model, 1, noise=ps.ScriptedNoise()))
        snapshots = [ps.Snapshot(t, row) for t, row in enumerate(counts, start=1)]
        steps = [mechanism.pass_over(unit) if missing(unit.t) else mechanism.step(unit) for unit in snapshots]
        return [int(release.values[0]) for release in steps]

    read = set(sampled(made(model, blocks=blocks, **chosen), counts))
    assert 10 < len(read) < 60
    assert values(lambda t: t not in read) == values(lambda t: False)


@pytest.mark.parametrize("blocks", [False, True])
def test_restless_streams_are_sampled_more(blocks: bool) -> None:
    """A calm one seldom; a restless one as often as the budget allows."""
    model = ps.WEvent(epsilon=10, w=50)
    calm, restless = np.full((400, 2), 5000), np.random.default_rng(1).integers(0, 10_000, (400, 2))
    few, many = (len(sampled(made(model, rate=0.4, blocks=blocks), counts.tolist())) for counts in (calm, restless))
    assert 3 * few < 2 * many
    assert many >= 0.9 * 0.4 * 400
    horizon = ps.UserLevel(epsilon=10, horizon=400)
    assert len(sampled(made(horizon, rate=0.1), restless.tolist())) == 40
    assert len(sampled(made(horizon, rate=0.1), calm.tolist())) < 25


@fixed
@given(st.integers(1, 30), st.sampled_from([0.01, 0.15, 0.5, 1]), st.booleans(), st.integers(0, 2**32))
def test_no_window_holds_more_samples_than_it_pays_for(w: int, rate: float, blocks: bool, seed: int) -> None:
    """M of them in a sliding window; M in a block, so 2 M in two that a window meets."""
    counts = np.random.default_rng(seed).integers(0, 1000, (4 * w, 1)).tolist()
    units = sampled(made(ps.WEvent(epsilon=1, w=w), rate=rate, blocks=blocks), counts)
    most = math.ceil(Fraction(str(rate)) * w)
    fullest = max(sum(first <= t < first + w for t in units) for first in units)
    assert fullest <= (2 * most if blocks else most)
    if blocks:
        assert max(sum(start < t <= start + w for t in units) for start in range(0, 4 * w, w)) <= most


@pytest.mark.parametrize(
    "model", [ps.UserLevel(epsilon=1, horizon=20), ps.WEvent(epsilon=1, w=10, neighbours="replace")]
)
def test_filtered_values_claim_the_noise_they_carry(model: ps.PrivacyModel) -> None:
    """On a constant stream all error is noise: over many bins it is as large as said, and less than a sample's."""
    truth, seen = 10_000, []
    mechanism = made(model, rate=0.5, process=300, measurement=1500)
    stream = ps.streams.Stream(np.full((20, 3000), truth))
    for release in ps.publish(stream, mechanism, noise=ps.SimulationNoise(5)):
        drawn = float((release.values - truth).std())
        assert drawn == pytest.approx(release.noise_sd[0], rel=0.1)
        seen.append(release.noise_sd[0])
    assert seen[-1] < 0.75 * seen[0]


@pytest.mark.parametrize("count", [0, 1, 2**53])
@pytest.mark.parametrize("bins", [1, 700])
def test_counts_of_any_size_are_published(count: int, bins: int) -> None:
    """With a budget that buys nearly exact samples, what comes out is what went in."""
    model = ps.WEvent(epsilon=1000, w=5)
    releases = list(ps.publish(ps.streams.Stream(np.full((20, bins), count)), made(model)))
    assert all(abs(release.values - count).max() <= 2 for release in releases)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"rate": 0}, "rate must lie between 0 and 1"),
        ({"rate": 1.01}, "rate must lie between 0 and 1"),
        ({"rate": -1}, "rate must lie between 0 and 1"),
        ({"process": 0}, "process must be above 0"),
        ({"measurement": -1}, "measurement must be above 0"),
        ({"setpoint": 0}, "setpoint must be above 0"),
        ({"gain": 0}, "gain must be above 0"),
        ({"reach": 0}, "reach must be a whole number of 1 or more"),
        ({"reach": 2.5}, "reach must be a whole number"),
        ({"integral": float("inf")}, "must be"),
    ],
)
def test_parameters_out_of_range(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ps.BadInput, match=sentence):
        made(ps.WEvent(epsilon=1, w=10), **wrong)


def test_an_epsilon_that_no_sample_can_be_bought_with_is_refused() -> None:
    """At construction, in words that name it."""
    with pytest.raises(ps.BadInput, match=r"epsilon=0\.000000009 is too little for 10 time units"):
        made(ps.WEvent(epsilon="9e-9", w=10), rate=1)
