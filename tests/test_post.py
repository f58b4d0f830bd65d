"""What is done to releases: the promises that hold exactly, and that the result is the nearest that keeps them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.errors import BadInput
from penstock.post import Chain, Levels, NonNegative, Rounded, SlidingSum, Smoothed, Step, Total
from penstock.primitives.projection import fitted
from penstock.types import Cause, Floats, Ints, Kind, Published

thorough = settings(derandomize=True, deadline=None, max_examples=100)
quick = settings(thorough, max_examples=25)

SDS = [0.0, 0.3, 1.0, 7.0, 1e5]


def release_of(values: Any, sds: Any = 1.0, kinds: Any = 0, t: int = 1) -> Published:
    """One number stands for all bins."""
    n = len(values)
    return Published(
        t=t,
        values=np.array(values, np.int64),
        kind=np.full(n, kinds, np.int8),
        noise_sd=np.full(n, sds, np.float64),
        charged=ps.Epsilon("0.25"),
        stream="people",
        label=f"week {t}",
        cause=Cause.DECIDED,
        remaining=ps.Epsilon("0.75"),
        sequence=7 * t,
        mechanism="Uniform",
        version="1",
        link=f"{t:064x}",
    )


@st.composite
def releases(draw: st.DrawFn, least: int = 1, most: int = 12) -> Published:
    """Counts of any size, with noise of any size."""
    n, bits = draw(st.integers(least, most)), draw(st.sampled_from([3, 8, 30, 58]))
    values = draw(st.lists(st.integers(-(2**bits), 2**bits), min_size=n, max_size=n))
    sds = draw(st.lists(st.sampled_from(SDS), min_size=n, max_size=n) | st.just([1.0] * n))
    return release_of(values, sds, draw(st.lists(st.sampled_from([*Kind]), min_size=n, max_size=n)))


# ---- the nearest whole numbers that add up ---------------------------------------------------------------------------


@st.composite
def groups(draw: st.DrawFn) -> tuple[Ints, Ints, Ints, Floats]:
    """Values in groups, a total for each, and variances."""
    many = draw(st.integers(1, 4))
    labels = [*range(many), *draw(st.lists(st.integers(0, many - 1), max_size=12))]
    labels = draw(st.permutations(labels))
    size = 2 ** draw(st.sampled_from([3, 10, 40, 57]))
    values = draw(st.lists(st.integers(-size, size), min_size=len(labels), max_size=len(labels)))
    totals = draw(st.lists(st.integers(0, 2 * size) | st.just(0), min_size=many, max_size=many))
    variances = draw(st.lists(st.sampled_from([1.0, 2.5, 100.0, 1e-3]), min_size=len(labels), max_size=len(labels)))
    return np.array(values), np.array(labels), np.array(totals), np.array(variances)


def nearest_exactly(values: Ints, variances: Floats, total: int, non_negative: bool) -> list[Fraction]:
    """One group, in fractions: take away bins that would be below 0 until none is."""
    y, v = [Fraction(int(each)) for each in values], [Fraction(float(each)) for each in variances]
    active = set(range(len(y)))
    while active:
        step = sum((y[i] for i in active), Fraction(-total)) / sum((v[i] for i in active), Fraction(0))
        below = {i for i in active if y[i] - step * v[i] < 0} if non_negative else set[int]()
        if not below:
            return [y[i] - step * v[i] if i in active else Fraction(0) for i in range(len(y))]
        active -= below
    return [Fraction(0)] * len(y)


@pytest.mark.parametrize("non_negative", [True, False])
@settings(thorough, max_examples=200)
@given(groups())
def test_the_nearest_whole_numbers_that_add_up(non_negative: bool, drawn: tuple[Ints, Ints, Ints, Floats]) -> None:
    values, labels, totals, variances = drawn
    found = fitted(values, labels, totals, variances=variances, non_negative=non_negative)
    assert found.dtype == np.int64
    assert not non_negative or (found >= 0).all()
    slack = 1 + 2.0**-46 * float(np.abs(values).max() + totals.max())  # to whole numbers, and what floats lose
    for group, total in enumerate(totals.tolist()):
        inside = labels == group
        assert sum(found[inside].tolist()) == total
        exact = nearest_exactly(values[inside], variances[inside], total, non_negative)
        for one, other in zip(found[inside].tolist(), exact, strict=True):
            assert abs(one - other) < slack


@thorough
@given(st.lists(st.integers(-6, 12), min_size=1, max_size=4), st.integers(0, 9))
def test_no_other_whole_numbers_are_nearer(values: list[int], total: int) -> None:
    """By looking at all there are."""
    y = np.array(values)
    found = fitted(y, np.zeros_like(y), np.array([total]), variances=np.full(len(y), 3.0))
    others = np.array([each for each in product(range(total + 1), repeat=len(y)) if sum(each) == total])
    assert ((found - y) ** 2).sum() == ((others - y) ** 2).sum(axis=1).min()


def test_fractions_go_to_the_largest_remainders() -> None:
    parts = np.array([0.9, 0.2, 0.5, 0.4])
    found = fitted(np.zeros(4, np.int64), np.zeros(4, np.int64), np.array([2]), variances=np.ones(4), parts=parts)
    assert found.tolist() == [1, 0, 1, 0]


# ---- promises of every step ------------------------------------------------------------------------------------------

STEPS: Mapping[str, Callable[[int], Step]] = {
    "NonNegative": lambda bins: NonNegative(),
    "cut": lambda bins: NonNegative(keep_total=False),
    "Total": lambda bins: Total(1000),
    "Total, non-negative": lambda bins: Total(1000, non_negative=True),
    "Rounded": lambda bins: Rounded(10),
    "Levels": lambda bins: Levels(names(bins), chained(bins)),
    "Levels, non-negative": lambda bins: Levels(names(bins), chained(bins), non_negative=True),
    "Levels, total": lambda bins: Levels(names(bins), chained(bins), non_negative=True, total=99),
    "Smoothed": lambda bins: Smoothed(3),
    "medians": lambda bins: Smoothed(4, by="median"),
    "SlidingSum": lambda bins: SlidingSum(3),
    "Chain": lambda bins: Chain([Smoothed(2), SlidingSum(3), NonNegative(), Rounded(5)]),
}


def names(bins: int) -> list[str]:
    return [f"bin {i}" for i in range(bins)]


def chained(bins: int) -> dict[str, list[str]]:
    """Bin i has the parts 2i + 1 and 2i + 2, as far as there are such."""
    below = {i: [j for j in (2 * i + 1, 2 * i + 2) if j < bins] for i in range(bins)}
    return {f"bin {i}": [f"bin {j}" for j in parts] for i, parts in below.items() if parts}


@pytest.mark.parametrize("name", STEPS)
@quick
@given(release=releases())
def test_a_release_keeps_whatever_a_step_does_not_make(name: str, release: Published) -> None:
    before = release.values.tolist(), release.kind.tolist(), release.noise_sd.tolist()
    step = STEPS[name](len(release.values))
    made = step(release)
    assert (release.values.tolist(), release.kind.tolist(), release.noise_sd.tolist()) == before
    for each in fields(Published):
        if each.name not in ("values", "kind", "noise_sd", "mechanism"):
            assert getattr(made, each.name) == getattr(release, each.name)
    assert made.mechanism == step.named("Uniform") == f"Uniform, {step.says}"
    assert [each.dtype.str for each in (made.values, made.kind, made.noise_sd)] == ["<i8", "|i1", "<f8"]
    assert made.values.shape == made.kind.shape == made.noise_sd.shape == release.values.shape
    plain = ps.Release(release.t, release.values, release.kind, release.noise_sd, release.charged)
    assert STEPS[name](len(release.values))(plain).values.tolist() == made.values.tolist()


@pytest.mark.parametrize("name", ["NonNegative", "cut", "Total", "Total, non-negative", "Rounded", *list(STEPS)[5:8]])
@thorough
@given(release=releases())
def test_what_holds_already_stays_as_it_is(name: str, release: Published) -> None:
    step = STEPS[name](len(release.values))
    once = step(release)
    assert step(once).values.tolist() == once.values.tolist()


@pytest.mark.parametrize("name", STEPS)
@quick
@given(data=st.data())
def test_a_stream_that_is_told_again_becomes_the_same(name: str, data: st.DataObject) -> None:
    """From its beginning, or from any unit if those before it that a step reaches back to come first."""
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    told = [release_of(rng.integers(-9, 99, 3), rng.choice(SDS, 3), rng.integers(0, 4, 3), t) for t in range(1, 15)]
    step = STEPS[name](3)
    first = [step(release) for release in told]
    begin = data.draw(st.integers(0, 13))
    for earlier in told[max(begin - step.reach, 0) : begin]:
        step(earlier)
    assert all(step(one).same_as(other) for one, other in zip(told[begin:], first[begin:], strict=True))
    another = STEPS[name](3)
    assert all(another(one).same_as(other) for one, other in zip(told, first, strict=True))


def test_a_publisher_takes_them_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    rows, ways = np.random.default_rng(1).integers(0, 9, (12, 3)), ["at once", "twice"]
    for way in ways:
        for until in (5, 12) if way == "twice" else (12,):
            post = [Smoothed(3), Levels(names(3), chained(3)), NonNegative()]
            with (
                ps.Store(tmp_path / "s.db") as store,
                ps.Publisher(ps.Uniform(model=ps.WEvent(epsilon=1, w=3)), store, "people", bins=names(3)) as publisher,
                ps.streams.write(tmp_path / f"{way}.csv", names(3)) as sink,
            ):
                list(publisher.run(ps.streams.Stream(rows[:until]), sink, post=post))
    made = [list(ps.streams.read_releases(tmp_path / f"{way}.csv")) for way in ways]
    assert len(made[0]) == 12
    assert all(one.same_as(other) for one, other in zip(*made, strict=True))


# ---- without negative values -----------------------------------------------------------------------------------------


@thorough
@given(releases())
def test_nothing_is_negative_and_the_total_stays(release: Published) -> None:
    made = NonNegative()(release)
    assert (made.values >= 0).all()
    assert sum(made.values.tolist()) == max(sum(release.values.tolist()), 0)
    assert made.noise_sd.tolist() == release.noise_sd.tolist()
    assert NonNegative(keep_total=False)(release).values.tolist() == [max(each, 0) for each in release.values.tolist()]


def test_bins_without_noise_give_way_last() -> None:
    """What is known exactly stays, for as long as the others can make up for what is missing."""
    made = Total(100)(release_of([10, 20, 30], [0.0, 1.0, 2.0]))
    assert made.values.tolist() == [10, 28, 62]
    assert Total(12, non_negative=True)(release_of([10, 20, 30], [0.0, 1.0, 1.0])).values.tolist() == [10, 0, 2]
    assert Total(4, non_negative=True)(release_of([10, 20, 30], [0.0, 1.0, 1.0])).values.tolist() == [4, 0, 0]
    assert Total(90)(release_of([0, 0, 0], [0.0, 0.0, 0.0])).values.tolist() == [30, 30, 30]
    assert Total(90)(release_of([0, 0, 9], [1.0, 1.0, math.inf])).values.tolist() == [0, 0, 90]


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("sign", [1, -1])
def test_values_beyond_all_bounds_do_not_wrap_around(name: str, sign: int) -> None:
    largest = 2**63 - 1
    step = STEPS[name](5)
    for t in range(1, 6):
        made = step(release_of([sign * largest, 5, sign * largest, -7, 0], t=t))
        if "Total" not in name and "total" not in name:
            assert sign * int(made.values[0]) >= 0
    if "negative" in name.lower():
        assert (made.values >= 0).all()


# ---- totals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("non_negative", [True, False])
@thorough
@given(releases(), st.integers(0, 2**60))
@example(release_of([2**60, 2**60 - 1, 3]), 2**60)
def test_a_total_is_kept_exactly(non_negative: bool, release: Published, total: int) -> None:
    made = Total(total, non_negative=non_negative)(release)
    assert sum(made.values.tolist()) == total
    assert not non_negative or (made.values >= 0).all()


def test_a_total_for_every_unit() -> None:
    known = Total({"week 1": 30, "week 2": -3})
    assert known(release_of([1, 2, 3])).values.tolist() == [9, 10, 11]
    assert known(release_of([1, 2, 3], t=2)).values.sum() == -3
    assert known.named("Uniform") == "Uniform, known totals"
    with pytest.raises(BadInput, match=r'^the total of "week 3" is not known; give one for every time unit\.$'):
        known(release_of([1, 2, 3], t=3))
    plain = ps.Release(4, np.array([5]), np.zeros(1, np.int8), np.ones(1), ps.Epsilon(1))
    assert Total({"4": 8})(plain).values.tolist() == [8]


@pytest.mark.parametrize("total", [True, 1.5, "7", None, 2**60 + 1, -(2**60) - 1, {"a": 0.5}], ids=repr)
def test_a_total_is_a_whole_number(total: Any) -> None:
    with pytest.raises(BadInput, match="a total must be a whole number"):
        Total(total)


def test_a_negative_total_of_counts_is_refused() -> None:
    with pytest.raises(BadInput, match=r"from 0 to 2\*\*60; got -1"):
        Total(-1, non_negative=True)


# ---- rounding --------------------------------------------------------------------------------------------------------


@thorough
@given(releases(), st.integers(1, 1000) | st.just(2**53))
def test_values_are_rounded_to_the_nearest_multiple_and_halves_to_even(release: Published, to: int) -> None:
    for made, value in zip(Rounded(to)(release).values.tolist(), release.values.tolist(), strict=True):
        assert made == round(Fraction(value, to)) * to


@pytest.mark.parametrize("to", [0, -5, 2.5, "10", True, None], ids=repr)
def test_multiples_of_what_is_no_number_are_refused(to: Any) -> None:
    with pytest.raises(BadInput, match="the number to round to must be a whole number from 1"):
        Rounded(to)


# ---- levels ----------------------------------------------------------------------------------------------------------


@st.composite
def forests(draw: st.DrawFn, most: int = 12) -> tuple[Published, dict[str, list[str]]]:
    """Bins in any order, each below another one or below none."""
    release = draw(releases(most=most))
    n = len(release.values)
    order = draw(st.permutations(range(n)))
    parts: dict[str, list[str]] = {}
    for place in range(1, n):
        above = draw(st.integers(-1, place - 1))
        if above >= 0:
            parts.setdefault(f"bin {order[above]}", []).append(f"bin {order[place]}")
    return release, parts


def leaves_of(bins: int, parts: Mapping[str, Sequence[str]]) -> Floats:
    """Which leaves add up to each bin: a row a bin."""
    leaves = [i for i in range(bins) if f"bin {i}" not in parts]
    rows = np.zeros((bins, len(leaves)))

    def row(i: int) -> Floats:
        if i in leaves:
            rows[i, leaves.index(i)] = 1
        else:
            rows[i] = np.sum([row(int(part.split()[1])) for part in parts[f"bin {i}"]], axis=0)
        of_bin: Floats = rows[i]
        return of_bin

    for i in range(bins):
        row(i)
    return rows


def require_adding_up(values: Ints, parts: Mapping[str, Sequence[str]]) -> None:
    for name, below in parts.items():
        assert int(values[int(name.split()[1])]) == sum(int(values[int(part.split()[1])]) for part in below)


@pytest.mark.parametrize("non_negative", [True, False])
@thorough
@given(forests())
def test_every_bin_is_the_sum_of_its_parts(non_negative: bool, drawn: tuple[Published, dict[str, list[str]]]) -> None:
    release, parts = drawn
    made = Levels(names(len(release.values)), parts, non_negative=non_negative)(release)
    require_adding_up(made.values, parts)
    assert not non_negative or (made.values >= 0).all()


@pytest.mark.parametrize("non_negative", [True, False])
@thorough
@given(forests(), st.integers(0, 2**58))
def test_levels_and_a_total(non_negative: bool, drawn: tuple[Published, dict[str, list[str]]], total: int) -> None:
    release, parts = drawn
    made = Levels(names(len(release.values)), parts, non_negative=non_negative, total=total)(release)
    require_adding_up(made.values, parts)
    lower = {part for below in parts.values() for part in below}
    assert sum(int(value) for i, value in enumerate(made.values) if f"bin {i}" not in lower) == total
    assert not non_negative or (made.values >= 0).all()


def by_dense_algebra(
    release: Published, parts: Mapping[str, Sequence[str]], total: int | None
) -> tuple[Floats, Floats]:
    """The estimates of generalised least squares, and their standard deviations."""
    design = leaves_of(len(release.values), parts)
    weight = np.diag(1 / release.noise_sd**2)
    covariance = np.linalg.inv(design.T @ weight @ design)
    leaves = covariance @ design.T @ weight @ release.values
    if total is not None:
        ones = np.ones(len(leaves))
        gain = covariance @ ones / (ones @ covariance @ ones)
        leaves = leaves + gain * (total - leaves.sum())
        covariance = covariance - np.outer(gain, ones @ covariance)
    return design @ leaves, np.sqrt(np.maximum(np.diag(design @ covariance @ design.T), 0))


@pytest.mark.parametrize("total", [None, 250])
@thorough
@given(forests(), st.data())
def test_levels_are_generalised_least_squares(
    total: int | None, drawn: tuple[Published, dict[str, list[str]]], data: st.DataObject
) -> None:
    release, parts = drawn
    n = len(release.values)
    values = data.draw(st.lists(st.integers(-1000, 1000), min_size=n, max_size=n))
    sds = data.draw(st.lists(st.sampled_from([0.3, 1.0, 7.0]), min_size=n, max_size=n))
    plain = release_of(values, sds)
    made = Levels(names(n), parts, total=total)(plain)
    expected, noise_sd = by_dense_algebra(plain, parts, total)
    assert np.abs(made.values - expected).max() < 1.5 * n  # whole numbers: one off at every level, and in every sum
    assert made.noise_sd == pytest.approx(noise_sd, rel=1e-5, abs=1e-4)
    large = release_of([10**9 * value for value in values], sds)
    expected, _ = by_dense_algebra(large, parts, None if total is None else 10**9 * total)
    scaled = Levels(names(n), parts, total=None if total is None else 10**9 * total)(large)
    assert np.abs(scaled.values - expected).max() < 1e-8 * np.abs(large.values).max(initial=10**12)


def test_noise_sd_of_levels_is_the_deviation_of_what_comes_out() -> None:
    rng, sds = np.random.default_rng(5), [3.0, 20.0, 8.0, 5.0, 11.0]
    truth = np.array([900, 500, 400, 200, 300])
    step = Levels(names(5), {"bin 0": ["bin 1", "bin 2"], "bin 1": ["bin 3", "bin 4"]})
    made = [step(release_of(truth + rng.normal(0, sds).round(), sds)) for _ in range(1000)]
    errors = np.array([each.values for each in made]) - truth
    assert errors.std(axis=0) == pytest.approx(made[0].noise_sd, rel=0.1)
    assert (made[0].noise_sd < sds).all()


def test_kinds_of_levels() -> None:
    step = Levels(names(5), {"bin 0": ["bin 1", "bin 2"]})
    estimated = int(Kind.ESTIMATED)
    assert step(release_of([1] * 5, kinds=[0, 0, 0, 1, 2])).kind.tolist() == [0, 0, 0, 1, 2]
    assert step(release_of([1] * 5, kinds=[0, 1, 0, 1, 2])).kind.tolist() == [*[estimated] * 3, 1, 2]


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"a": ["b"], "b": ["a"]}, "parts of themselves"),
        ({"a": ["a"]}, "parts of themselves"),
        ({"a": ["b"], "c": ["b"]}, '"b" is listed twice; every bin is part of one other at most'),
        ({"a": ["b", "b"]}, '"b" is listed twice'),
        ({"a": ["x"]}, "there is no bin 'x'"),
        ({"north": ["a"]}, "there is no bin 'north'"),
        ({"a": []}, 'the parts of "a" must be a list of at least one bin'),
        ({"a": "bc"}, 'the parts of "a" must be a list'),
        ({"a": [7]}, "there is no bin 7"),
    ],
)
def test_levels_that_cannot_be_are_refused(parts: Any, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        Levels(["a", "b", "c"], parts)


def test_a_release_of_other_bins_is_refused() -> None:
    with pytest.raises(BadInput, match="this release has 2 bins, not 3"):
        Levels(names(3), chained(3))(release_of([1, 2]))


def test_a_large_tree_takes_little_time() -> None:
    n = 50_000
    step = Levels(names(n), chained(n), non_negative=True)
    values = np.random.default_rng(1).integers(-50, 500, n)
    made = step(release_of(values.tolist()))
    assert made.values[0] == made.values[n // 2 :].sum()  # those in the second half have no parts
    assert (made.values >= 0).all()


# ---- smoothing -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["mean", "median"])
@thorough
@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=20), st.integers(1, 8))
def test_means_and_medians_of_the_last_releases(by: str, values: list[int], width: int) -> None:
    step = Smoothed(width, by=by)
    for t, value in enumerate(values, start=1):
        made = step(release_of([value, -value], t=t))
        window = sorted(values[max(t - width, 0) : t])
        middle = Fraction(window[(len(window) - 1) // 2] + window[len(window) // 2], 2)
        mean = Fraction(sum(window), len(window))
        assert made.values.tolist() == [round(sign * (mean if by == "mean" else middle)) for sign in (1, -1)]
        estimated = width > 1 and t > 1
        assert made.kind.tolist() == [Kind.ESTIMATED if estimated else Kind.FRESH] * 2
        assert made.noise_sd == pytest.approx([1 / math.sqrt(len(window))] * 2)


def test_a_unit_without_a_measurement_is_said_to_be_republished() -> None:
    step = Smoothed(3)
    step(release_of([6, 6]))
    assert step(release_of([3, 6], kinds=[0, 1], t=2)).kind.tolist() == [Kind.ESTIMATED, Kind.REPUBLISHED]


@pytest.mark.parametrize("by", ["mean", "median"])
@pytest.mark.parametrize("every", [1, 2, 3, 7])
@pytest.mark.parametrize("width", [2, 3, 4, 5])
def test_noise_sd_covers_what_comes_out(by: str, every: int, width: int) -> None:
    """Repeated releases share their noise; for means it is known exactly, for medians it is bounded."""
    rng, step, bins, measured = np.random.default_rng(every), Smoothed(width, by=by), 20_000, np.zeros(0)
    for t in range(1, 10):
        fresh = t % every == 1 or every == 1
        measured = np.round(rng.laplace(0, 20, bins)) if fresh else measured
        made = step(release_of(measured, 20 * math.sqrt(2), Kind.FRESH if fresh else Kind.REPUBLISHED, t))
        found, said = made.values.std(), made.noise_sd[0]
        assert found < 1.03 * said
        assert found > (0.96 if by == "mean" else 0.4) * said


@pytest.mark.parametrize("width", [0, 10_001, 1.5, True, None], ids=repr)
def test_a_width_that_cannot_be_is_refused(width: Any) -> None:
    with pytest.raises(BadInput, match="width must be a whole number from 1 to 10000"):
        Smoothed(width)


def test_another_way_to_smooth_is_refused() -> None:
    with pytest.raises(BadInput, match="one of mean, median; got 'mode'"):
        Smoothed(3, by="mode")


def test_sums_over_ten_thousand_units() -> None:
    """Of which every fiftieth is known, and counts for those after it."""
    step, values = SlidingSum(10_000), np.random.default_rng(2).integers(-100, 1000, 300).tolist()
    for number, value in enumerate(values, start=1):
        made = step(release_of([value], t=50 * number))
        window = values[max(number - 200, 0) : number]
        assert made.values.tolist() == [50 * sum(window[:-1]) + value]
        assert made.noise_sd == pytest.approx([math.sqrt(50**2 * (len(window) - 1) + 1)])
