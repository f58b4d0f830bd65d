"""DSFT and DSAT against a second, slow implementation written from the paper and the repairs, and at their edges."""

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
from penstock.desk import Question
from penstock.types import Ints

fixed = settings(derandomize=True, deadline=None, max_examples=150)
NANO = 10**9
USER = ps.UserLevel(epsilon=1, horizon=40)
CALM = {"proportional": 1.0, "integral": 0.0, "derivative": 0.0, "reach": 5, "margin": 0.0}


def made(name: str, model: ps.PrivacyModel, **options: Any) -> Any:
    """DSFT or DSAT; typed loosely, because wrong options are passed on purpose."""
    return ps.mechanism(name)(model=model, **options)


# ---- the second implementation ------------------------------------------------------------------------------------


def most_of(budget: int, weight: int, cube: int) -> int:
    """The largest whole m with m * (weight + cube^(1/3)) <= budget, without a float."""
    low, high = 0, budget
    while low < high:
        m = (low + high + 1) // 2
        rest = budget - m * weight
        fits = rest >= 0 and m**3 * cube <= rest**3
        low, high = (m, high) if fits else (low, m - 1)
    return low


def horizon_plan(c: int, budget: int) -> tuple[int, int, int]:
    """3.4: u : 2cv = 1 : (2c)^(2/3), u + 2cv = budget."""
    return c, most_of(budget, 1, (2 * c) ** 2), most_of(budget, 2 * c, 2 * c)


def window_plan(tops: int, budget: int) -> tuple[int, int, int]:
    """P3: the length c that minimises A^(2/3) + B^(2/3), and its u and v."""

    def load(c: int) -> tuple[int, int]:
        a = math.ceil((tops - 1) / c) + 1
        return a, a * c + tops

    c = min(range(1, tops + 1), key=lambda c: sum(float(x) ** (2 / 3) for x in load(c)))
    a, b = load(c)
    return c, most_of(budget, a, a * b * b), most_of(budget, b, a * a * b)


