"""PeGaSus and its smoothers: against plain Python, at the edges of what it accepts, and through restarts."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import penstock as ps
from in_process import Crash, Logged, crash_at, models, penstock, published, script
from penstock.charges import Fact, recount
from penstock.errors import BadState
from penstock.primitives.smoothing import SMOOTHERS
from penstock.types import Cause, Ints

thorough = settings(derandomize=True, deadline=None, max_examples=150)
brief = settings(derandomize=True, deadline=None, max_examples=30)

EVENT: ps.PrivacyModel = ps.EventLevel(epsilon=1)
LAW: ps.PrivacyModel = ps.WEvent(epsilon=1, w=4)
NANO, GRID = 10**9, 64
FRESH, REPUBLISHED, ESTIMATED = int(ps.Kind.FRESH), int(ps.Kind.REPUBLISHED), int(ps.Kind.ESTIMATED)
WAYS = ["median", "mean", "james-stein"]


class Planned(ps.SimulationNoise):
    """Calls itself secure, and draws the same in a unit however often the process began anew before it."""

    secure: ClassVar[bool] = True

    def rekey(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        self.seed += 1


def restless(steps: int, bins: int = 2) -> Ints:
    """Rests and jumps, so that groups of all lengths come about."""
    rng = np.random.default_rng(steps)
    return np.repeat(rng.integers(0, 300, (steps, bins)), rng.integers(1, 9, steps), axis=0)[:steps]


# ---- what the paper says, a bin at a time, in fractions --------------------------------------------------------------


def smoothed(way: str, seen: list[int]) -> Fraction:
    mean = Fraction(sum(seen), len(seen))
    if way == "median":
        return statistics.median([Fraction(one) for one in seen])
    return mean if way == "mean" else mean + (seen[-1] - mean) / len(seen)


def narrowing(way: str, length: int) -> float:
    """How much of a look's standard deviation is left: the root of the sum of squared weights, of a mean if unknown."""
    weights = [Fraction(1, length)] * length
    if way == "james-stein":
        weights = [weight - weight / length for weight in weights]
        weights[-1] += Fraction(1, length)
    return math.sqrt(sum(weight**2 for weight in weights))


@dataclass
class Bin:
    """Perturb, group, smooth."""

    theta: Fraction
    longest: int
    way: str
    raw: list[int] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)
    limit: int = 0
    open: bool = False

    def step(self, count: int, noise: int, group_noise: int) -> Fraction:
        perturbed = count + noise
        if not self.open:
            self.raw, self.seen = [count], [perturbed]
            self.limit, self.open = math.ceil(self.theta * GRID) + group_noise, True
        else:
            grown = [*self.raw, count]
            mean = Fraction(sum(grown), len(grown))
            if math.floor(GRID * sum(abs(c - mean) for c in grown)) + group_noise < self.limit:
                self.raw, self.seen = grown, [*self.seen, perturbed]
            else:
                self.raw, self.seen, self.open = [count], [perturbed], False
        self.open = self.open and len(self.raw) < self.longest
        return smoothed(self.way, self.seen)


def shares(model: ps.PrivacyModel, group_share: str) -> tuple[int, int]:
    unit = model.epsilon.nano // model.window
    grouping = int(unit * Fraction(group_share))
    return grouping, unit - grouping


def laplace_sd(scale: Fraction) -> float:
    q = math.exp(-1 / scale)
    return math.sqrt(2 * q) / (1 - q)


@st.composite
def streams(draw: st.DrawFn) -> Ints:
    """Two or three levels a bin, with a little scatter: groups form, stray and break."""
    bins, steps = draw(st.integers(1, 3)), draw(st.integers(1, 16))
    level = st.sampled_from([0, 3, 40, 45, 1000])
    rows = [[draw(level) + draw(st.integers(0, 2)) for _ in range(bins)] for _ in range(steps)]
    return np.array(rows)


