"""The counter-examples: what is computed agrees with what is counted, the printed forms break, the repaired do not."""

import itertools
import math
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich import box

from penstock.audit.bounds import interval, loss_above
from penstock.audit.counterexamples import __main__ as command
from penstock.audit.counterexamples import clamp, nearest, one_threshold, regions, warm_up
from penstock.audit.counterexamples.clamp import Clamped
from penstock.audit.counterexamples.pattern import Answers, SparseVector
from penstock.audit.counterexamples.trials import CHUNK, Trials
from penstock.bench.page import rewritten
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.errors import BadInput
from penstock.mechanisms.rescue_dp import PARTS
from penstock.models import EventLevel
from penstock.noise import SimulationNoise
from penstock.queries import Distance
from penstock.types import Floats, Snapshot

PAGE = Path(__file__).parent.parent / "docs" / "five-ways.md"
COMPUTED = (
    *("spas-total", "spas-exact", "spas-noise", "warm-up-exact"),
    *("dsat-erased", "dsat-loss", "dsft", "ma-chances"),
)
ONCE_IN_A_MILLION = 1e-6


def trials(number: int) -> Trials:
    return Trials(number, 7, lambda: None)


# ---- bounds ----------------------------------------------------------------------------------------------------------


def test_known_intervals() -> None:
    assert interval(5, 10, 0.05) == pytest.approx((0.1871, 0.8129), abs=1e-4)
    assert interval(0, 50, 0.02) == pytest.approx((0, 1 - 0.01 ** (1 / 50)))
    assert interval(50, 50, 0.02) == pytest.approx((0.01 ** (1 / 50), 1))


@pytest.mark.parametrize("chance", [0.001, 0.02, 0.3, 0.5, 0.99])
def test_each_bound_is_wrong_as_seldom_as_it_says(chance: float) -> None:
    alpha, runs = 0.2, 4000
    bounds = {hits: interval(hits, 200, alpha) for hits in range(201)}
    drawn = np.random.default_rng(1).binomial(200, chance, runs).tolist()
    for wrong in (sum(bounds[hits][0] > chance for hits in drawn), sum(bounds[hits][1] < chance for hits in drawn)):
        assert interval(wrong, runs, ONCE_IN_A_MILLION)[0] <= alpha / 2


@given(st.integers(1, 5000), st.data(), st.floats(1e-6, 0.5))
def test_intervals_hold_the_estimate_and_grow_with_confidence(number: int, data: st.DataObject, alpha: float) -> None:
    hits = data.draw(st.integers(0, number))
    low, high = interval(hits, number, alpha)
    wider_low, wider_high = interval(hits, number, alpha / 2)
    assert 0 <= wider_low <= low <= hits / number <= high <= wider_high <= 1
    if hits < number:
        more_low, more_high = interval(hits + 1, number, alpha)
        assert low < more_low
        assert high <= more_high


@given(st.integers(0, 300), st.integers(0, 300), st.floats(1e-6, 0.5))
def test_a_proved_loss_is_below_the_estimate(hits: int, other: int, alpha: float) -> None:
    proved = loss_above(hits, 300, other, 300, alpha)
    if hits == 0:
        assert proved == -math.inf
    else:
        assert proved == math.log(interval(hits, 300, alpha)[0] / interval(other, 300, alpha)[1])
        assert other == 0 or proved <= math.log(hits / other)


@pytest.mark.parametrize(("hits", "number", "alpha"), [(-1, 5, 0.1), (6, 5, 0.1), (0, 0, 0.1), (1, 5, 0), (1, 5, 1)])
def test_bounds_refuse_what_was_not_counted(hits: int, number: int, alpha: float) -> None:
    with pytest.raises(BadInput):
        interval(hits, number, alpha)


def test_without_scipy_there_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(BadInput, match=r"^the audit needs scipy; install penstock\[audit\]\.$"):
        interval(1, 5, 0.1)
    assert command.main([]) == 2
    assert "scipy" in capsys.readouterr().err


# ---- patterns --------------------------------------------------------------------------------------------------------

scales, aparts = st.floats(0.5, 20), st.floats(-30, 30)


@given(scales, scales, st.lists(aparts, min_size=1, max_size=4))
@settings(deadline=None, max_examples=30)
def test_chances_of_all_patterns_add_up_to_one(threshold: float, query: float, values: list[float]) -> None:
    vector = SparseVector(threshold, query)
    patterns = itertools.product((True, False), repeat=len(values))
    chances = (
        math.exp(vector.log_chance([Answers(yes, 1, apart) for yes, apart in zip(answers, values, strict=True)]))
        for answers in patterns
    )
    assert sum(chances) == pytest.approx(1, abs=1e-9)