@dataclass
class Twin:
    """Algorithms 1 to 3 as repaired, line by line; DSAT if ``adaptive`` is given."""

    model: ps.PrivacyModel
    bins: int
    script: Iterator[int]
    threshold: Fraction
    releases: int
    total: int | None
    decide_share: float | None
    metric: str
    adaptive: dict[str, Any] | None = None
    drawn: list[Fraction] = field(default_factory=list)  # the scale of every draw
    compared: list[int] = field(default_factory=list)  # the threshold of every comparison

    def __post_init__(self) -> None:
        self.horizon, self.window = isinstance(self.model, ps.UserLevel), self.model.window
        self.limit, self.s1 = self.model.epsilon.nano, self.model.sensitivity
        self.decide = decide = int(self.limit * Fraction(str(self.k())))
        self.part = (self.limit - decide) // self.releases
        wanted = self.releases - 1 if self.horizon else self.releases
        plan = horizon_plan if self.horizon else window_plan
        self.c, self.u, self.v = plan(wanted, decide) if decide else (0, 0, 0)
        self.points: list[tuple[int, int]] = []  # for releases
        self.spans: list[tuple[int, int | None, int]] = []  # for decisions; a yes is one of a single unit
        self.rho: int | None = None
        self.left = 0
        self.times: list[int] = []
        self.errors: list[tuple[int, float]] = []
        self.level: Fraction | float = float(self.threshold) if self.adaptive else self.threshold
        self.height = self.lead = 0.0
        self.steered, self.patience = 0, self.adaptive["tolerance"] if self.adaptive else 0.0

    def k(self) -> float:
        c, n = self.releases, self.window
        if c == n or (self.horizon and c == 1):
            return 0
        if self.decide_share is not None:
            return self.decide_share
        return min(max(1 / (1 + 2 * math.sqrt(self.bins)), 0.01), 1 - c / n)

    def room(self, t: int) -> int:
        """What the window that ends at t leaves of eps_2."""
        return self.limit - self.decide - sum(e for at, e in self.points if at > t - self.window)

    def can(self, t: int, decide: int) -> bool:
        """Whether a decision and a release can be paid, each from its own."""
        paid = sum(e for _, last, e in self.spans if last is None or last > t - self.window)
        return paid + decide <= self.decide and self.part <= self.room(t)

    def step(self, t: int, counts: list[int]) -> tuple[list[int], bool, int]:
        """The values, whether they are fresh, and what the unit cost."""
        self.cost, fresh = 0, True
        if t == 1:
            self.n0, self.values = 0, [0] * self.bins
            self.release(t, counts, self.part)
            self.n0 = self.total or max(sum(self.values), 1)
            if self.adaptive:
                self.height = self.rest()
        elif self.horizon and t == self.window:
            fresh = len(self.times) < self.releases
            if fresh:
                self.release(t, counts, self.room(t))
        elif fresh := self.due(t, counts):
            self.release(t, counts, self.part)
        return self.values, fresh, self.cost

    def release(self, t: int, counts: list[int], e: int) -> None:
        self.points.append((t, e))
        self.cost += e
        self.times.append(t)
        before, self.values = getattr(self, "values", []), [count + self.draw(e) for count in counts]
        self.scale = float(self.drawn[-1])
        if self.adaptive:
            self.lead += 1 / self.releases
            if self.errors and self.height < self.rest() - 0.2:
                self.learn(sum(abs(now - then) for now, then in zip(self.values, before, strict=True)))

    def draw(self, e: int) -> int:
        self.drawn.append(Fraction(self.s1 * NANO, e))
        return next(self.script)

    def due(self, t: int, counts: list[int]) -> bool:
        if self.adaptive and t <= self.adaptive["burn_in"]:
            return False
        if self.horizon and len(self.times) >= self.releases:
            return False
        if not self.c:
            return self.can(t, 0)
        if self.adaptive:
            self.steer(t, **self.adaptive)
        opening = self.u + self.c * self.v if self.rho is None else 0
        if not self.can(t, opening + self.v):
            return False
        if self.rho is None:
            self.spans.append((t, None, opening))
            self.cost += opening
            self.rho, self.left = self.draw(self.u), self.c
        threshold = math.ceil(Fraction(str(self.level)) * self.n0)  # a float means its decimal text
        self.compared.append(threshold)
        yes = self.distance(counts) + self.draw(self.v) >= threshold + self.rho
        if yes:
            self.spans.insert(0, (t, t, self.v))
            self.cost += self.v
            self.left -= 1
        if not self.left:
            self.spans[-1] = (self.spans[-1][0], t, self.spans[-1][2])
            self.rho = None
        return yes

    def distance(self, counts: list[int]) -> int:
        apart = [abs(count - value) for count, value in zip(counts, self.values, strict=True)]
        return {"l1": sum(apart), "l2": math.isqrt(sum(x * x for x in apart)), "largest": max(apart)}[self.metric]

    def learn(self, moved: int) -> None:
        """A release that the sunken threshold led to: two releases of the same differ by 1.5 b, give or take."""
        mean, sd = sum([self.b()] * self.bins), self.b() * math.sqrt(self.bins)
        if moved > 1.5 * mean + 2 * math.sqrt(1.75) * sd:
            self.patience = max(self.patience / 2, self.adaptive["tolerance"])  # type: ignore[index]
        else:
            self.patience, self.lead = min(self.patience * 2, 1.0), 0.0

    def sd(self, scale: float) -> float:
        """The standard deviation of discrete Laplace noise."""
        return math.sqrt(2 * math.exp(-1 / scale)) / -math.expm1(-1 / scale)

    def b(self) -> float:
        return self.sd(self.scale) / math.sqrt(2)

    def noise(self) -> tuple[float, float]:
        """What noise adds to a comparison: the mean of that of the release, the deviation of all three together."""
        b, n = self.b(), self.bins
        means = {"l1": n * b, "l2": math.sqrt(2 * n) * b, "largest": (math.log(n) + 0.5772) * b}
        sds = {"l1": math.sqrt(n) * b, "l2": math.sqrt(2.5) * b, "largest": math.pi / math.sqrt(6) * b}
        deciding = (self.sd(self.s1 * NANO / self.u), self.sd(self.s1 * NANO / self.v)) if self.c else ()
        return means[self.metric], max(math.hypot(sds[self.metric], *deciding), 1.0)

    def rest(self) -> float:
        return math.asinh(max(float(self.threshold) * self.n0 / self.noise()[1], self.adaptive["margin"]))  # type: ignore[index]

    def steer(self, t: int, tolerance: float, gain: float, **more: Any) -> None:
        """T_t: the noise, and above it sd sinh(height), which the error of the pace and its slope move up or down."""
        since, self.steered = (t - self.steered) / self.window, t
        self.lead = min(max(self.lead - since, -2), 2)
        ahead, behind = self.lead > tolerance, self.lead < -self.patience
        error = self.lead - tolerance if ahead else self.lead + self.patience if behind else 0.0
        before = self.errors[-1:]
        self.errors.append((t, error))
        recent = [e for _, e in self.errors[-int(more["reach"]) :]]
        slope = (error - before[0][1]) / (t - before[0][0]) if before else 0.0
        u = more["proportional"] * error + more["integral"] * (sum(recent) / len(recent))
        u += more["derivative"] * self.window * slope
        mean, sd = self.noise()
        top = max(math.asinh(2 * max(self.n0, sum(self.values)) / sd), self.rest())
        self.height = min(max(self.height + gain * since * u, 0.0), top)
        self.level = (mean + sd * math.sinh(self.height)) / self.n0