@thorough
@given(
    models(["0.1", "1", "7", "1000"], 5, 16),
    streams(),
    st.sampled_from(WAYS),
    st.sampled_from(["0.2", "0.5", "0.9"]),
    st.sampled_from([0.125, 1, 5, 1000]),
    st.integers(1, 6),
    st.lists(st.integers(-400, 400), max_size=96),
)
def test_it_is_the_paper_bin_by_bin(
    model: ps.PrivacyModel, rows: Ints, way: Any, share: str, threshold: float, longest: int, draws: list[int]
) -> None:
    grouping, perturbing = shares(model, share)
    theta = Fraction(threshold) * model.sensitivity * NANO / grouping
    bins, left = [Bin(theta, longest, way) for _ in range(rows.shape[1])], script(draws)
    options: dict[str, Any] = {"threshold": threshold, "smoother": way, "max_length": longest}
    mechanism = ps.PeGaSus(model=model, group_share=float(share), **options)
    one_look = laplace_sd(Fraction(model.sensitivity * NANO, perturbing))
    for release, counts in zip(published(mechanism, rows, ps.ScriptedNoise(draws)), rows.tolist(), strict=True):
        noise = [next(left) for _ in bins]
        group_noise = [next(left) for _ in bins]
        for j, one in enumerate(bins):
            exact = one.step(counts[j], noise[j], group_noise[j])
            assert abs(int(release.values[j]) - exact) <= Fraction(1, 2) + Fraction(1, 10**9)
            assert release.kind[j] == (ESTIMATED if len(one.seen) > 1 else FRESH)
            assert release.noise_sd[j] == pytest.approx(one_look * narrowing(way, len(one.seen)))
        assert release.charged.nano == model.epsilon.nano // model.window


class EachLogged(Logged):
    """Remembers every scale, where values of one draw have several too."""

    def laplace_each(self, scales: Sequence[Fraction], which: NDArray[np.intp]) -> Ints:
        drawn = super().laplace_each(scales, which)
        self.scales[-len(which) :] = [scales[i] for i in which]
        return drawn


@pytest.mark.parametrize(("neighbours", "per_unit", "s1"), [("add-remove", 1, 1), ("replace", 1, 2), ("replace", 3, 6)])
def test_the_noise_is_what_was_paid_for(neighbours: Any, per_unit: int, s1: int) -> None:
    """s1 / ep on the counts; 2 s1 on the grid, and its rounding, over eg / 2 for thresholds, eg / 4 for comparisons."""
    model = ps.WEvent(epsilon=1, w=10, neighbours=neighbours, per_unit=per_unit)
    noise = EachLogged([0] * 8)
    published(ps.PeGaSus(model=model), [[5, 5], [5, 5]], noise)
    counts, spread = Fraction(s1 * 100, 8), (2 * GRID + 1) * s1
    assert noise.scales == [
        *[counts] * 2,
        *[spread * 100 * Fraction(1)] * 2,
        *[counts] * 2,
        *[spread * Fraction(200)] * 2,
    ]


def test_who_closes_a_group_is_alone() -> None:
    """10, 10 | 90 | 90, 90: the 90 that did not fit is not joined by the next one, though they are alike."""
    releases = published(ps.PeGaSus(model=EVENT, smoother="mean"), [[10], [10], [90], [90], [90]], ps.ScriptedNoise())
    assert [int(release.kind[0]) for release in releases] == [FRESH, ESTIMATED, FRESH, FRESH, ESTIMATED]
    assert [int(release.values[0]) for release in releases] == [10, 10, 90, 90, 90]


@pytest.mark.parametrize("longest", [1, 2, 5])
def test_a_group_ends_after_so_many_units(longest: int) -> None:
    draws = [100 * t * (1 - place) for t in range(12) for place in (0, 1)]
    mechanism = ps.PeGaSus(model=EVENT, smoother="mean", max_length=longest, threshold=1e50)
    for release in published(mechanism, [[7]] * 12, ps.ScriptedNoise(draws)):
        first = (release.t - 1) // longest * longest
        assert int(release.values[0]) == round(7 + statistics.mean(100 * t for t in range(first, release.t)))


@pytest.mark.parametrize("way", WAYS)
def test_noise_sd_is_the_one_that_is_seen(way: Any) -> None:
    """On bins that rest, with groups that nothing ends; for a median it is a bound, and not a loose one."""
    rows = np.full((9, 6000), 500)
    mechanism = ps.PeGaSus(model=ps.EventLevel(epsilon=0.1), threshold=1e50, smoother=way)
    for release in published(mechanism, rows, ps.SimulationNoise(11)):
        assert (release.kind == (ESTIMATED if release.t > 1 else FRESH)).all()
        part = (release.values - 500).std() / release.noise_sd[0]
        assert (0.8 if way == "median" else 0.95) < part < 1.05