def test_what_is_known_of_the_threshold_decides_the_next_answer() -> None:
    vector, before = SparseVector(8, 16), [Answers(True, 30, 2.0), Answers(False, 10, 5.0)]
    following = [*before, Answers(True, 1, -3.0)]
    expected = math.exp(vector.log_chance(following) - vector.log_chance(before))
    rng, size = np.random.default_rng(3), 200_000
    yes = -3.0 + rng.laplace(0, 16, size) > vector.known(before)(rng, size)
    low, high = interval(int(yes.sum()), size, ONCE_IN_A_MILLION)
    assert low < expected < high


def test_very_rare_patterns_do_not_vanish() -> None:
    chance = SparseVector(8, 16).log_chance([Answers(True, 10**4, 0.0), Answers(False, 10**4, 0.0)])
    assert chance == pytest.approx(
        2e4 * math.log(0.5) + math.log(math.sqrt(math.pi / 1e4)), abs=0.1
    )  # Laplace's method


def test_trials_are_counted_in_chunks_that_add_up() -> None:
    done, sizes = [], []

    def event(rng: np.random.Generator, size: int) -> tuple[int, ...]:
        sizes.append(size)
        return size, int(np.count_nonzero(rng.random(size) < 0.25))

    number = 2 * CHUNK + 5
    every, quarter = Trials(number, 1, lambda: done.append(1)).tallies(event, event)
    assert (every.hits, every.other_hits, every.trials) == (number, number, number)
    assert quarter.hits != quarter.other_hits  # draws of their own
    assert interval(quarter.hits, number, ONCE_IN_A_MILLION)[0] < 0.25
    assert len(done) == len(sizes) == 2 * Trials.chunks(number)


# ---- SPAS, one threshold ---------------------------------------------------------------------------------------------


@given(st.integers(0, 40), st.integers(1, 12), st.integers(1, 5))
@settings(deadline=None, max_examples=25)
def test_the_formula_is_what_quadrature_gives(others: int, count: int, bins: int) -> None:
    """Within 1%, also where both terms of the minimum are equal."""
    exact = one_threshold.extremal(others, count, bins=bins)
    assert exact <= one_threshold.total(others, count, bins=bins) + 1e-9
    assert exact == pytest.approx(one_threshold.total(others, count, bins=bins), rel=0.01)


@given(st.integers(0, 100), st.integers(1, 40), st.integers(2, 300))
def test_more_windows_lose_more_and_many_yeses_hide_it(others: int, count: int, window: int) -> None:
    loss = one_threshold.total(others, count, window)
    assert loss <= one_threshold.total(others + 1, count, window)
    assert loss >= one_threshold.total(others, count + 1, window)
    assert loss >= one_threshold.total(others, count, window, bins=2)


@given(st.integers(0, 25), st.integers(0, 300))
@settings(deadline=None, max_examples=25)
def test_the_loss_of_a_pattern_rises_to_its_limit(noes: int, pairs: int) -> None:
    """If two or more noes come first: they are what a threshold that is known better makes telling."""
    loss, later = (one_threshold.loss(one_threshold.printed(), noes + 2, n) for n in (pairs, 2 * pairs + 1))
    assert loss < later < one_threshold.limit(noes + 2)


def test_known_losses_of_spas() -> None:
    printed, repaired = one_threshold.printed(), one_threshold.repaired()
    assert one_threshold.loss(printed, 8, 200) == pytest.approx(1.298, abs=5e-4)
    assert one_threshold.loss(printed, 12, 200) == pytest.approx(1.535, abs=5e-4)
    assert one_threshold.loss(repaired, 8, 0) == pytest.approx(0.9975, abs=5e-5)
    assert one_threshold.loss(printed, 8, 0) < 1  # a single window is safe


@given(st.integers(0, 500))
@settings(deadline=None)
def test_a_segment_stays_within_epsilon(noes: int) -> None:
    assert one_threshold.loss(one_threshold.repaired(), noes, 0) <= 1 + 1e-9


def test_trials_break_spas_and_not_its_segments() -> None:
    printed, repaired = one_threshold.printed(), one_threshold.repaired()
    known = printed.known(one_threshold.prefix(one_threshold.PREFIX))
    for vector, rho, number, broken in (
        (printed, known, 3_000_000, True),
        (repaired, repaired.unknown, 500_000, False),
    ):
        events = (one_threshold.event(vector, rho, 8, moved) for moved in (0.0, 1.0))
        (tally,) = trials(number).tallies(*events)
        exact = one_threshold.loss(vector, 8, one_threshold.PREFIX if broken else 0)
        assert (tally.loss_at_least > 1) is broken
        assert exact - 0.25 < tally.loss_at_least < exact


# ---- SPAS, warm-up ---------------------------------------------------------------------------------------------------


