"""``penstock bench auto``: what is asked, what counts as met, and what is said of it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from in_process import command as penstock
from penstock.bench.boards import BOARDS, Board, contestants
from penstock.bench.goals import Found, Goal, Plan, document, goals
from penstock.bench.goals.asked import covered
from penstock.bench.goals.cost import Cost, Kept, Taken, cost
from penstock.bench.goals.covering import Covered
from penstock.bench.goals.losses import losses, tallies
from penstock.bench.goals.made import MADE, load
from penstock.bench.goals.plan import AUTO, switches
from penstock.bench.metrics import Outcome
from penstock.bench.scenario import Promise, Scenario, key_of
from penstock.bench.suite.streams import NAMED
from penstock.bench.summary import Outcomes, geometric

WEEK = Promise("w-event", "1", 7)
STREAMS = {
    "long": ("calm", "wild"),
    "short": ("sparse[:180]", "calm[:180]"),
    "event": ("calm", "sparse"),
    "user": ("calm",),
}
OTHERS = ("spas", "sample", "baseline", "dsat")
SEEDS = 3
FLAT = {"auto": 1.0, "auto for MRE": 1.0, "auto for RMSE": 1.0, **dict.fromkeys(OTHERS, 4.0)}
TAKEN = Cost([Taken(1, 0.5, 0.05, 0.25)], [Kept(1, "w-event", {200: 29_000, 2000: 29_001})])


def small(board: Board) -> Board:
    return replace(board, streams=STREAMS[board.key], promises=board.promises[:2])


SMALL = {key: small(board) for key, board in BOARDS.items()}
Errors = Mapping[str, Mapping[str, float]]  # of contestants, on streams; "" is any stream


def runs(*errors: float) -> dict[int, Outcome]:
    """By every measure the same error, one for each seed."""
    return {seed: Outcome._make([error] * 7 + [1] * 3) for seed, error in enumerate(errors)}


def on_board(board: Board, errors: Errors) -> Outcomes:
    entered = [
        each
        for stream in board.streams
        for promise in board.promises
        for key in (AUTO, *OTHERS)
        for each in contestants(stream, promise, key, board.measures if board.key == "long" else (), board.width)
    ]
    return {each: runs(*[(errors.get(each.stream) or errors[""])[each.contestant]] * SEEDS) for each in entered}


def found(errors: Errors | None = None, **parts: Any) -> Found:
    """A small board of every kind on which ``auto`` has a quarter of the errors of others, if nothing else is said."""
    told = errors or {"": FLAT}
    boards = {key: on_board(board, told) for key, board in SMALL.items()}
    whole: dict[str, Any] = {"boards": boards, "empty": {"sparse": 0.9, "calm": 0.2}}
    whole |= {part: {} for part in ("oracle", "fixed", "early", "ablation", "coverage")}
    return Found(**whole | parts)


def goal(asked: Sequence[Goal], where: str, what: str) -> Goal:
    (one,) = (each for each in asked if each.where.startswith(where) and each.what == what)
    return one


# ---- goals -----------------------------------------------------------------------------------------------------------


def test_ratios_are_those_of_the_figures() -> None:
    asked = goals(found())
    for where in ("long, beside SPAS", "long, beside the best other", "short, beside the best", "user, beside DSAT"):
        assert goal(asked, where, "MAE")[3:5] == ("0.25", True)
    assert [each.measured for each in asked if each.where == "long, beside SPAS"] == ["0.25", "0.25", "0", "0"]


@given(st.floats(0.01, 100), st.floats(0.01, 100))
def test_means_over_cells_are_geometric(calm: float, wild: float) -> None:
    mean = geometric([calm, wild])
    limits = ((calm, 1.05), (wild, 1.05), (mean, 0.5))
    assume(all(abs(figure - limit) > 1e-9 for figure, limit in limits))  # where the last bit decides
    errors = {name: FLAT | {"auto": 4 * ratio} for name, ratio in (("calm", calm), ("wild", wild))}
    asked = goals(found({**errors, "": FLAT}))
    worst = goal(asked, "long, beside the best other", "MAE, worst cell")
    assert float(worst.measured) == pytest.approx(max(calm, wild), abs=0.0051)  # two digits
    beside_spas = goal(asked, "long, beside SPAS", "MAE")
    assert float(beside_spas.measured) == pytest.approx(mean, abs=0.006)
    assert beside_spas.met == (mean <= 0.5)
    near = goal(asked, "long, beside the best other", "MAE: part of 4 cells within 5 %")
    assert near.measured == f"{(int(calm <= 1.05) + int(wild <= 1.05)) / 2:.1%}".replace("%", " %")


def test_relative_errors_are_those_of_auto_as_it_is_made_for_them() -> None:
    asked = goals(found({"": FLAT | {"auto": 3.0, "auto for MRE": 1.0, "auto for RMSE": 2.0}}))
    relative = goal(asked, "long, beside SPAS", "MRE of 4 cells")
    assert (relative.measured, relative.beside) == ("0.25", "as it is by default, of 4 cells: 0.75")
    for how, expected in (("as it is by default", "0.75"), ("made for it", "0.50")):
        for what in ("", ", worst cell"):
            squares = goal(asked, "long, beside the best other", f"RMSE of 4 cells, {how}{what}")
            assert squares.measured == expected


def test_the_best_other_is_never_auto() -> None:
    asked = goals(found({"": FLAT | {"auto": 8.0, "auto for MRE": 0.1, "sample": 2.0}}))
    assert goal(asked, "short, beside the best", "MAE").measured == "4.00"
    assert goal(asked, "short, beside the best", "MAE: part of 4 cells within 5 %").measured == "0.0 %"


def test_a_cell_is_above_only_with_its_whole_interval() -> None:
    boards = found().boards
    clearly, hardly = ({0: 4.4, 1: 4.5, 2: 4.6}, {0: 2.0, 1: 4.0, 2: 16.0})
    long = {
        what: runs(*(clearly if what.stream == "calm" else hardly).values()) if what.contestant == "auto" else each
        for what, each in boards["long"].items()
    }
    above = [each for each in goals(found(boards={**boards, "long": long})) if "whole interval" in each.what]
    assert [(each.measured, each.met) for each in above] == [("0", True), ("2", False)]
    assert above[1].beside.count("calm") == 2
    assert "wild" not in above[1].beside


def test_sparse_streams_are_those_with_many_zeros() -> None:
    asked = goals(found({"sparse": FLAT | {"auto": 2.4}, "": FLAT | {"auto": 4.4}}))
    everywhere, sparse = (each for each in asked if each.where.startswith("event"))
    assert (everywhere.measured, everywhere.met) == ("1.10", True)
    assert (sparse.measured, sparse.met) == ("0.60", False)
    assert "sparse (90 % of counts are 0)" in sparse.beside
    assert "calm" not in sparse.beside


def test_the_best_pace_and_the_best_interval_are_found_in_hindsight() -> None:
    long, user = SMALL["long"], SMALL["user"]
    paces = {
        Scenario(stream, promise, AUTO, (("pace", pace),)): runs(error, error)
        for stream in long.streams
        for promise in long.promises
        for pace, error in ((1, 0.8), (3, 0.5), (120, 9.0))
    }
    intervals = {
        Scenario(stream, promise, "fixed", (("every", every),)): runs(*[error] * SEEDS)
        for stream in user.streams
        for promise in user.promises
        for every, error in ((1, 5.0), (100, 0.8))
    }
    asked = goals(found(oracle=paces, fixed=intervals))
    assert goal(asked, "long, epsilon 1, beside the best fixed pace", "MAE")[3:5] == ("2.00", False)
    assert goal(asked, "user, beside the best fixed interval", "MAE")[3:5] == ("1.25", True)


def test_a_beginning_is_judged_by_mean_errors() -> None:
    early = {
        Scenario("const[:240]", WEEK, AUTO): runs(6.0, 6.0),
        Scenario("const[:240]", WEEK, "sample"): runs(0.01, 3.99),
    }
    asked = goal(goals(found(early=early)), "a constant stream", "MAE, worst epsilon")
    assert (asked.measured, asked.met) == ("3.00", True)
    assert "30.0" in asked.beside


def test_what_was_not_run_is_neither_met_nor_missed() -> None:
    nothing = Found({key: {} for key in SMALL}, {}, {}, {}, {}, {}, {})
    assert {each.met for each in goals(nothing)} == {None}
    assert {each.measured for each in goals(nothing)} == {"–"}


# ---- intervals -------------------------------------------------------------------------------------------------------


def coverage(**outside: float) -> dict[Covered, dict[int, Outcome]]:
    return {
        Covered(stream, WEEK, AUTO): {0: Outcome(part, *[math.nan] * 9), 1: Outcome(part, *[math.nan] * 9)}
        for stream, part in outside.items()
    }


@pytest.mark.parametrize(
    ("outside", "mean", "worst"),
    [
        ({"a": 0.05, "b": 0.03}, True, True),
        ({"a": 0.01, "b": 0.01}, False, True),  # too wide
        ({"a": 0.01, "b": 0.2}, False, False),
        ({"a": 0.01, "b": 0.16, "c": 0.01}, True, False),
        ({"a": math.nan}, None, None),
    ],
)
def test_intervals_are_asked_to_hold(outside: dict[str, float], mean: bool | None, worst: bool | None) -> None:
    asked = [each for each in goals(found(coverage=coverage(**outside))) if each.where == "95 % intervals"]
    assert [each.met for each in asked] == [mean, worst]


class Narrow:
    """Publishes intervals from 10 to 20, but for its first unit, of which it says nothing."""

    def __init__(self, *, silent: bool = False) -> None:
        self.model, self._silent = WEEK.model, silent

    def start(self, curator: object) -> None: ...

    def step(self, snapshot: Any) -> SimpleNamespace:
        known = snapshot.t > 1 and not self._silent
        low, high = (np.array([10, 10]), np.array([20, 20])) if known else (None, None)
        return SimpleNamespace(low=low, high=high)


def test_counts_outside_of_their_intervals_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.array([[99, 99], [10, 20], [9, 20], [15, 21]])
    stream = SimpleNamespace(counts=rows, shape=(2,))
    monkeypatch.setattr("penstock.bench.goals.covering.made", lambda *_: Narrow())
    assert Covered("x", WEEK, AUTO).run(1, stream).mae == pytest.approx(1 / 3, rel=1e-5)  # the ends are inside
    monkeypatch.setattr("penstock.bench.goals.covering.made", lambda *_: Narrow(silent=True))
    assert math.isnan(Covered("x", WEEK, AUTO).run(1, stream).mae)


def test_intervals_and_errors_are_known_by_other_keys() -> None:
    assert key_of(Covered("x", WEEK, AUTO), "d", 1) != key_of(Scenario("x", WEEK, AUTO), "d", 1)


def test_a_stream_is_covered_as_far_as_its_runs_say() -> None:
    parts = coverage(a=0.1) | {Covered("a", WEEK._replace(epsilon="0.1"), AUTO): {0: Outcome(0.3, *[math.nan] * 9)}}
    assert covered(found(coverage=parts)) == {"a": {"1": pytest.approx(0.9), "0.1": pytest.approx(0.7)}}


# ---- parts, streams, cost, losses ------------------------------------------------------------------------------------


def test_the_plan_leaves_out_one_part_at_a_time() -> None:
    told = {what.parameters for what in Plan().ablation}
    assert told == {(), *(((name, False),) for name in switches())}
    assert {"pooling", "seasons", "shrinking"} <= set(switches())
    assert {what.stream.split("[")[0] for what in Plan().ablation} == set(MADE)


def test_where_single_cells_are_judged_there_are_more_seeds_than_the_leaderboard_has() -> None:
    """All contestants have as many, and whoever says how many there are is obeyed."""
    seeds = {key: set(Plan().compared(key).values()) for key in BOARDS}
    assert seeds == {"long": {5}, "short": {27}, "event": {3}, "user": {3}}
    assert {key: board.seeds for key, board in BOARDS.items()} == {"long": 3, "short": 9, "event": 3, "user": 3}
    assert set(Plan(seeds=1).compared("long").values()) == {1}


def test_the_worst_cell_is_told_for_the_seeds_of_the_leaderboard_too() -> None:
    """With the first three seeds it is twice as bad; all six are judged."""
    lucky = {
        each: runs(*[4.0 if each.mechanism == AUTO and each.stream == "wild" else 2.0] * 3, *[2.0] * 3)
        for each in on_board(SMALL["long"], {"": FLAT})
    }
    whole = found(boards={key: on_board(board, {"": FLAT}) for key, board in SMALL.items()} | {"long": lucky})
    worst = goal(goals(whole), "long, beside the best other", "MAE, worst cell")
    assert worst.measured == f"{math.sqrt(2):.2f}"
    assert worst.met is False
    assert "with the leaderboard's seeds alone: 2.00, wild" in worst.beside
    assert whole.seeds["long"] == 6
    assert "6 on the long board, 3 on the short board" in document(whole, SMALL, TAKEN, command="x")


def test_cells_as_good_as_the_best_are_told_for_the_seeds_of_the_leaderboard_too() -> None:
    """In the first seeds one of two streams has twice the error of others; over all seeds it has the same."""
    few = BOARDS["short"].seeds
    unlucky = {
        each: runs(*[4.0 if lost else 2.0] * few, *[1.0 if lost else 2.0] * few)
        for each in on_board(SMALL["short"], {"": FLAT})
        for lost in [each.mechanism == AUTO and each.stream == "calm[:180]"]
    }
    whole = found(boards={key: on_board(board, {"": FLAT}) for key, board in SMALL.items()} | {"short": unlucky})
    near = goal(goals(whole), "short, beside the best other", "MAE: part of 4 cells within 5 %")
    assert (near.measured, near.met) == ("100.0 %", True)
    assert near.beside == "with the leaderboard's seeds alone: 50.0 %"


def test_streams_that_are_made_up_are_on_no_board() -> None:
    assert not set(MADE) & set(NAMED)
    one, many = load("made_walk", None), load("made_walk_32[:240]", None)
    assert (one.counts.shape, many.counts.shape) == ((1200, 1), (240, 32))
    assert np.array_equal(load("made_walk_32", None).counts[:240], many.counts)
    assert len({load(f"{name}[:50]", None).digest() for name in MADE}) == len(MADE)
    assert load("const[:50]", None).origin == "generated"


def test_everything_that_is_lost_is_told_and_the_worst_comes_first() -> None:
    told = found({"calm": FLAT | {"auto": 4.4, "dsat": 2.0}, "": FLAT | {"auto": 4.1}})
    lost = losses(told, SMALL)
    assert [each.ratio.value for each in lost] == sorted((each.ratio.value for each in lost), reverse=True)
    assert {(each.cell.stream, each.better, round(each.ratio.value, 3)) for each in lost} == {("calm", "dsat", 2.2)}
    assert {each.measure for each in lost if each.board == "long"} == {"mae", "range_error", "requests"}  # not for MRE
    by_stream = {each.stream: each for each in tallies(told, SMALL)}
    assert by_stream["calm"].lost == len(lost)
    assert by_stream["wild"].lost == 0
    assert by_stream["wild"].worst == pytest.approx(1.025)


def test_cost_is_measured() -> None:
    found_now = cost(timed=(2,), kept=(2,), units=(5, 9))
    (taken,) = found_now.taken
    assert min(taken.releasing, taken.idle, taken.summing) > 0
    assert [(each.law, list(each.after)) for each in found_now.kept] == [("w-event", [5, 9]), ("event-level", [5, 9])]


# ---- the document and the command ------------------------------------------------------------------------------------


def test_the_document_has_every_section_and_whole_tables() -> None:
    ablation = {
        Scenario(stream, WEEK, AUTO, told): runs(2.0 if told else 1.0)
        for stream in ("made_walk", "made_walk_32[:240]")
        for told in ((), *(((name, False),) for name in switches()))
    }
    told = found({"calm": FLAT | {"auto": 8.0}, "": FLAT}, ablation=ablation, coverage=coverage(calm=0.05))
    text = document(told, SMALL, TAKEN, command="penstock bench auto", stand_ins=["calm"])
    sections = [line for line in text.splitlines() if line.startswith("## ")]
    assert sections == [
        f"## {each}" for each in ("Goals", "Parts left out", "Cost", "Where it loses", "How it was made")
    ]
    tables = [part.splitlines() for part in text.split("\n\n") if part.startswith("|")]
    assert len(tables) == 7
    for table in tables:
        assert len({line.replace("\\|", "").count("|") for line in table}) == 1
    assert "no file of them, so that their figures say nothing about the originals: calm." in text
    assert "| `calm` | 95.0 % |" in text
    assert "| `pooling` | 2.00 | 2.00 |" in text
    assert "| 1 | 29,000 | 29,001 |" in text
    assert "**NO**" in text


@pytest.fixture
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two short streams a board, short windows, hardly any paces."""
    laws = {"long": WEEK, "short": WEEK, "event": Promise("event-level", "1"), "user": Promise("user-level", "1", 20)}
    names = ["const[:20]", "sparse[:20]"]
    boards = {key: replace(BOARDS[key], promises=(law,)).on(names) for key, law in laws.items()}
    part = ("made_walk[:20]",)
    plan = Plan(boards, 1, (1,), (5,), (WEEK,), "const[:20]", tuple(names), part, made_short=15, covered=10)
    monkeypatch.setattr("penstock.cli.goals.Plan", lambda seeds: replace(plan, seeds=seeds))
    monkeypatch.setattr("penstock.cli.goals.cost", lambda: TAKEN)
    monkeypatch.delenv("PENSTOCK_DATA", raising=False)


@pytest.mark.usefixtures("_tiny")
def test_the_whole_command_and_again_without_a_run(tmp_path: Path) -> None:
    told = "bench", "auto", "--into", tmp_path, "--seeds", 1, "--workers", 1
    code, out, err = penstock(*told)
    assert (code, "runs to do" in err, "What is asked of auto" in out) == (0, True, True), err
    page = (tmp_path / "auto.md").read_text(encoding="utf-8")
    assert "`penstock bench auto --seeds 1`" in page
    assert "not run" not in page
    code, again, err = penstock(*told)
    assert (code, again, "to do" in err) == (0, out, False)
    assert (tmp_path / "auto.md").read_text(encoding="utf-8") == page


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    code, _, err = penstock("bench", "auto", "--data", tmp_path / "none", "--into", tmp_path)
    assert (code, "there is no folder" in err) == (2, True)