@pytest.mark.parametrize("scale", [Fraction(1, 5), Fraction(1), Fraction(3)])
def test_a_median_is_no_wider_than_a_mean_for_coarse_noise_too(scale: Fraction) -> None:
    """Where noise is a few whole steps."""
    noise, columns = ps.SimulationNoise(3), 20_000
    for length in (1, 2, 3, 4, 5, 8):
        looks = np.array([noise.laplace(scale, columns) for _ in range(length)], np.float64)
        values, narrower = SMOOTHERS["median"](looks, np.full(columns, length))
        assert values.std() <= laplace_sd(scale) * narrower[0] * 1.03


def test_a_threshold_too_small_to_meet_leaves_nothing_to_smooth() -> None:
    """A group opens at every other unit, and the next one closes it: nothing is below a threshold of 0."""
    rows = [[0], [50]] * 6
    releases = published(ps.PeGaSus(model=EVENT, threshold=1e-50), rows, ps.ScriptedNoise())
    assert all(release.kind[0] == FRESH for release in releases)
    assert [release.values.tolist() for release in releases] == rows


@pytest.mark.parametrize("longest", [64, 10_000])
@pytest.mark.parametrize("level", [10**6, 10**10, 2**51])
def test_a_jump_is_noticed_however_large_the_counts(level: int, longest: int) -> None:
    rows = [[level]] * 4 + [[2 * level]] * 3
    releases = published(ps.PeGaSus(model=EVENT, max_length=longest), rows, ps.ScriptedNoise())
    assert releases[4].kind[0] == FRESH
    assert releases[-1].values[0] == 2 * level


# ---- smoothers -------------------------------------------------------------------------------------------------------


@thorough
@given(
    st.lists(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=9), min_size=1, max_size=5),
    st.sampled_from(WAYS),
    st.sampled_from([0.0, 7e9, -7e9, math.inf, math.nan]),
)
def test_a_smoother_sees_the_looks_of_each_bin_and_no_others(columns: list[list[int]], way: str, beyond: float) -> None:
    lengths = np.array([len(column) for column in columns])
    looks = np.full((max(lengths), len(columns)), beyond)
    for j, column in enumerate(columns):
        looks[: len(column), j] = column
    values, narrower = SMOOTHERS[way](looks, lengths)
    assert values == pytest.approx([float(smoothed(way, column)) for column in columns], abs=1e-6)
    assert narrower == pytest.approx([narrowing(way, len(column)) for column in columns])


def test_each_way_by_numpy() -> None:
    column = [4.0, 9.0, -2.0, 30.0]
    looks, lengths = np.array([column]).T, np.array([4])
    found = {way: SMOOTHERS[way](looks, lengths)[0][0] for way in WAYS}
    mean = np.mean(column)
    assert found == {"mean": mean, "median": np.median(column), "james-stein": mean + (30 - mean) / 4}


# ---- budget ----------------------------------------------------------------------------------------------------------