def test_more_noes_come_to_the_worst_of_the_warm_up() -> None:
    losses = [warm_up.loss(tau) for tau in (0, 2, 8, 19)]
    assert losses == sorted(losses)
    assert losses[-1] == pytest.approx(warm_up.worst(), abs=0.001)
    assert warm_up.worst() == pytest.approx(5 / 6 + 1)


def test_trials_break_the_warm_up_and_not_the_repaired_one() -> None:
    (tally,) = trials(1_000_000).tallies(*(partial(warm_up.printed_hits, 2, moved) for moved in (0.0, 1.0)))
    assert 1 < tally.loss_at_least < warm_up.loss(2)
    (tally,) = trials(1_000_000).tallies(*(partial(warm_up.repaired_hits, moved) for moved in (0.0, 1.0)))
    assert 0.5 < tally.loss_at_least < 0.625


def test_windows_across_the_warm_up_spend_too_much_as_printed() -> None:
    spent = warm_up.as_printed()
    assert max(spent) == pytest.approx(warm_up.worst())
    assert spent[139] == max(spent)
    assert max(spent[: one_threshold.WINDOW]) == pytest.approx(1)


# ---- DSAT and DSFT ---------------------------------------------------------------------------------------------------

ends = st.tuples(st.floats(-3, 3), st.floats(-3, 3)).map(sorted)
maps = st.builds(lambda shift, between: Clamped(shift, *between), st.floats(-3, 3), ends)


@given(maps, maps, st.floats(-9, 9))
def test_clamps_after_one_another_are_a_clamp(first: Clamped, second: Clamped, x: float) -> None:
    assert first.then(second)(x) == pytest.approx(float(second(float(first(x)))), abs=1e-9)


@pytest.mark.parametrize(("people", "comparisons", "gain"), [(100, 1, 0.5), (100, 10, 0.05), (1000, 50, 0.05)])
def test_the_chance_that_noise_is_erased_is_how_often_it_is(people: int, comparisons: int, gain: float) -> None:
    *_, last = itertools.islice(clamp.path(gain), comparisons)
    noise = np.random.default_rng(2).laplace(0, 4 / (people - 1) / clamp.SHARE, 20_000)
    low, high = interval(int(np.isin(last(clamp.START + noise), last[1:]).sum()), 20_000, ONCE_IN_A_MILLION)
    assert low <= clamp.erased(people, comparisons, gain) <= high


@given(st.sampled_from(clamp.PEOPLE), st.integers(1, 120), st.floats(0.01, 1))
@settings(deadline=None, max_examples=25)
def test_noise_that_is_erased_stays_so(people: int, comparisons: int, gain: float) -> None:
    earlier, later = (clamp.erased(people, comparisons + more, gain) for more in (0, 10))
    assert earlier <= later + 1e-9


def test_published_parameters_erase_the_noise_at_once() -> None:
    assert clamp.erased(100, 1) == pytest.approx(0.816, abs=5e-4)
    assert clamp.erased(500_000, 1) == 1
    assert clamp.erased(100, 10) > 0.9999
    assert clamp.in_all(clamp.lost(300)) == pytest.approx(3.607, abs=5e-4)


@given(st.integers(1, 400))
@settings(deadline=None, max_examples=30)
def test_noes_cost_a_public_threshold_its_share_once(noes: int) -> None:
    assert clamp.kept(noes) <= 1 / clamp.repaired().threshold < 1


def test_trials_break_the_clamp_and_not_the_public_threshold() -> None:
    for tally, noes in zip(trials(2_000_000).tallies(*_both(clamp.printed_hits)), clamp.SHOWN, strict=True):
        assert 1 < tally.loss_at_least < clamp.lost(noes)
    for tally, noes in zip(trials(500_000).tallies(*_both(clamp.repaired_hits)), clamp.SHOWN, strict=True):
        assert 0.2 < tally.loss_at_least < clamp.kept(noes)


def _both(hits: Callable[..., tuple[int, ...]]) -> tuple[partial[tuple[int, ...]], partial[tuple[int, ...]]]:
    return partial(hits, 0.0), partial(hits, 1.0)


@given(st.integers(2, 60))
@settings(deadline=None, max_examples=15)
def test_dsft_loses_its_constant_and_the_repaired_its_budget(releases: int) -> None:
    printed = SparseVector(2.0, 2.0 * releases)
    assert clamp.decided(printed, releases) == pytest.approx(clamp.constant(releases), abs=1e-6)
    assert clamp.decided(clamp.repaired(releases), releases) == pytest.approx(1, abs=1e-6)


