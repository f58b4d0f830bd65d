"""AdaPub: against plain Python, which bins it measures together and for how long, and what it says of its noise."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from in_process import Crash, crash_at, models, penstock, published, script
from penstock.charges import Fact, recount
from penstock.desk import Question
from penstock.errors import BadState
from penstock.types import Cause, Ints

T = TypeVar("T")
thorough = settings(derandomize=True, deadline=None, max_examples=120)
brief = settings(derandomize=True, deadline=None, max_examples=30)

EVENT: ps.PrivacyModel = ps.EventLevel(epsilon=1)
LAW: ps.PrivacyModel = ps.WEvent(epsilon=1, w=4)
NOISY: ps.PrivacyModel = ps.EventLevel(epsilon="0.01")
GRID = 64
FRESH, REPUBLISHED, GROUPED, ESTIMATED = (
    int(kind) for kind in (ps.Kind.FRESH, ps.Kind.REPUBLISHED, ps.Kind.GROUPED, ps.Kind.ESTIMATED)
)


def started(mechanism: ps.Mechanism, bins: int, noise: Any, **options: Any) -> ps.Mechanism:
    return mechanism.start(ps.Curator(mechanism.model, bins, noise=noise, **options))


def uneven(steps: int, bins: int = 3) -> Ints:
    rng = np.random.default_rng(steps)
    return np.repeat(rng.choice([0, 3, 5, 90, 1000], (steps, bins)), rng.integers(1, 9, steps), axis=0)[:steps]


class Notebook:
    """Who was asked about together, and under which thresholds (in records); all of it is public."""

    def __init__(self) -> None:
        self.sizes: list[int] = []  # of each unit: how many numbers were measured
        self.thresholds: list[list[float]] = []

    def __call__(self, question: Question, compute: Callable[[], T]) -> T:
        if question.verb == "extend":
            self.thresholds.append((question.details[1] / GRID).tolist())
        else:
            self.sizes.append(question.draws)
        return compute()


# ---- what the paper says, repaired, without numpy --------------------------------------------------------------------


@dataclass
class Reference:
    """Bins between the same pivots are measured together; groups in time have thresholds that a controller steers."""

    model: ps.PrivacyModel
    bins: int
    pivots: int
    refresh: int
    weights: tuple[float, float, float]
    longest: int
    draws: Iterator[int]
    last: list[int] = field(init=False)
    errors: list[list[float]] = field(init=False)
    raw: list[list[int]] = field(init=False)
    seen: list[list[Fraction]] = field(init=False)
    shared: list[list[int]] = field(init=False)  # with how many each of these looks was
    rho: list[int] = field(init=False)
    open: list[bool] = field(init=False)
    alone: int = 0

    def __post_init__(self) -> None:
        self.last, self.rho, self.open = [0] * self.bins, [0] * self.bins, [False] * self.bins
        self.errors = [[] for _ in range(self.bins)]
        self.raw = [[] for _ in range(self.bins)]
        self.seen = [[] for _ in range(self.bins)]
        self.shared = [[] for _ in range(self.bins)]

    def together(self, t: int) -> list[list[int]]:
        if not self.alone or t - self.alone >= self.refresh:
            self.alone = t
            return [[j] for j in range(self.bins)]
        apart = max(min((max(self.last) - min(self.last)) / self.pivots, self.noise_sd / 2), 1.0)
        moved = apart * (t * ((math.sqrt(5) - 1) / 2) % 1)
        bands = [math.floor((value + moved) / apart) for value in self.last]
        return [[j for j in range(self.bins) if bands[j] == band] for band in sorted(set(bands))]

    @property
    def noise_sd(self) -> float:
        share = self.model.epsilon.nano // self.model.window
        perturbing = share - share // 5
        return 1 / (math.sqrt(2) * math.sinh(perturbing / 1e9 / self.model.sensitivity / 2))

    def theta(self, j: int, perturbed: Fraction) -> float:
        self.errors[j].append(abs(self.last[j] - float(perturbed)) / max(float(perturbed), 1.0))
        latest, recent = self.errors[j][-1], self.errors[j][-5:]
        slope = latest - self.errors[j][-2] if len(self.errors[j]) > 1 else 0.0
        terms = (latest, statistics.fmean(recent), slope)
        steered = sum(weight * term for weight, term in zip(self.weights, terms, strict=True))
        return float(max(1.0, steered**2 / float(self.model.epsilon)))

    def joins(self, j: int, theta: float, noise: int) -> bool:
        mean = Fraction(sum(self.raw[j]), len(self.raw[j]))
        astray = math.floor(GRID * sum(abs(count - mean) for count in self.raw[j]))
        return astray + noise < math.ceil(theta * GRID) + self.rho[j]

    def step(self, t: int, counts: list[int]) -> tuple[list[Fraction], list[int], list[float]]:
        perturbed, kinds, sizes = [Fraction(0)] * self.bins, [FRESH] * self.bins, dict[int, list[int]]()
        for group in self.together(t):
            total = sum(counts[j] for j in group) + next(self.draws)
            for j in group:
                sizes[j] = group
                perturbed[j] = Fraction(total, len(group))
                kinds[j] = GROUPED if len(group) > 1 else FRESH
        thetas = [self.theta(j, perturbed[j]) for j in range(self.bins)]
        for j in range(self.bins):
            noise = next(self.draws)
            if self.open[j]:
                self.raw[j].append(counts[j])
                self.open[j] = self.joins(j, thetas[j], noise)
                if self.open[j]:
                    self.seen[j].append(perturbed[j])
                    kinds[j] = ESTIMATED
                else:
                    self.raw[j], self.seen[j] = [counts[j]], [perturbed[j]]
            else:
                self.raw[j], self.seen[j], self.rho[j], self.open[j] = [counts[j]], [perturbed[j]], noise, True
            self.shared[j] = [*self.shared[j], len(sizes[j])][-len(self.seen[j]) :]
            surprising = abs(perturbed[j] - self.last[j]) > 4 * self.noise_sd
            if len(sizes[j]) == 1 and surprising and max(self.shared[j]) > 1:
                self.seen[j], self.shared[j] = [perturbed[j]], [1]  # not fresh: chosen by its own noise
            self.open[j] = self.open[j] and len(self.raw[j]) < self.longest
        return [statistics.median(seen) for seen in self.seen], kinds, thetas


WEIGHTS = [(0.9, 0.1, 0.0), (0.0, 0.0, 0.0), (-3.0, 2.0, 1.0), (50.0, 0.0, -7.0)]


@thorough
@given(
    models(["0.1", "1", "30"], 5, 16),
    st.lists(st.lists(st.sampled_from([0, 3, 4, 60, 64, 1000]), min_size=4, max_size=4), min_size=1, max_size=16),
    st.sampled_from([1, 2, 20, 2**53]),
    st.sampled_from([1, 2, 5, 2**53]),
    st.sampled_from(WEIGHTS),
    st.integers(1, 6),
    st.lists(st.integers(-300, 300), max_size=128),
)
def test_it_is_the_repaired_paper_bin_by_bin(
    model: ps.PrivacyModel,
    rows: list[list[int]],
    pivots: int,
    refresh: int,
    weights: tuple[float, float, float],
    longest: int,
    draws: list[int],
) -> None:
    reference = Reference(model, 4, pivots, refresh, weights, longest, script(draws))
    steering = dict(zip(("proportional", "integral", "derivative"), weights, strict=True))
    mechanism = ps.AdaPub(model=model, pivots=pivots, refresh=refresh, max_length=longest, **steering)
    notes = Notebook()
    for release, counts in zip(published(mechanism, rows, ps.ScriptedNoise(draws), answers=notes), rows, strict=True):
        values, kinds, thetas = reference.step(release.t, counts)
        assert np.allclose(
            notes.thresholds[release.t - 1], [math.ceil(theta * GRID) / GRID for theta in thetas], atol=2 / GRID
        )
        for value, exact in zip(release.values.tolist(), values, strict=True):
            assert abs(value - exact) <= Fraction(1, 2) + Fraction(1, 10**9)
        assert release.kind.tolist() == kinds
        assert release.charged.nano == model.epsilon.nano // model.window
        reference.last = release.values.tolist()


# ---- bins together ---------------------------------------------------------------------------------------------------


def test_alike_bins_share_a_measurement_and_its_noise() -> None:
    """[90, 5, 3] with 4 pivots: 5 and 3 are one measurement, 8 + 6 of noise, of which each has half."""
    notes = Notebook()
    mechanism = ps.AdaPub(model=NOISY, pivots=4, max_length=1)
    releases = published(mechanism, [[90, 5, 3]] * 2, ps.ScriptedNoise([0, 0, 0, 0, 0, 0, 6, 0]), answers=notes)
    assert notes.sizes == [3, 2]
    assert releases[1].values.tolist() == [90, 7, 7]
    assert releases[1].kind.tolist() == [FRESH, GROUPED, GROUPED]
    assert releases[1].noise_sd[1] == pytest.approx(releases[1].noise_sd[0] / 2)


@pytest.mark.parametrize("refresh", [1, 2, 7, 10])
def test_every_so_many_units_all_bins_are_measured_alone(refresh: int) -> None:
    notes = Notebook()
    published(ps.AdaPub(model=EVENT, refresh=refresh), np.full((30, 6), 40), ps.ScriptedNoise(), answers=notes)
    assert [t + 1 for t, size in enumerate(notes.sizes) if size == 6] == list(range(1, 31, refresh))
    assert refresh == 1 or set(notes.sizes) == {1, 6}


def test_more_pivots_than_records_group_equal_releases_only() -> None:
    notes = Notebook()
    mechanism = ps.AdaPub(model=EVENT, pivots=2**53)
    published(mechanism, [[40, 41, 42, 42]] * 5, ps.ScriptedNoise(), answers=notes)
    assert notes.sizes == [4, 3, 3, 3, 3]


def test_pivots_move_so_that_neighbours_part_at_times() -> None:
    """0 and 25 of 0 .. 100 with 2 pivots lie together in some units and apart in others."""
    notes = Notebook()
    published(
        ps.AdaPub(model=NOISY, pivots=2, max_length=1, refresh=2),
        [[0, 25, 100]] * 40,
        ps.ScriptedNoise(),
        answers=notes,
    )
    assert {2, 3} <= set(notes.sizes[1::2])


@pytest.mark.parametrize("smoother", ["median", "mean", "james-stein"])
def test_bins_that_part_are_told_apart_at_the_next_refresh(smoother: Any) -> None:
    """A look alone that is a surprise is not outvoted by the nine shared ones before it."""
    rows = [[5, 5]] * 3 + [[2, 90]] * 60
    releases = published(ps.AdaPub(model=EVENT, smoother=smoother), rows, ps.ScriptedNoise())
    low, high = releases[12].values.tolist()  # unit 13; all bins were measured alone at 11
    assert low < high
    low, high = releases[50].values.tolist()
    assert low < 15
    assert high > 75


@pytest.mark.parametrize("first", ["missing", "lost"])
def test_before_a_first_release_no_bins_are_alike(first: str) -> None:
    """Without a release at unit 1 all bins stand at 0, which does not make them alike."""
    mechanism = started(ps.AdaPub(model=ps.EventLevel(epsilon=1000)), 3, ps.ScriptedNoise())
    mechanism.pass_over(ps.Snapshot(1, [0, 0, 0]), ps.Epsilon(1000) if first == "lost" else None)
    assert mechanism.step(ps.Snapshot(2, [900, 40, 2])).values.tolist() == [900, 40, 2]


def test_a_refresh_that_was_missed_is_made_up_for() -> None:
    """Shops that close every seventh day, and refresh=7."""
    notes = Notebook()
    mechanism = started(ps.AdaPub(model=EVENT, refresh=7), 3, ps.ScriptedNoise(), answers=notes)
    for t in range(1, 60):
        snapshot = ps.Snapshot(t, [40, 40, 40])
        mechanism.pass_over(snapshot) if t % 7 == 1 and t > 1 else mechanism.step(snapshot)
    assert notes.sizes[0] == 3
    assert 3 in notes.sizes[1:]


def test_a_stream_of_one_bin_is_never_grouped() -> None:
    releases = published(ps.AdaPub(model=EVENT, pivots=1), uneven(30, 1), ps.SimulationNoise(1))
    assert not any((release.kind == GROUPED).any() for release in releases)


# ---- the controller --------------------------------------------------------------------------------------------------


def test_thresholds_follow_the_change() -> None:
    """From 0 to 100 the change is 1, at rest 0, from 100 to 300 it is 2/3; 30 times that, squared, and 1 at least.

    300 joins the group of both hundreds, whose median is 100, so at the last unit the change is 2/3 once more.
    """
    notes = Notebook()
    mechanism = ps.AdaPub(model=EVENT, proportional=30.0, integral=0.0)
    releases = published(mechanism, [[100], [100], [300], [300]], ps.ScriptedNoise(), answers=notes)
    assert notes.thresholds == [[900.0], [1.0], [400.0], [400.0]]
    assert releases[2].values.tolist() == [100]


def test_a_smaller_epsilon_lets_groups_stray_further() -> None:
    found = {}
    for epsilon in (1, 4):
        notes = Notebook()
        mechanism = ps.AdaPub(model=ps.EventLevel(epsilon=epsilon), proportional=40.0, integral=0.0)
        published(mechanism, [[100]], ps.ScriptedNoise(), answers=notes)
        found[epsilon] = notes.thresholds[0][0]
    assert found == {1: 1600.0, 4: 400.0}


# ---- what it says of its noise ---------------------------------------------------------------------------------------


def test_noise_sd_of_bins_measured_alone_is_the_one_that_is_seen() -> None:
    rows = np.full((6, 4000), 500)
    mechanism = ps.AdaPub(model=ps.EventLevel(epsilon=0.1), smoother="mean", refresh=1, integral=1e9)
    for release in published(mechanism, rows, ps.SimulationNoise(5)):
        assert (release.values - 500).std() == pytest.approx(release.noise_sd[0], rel=0.06)


def test_noise_sd_remembers_with_how_many_bins_each_look_was_shared() -> None:
    """A look alone (sd 17.7) and one shared by hundreds have a mean with an sd of 8.8."""
    rows = np.full((2, 2000), 500)
    mechanism = ps.AdaPub(model=ps.EventLevel(epsilon=0.1), smoother="mean", pivots=1, integral=1e9)
    alone, both = published(mechanism, rows, ps.SimulationNoise(5))
    assert (both.kind == ESTIMATED).all()
    seen = math.sqrt(((both.values - 500) ** 2).mean())
    said = math.sqrt((both.noise_sd**2).mean())
    assert seen == pytest.approx(alone.noise_sd[0] / 2, rel=0.1)
    assert said == pytest.approx(seen, rel=0.1)


# ---- budget and edges ------------------------------------------------------------------------------------------------


@brief
@given(models(["0.000000400", "0.1", "0.333333333", "1000000"], 7, 20))
def test_every_unit_costs_its_share_and_no_window_more_than_epsilon(model: ps.PrivacyModel) -> None:
    journal, steps = list[Fact](), model.window if model.horizon_bound else 20
    mechanism = ps.AdaPub(model=model)
    releases = published(mechanism, uneven(steps), ps.SimulationNoise(1), journal=journal.append)
    assert {release.charged.nano for release in releases} == {model.epsilon.nano // model.window}
    assert recount(journal, model).nano == min(steps, model.window) * (model.epsilon.nano // model.window)


EXTREMES: list[tuple[ps.PrivacyModel, dict[str, Any]]] = [
    (ps.EventLevel(epsilon="0.00000002"), {}),
    (ps.EventLevel(epsilon="0.00000002", neighbours="replace", per_unit=10**5), {"proportional": 1e50}),
    (ps.EventLevel(epsilon=10**6), {"pivots": 1, "refresh": 2**53}),
    (ps.WEvent(epsilon=1, w=5 * 10**7), {"pivots": 2**53, "derivative": -1e50}),
    (ps.UserLevel(epsilon=10**6, horizon=10**12), {"refresh": 1}),
    (ps.DeltaNeighbourhood(epsilon=1, steps=9, per_unit=1000), {"integral": -1e50, "derivative": 1e50}),
    (ps.EventLevel(epsilon=1), {"proportional": 0.0, "integral": 0.0, "max_length": 1}),
    (ps.EventLevel(epsilon=1), {"proportional": 1e-50, "max_length": 10_000, "smoother": "james-stein"}),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("bins", [1, 40])
@pytest.mark.parametrize(("model", "options"), EXTREMES, ids=range(len(EXTREMES)))
def test_nothing_that_is_accepted_fails_on_the_way(model: ps.PrivacyModel, options: dict[str, Any], bins: int) -> None:
    """Counts from 0 to 2**53, exact noise: a step that raises would cost all that is left."""
    rows = np.random.default_rng(3).choice([0, 1, 2**20, 2**52, 2**53 - 1, 2**53], (14, bins))
    releases = published(ps.AdaPub(model=model, **options), rows, ps.SecureNoise())
    assert [release.charged.nano for release in releases] == [model.epsilon.nano // model.window] * 14
    assert all(np.isfinite(release.noise_sd).all() for release in releases)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("draw", [2**60, -(2**60)])
def test_the_widest_noise_does_no_harm(draw: int) -> None:
    """Releases at the ends of what a release can be, and pivots between them."""
    for draws in ([draw, -draw, draw], [draw] * 3):
        releases = published(ps.AdaPub(model=EVENT, proportional=1e50), [[2**53, 0, 5]] * 12, ps.ScriptedNoise(draws))
        assert len(releases) == 12
        assert np.sign(releases[0].values).tolist() == np.sign(draws).tolist()


def test_after_a_loss_it_repeats_until_it_can_pay() -> None:
    journal = list[Fact]()
    mechanism = started(ps.AdaPub(model=LAW), 3, ps.SimulationNoise(2), journal=journal.append)
    releases = []
    for t in range(1, 31):
        snapshot = ps.Snapshot(t, [500, 500, 7])
        lost = t in (3, 15)
        releases.append(mechanism.pass_over(snapshot, ps.Epsilon("0.9")) if lost else mechanism.step(snapshot))
    assert recount(journal, LAW) <= LAW.epsilon
    for t in (3, 15):
        assert releases[t - 1].kind.tolist() == [REPUBLISHED] * 3
        back = next(release for release in releases[t:] if release.charged)
        assert back.t <= t + LAW.window
        assert ESTIMATED not in back.kind.tolist()  # what was sealed was given up


# ---- parameters ------------------------------------------------------------------------------------------------------

WHOLE = (0, -1, 1.0, 2.5, math.nan, "2", None, True, [2], 2**53 + 1, 10**400)
BAD: list[tuple[str, Any]] = [
    *(("pivots", value) for value in WHOLE),
    *(("refresh", value) for value in WHOLE),
    *(
        (name, value)
        for name in ("proportional", "integral", "derivative")
        for value in (math.nan, math.inf, 1e51, "1", None, True)
    ),
    ("group_share", 0),
    ("smoother", "mode"),
    ("max_length", 10_001),
]


@pytest.mark.parametrize(("name", "value"), BAD, ids=lambda value: repr(value)[:12])
def test_bad_parameters_are_refused_in_a_sentence_that_names_them(name: str, value: Any) -> None:
    with pytest.raises(ps.BadInput, match=rf"^{name} must [^\n]*\.$"):
        ps.AdaPub(model=EVENT, **{name: value})


def test_its_threshold_is_in_records() -> None:
    """That of PeGaSus is a multiple of its noise."""
    mechanism, notes = ps.AdaPub(model=EVENT, threshold=7.0), Notebook()
    assert mechanism.parameters == {"threshold": 7.0}
    assert dataclasses.replace(mechanism, threshold=1.0) == ps.AdaPub(model=EVENT)
    published(mechanism, [[0]], ps.ScriptedNoise(), answers=notes)
    assert notes.thresholds == [[7.0]]
    with pytest.raises(ps.NotProven, match="AdaPub is not proven for MContext"):
        ps.AdaPub(model=ps.MContext(epsilon=1, m=3))


# ---- restarts --------------------------------------------------------------------------------------------------------


def test_saved_and_loaded_anywhere_it_goes_on_as_it_was() -> None:
    rows, key, noise = uneven(40), b"k" * 32, ps.SimulationNoise(4)
    whole = published(ps.AdaPub(model=LAW), rows, ps.SimulationNoise(4))
    mechanism = started(ps.AdaPub(model=LAW), 3, noise)
    for snapshot, expected in zip(ps.streams.Stream(rows), whole, strict=True):
        successor = started(ps.AdaPub(model=LAW), 3, noise)
        successor.load(mechanism.save(key), key)
        mechanism = successor
        assert mechanism.step(snapshot).same_as(expected)
    kinds = {kind for release in whole for kind in release.kind.tolist()}
    assert {FRESH, GROUPED, ESTIMATED} <= kinds


def test_without_its_key_the_controller_goes_on_and_groups_do_not() -> None:
    rows, tables = uneven(30), []
    for keyless in (False, True):
        notes = Notebook()
        mechanism = started(ps.AdaPub(model=LAW, refresh=1, max_length=1), 3, ps.ScriptedNoise(), answers=notes)
        for snapshot in ps.streams.Stream(rows):
            if keyless:
                successor = started(ps.AdaPub(model=LAW, refresh=1, max_length=1), 3, ps.ScriptedNoise(), answers=notes)
                successor.load(mechanism.save())
                mechanism = successor
            assert ESTIMATED not in mechanism.step(snapshot).kind.tolist()
        tables.append(notes.thresholds)
    assert tables[0] == tables[1]
    assert len({tuple(row) for row in tables[0]}) > 5


def test_a_state_belongs_to_its_parameters_and_its_mechanism() -> None:
    saved = started(ps.AdaPub(model=LAW), 2, ps.ScriptedNoise()).save()
    for other in (ps.AdaPub(model=LAW, refresh=11), ps.PeGaSus(model=LAW)):
        with pytest.raises(BadState, match="the state belongs to AdaPub"):
            started(other, 2, ps.ScriptedNoise()).load(saved)


def test_through_a_store_with_a_crash_and_a_gap(tmp_path: Path) -> None:
    rows, path, causes = uneven(30), tmp_path / "s.db", []

    def on(until: int, at: Any = lambda point: None, missing: int = 0) -> None:
        with ps.Store(path, at=at) as store, ps.Publisher(ps.AdaPub(model=LAW), store, "s", bins="abc") as publisher:
            for t in range(publisher.t + 1, until + 1):
                publisher.miss() if t == missing else publisher.publish(ps.Snapshot(t, rows[t - 1]))

    on(4)
    with pytest.raises(Crash):
        on(9, crash_at("draw"))
    on(20, missing=14)
    on(30)
    with ps.Store(path) as store, ps.Publisher(ps.AdaPub(model=LAW), store, "s", bins="abc") as publisher:
        causes = [release.cause for release in publisher.releases()]
    assert [(t, cause) for t, cause in enumerate(causes, 1) if cause is not Cause.DECIDED] == [
        (5, Cause.LOST),
        (14, Cause.MISSING),
    ]
    assert penstock("ledger", "verify", path)[0] == 0


# ---- command line ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [("threshold=-3", "threshold must be above 0"), ("pivots=0", "pivots"), ("refresh=1.5", "refresh")],
)
def test_the_command_line_refuses_in_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "in.csv").write_text("t,a,b\n1,5,6\n2,7,8\n")
    files = (f"--input={tmp_path / 'in.csv'}", f"--store={tmp_path / 's.db'}", f"--output={tmp_path / 'out.csv'}")
    law = ("--model", "event-level", "--epsilon", "1")
    code, err = penstock("run", *files, *law, "--mechanism", "ada_pub", "--set", text)
    assert code == 2, err
    assert err.startswith("error: ")
    assert words in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "s.db").exists()
    assert penstock("run", *files, *law, "--mechanism", "ada_pub", "--set", "derivative=-2")[0] == 0
