"""Fixed and Baseline: equal parts that never add up to more than epsilon, at the units they are promised for."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import penstock as ps
from in_process import penstock, published
from penstock.charges import Fact, recount
from penstock.types import Ints

thorough = settings(derandomize=True, deadline=None, max_examples=200)

LAW: ps.PrivacyModel = ps.WEvent(epsilon=1, w=4)
EPSILONS = st.sampled_from(["0.000000040", "0.1", "0.333333333", "1", "7", "1000000"])


def restless(steps: int, bins: int = 2) -> Ints:
    return np.random.default_rng(steps).integers(0, 1000, (steps, bins))


def fresh_units(releases: list[ps.Release]) -> list[int]:
    return [release.t for release in releases if (release.kind == ps.Kind.FRESH).all()]


# ---- Fixed -----------------------------------------------------------------------------------------------------------


@thorough
@given(EPSILONS, st.integers(1, 40), st.integers(1, 60), st.sampled_from(["window", "user", "delta"]))
@example("1", 10, 4, "user")  # 10 / 4 parts would be 2.5, and three of them 1.2
@example("1", 10, 4, "window")
@example("1", 4, 10, "window")
def test_parts_are_rounded_up_and_so_they_fit(epsilon: str, window: int, every: int, law: str) -> None:
    """epsilon / ceil(N / I) at 1, 1 + I, 1 + 2 I, ..., always affordable, never above epsilon in any window."""
    laws: dict[str, ps.PrivacyModel] = {
        "window": ps.WEvent(epsilon=epsilon, w=window, per_unit=3),
        "user": ps.UserLevel(epsilon=epsilon, horizon=window, neighbours="replace"),
        "delta": ps.DeltaNeighbourhood(epsilon=epsilon, steps=window),
    }
    model = laws[law]
    steps = window if law == "user" else 3 * window + 2 * every
    journal = list[Fact]()
    releases = published(
        ps.Fixed(model=model, every=every), restless(steps), ps.SimulationNoise(1), journal=journal.append
    )
    assert fresh_units(releases) == list(range(1, steps + 1, every))
    most = math.ceil(Fraction(window, every))
    assert {release.charged.nano for release in releases if release.charged} == {model.epsilon.nano // most}
    spent = recount(journal, model)
    assert spent <= model.epsilon
    assert spent.nano == most * (model.epsilon.nano // most)  # and some window uses all of it


@thorough
@given(st.integers(1, 12), st.integers(1, 30), st.lists(st.integers(-50, 50), max_size=40))
def test_in_between_the_last_release_is_repeated(every: int, steps: int, draws: list[int]) -> None:
    rows = restless(steps)
    releases = published(ps.Fixed(model=LAW, every=every), rows, ps.ScriptedNoise(draws))
    left = [*draws, *[0] * (2 * steps)]
    for release in releases:
        if (release.t - 1) % every == 0:
            noise, left = left[:2], left[2:]
            value, source = (rows[release.t - 1] + noise).tolist(), release
        assert release.values.tolist() == value
        assert np.array_equal(release.noise_sd, source.noise_sd)


@pytest.mark.parametrize("model", [LAW, ps.EventLevel(epsilon=2), ps.UserLevel(epsilon=1, horizon=30)])
def test_every_unit_is_uniform_and_once_a_window_is_sample(model: ps.PrivacyModel) -> None:
    for other, every in ((ps.Uniform, 1), (ps.Sample, model.window)):
        fixed = published(ps.Fixed(model=model, every=every), restless(30), ps.SimulationNoise(5))
        same = published(other(model=model), restless(30), ps.SimulationNoise(5))
        assert all(one.same_as(two) for one, two in zip(fixed, same, strict=True))


def test_an_interval_longer_than_a_window_has_all_of_epsilon_each_time() -> None:
    releases = published(ps.Fixed(model=LAW, every=7), restless(30), ps.SimulationNoise(1))
    assert [release.charged for release in releases if release.charged] == [ps.Epsilon(1)] * 5


@pytest.mark.parametrize("every", [10**9, 2**53])
def test_an_interval_longer_than_anything_publishes_once(every: int) -> None:
    releases = published(ps.Fixed(model=LAW, every=every), restless(30), ps.SimulationNoise(1))
    assert fresh_units(releases) == [1]
    assert releases[0].charged == LAW.epsilon


@pytest.mark.parametrize("every", [2**53 + 1, 2**64, 10**308, 10**400], ids=lambda every: f"{len(str(every))} digits")
def test_an_absurd_interval_is_refused_for_its_size(every: int) -> None:
    """It is a whole number, so a sentence that asks for one is no help."""
    with pytest.raises(ps.BadInput, match=rf"every .*(large|at most|up to|between|2\*\*53|{2**53})"):
        ps.Fixed(model=LAW, every=every)


@pytest.mark.parametrize("every", [1, 10**9])
def test_a_window_longer_than_anything_is_refused(every: int) -> None:
    with pytest.raises(ps.BadInput):
        ps.Fixed(model=ps.WEvent(epsilon=1, w=10**400), every=every)


@pytest.mark.parametrize("lost", ["0.05", "0.5", "1"])
@pytest.mark.parametrize("every", [1, 2, 3, 9])
def test_after_a_loss_it_waits_and_publishes_again(every: int, lost: str) -> None:
    """A release that cannot be paid is left out, and its turn comes again."""
    model: ps.PrivacyModel = ps.WEvent(epsilon=1, w=5)
    journal = list[Fact]()
    curator = ps.Curator(model, 2, noise=ps.SimulationNoise(2), journal=journal.append)
    mechanism = ps.Fixed(model=model, every=every).start(curator)
    fresh = []
    for t in range(1, 61):
        snapshot = ps.Snapshot(t, [t, 7])
        release = mechanism.pass_over(snapshot, ps.Epsilon(lost)) if t in (2, 17, 18) else mechanism.step(snapshot)
        fresh += fresh_units([release])
    assert recount(journal, model) <= model.epsilon
    assert {t for t in range(1, 61, every) if t == 1 or t > 22} <= set(fresh)


@pytest.mark.parametrize("key", [b"", b"k" * 32])
@pytest.mark.parametrize("every", [1, 3, 9])
def test_saved_and_loaded_anywhere_it_goes_on_as_it_was(every: int, key: bytes) -> None:
    rows, noise = restless(40), ps.SimulationNoise(4)
    whole = published(ps.Fixed(model=LAW, every=every), rows, ps.SimulationNoise(4))
    mechanism = ps.Fixed(model=LAW, every=every).start(ps.Curator(LAW, 2, noise=noise))
    for snapshot, expected in zip(ps.streams.Stream(rows), whole, strict=True):
        successor = ps.Fixed(model=LAW, every=every).start(ps.Curator(LAW, 2, noise=noise))
        successor.load(mechanism.save(key or None), key or None)
        mechanism = successor
        assert mechanism.step(snapshot).same_as(expected)


def test_past_the_horizon_nothing_is_read() -> None:
    model = ps.UserLevel(epsilon=1, horizon=5, on_horizon="republish")
    releases = published(ps.Fixed(model=model, every=2), restless(20), ps.SimulationNoise(1))
    assert fresh_units(releases) == [1, 3, 5]
    assert all(release.values.tolist() == releases[4].values.tolist() for release in releases[5:])
    assert not any(release.charged for release in releases[5:])


# ---- Baseline --------------------------------------------------------------------------------------------------------


@thorough
@given(EPSILONS, st.integers(1, 30), st.integers(1, 4), st.sampled_from(["add-remove", "replace"]), st.integers(0, 9))
def test_baseline_is_uniform_at_user_level(
    epsilon: str, horizon: int, per_unit: int, neighbours: str, seed: int
) -> None:
    options: dict[str, Any] = {"epsilon": epsilon, "neighbours": neighbours, "per_unit": per_unit}
    model: ps.PrivacyModel = ps.UserLevel(horizon=horizon, **options)
    journal = list[Fact]()
    base = published(ps.Baseline(model=model), restless(horizon), ps.SimulationNoise(seed), journal=journal.append)
    uniform = published(ps.Uniform(model=model), restless(horizon), ps.SimulationNoise(seed))
    assert all(one.same_as(other) for one, other in zip(base, uniform, strict=True))
    assert fresh_units(base) == list(range(1, horizon + 1))
    assert {release.charged.nano for release in base} == {model.epsilon.nano // horizon}
    assert recount(journal, model) <= ps.Epsilon(epsilon)


@pytest.mark.parametrize("model", [LAW, ps.DeltaNeighbourhood(epsilon=1, steps=3), ps.MContext(epsilon=1, m=3)])
def test_baseline_is_for_users_and_for_events(model: ps.PrivacyModel) -> None:
    with pytest.raises(ps.NotProven, match="Baseline is not proven"):
        ps.Baseline(model=model)


def test_baseline_stops_at_the_horizon() -> None:
    mechanism = ps.Baseline(model=ps.UserLevel(epsilon=1, horizon=3))
    stream = published(mechanism, restless(3), ps.SimulationNoise(1))
    with pytest.raises(ps.BudgetExceeded, match="declared for a horizon of 3"):
        mechanism.step(ps.Snapshot(4, [1, 1]))
    assert sum(release.charged.nano for release in stream) == 3 * (10**9 // 3)


def test_baseline_after_a_loss_goes_without() -> None:
    model: ps.PrivacyModel = ps.UserLevel(epsilon=1, horizon=8)
    journal = list[Fact]()
    mechanism = ps.Baseline(model=model).start(
        ps.Curator(model, 1, noise=ps.SimulationNoise(1), journal=journal.append)
    )
    releases = [
        mechanism.pass_over(ps.Snapshot(t, [9]), ps.Epsilon("0.5")) if t == 3 else mechanism.step(ps.Snapshot(t, [9]))
        for t in range(1, 9)
    ]
    assert fresh_units(releases) == [1, 2, 4, 5]
    assert recount(journal, model) == model.epsilon


# ---- parameters ------------------------------------------------------------------------------------------------------

NOT_WHOLE: list[Any] = [0, -1, -(10**30), 1.0, 2.5, float("nan"), float("inf"), "2", "", True, None, [2], Fraction(2)]


@pytest.mark.parametrize("value", NOT_WHOLE, ids=repr)
def test_every_is_a_whole_number_of_one_or_more(value: Any) -> None:
    with pytest.raises(ps.BadInput, match=r"^every must be a whole number.*\.$"):
        ps.Fixed(model=LAW, every=value)


def test_an_epsilon_that_is_gone_when_it_is_divided_is_refused() -> None:
    tiny = ps.UserLevel(epsilon="0.000000003", horizon=10)
    with pytest.raises(ps.BadInput, match="too little for 10 time units"):
        ps.Fixed(model=tiny, every=3)
    with pytest.raises(ps.BadInput, match="too little for 10 time units"):
        ps.Baseline(model=tiny)
    assert len(fresh_units(published(ps.Fixed(model=tiny, every=4), restless(10), ps.SimulationNoise(1)))) == 3


def command(folder: Path, *more: str) -> tuple[int, str]:
    (folder / "in.csv").write_text("t,a,b\n1,5,6\n2,7,8\n3,7,8\n")
    files = (f"--input={folder / 'in.csv'}", f"--store={folder / 's.db'}", f"--output={folder / 'out.csv'}")
    return penstock("run", *files, "--model", "user-level", "--epsilon", "1", "--horizon", "3", *more)


@pytest.mark.parametrize(
    "arguments",
    [
        *(
            ("fixed", "--set", f"every={text}")
            for text in ("0", "-3", "1.5", "nan", "inf", "true", "x", '"3"', "[3]", "")
        ),
        *(("fixed", "--set", text) for text in ("evry=3", "every", "=3", "interval=3")),
        ("baseline", "--set", "every=3"),
        ("baseline", "--set", "per_unit=0.1"),
    ],
    ids=" ".join,
)
def test_the_command_line_refuses_in_one_sentence(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    code, err = command(tmp_path, "--mechanism", *arguments)
    assert code == 2, err
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "s.db").exists()


@pytest.mark.parametrize("every", ["1", "2", "3", str(10**15)])
def test_the_command_line_takes_any_interval(tmp_path: Path, every: str) -> None:
    code, err = command(tmp_path, "--mechanism", "fixed", "--set", f"every={every}")
    assert code == 0, err
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 4


@pytest.mark.parametrize("digits", [20, 400, 5000])
def test_the_command_line_survives_a_long_number(tmp_path: Path, digits: int) -> None:
    """Refused in one sentence, or taken; nothing is cut off in the middle."""
    code, err = command(tmp_path, "--mechanism", "fixed", "--set", "every=1" + "0" * digits)
    assert code in (0, 2)
    assert len(err.splitlines()) == 1


def test_the_command_line_runs_the_baseline(tmp_path: Path) -> None:
    assert command(tmp_path, "--mechanism", "baseline")[0] == 0
    (tmp_path / "s.db").unlink()
    assert penstock("simulate", "--model", "w-event", "--epsilon", "1", "--w", "3", "--mechanism", "baseline")[0] == 2