# ---- MA(2) -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", nearest.FORMS)
@pytest.mark.parametrize("counts", [nearest.COUNTS, nearest.MOVED], ids=str)
def test_the_chance_of_the_mean_is_how_often_it_is_published(form: str, counts: Floats) -> None:
    (hits,) = nearest.hits(nearest.FORMS[form], counts, np.random.default_rng(1), 200_000)
    low, high = interval(hits, 200_000, ONCE_IN_A_MILLION)
    assert low <= nearest.repeats_mean(nearest.FORMS[form], counts) <= high


def test_trials_break_the_free_search_and_not_the_private_one() -> None:
    printed, repaired = (row.tally for row in nearest.measured(trials(200_000)).simulated)
    assert printed.other_hits == 0
    assert printed.loss_at_least > 5
    assert 0 < repaired.loss_at_least <= nearest.DECIDE


def test_the_private_search_is_the_curators() -> None:
    model, runs = EventLevel(epsilon=1, neighbours="replace"), 4000
    curator = Curator(model, 2, noise=SimulationNoise(1))
    queries = [Distance(np.array(values)) for values in ([100, 0], [60, 40])]
    chosen = 0
    for t in range(1, runs + 1):
        snapshot = Snapshot(t, [100, 0])
        curator.begin_unit(snapshot)
        chosen += curator.nearest(snapshot, queries, Epsilon(nearest.DECIDE) / 2)
    picked = nearest.picked(nearest.FORMS["repaired"], 0.0, 40.0, np.random.default_rng(1), 10**6)
    low, high = interval(chosen, runs, ONCE_IN_A_MILLION)
    assert low < picked / 10**6 < high


# ---- RescueDP --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", regions.KINDS)
def test_a_budget_for_each_region_bounds_no_one_who_moves(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "UNITS", 120)
    for number in (1, 5, 20):
        spent = regions.spent(kind, number, seed=2)
        assert spent.region <= 1
        assert spent.shipped <= 1
        assert spent.really == spent.region if number == 1 else spent.really > 2
        assert spent.really <= regions.WINDOW / PARTS


# ---- the command and the page ----------------------------------------------------------------------------------------


def places(page: str) -> dict[str, str]:
    return dict(re.findall(r"<!-- begin: (\S+) -->(.*?)<!-- end: \1 -->", page, re.DOTALL))


def test_the_command_shows_draws_and_writes_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module, name, value in ((regions, "UNITS", 60), (regions, "SEEDS", 1), (warm_up, "STREAMS", 1)):
        monkeypatch.setattr(module, name, value)
    totals, done = [], []

    @contextmanager
    def counting(total: int) -> Iterator[Callable[[], None]]:
        totals.append(total)
        yield lambda: done.append(1)

    monkeypatch.setattr(command, "bar", counting)
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    assert command.main(["--trials", "2000", "--seed", "3", "--figures", str(tmp_path), "--write", str(page)]) == 0
    assert totals == [len(done)]
    before, after = places(PAGE.read_text(encoding="utf-8")), places(page.read_text(encoding="utf-8"))
    assert {name: after[name] for name in COMPUTED} == {name: before[name] for name in COMPUTED}
    assert list(before) == list(after)
    assert all(" 2,000 " not in before[name] and before[name] != after[name] for name in before if "trials" in name)
    figures = {path.name: path.stat().st_size for path in tmp_path.glob("*.png")}
    assert set(figures) == {path.name for path in PAGE.with_suffix("").iterdir()}
    assert all(size < 80_000 for size in figures.values())
    assert capsys.readouterr().out.count("trials") >= 4


def test_the_page_shows_every_figure_and_keeps_its_promises() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for figure in PAGE.with_suffix("").iterdir():
        assert f"(five-ways/{figure.name})" in text
        assert figure.stat().st_size < 80_000
    rows = [line for name, table in places(text).items() if name.endswith("trials") for line in table.splitlines()]
    assert all(line.endswith("yes |") for line in rows if line.startswith("| printed"))
    assert all(line.endswith("no |") for line in rows if line.startswith("| repaired"))
    assert sum(line.startswith(("| printed", "| repaired")) for line in rows) == 13


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--trials", "0"], "--trials"),
        (["--seed", "-1"], "--seed"),
        (["--figures", "/nowhere/at/all"], "no folder"),
        (["--write", "/nowhere.md"], "no page"),
    ],
)
def test_what_cannot_be_done_is_refused_before_the_work(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(arguments) == 2
    assert words in capsys.readouterr().err


def test_a_page_without_a_place_is_refused() -> None:
    table = nearest.table_of_chances(box.MARKDOWN)
    with pytest.raises(BadInput, match="mark one"):
        rewritten("<!-- end: ma -->\n<!-- begin: ma -->", {"ma": table})
    written = rewritten("a <!-- begin: ma -->old<!-- end: ma --> b", {"ma": table})
    assert "old" not in written
    assert written.startswith("a <!-- begin: ma -->\n\n| form")
    assert rewritten(written, {"ma": table}) == written