# ---- and ours beside it -------------------------------------------------------------------------------------------


class Bench:
    """A mechanism whose noise, charges and thresholds are taken down."""

    def __init__(self, mechanism: ps.Mechanism, bins: int, script: list[int]) -> None:
        self.noise, self.facts, self.thresholds = Logged(script), list[Fact](), list[int]()
        self.mechanism = mechanism.start(
            ps.Curator(mechanism.model, bins, noise=self.noise, journal=self.facts.append, answers=self._answer)
        )

    def _answer(self, question: Question, compute: Callable[[], Any]) -> Any:
        if question.verb == "above":
            self.thresholds.append(question.details[2])
        return compute()

    def step(self, t: int, counts: list[int]) -> ps.Release:
        return self.mechanism.step(ps.Snapshot(t, counts))


@st.composite
def laws(draw: st.DrawFn) -> ps.PrivacyModel:
    """Short windows and horizons, both kinds of neighbours, one record a unit or several."""
    common = draw(promises())
    length = draw(st.integers(1, 14))
    kinds: list[Callable[[], ps.PrivacyModel]] = [
        lambda: ps.UserLevel(horizon=length, **common),
        lambda: ps.UserLevel(horizon=length + 10, **common),
        lambda: ps.WEvent(w=length, **common),
        lambda: ps.DeltaNeighbourhood(steps=length, **common),
        lambda: ps.EventLevel(**common),
    ]
    return draw(st.sampled_from(kinds))()


@st.composite
def cases(draw: st.DrawFn) -> tuple[ps.PrivacyModel, dict[str, Any], list[list[int]], list[int]]:
    """A model, the options of DSFT, a stream that rests and jumps, and a script."""
    model = draw(laws())
    options = {
        "threshold": draw(st.integers(1, 127)) / 64,
        "releases": draw(st.none() | st.integers(1, model.window)),
        "total": draw(st.none() | st.integers(1, 300)),
        "decide_share": draw(st.none() | st.sampled_from([0.05, 0.25, 0.5, 0.9])),
        "metric": draw(st.sampled_from(["l1", "l2", "largest"])),
    }
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    bins, steps = draw(st.integers(1, 3)), model.window if isinstance(model, ps.UserLevel) else 40
    restless = draw(st.sampled_from([0.0, 0.2, 1.0]))
    levels = rng.integers(0, 100, (steps, bins))
    since = np.maximum.accumulate(np.where(rng.random(steps) < restless, np.arange(steps), 0))
    return model, options, levels[since].tolist(), rng.integers(-25, 26, 1000).tolist()


