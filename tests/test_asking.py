"""What can be asked of releases: counts that are exact, noise intervals that hold, tables that agree with releases."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

import penstock as ps
from in_process import made, published
from penstock.asking import Answer, count, table
from penstock.histograms import Adaptive, Histogram, Laplace, Quadtree
from penstock.histograms.catalogue import measured_by, titled
from penstock.types import Ints, Mask

NOMINAL = 0.95
COLOURS = ps.Domain({"colour": ["red", "green", "blue"]})
STEPS: list[ps.post.Step] = [
    ps.post.NonNegative(),
    ps.post.NonNegative(keep_total=False),
    ps.post.Total(7),
    ps.post.Total({"1": 7, "2": 8, "3": 9}),
    ps.post.Rounded(5),
    ps.post.Rounded(1),
    ps.post.SlidingSum(2),
    ps.post.Smoothed(2),
    ps.post.Smoothed(3, by="median"),
    ps.post.Levels(["0", "1", "2", "3"], {"0": ["1", "2", "3"]}),
    ps.post.Chain([ps.post.NonNegative(), ps.post.Rounded(5)]),
]


def release(values: Sequence[int], kind: Any = ps.Kind.FRESH, noise_sd: Any = 14.1, t: int = 1) -> ps.Release:
    n = len(values)
    return ps.Release(
        t, np.array(values, np.int64), np.full(n, kind, np.int8), np.full(n, noise_sd, np.float64), ps.Epsilon(1)
    )


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(ps.BadInput) as refused:
        call()
    assert str(refused.value).endswith((".", "?"))
    return str(refused.value)


def reach(answer: Answer) -> int:
    """How far the noise interval reaches, to either side."""
    assert answer.low is not None
    assert answer.high is not None
    assert answer.high - answer.value == answer.value - answer.low
    return answer.high - answer.value


def holds(answer: Answer, truth: int) -> bool:
    assert answer.low is not None
    assert answer.high is not None
    return answer.low <= truth <= answer.high


def uniform(epsilon: str, bins: int, units: int = 1, noise: Any = None, **options: Any) -> list[ps.Release]:
    """Releases of counts that are all 1000."""
    mechanism = ps.Uniform(model=ps.EventLevel(epsilon=epsilon), **options)
    return published(mechanism, np.full((units, bins), 1000), noise or ps.SimulationNoise(units))


def stored(
    mechanism: ps.Mechanism, rows: Any, path: Path | str = ":memory:", post: Sequence[ps.post.Step] = ()
) -> list[ps.Published]:
    """Releases as they leave a store."""
    stream = ps.streams.Stream(rows)
    with (
        ps.Store(path) as store,
        ps.Publisher(mechanism, store, "s", bins=[*map(str, range(stream.bins))]) as publisher,
    ):
        return list(publisher.run(stream, post=post))


# ---- counts ----------------------------------------------------------------------------------------------------------


@given(st.data(), st.integers(1, 6), st.integers(1, 4))
def test_counts_are_exact_however_large_values_are(data: st.DataObject, bins: int, units: int) -> None:
    numbers = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=bins, max_size=bins)
    rows = [data.draw(numbers) for _ in range(units)]
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=bins, max_size=bins)))
    answer = count([release(row, t=t) for t, row in enumerate(rows, 1)], mask, histogram=Laplace())
    assert answer.value == sum(value for row in rows for value, chosen in zip(row, mask, strict=True) if chosen)
    assert type(answer.value) is type(answer.low) is type(answer.high) is int
    assert answer.values == answer.fresh == units * mask.sum()


def test_all_bins_are_meant_unless_some_are_named() -> None:
    assert count(release([1, 2, 4])).value == 7
    assert count(iter([release([1, 2, 4]), release([8, 16, 32], t=2)])).value == 63


@pytest.mark.parametrize(
    "call",
    [
        lambda: count([]),
        lambda: count(release([1, 2]), np.ones(3, np.bool_)),
        lambda: count([release([1, 2]), release([1, 2, 3], t=2)]),
        lambda: count(release([1, 2]), np.ones((2, 2), np.bool_)),
        lambda: count(release([1, 2, 4]), np.array([2, 0, 1])),
        lambda: count(release([1, 2, 3, 4]), histogram=Quadtree(), shape=(3, 3)),
        lambda: count(release([1, 2]), histogram=Laplace(), confidence=0),
        lambda: count(release([1, 2]), histogram=Laplace(), confidence=1),
        lambda: count(release([1, 2]), histogram=Laplace(), confidence=float("nan")),
        lambda: count(release([1, 2]), histogram=Quadtree(), confidence=0.99999999),
        lambda: count(release([1, 2]), histogram=Laplace(), confidence=0.99999999),
    ],
    ids=range(11),
)
def test_what_cannot_be_counted_is_refused_in_a_sentence(call: Callable[[], object]) -> None:
    refusal(call)


@pytest.mark.parametrize("kind", list(ps.Kind))
@pytest.mark.parametrize("histogram", [Laplace(), Quadtree(), Adaptive()], ids=str)
def test_no_bins_hold_nothing(kind: ps.Kind, histogram: Histogram) -> None:
    answer = count(release([5, 6, 7, 8], kind), np.zeros(4, np.bool_), histogram=histogram)
    assert (answer.value, answer.values, answer.fresh) == (0, 0, 0)
    assert answer.noise_sd in (None, 0)


# ---- intervals are given for fresh values alone ----------------------------------------------------------------------


@given(st.lists(st.sampled_from(list(ps.Kind)), min_size=2, max_size=8), st.data())
def test_an_interval_needs_every_value_to_be_fresh(kinds: list[ps.Kind], data: st.DataObject) -> None:
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(kinds), max_size=len(kinds))))
    assume(mask.any())
    for histogram in (Laplace(), Quadtree()):
        answer = count(release([5] * len(kinds), kinds), mask, histogram=histogram)
        meant = [kind for kind, chosen in zip(kinds, mask, strict=True) if chosen]
        assert answer.fresh == meant.count(ps.Kind.FRESH)
        told = answer.noise_sd is not None, answer.low is not None, answer.high is not None, not answer.warning
        assert set(told) == {answer.fresh == answer.values}


def test_a_warning_tells_how_many_values_are_what() -> None:
    kinds = [ps.Kind.FRESH, ps.Kind.REPUBLISHED, ps.Kind.REPUBLISHED, ps.Kind.GROUPED, ps.Kind.ESTIMATED]
    warning = count(release([1] * 5, kinds), histogram=Laplace()).warning
    for part in ("of 5 values 2 are republished", "1 is measured together", "1 is estimated from several"):
        assert part in warning
    assert warning.endswith(".")


def test_who_measured_has_to_be_known() -> None:
    assert count(release([1, 2])).low is None
    assert "pass histogram=" in count(release([1, 2])).warning
    assert count(release([1, 2]), histogram=Adaptive()).low is None
    assert "adaptive does not tell" in count(release([1, 2]), histogram=Adaptive()).warning


def test_releases_of_other_methods_have_no_interval_together(tmp_path: Path) -> None:
    model, rows = ps.EventLevel(epsilon=1), [[5, 6, 7, 8]] * 2
    plain = stored(ps.Uniform(model=model), rows, tmp_path / "a.db")
    tree = stored(ps.Uniform(model=model, histogram=Quadtree()), rows, tmp_path / "b.db")
    other = stored(ps.Uniform(model=model, histogram=Quadtree(), shape=(2, 2)), rows, tmp_path / "c.db")
    finer = stored(ps.Uniform(model=model, histogram=Quadtree(split=4)), rows, tmp_path / "d.db")
    memory = [release([5, 6, 7, 8], t=t) for t in (1, 2)]
    for first, second in ((plain, tree), (tree, other), (tree, finer), (plain, memory), (memory, tree)):
        answer = count([first[0], second[1]])
        assert (answer.low, answer.high, answer.noise_sd) == (None, None, None)
        assert answer.warning
    assert count(plain).low is not None
    assert count([tree[0], memory[1]], histogram=Quadtree()).low is not None


def test_a_release_counts_once() -> None:
    """Its noise is not independent of itself."""
    refusal(lambda: count([release([1, 2])] * 2, histogram=Laplace()))


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.says)
@pytest.mark.parametrize("histogram", [Laplace(), Quadtree()], ids=str)
def test_processed_releases_have_no_interval(step: ps.post.Step, histogram: Histogram, tmp_path: Path) -> None:
    mechanism = ps.Uniform(model=ps.EventLevel(epsilon=1), histogram=histogram)
    processed = stored(mechanism, [[9, 2, 3, 4]] * 3, tmp_path / "s.db", [step])
    for asked in ([each] for each in processed):
        answer = count(asked, histogram=histogram)  # what they say of themselves goes before
        assert answer.low is None
        assert answer.warning
    assert count(processed, histogram=histogram).low is None


@pytest.mark.parametrize("title", ["Uniform by quadtree 3x3", "Uniform by quadtree 2", "Uniform by quadtree 5x1"])
def test_a_title_that_does_not_fit_crashes_nothing(title: str, tmp_path: Path) -> None:
    (whole,) = stored(ps.Uniform(model=ps.EventLevel(epsilon=1)), [[1, 2, 3, 4]], tmp_path / "s.db")
    strange = replace(whole, mechanism=title)
    with contextlib.suppress(ps.BadInput):
        assert count(strange).low is None


@pytest.mark.parametrize("histogram", [Laplace(), Quadtree(), Adaptive()], ids=str)
@pytest.mark.parametrize("key", ps.mechanisms())
def test_no_mechanism_gets_an_interval_for_what_is_not_fresh(key: str, histogram: Histogram, tmp_path: Path) -> None:
    kind, rng = ps.mechanism(key), np.random.default_rng(1)
    model = ps.WEvent(epsilon=2, w=4) if ps.WEvent in kind.proven_for else ps.EventLevel(epsilon=1)
    rows = np.where(rng.random((24, 1)) < 0.5, [3, 40, 41, 500, 2, 60, 61, 7], rng.integers(0, 500, (24, 8)))
    releases = stored(kind.example(model, histogram=histogram, shape=(4, 2)), rows, tmp_path / "s.db")
    assert len(releases) == 24
    for _ in range(80):
        begin = int(rng.integers(0, 24))
        asked, mask = releases[begin : begin + int(rng.choice([1, 1, 1, 2, 5]))], rng.random(8) < rng.random()
        mask[rng.integers(8)] = True
        answer = count(asked, mask)
        fresh = all((each.kind[mask] == ps.Kind.FRESH).all() for each in asked)
        assert (answer.low is not None) == (fresh and not isinstance(histogram, Adaptive))
        assert (answer.low is None) == bool(answer.warning)


# ---- intervals hold as often as they say -----------------------------------------------------------------------------


@pytest.mark.parametrize("budget", ["0.01", "0.03", "0.1", "0.3"])
@pytest.mark.parametrize("noise", [ps.SecureNoise(), ps.SimulationNoise(1)], ids=["secure", "simulated"])
def test_single_fresh_bins(budget: str, noise: ps.SecureNoise | ps.SimulationNoise) -> None:
    (whole,) = uniform(budget, 200_000, noise=noise)
    width = {reach(count(whole, np.arange(200_000) == j, histogram=Laplace())) for j in (0, 17, 199_999)}
    assert len(width) == 1
    assert 0.94 <= (np.abs(whole.values - 1000) <= width.pop()).mean() <= 0.96


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.99])
@pytest.mark.parametrize("cells", [1, 4, 10])
def test_boxes_by_laplace(cells: int, confidence: float) -> None:
    (whole,) = uniform("0.05", 200_000)
    width = reach(count(whole, np.arange(200_000) < cells, histogram=Laplace(), confidence=confidence))
    sums = whole.values.reshape(-1, cells).sum(axis=1) - 1000 * cells
    assert (np.abs(sums) <= width).mean() == pytest.approx(confidence, abs=0.02 + (cells == 1) * 0.01)


@pytest.mark.parametrize("cells", [2, 4, 10])
def test_boxes_by_laplace_at_the_usual_confidence(cells: int) -> None:
    (whole,) = uniform("0.1", 200_000)
    width = reach(count(whole, np.arange(200_000) < cells, histogram=Laplace()))
    sums = whole.values.reshape(-1, cells).sum(axis=1) - 1000 * cells
    assert 0.94 <= (np.abs(sums) <= width).mean() <= 0.96


def test_sums_over_time() -> None:
    releases = uniform("0.2", 40_000, 5)
    width = reach(count(releases, np.arange(40_000) == 0, histogram=Laplace()))
    sums = np.sum([each.values - 1000 for each in releases], axis=0)
    assert 0.94 <= (np.abs(sums) <= width).mean() <= 0.96


def test_sums_over_units_of_different_budgets() -> None:
    """Of one bin, at every unit with noise of another width."""
    budgets = enumerate(["0.05", "0.1", "1"], 1)
    releases = [replace(uniform(each, 50_000, noise=ps.SimulationNoise(t))[0], t=t) for t, each in budgets]
    width = reach(count(releases, np.arange(50_000) == 0, histogram=Laplace()))
    sums = np.sum([each.values - 1000 for each in releases], axis=0)
    assert 0.94 <= (np.abs(sums) <= width).mean() <= 0.96


def boxes(side: int) -> Iterator[Mask]:
    """Boxes of all sizes, stripes, a chequered one, scattered cells, everything."""
    rng = np.random.default_rng(3)
    for _ in range(30):
        a, b = np.sort(rng.integers(0, side + 1, (2, 2)), axis=0)
        box = np.zeros((side, side), np.bool_)
        box[a[0] : b[0] + 1, a[1] : b[1] + 1] = True
        yield box.ravel()
    places = np.indices((side, side))
    yield from (places[0].ravel() % 2 == 0, places[1].ravel() % 2 == 0, places.sum(axis=0).ravel() % 2 == 0)
    yield rng.random(side * side) < 0.1
    yield np.ones(side * side, np.bool_)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4", "8"])
@pytest.mark.parametrize("split", [2, 4])
def test_boxes_by_quadtree(split: int, epsilon: str) -> None:
    options: dict[str, Any] = {"histogram": Quadtree(split=split), "shape": (16, 16)}
    releases = uniform(epsilon, 256, 1500, **options)
    off = np.array([each.values for each in releases]) - 1000
    widths = [reach(count(releases[0], mask, **options)) for mask in boxes(16)]
    held = [(np.abs(off[:, mask].sum(axis=1)) <= width).mean() for mask, width in zip(boxes(16), widths, strict=True)]
    assert np.mean(held) >= 0.94
    assert min(held) >= 0.92


def test_quadtrees_over_time() -> None:
    options: dict[str, Any] = {"histogram": Quadtree(), "shape": (4, 4)}
    releases = uniform("0.1", 16, 3000, **options)
    mask = np.arange(16) % 4 < 3
    width = reach(count(releases[:3], mask, **options))
    sums = np.array([each.values[mask].sum() - 12_000 for each in releases]).reshape(-1, 3).sum(axis=1)
    assert (np.abs(sums) <= width).mean() >= 0.94


def restless() -> Ints:
    """Half of the bins rest; the others jump every third unit."""
    rng = np.random.default_rng(5)
    rows = np.tile(rng.integers(0, 300, 16), (150, 1))
    rows[::3, ::2] = rng.integers(0, 3000, (50, 8))
    return rows


@pytest.mark.parametrize("histogram", [Laplace(), Quadtree()], ids=str)
@pytest.mark.parametrize("kind", ["Uniform", "Sample", "PeGaSus", "BD", "RG", "AdaPub", "GEvent", "SPAS"])
def test_intervals_hold_whatever_mechanism_has_decided_on_them(kind: str, histogram: Histogram) -> None:
    """Of single bins, of all fresh ones together, and of some of them, wherever there is an interval."""
    rows, held = restless(), {"one": [0, 0], "all": [0, 0], "some": [0, 0]}
    model = (
        ps.EventLevel(epsilon="0.3") if kind in ("Uniform", "PeGaSus", "RG", "AdaPub") else ps.WEvent(epsilon=3, w=3)
    )
    for seed in range(5):
        rng = np.random.default_rng(seed)
        mechanism = made(kind, model, histogram=histogram, shape=(4, 4))
        for row, each in zip(rows, published(mechanism, rows, ps.SimulationNoise(seed)), strict=True):
            fresh = each.kind == ps.Kind.FRESH
            if fresh.any():
                one = np.arange(16) == rng.choice(np.flatnonzero(fresh))
                for name, mask in (("one", one), ("all", fresh), ("some", fresh & (rng.random(16) < 0.5))):
                    answer = count(each, mask, histogram=histogram, shape=(4, 4))
                    held[name][0] += 1
                    held[name][1] += holds(answer, int(row[mask].sum()))
    for given_to, held_by in held.values():
        assert held_by >= 0.93 * given_to - 2  # of a few, any two may fail


@pytest.mark.parametrize("options", [{"threshold": 1000.0}, {"threshold": 500.0, "refresh": 5}, {}], ids=str)
def test_a_bin_is_not_fresh_because_its_noise_was_surprising(options: dict[str, Any]) -> None:
    """AdaPub measures all bins alone now and then, and lets those begin anew that look different then."""
    given_to = held = 0
    for seed in range(3):
        mechanism = ps.AdaPub(model=ps.EventLevel(epsilon="0.3"), **options)
        for each in published(mechanism, np.full((45, 400), 100), ps.SimulationNoise(seed))[1:]:
            for j in np.flatnonzero(each.kind == ps.Kind.FRESH)[:40]:
                given_to += 1
                held += holds(count(each, np.arange(400) == j, histogram=Laplace()), 100)
    assert held >= NOMINAL * given_to - 4 * np.sqrt(given_to * NOMINAL * (1 - NOMINAL))


# ---- titles ----------------------------------------------------------------------------------------------------------

parts = st.integers(2, 1024)
methods: st.SearchStrategy[Histogram] = st.one_of(
    st.just(Laplace()),
    st.builds(Quadtree, split=parts),
    st.builds(
        Adaptive,
        look=st.floats(1e-9, 1, exclude_max=True),
        worth=st.floats(1e-40, 1e40, exclude_min=True),
        split=parts,
    ),
)
shapes = st.none() | st.lists(st.integers(1, 10**6), min_size=1, max_size=5).map(tuple)


@given(st.sampled_from([*ps.mechanisms()]), methods, shapes)
def test_titles_tell_how_releases_were_measured(key: str, method: Histogram, shape: tuple[int, ...] | None) -> None:
    kind = ps.mechanism(key)
    model = ps.WEvent(epsilon=1, w=2) if ps.WEvent in kind.proven_for else ps.EventLevel(epsilon=1)
    mechanism = kind.example(model, histogram=method, shape=shape)
    assert mechanism.title == titled(kind.__name__, mechanism.parameters)
    assert measured_by(mechanism.title) == (method, shape)
    assert all(measured_by(step.named(mechanism.title)) is None for step in STEPS)
    assert measured_by(ps.post.SlidingSum(1).named(mechanism.title)) == (method, shape)


@given(st.text(max_size=30))
def test_any_other_title_is_refused_in_a_sentence_or_tells_nothing(title: str) -> None:
    with contextlib.suppress(ps.BadInput):
        measured_by(title)


# ---- tables ----------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(-30, 60), min_size=1, max_size=8), st.integers(0, 2**40))
def test_a_table_holds_what_the_non_negative_release_holds(values: list[int], seed: int) -> None:
    whole, domain = release(values), ps.Domain({"x": range(len(values))})
    rows = list(table(whole, domain, seed=seed))
    expected = ps.post.NonNegative()(whole).values
    assert Counter(rows) == Counter({(str(i),): int(n) for i, n in enumerate(expected) if n})
    assert rows == list(table(whole, domain, seed=seed))


def test_rows_have_a_value_of_every_attribute() -> None:
    domain = ps.Domain({"age": range(2), "sex": ["f", "m", "|"]})
    rows = Counter(table(release([1, 2, 3, 4, 5, 6]), domain))
    assert rows == {tuple(part.split("=")[1] for part in name.split("&")): n for n, name in enumerate(domain.bins, 1)}


def test_rows_come_in_random_order() -> None:
    rows = list(table(release([100, 100, 100]), COLOURS, seed=1))
    assert rows != sorted(rows)
    assert rows != list(table(release([100, 100, 100]), COLOURS, seed=2))
    assert rows != list(table(release([100, 100, 100]), COLOURS))


@pytest.mark.parametrize("values", [[50, 30, 20], [1, 0, 2], [2**60, 2**61, 0], [7, -3, 9]])
def test_rows_are_drawn_in_proportion(values: list[int]) -> None:
    whole = release(values)
    weights = ps.post.NonNegative()(whole).values / ps.post.NonNegative()(whole).values.sum()
    drawn = Counter(table(whole, COLOURS, rows=30_000, seed=9))
    seen = np.array([drawn[colour,] for colour in COLOURS.attributes["colour"]])
    assert seen.sum() == 30_000
    assert not seen[weights == 0].any()
    assert stats.chisquare(seen[weights > 0], 30_000 * weights[weights > 0]).pvalue > 1e-9


@pytest.mark.parametrize("values", [[0, 0, 0], [-1, -5, 0], [-(2**62), 0, 5]])
def test_a_table_of_nothing_is_empty(values: list[int]) -> None:
    assert list(table(release(values), COLOURS)) == []
    assert list(table(release(values, ps.Kind.REPUBLISHED, 0), COLOURS)) == []
    assert "holds nothing to draw from" in refusal(lambda: table(release(values), COLOURS, rows=3))


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ([1, 2], {}),
        ([1, 2, 3, 4], {"rows": 5}),
        ([10**8, 1, 1], {}),
        ([2**62, 2**62, 2**62], {}),
        ([1, 2, 3], {"rows": 10**8 + 1}),
        ([1, 2, 3], {"rows": 0}),
        ([1, 2, 3], {"rows": -4}),
        ([1, 2, 3], {"rows": True}),
        ([1, 2, 3], {"rows": 2.0}),
        ([1, 2, 3], {"rows": 2, "seed": -1}),
        ([1, 2, 3], {"seed": -1}),
        ([1, 2, 3], {"seed": 1.5}),
    ],
    ids=str,
)
def test_a_table_that_cannot_be_made_is_refused_at_once(values: list[int], options: dict[str, Any]) -> None:
    refusal(lambda: table(release(values), COLOURS, **options))