@brief
@given(models(["0.000000400", "0.1", "0.333333333", "1", "1000000"], 7, 20), st.sampled_from([0.01, 0.2, 0.999]))
def test_every_unit_costs_its_share_and_no_window_more_than_epsilon(model: ps.PrivacyModel, share: float) -> None:
    if not min(int(model.epsilon.nano // model.window * Fraction(str(share))) // 4, 1):
        with pytest.raises(ps.BadInput, match="too little"):
            ps.PeGaSus(model=model, group_share=share)
        return
    journal = list[Fact]()
    mechanism = ps.PeGaSus(model=model, group_share=share)
    steps = model.window if model.horizon_bound else 20
    releases = published(mechanism, restless(steps), ps.SimulationNoise(1), journal=journal.append)
    assert {release.charged.nano for release in releases} == {model.epsilon.nano // model.window}
    spent = recount(journal, model)
    assert spent.nano == min(steps, model.window) * (model.epsilon.nano // model.window)
    assert spent <= model.epsilon


@pytest.mark.parametrize("lost", ["0.05", "0.6", "1"])
def test_after_a_loss_it_repeats_until_it_can_pay_and_opens_new_groups(lost: str) -> None:
    journal = list[Fact]()
    curator = ps.Curator(LAW, 2, noise=ps.SimulationNoise(2), journal=journal.append)
    mechanism = ps.PeGaSus(model=LAW, threshold=1e50).start(curator)
    releases = []
    for t in range(1, 31):
        snapshot = ps.Snapshot(t, [500, 7])
        take = mechanism.pass_over(snapshot, ps.Epsilon(lost)) if t in (3, 15) else mechanism.step(snapshot)
        releases.append(take)
    assert recount(journal, LAW) <= LAW.epsilon
    for earlier in (3, 15):
        kinds = [release.kind.tolist() for release in releases[earlier - 1 :]]
        waited = next(i for i, kind in enumerate(kinds) if kind != [REPUBLISHED] * 2)
        assert 1 <= waited <= 4
        assert kinds[waited] == [FRESH] * 2  # what was sealed was given up
        assert kinds[waited + 1] in ([ESTIMATED] * 2, [REPUBLISHED] * 2)
    assert releases[-1].kind.tolist() == [ESTIMATED] * 2


def test_a_missing_unit_does_not_end_a_group() -> None:
    """Nothing was read, so nothing is given up: 10, 20, nothing, 60 are one group, whose mean is 30."""
    mechanism = ps.PeGaSus(model=EVENT, threshold=1e50, smoother="mean")
    mechanism.start(ps.Curator(EVENT, 1, noise=ps.ScriptedNoise()))
    for t, count in ((1, 10), (2, 20)):
        mechanism.step(ps.Snapshot(t, [count]))
    missed = mechanism.pass_over(ps.Snapshot(3, [0]))
    assert (missed.values[0], missed.kind[0], missed.charged.nano) == (15, REPUBLISHED, 0)
    assert mechanism.step(ps.Snapshot(4, [60])).values[0] == 30


def test_past_the_horizon_nothing_is_read() -> None:
    model = ps.UserLevel(epsilon=1, horizon=5, on_horizon="republish")
    releases = published(ps.PeGaSus(model=model), restless(12), ps.SimulationNoise(1))
    assert all(release.kind.tolist() == [REPUBLISHED] * 2 and not release.charged for release in releases[5:])
    assert all(release.charged.nano == NANO // 5 for release in releases[:5])


# ---- parameters ------------------------------------------------------------------------------------------------------

BAD: list[tuple[str, Any]] = [
    *(("group_share", value) for value in (0, 1, -0.1, 1.5, math.nan, math.inf, "0.2", None, True, [0.2])),
    *(("threshold", value) for value in (0, -1, math.nan, math.inf, 1e51, 1e-51, "5", None, False)),
    *(("smoother", value) for value in ("", "Median", "js", None, 1, ["mean"])),
    *(("max_length", value) for value in (0, -1, 10_001, 2**53, 10**400, 1.0, math.nan, "64", None, True)),
]


@pytest.mark.parametrize(("name", "value"), BAD, ids=lambda value: repr(value)[:12])
def test_bad_parameters_are_refused_in_a_sentence_that_names_them(name: str, value: Any) -> None:
    with pytest.raises(ps.BadInput, match=rf"^{name} must [^\n]*\.$"):
        ps.PeGaSus(model=EVENT, **{name: value})


@pytest.mark.parametrize(("epsilon", "fits"), [("0.000000019", False), ("0.000000020", True)])
def test_an_epsilon_that_is_gone_when_it_is_divided_is_refused(epsilon: str, fits: bool) -> None:
    """A quarter of a fifth is to be a nano-epsilon at least."""
    model = ps.EventLevel(epsilon=epsilon)
    if fits:
        assert len(published(ps.PeGaSus(model=model), [[5]] * 4, ps.SecureNoise())) == 4
    else:
        with pytest.raises(ps.BadInput, match="too little"):
            ps.PeGaSus(model=model)


def test_m_context_is_not_claimed() -> None:
    with pytest.raises(ps.NotProven, match="PeGaSus is not proven for MContext"):
        ps.PeGaSus(model=ps.MContext(epsilon=1, m=3))


EXTREMES: list[tuple[ps.PrivacyModel, dict[str, Any]]] = [
    (ps.EventLevel(epsilon="0.00000002"), {}),
    (ps.EventLevel(epsilon="0.00000002", neighbours="replace", per_unit=10**5), {"smoother": "james-stein"}),
    (ps.EventLevel(epsilon=10**6), {"smoother": "mean"}),
    (ps.WEvent(epsilon=1, w=5 * 10**7), {}),
    (ps.WEvent(epsilon=10**6, w=10**13), {"threshold": 1e50}),
    (ps.UserLevel(epsilon=10**6, horizon=10**12), {"group_share": 0.999}),
    (ps.DeltaNeighbourhood(epsilon="0.001", steps=3, per_unit=10**6), {"group_share": 1 - 1e-5}),
    (ps.EventLevel(epsilon=1), {"group_share": 1e-8, "threshold": 1e50}),
    (ps.EventLevel(epsilon=1), {"threshold": 1e-50, "max_length": 1}),
    (ps.EventLevel(epsilon=1), {"threshold": 1e50, "max_length": 10_000, "smoother": "mean"}),
]


@pytest.mark.parametrize("bins", [1, 40])
@pytest.mark.parametrize(("model", "options"), EXTREMES, ids=range(len(EXTREMES)))
def test_nothing_that_is_accepted_fails_on_the_way(model: ps.PrivacyModel, options: dict[str, Any], bins: int) -> None:
    """Counts from 0 to 2**53, exact noise: a step that raises would cost all that is left."""
    rng = np.random.default_rng(3)
    rows = rng.choice([0, 1, 2**20, 2**52, 2**53 - 1, 2**53], (12, bins))
    releases = published(ps.PeGaSus(model=model, **options), rows, ps.SecureNoise())
    assert [release.charged.nano for release in releases] == [model.epsilon.nano // model.window] * 12
    assert all(np.isfinite(release.noise_sd).all() for release in releases)


@pytest.mark.parametrize("draw", [2**60, -(2**60)])
@pytest.mark.parametrize("way", WAYS)
def test_the_widest_noise_does_no_harm(draw: int, way: Any) -> None:
    """Draws of a size that exact noise can have under the smallest budgets."""
    releases = published(
        ps.PeGaSus(model=EVENT, smoother=way, threshold=1e50), [[2**53]] * 5, ps.ScriptedNoise(then=draw)
    )
    assert all(abs(int(release.values[0])) >= 2**59 for release in releases)
    assert {int(np.sign(release.values[0])) for release in releases} == {1 if draw > 0 else -1}


def test_noise_that_does_not_fit_is_refused_before_anything_is_spent() -> None:
    model = ps.EventLevel(epsilon="0.000001", per_unit=10**9)
    with pytest.raises(ps.BadInput, match="does not fit in 64 bits; use a larger epsilon"):
        published(ps.PeGaSus(model=model), [[5]], ps.SecureNoise())


# ---- restarts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_saved_and_loaded_anywhere_it_goes_on_as_it_was(way: Any) -> None:
    rows, key = restless(40), b"k" * 32
    whole = published(ps.PeGaSus(model=LAW, smoother=way), rows, ps.SimulationNoise(4))
    noise = ps.SimulationNoise(4)
    mechanism = ps.PeGaSus(model=LAW, smoother=way).start(ps.Curator(LAW, 2, noise=noise))
    for snapshot, expected in zip(ps.streams.Stream(rows), whole, strict=True):
        successor = ps.PeGaSus(model=LAW, smoother=way).start(ps.Curator(LAW, 2, noise=noise))
        successor.load(mechanism.save(key), key)
        mechanism = successor
        assert mechanism.step(snapshot).same_as(expected)
    assert any((release.kind == ESTIMATED).any() for release in whole)


def test_without_its_key_it_opens_new_groups() -> None:
    """And old looks are not smoothed into them."""
    mechanism = ps.PeGaSus(model=LAW, threshold=1e50, smoother="mean")
    mechanism.start(ps.Curator(LAW, 1, noise=ps.ScriptedNoise()))
    for t in range(1, 6):
        mechanism.step(ps.Snapshot(t, [100]))
    successor = ps.PeGaSus(model=LAW, threshold=1e50, smoother="mean").start(
        ps.Curator(LAW, 1, noise=ps.ScriptedNoise())
    )
    successor.load(mechanism.save())
    values = [successor.step(ps.Snapshot(t, [count])) for t, count in ((6, 10), (7, 20))]
    assert [(int(release.values[0]), int(release.kind[0])) for release in values] == [(10, FRESH), (15, ESTIMATED)]


@pytest.mark.parametrize(
    "options", [{"threshold": 6.0}, {"smoother": "mean"}, {"max_length": 63}, {"group_share": 0.3}]
)
def test_a_state_belongs_to_its_parameters(options: dict[str, Any]) -> None:
    saved = ps.PeGaSus(model=LAW).start(ps.Curator(LAW, 1)).save()
    with pytest.raises(BadState, match="the state belongs to PeGaSus"):
        ps.PeGaSus(model=LAW, **options).start(ps.Curator(LAW, 1)).load(saved)


def stored(path: Path, rows: Ints, until: int, at: Any = lambda point: None) -> Iterator[ps.Published]:
    """Publish up to a unit, in a store that is opened for it."""
    noise = Planned(0)
    with ps.Store(path, at=at) as store:
        mechanism = ps.PeGaSus(model=LAW)
        with ps.Publisher(mechanism, store, "s", bins=("a", "b"), noise=noise) as publisher:
            for t in range(publisher.t + 1, until + 1):
                noise.seed = t
                yield publisher.publish(ps.Snapshot(t, rows[t - 1]))


def test_without_its_key_a_stored_stream_goes_on_with_new_groups(tmp_path: Path) -> None:
    rows, path = np.full((12, 2), 50), tmp_path / "s.db"
    before = list(stored(path, rows, 6))
    with ps.Store(path) as store:
        store.replace_key()
    after = list(stored(path, rows, 12))
    assert [release.cause for release in (*before, *after)] == [Cause.DECIDED] * 12
    assert after[0].kind.tolist() == [FRESH] * 2
    assert any((release.kind == ESTIMATED).any() for release in after)


def test_through_a_store_in_pieces_it_publishes_what_it_would_have_in_one_go(tmp_path: Path) -> None:
    rows = restless(24)
    one = list(stored(tmp_path / "one.db", rows, 24))
    many = [release for until in (1, 2, 7, 8, 20, 24) for release in stored(tmp_path / "many.db", rows, until)]
    assert [release.cause for release in many] == [Cause.DECIDED] * 24
    assert all(a.same_as(b) for a, b in zip(one, many, strict=True))


def test_a_crash_in_mid_unit_costs_that_unit_and_the_groups(tmp_path: Path) -> None:
    rows, path = np.full((20, 2), 50), tmp_path / "s.db"
    assert len(list(stored(path, rows, 6))) == 6
    with pytest.raises(Crash):
        list(stored(path, rows, 7, crash_at("draw")))
    after = list(stored(path, rows, 20))
    assert [release.cause for release in after] == [Cause.DECIDED] * 13
    fresh = next(release for release in after if release.kind[0] != REPUBLISHED)
    assert fresh.kind.tolist() == [FRESH] * 2
    assert penstock("ledger", "verify", path)[0] == 0


# ---- command line ----------------------------------------------------------------------------------------------------


def command(folder: Path, *more: str) -> tuple[int, str]:
    (folder / "in.csv").write_text("t,a,b\n1,5,6\n2,7,8\n3,7,8\n")
    files = (f"--input={folder / 'in.csv'}", f"--store={folder / 's.db'}", f"--output={folder / 'out.csv'}")
    return penstock("run", *files, "--model", "event-level", "--epsilon", "1", *more)


@pytest.mark.parametrize("text", ["smoother=mode", "threshold=0", "max_length=0", "max_length=10001", "groupshare=0.2"])
def test_the_command_line_refuses_in_one_sentence(tmp_path: Path, text: str) -> None:
    code, err = command(tmp_path, "--mechanism", "pegasus", "--set", text)
    assert code == 2, err
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "s.db").exists()


@pytest.mark.parametrize("text", ["smoother=james-stein", "threshold=1e50", "max_length=1", "group_share=0.5"])
def test_the_command_line_takes_each_parameter(tmp_path: Path, text: str) -> None:
    code, err = command(tmp_path, "--mechanism", "pegasus", "--set", text)
    assert code == 0, err
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 4