controllers = st.fixed_dictionaries(
    {
        "tolerance": st.sampled_from([0.01, 0.15, 1.0]),
        "gain": st.sampled_from([0.0, 0.13, 3.0, 15.0]),
        "proportional": st.sampled_from([0.0, 0.9, 1.0]),
        "integral": st.sampled_from([0.0, 0.1, 0.7]),
        "derivative": st.sampled_from([0.0, -0.4, 1.0]),
        "reach": st.integers(1, 5),
        "margin": st.sampled_from([0.0, 0.5, 5.0]),
        "burn_in": st.integers(0, 4),
    }
)


def same_as_twin(name: str, case: tuple[Any, ...], adaptive: dict[str, Any] | None) -> Twin:
    """Step by step the same values, kinds, charges, thresholds and scales of noise."""
    model, options, counts, script = case
    usual = -(-model.window // 100) if isinstance(model, ps.UserLevel) else round((model.window / 10) ** 0.5)
    plan = options | {
        "releases": options["releases"] or min(max(usual, 2), model.window),
        "threshold": Fraction(options["threshold"]),
    }
    twin = Twin(model, len(counts[0]), iter(script), adaptive=adaptive, **plan)
    bench = Bench(made(name, model, **options, **(adaptive or {})), len(counts[0]), script)
    for t, row in enumerate(counts, start=1):
        values, fresh, cost = twin.step(t, row)
        release = bench.step(t, row)
        assert release.values.tolist() == values, t
        assert set(release.kind.tolist()) == {ps.Kind.FRESH if fresh else ps.Kind.REPUBLISHED}
        assert release.charged.nano == cost, t
        assert bench.thresholds == twin.compared
    assert bench.noise.scales == twin.drawn
    assert recount(bench.facts, model) <= model.epsilon
    return twin


@fixed
@given(cases())
def test_dsft_does_what_the_repaired_paper_says(case: tuple[Any, ...]) -> None:
    """Algorithm 1 repaired, under every model, with every metric."""
    same_as_twin("dsft", case, None)


@fixed
@given(cases(), controllers)
def test_dsat_does_what_the_repaired_paper_says(case: tuple[Any, ...], adaptive: dict[str, Any]) -> None:
    """Algorithms 2 and 3 repaired: the threshold is public, clipped to 0 and 2, and steered by all three terms."""
    burn_in = min(adaptive["burn_in"], case[0].window - 1)
    same_as_twin("dsat", case, adaptive | {"burn_in": burn_in})


def test_the_threshold_is_clipped_at_both_ends() -> None:
    """Falling behind it sinks to what noise adds, running ahead it rises by 2 n0 above that; neither end is passed."""
    model = ps.UserLevel(epsilon=800, horizon=30)
    options = {"threshold": 0.5, "total": 64, "releases": 12, "decide_share": 0.5, "metric": "l1"}
    adaptive = CALM | {"tolerance": 0.05, "gain": 90.0, "burn_in": 0}
    rests = same_as_twin("dsat", (model, options, [[50]] * 30, [0] * 99), adaptive)
    moves = same_as_twin(
        "dsat", (model, options, [[t % 2 * 64] for t in range(30)], [0] * 99), adaptive | {"gain": 9.0}
    )
    noise = rests.noise()[0]
    assert 32 + noise <= rests.compared[0] <= 34 + noise
    assert min(rests.compared) == math.ceil(noise)
    assert 128 + noise <= max(moves.compared) <= 130 + noise


@pytest.mark.parametrize(("bins", "k"), [(1, 1 / 3), (20, 0.1006), (2304, 0.0103), (27648, 0.01)])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("name", ["dsft", "dsat"])
def test_k_is_that_of_the_formula(name: str, neighbours: Any, bins: int, k: float) -> None:
    """1 / (1 + 2 sqrt(U)), but a hundredth at least, whatever n is and whoever is a neighbour."""
    model = ps.UserLevel(epsilon=1, horizon=1000, neighbours=neighbours)
    for count in (0, 10**6):
        bench = Bench(made(name, model, releases=10), bins, [0] * bins)
        first = bench.step(1, [count] * bins)
        assert round(1 - 10 * float(first.charged), 4) == round(k, 4)


@fixed
@given(st.integers(1, 60), st.integers(1, 300), st.sampled_from([1, 2, 6]), st.data())
def test_k_is_the_least_of_all_and_capped(units: int, bins: int, s1: int, data: st.DataObject) -> None:
    """No other k in steps of 1/1000 below 1 - C / N errs less in a count; a release has epsilon / N at least."""
    model = ps.UserLevel(epsilon=1000, horizon=units, per_unit=s1)
    c = data.draw(st.integers(1, units))
    first = Bench(made("dsft", model, releases=c), bins, [0] * bins).step(1, [5] * bins)
    part = float(first.charged) / 1000
    k, cap = 1 - c * part, 1 - c / units
    assert part >= 1 / units - 1e-9
    if 1 < c < units:
        others = [other for other in np.arange(10, 1000) / 1000 if other < cap]
        least = 1 / (1 - k) + 1 / (4 * bins * k)
        assert all(least <= (1 / (1 - x) + 1 / (4 * bins * x)) * (1 + 1e-6) for x in others)


def test_usual_numbers_of_releases() -> None:
    """1% of a horizon, the root of a tenth of a window, two at least, and never more than there are units."""

    def releases(model: ps.PrivacyModel) -> int:
        first = Bench(made("dsft", model, decide_share=0.5), 1, [0]).step(1, [5])
        return round(float(model.epsilon) / float(first.charged) / (1 if first.charged == model.epsilon else 2))

    horizons = {n: releases(ps.UserLevel(epsilon=1, horizon=n)) for n in (3, 200, 201, 1000)}
    assert horizons == {3: 2, 200: 2, 201: 3, 1000: 10}
    windows = {w: releases(ps.WEvent(epsilon=1, w=w)) for w in (3, 52, 62, 63, 120, 240, 1000)}
    assert windows == {3: 2, 52: 2, 62: 2, 63: 3, 120: 3, 240: 5, 1000: 10}
    assert [releases(ps.UserLevel(epsilon=1, horizon=1)), releases(ps.EventLevel(epsilon=1))] == [1, 1]


@pytest.mark.parametrize("name", ["dsft", "dsat"])
@pytest.mark.parametrize(("w", "most"), [(8, 1), (8, 6), (14, 12), (22, 20), (9, 9)])
def test_no_window_holds_more_releases_than_were_asked_for(name: str, w: int, most: int) -> None:
    """``releases`` is the most; what deciding left over does not buy another one."""
    for every in (1, 2, 3):
        counts = [[10**6 * (t // every % 2)] for t in range(6 * w)]
        model = ps.WEvent(epsilon=1, w=w)
        fresh = fresh_of(name, model, counts, ps.ScriptedNoise(), releases=most, decide_share=0.5, total=100)
        assert max(sum(first <= t < first + w for t in fresh) for first in fresh) <= most


@pytest.mark.parametrize(("threshold", "total", "reached"), [(0.07, 100, 7), (0.55, 100, 55), (1.1, 10, 11)])
def test_a_decimal_threshold_is_met_exactly(threshold: float, total: int, reached: int) -> None:
    """N3: a distance of T n0 is enough; 0.07 means seven hundredths here as it does in a budget."""
    model = ps.UserLevel(epsilon=10, horizon=9)
    options = {"threshold": threshold, "total": total, "releases": 3}
    for count, fresh in ((reached - 1, 1), (reached, 0)):
        bench = Bench(made("dsft", model, **options), 1, [0] * 9)
        bench.step(1, [0])
        assert bench.step(2, [count]).kind.tolist() == [fresh]


@pytest.mark.parametrize("first", [[0, 0], [3, 4]])
def test_a_first_release_without_records_still_gives_a_threshold(first: list[int]) -> None:
    """n0 is 1 at least: noise may well make the first sum negative."""
    bench = Bench(made("dsft", USER, releases=3, threshold=1.5), 2, [-30, -30, *[0] * 9])
    bench.step(1, first)
    bench.step(2, first)
    assert bench.thresholds == [2]


@pytest.mark.parametrize("metric", ["l1", "l2", "largest"])
@pytest.mark.parametrize("size", [10**3, 10**9, 10**12, 2**52])
def test_a_change_of_half_of_all_records_is_seen_at_any_size(metric: str, size: int) -> None:
    """Counts may be anything up to 2**53: with hardly any noise, half of them moving is never below 2.5%."""
    bench = Bench(made("dsft", ps.UserLevel(epsilon=10, horizon=9), releases=3, metric=metric), 2, [0] * 99)
    bench.step(1, [size, size])
    assert bench.step(2, [size, size]).kind.tolist() == [1, 1]
    assert bench.step(3, [size // 2, size + size // 2]).kind.tolist() == [0, 0]


@pytest.mark.parametrize("bins", [1, 1023, 1025, 2048, 4096])
def test_the_first_sum_does_not_overflow(bins: int) -> None:
    """n0 is read off the first release, however many large counts that has: a tiny change is none."""
    bench = Bench(made("dsft", ps.WEvent(epsilon=10, w=9), releases=3), bins, [0] * 9 * bins)
    bench.step(1, [2**53] * bins)
    assert bench.step(2, [2**53 - 1000] * bins).kind[0] == ps.Kind.REPUBLISHED


# ---- what can be learnt -------------------------------------------------------------------------------------------


def log_tail(scale: float, k: Ints) -> Any:
    """log P(nu >= k) under the discrete Laplace."""
    q = math.exp(-1 / scale)
    below = np.log1p(-np.exp((np.minimum(k, 0) - 1) / scale) / (1 + q))
    return np.where(k > 0, -k / scale - math.log1p(q), below)


@pytest.mark.parametrize("name", ["dsft", "dsat"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_the_worst_transcript_tells_epsilon_and_no_more(name: str, neighbours: Any) -> None:
    """Section 8.2: far noes, near yeses, low releases; probabilities are exact, from thresholds and scales as asked."""
    noes, yes, no = 20, 10**6, -(10**6)
    model = ps.UserLevel(epsilon=4, horizon=noes + 4, neighbours=neighbours)
    script = [LOW, 0, *[no] * noes, yes, LOW, yes, LOW]
    wait = {"burn_in": 0} if name == "dsat" else {}
    bench = Bench(made(name, model, releases=3, total=100, decide_share=0.5, **wait), 1, script)
    counts, public = list[int](), 5000
    for t, to_it in enumerate([0, *[600] * noes, -5, -5, 0], start=1):
        counts.append(public + to_it)
        public = int(bench.step(t, [counts[-1]]).values[0])
    assert bench.mechanism.curator.remaining() < ps.Epsilon("1e-8")  # all of epsilon is spent
    loss = log_chance(bench, counts, 0) - log_chance(bench, counts, model.sensitivity)
    assert 3.95 < loss <= 4


LOW = -300  # the noise of every release


def log_chance(bench: Bench, counts: list[int], moved: int) -> float:
    """log P(a low release, noes, a yes, a low release, a yes, a low release), counts being ``moved`` further up."""
    first, rho, *scales = (float(scale) for scale in bench.noise.scales)
    z = np.arange(-6000, 6001)
    log, public, noes = -np.abs(z) / rho, counts[0] + LOW, len(bench.thresholds) - 2
    releases = abs(LOW - moved) / first
    for i, threshold in enumerate(bench.thresholds):
        nu, distance = scales.pop(0), abs(counts[i + 1] + moved - public)
        if i < noes:
            log = log + log_tail(nu, distance - threshold - z + 1)  # nu < T + rho - q, mirrored
        else:
            log = log + log_tail(nu, threshold + z - distance)
            public = counts[i + 1] + LOW
            releases += abs(LOW - moved) / scales.pop(0)
    assert not scales
    return float(np.logaddexp.reduce(log)) - releases


# ---- behaviour ----------------------------------------------------------------------------------------------------


def fresh_of(name: str, model: ps.PrivacyModel, counts: Any, noise: Any = None, **options: Any) -> list[int]:
    stream = ps.streams.Stream(counts)
    releases = ps.publish(stream, made(name, model, **options), noise=noise or ps.SimulationNoise(1))
    return [release.t for release in releases if release.kind[0] == ps.Kind.FRESH]


STREAMS = {
    "calm": np.full((600, 3), 20_000),
    "restless": np.random.default_rng(1).integers(0, 40_000, (600, 3)),
    "jumping": np.random.default_rng(2).integers(0, 40_000, (20, 3)).repeat(30, axis=0),
    "drifting": 20_000 + np.arange(600)[:, np.newaxis] * [10, -10, 20],
}


@pytest.mark.parametrize("stream", ["restless", "jumping", "drifting"])
def test_dsat_has_releases_for_a_stream_that_moves_until_late(stream: str) -> None:
    """The budget is neither gone early nor left over: that is what the controller is for."""
    for seed in range(3):
        user, noise = ps.UserLevel(epsilon=1, horizon=600), ps.SimulationNoise(seed)
        fresh = fresh_of("dsat", user, STREAMS[stream], noise, releases=20)
        assert 18 <= len(fresh) <= 20
        assert max(t for t in fresh if t < 600) > 300  # even if every unit is as far from every other
        windowed = fresh_of("dsat", ps.WEvent(epsilon=1, w=60), STREAMS[stream], ps.SimulationNoise(seed), releases=6)
        assert len(windowed) >= 20  # as often as "jumping" does
        assert max(np.diff(windowed)) <= 90


def test_dsat_keeps_its_releases_while_nothing_moves() -> None:
    """It looks now and then, and longer apart as long as it finds nothing; in windows once in two of them at least."""
    for seed in range(3):
        user, noise = ps.UserLevel(epsilon=1, horizon=600), ps.SimulationNoise(seed)
        fresh = fresh_of("dsat", user, STREAMS["calm"], noise, releases=20)
        assert 3 <= len(fresh) <= 8
        windowed = fresh_of("dsat", ps.WEvent(epsilon=1, w=60), STREAMS["calm"], ps.SimulationNoise(seed), releases=6)
        assert 5 <= len(windowed) <= 20
        assert max(np.diff(windowed)) <= 120


def test_dsft_publishes_more_for_a_smaller_threshold() -> None:
    """And on a calm stream next to nothing, on a restless one until the budget is gone."""
    model, rng = ps.UserLevel(epsilon=20, horizon=600), np.random.default_rng(3)
    walk = 20_000 + rng.integers(-300, 301, (600, 3)).cumsum(axis=0)
    numbers = [len(fresh_of("dsft", model, walk, releases=100, threshold=t)) for t in (0.02, 0.05, 0.2, 1.0)]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[0] >= 3 * numbers[2] > 3 * numbers[3] > 0
    assert len(fresh_of("dsft", model, STREAMS["calm"], releases=50)) <= 3
    assert max(fresh_of("dsft", model, STREAMS["restless"], releases=50)) < 100


@pytest.mark.parametrize("name", ["dsft", "dsat"])
def test_a_release_claims_the_noise_it_carries(name: str) -> None:
    """The first release, one after a yes and the last one: standard deviations as drawn."""
    model, counts = ps.UserLevel(epsilon=3, horizon=8, neighbours="replace"), np.full((8, 400), 1000)
    counts[4:] += 500
    mechanism = made(name, model, releases=3, decide_share=0.2)
    seen = set()
    for release in ps.publish(ps.streams.Stream(counts), mechanism, noise=ps.SimulationNoise(3)):
        if release.kind[0] == ps.Kind.FRESH:
            drawn = float((release.values - counts[release.t - 1]).std())
            assert drawn == pytest.approx(release.noise_sd[0], rel=0.2)
            seen.add(release.t)
    assert {1, 8} <= seen
