"""The audit: its bounds are right as often as they say, its runs are fair, and its commands do not mislead."""

from __future__ import annotations

import copy
import gc
import io
import json
import math
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from pathlib import Path
from types import CellType, FunctionType, ModuleType
from typing import Any, ClassVar, TypeVar
from unittest import mock

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from scipy.stats import binom

import penstock as ps
from in_process import command
from penstock.audit import __main__ as whole
from penstock.audit import auditing, kills, windows
from penstock.audit.attack import Attack, Outcome
from penstock.audit.bounds import interval, loss_above
from penstock.audit.evidence import TESTS, Finding, findings
from penstock.audit.planted import Planted
from penstock.audit.rows import attack, pattern
from penstock.audit.targets import audited
from penstock.audit.trials import POINTS, Arena, Case, Job, Run, Seen, Trials, attempt, worked_off
from penstock.audit.verdict import SUMMED, Verdict, judged
from penstock.bench import page
from penstock.catalogue import mechanism, mechanisms
from penstock.checks import CHECKS, Kernel, Subject
from penstock.checks.witness import Witness
from penstock.epsilon import Epsilon
from penstock.models import EventLevel, UserLevel, WEvent
from penstock.noise import SimulationNoise
from penstock.proofs import fingerprint
from penstock.types import Ints, Mask, Release

T = TypeVar("T")
ALPHA = 1e-3
PAIR = Attack(model=EventLevel(epsilon=1), one=[100], other=[101], event=lambda outcome: outcome.values[0, 0] < 101)

# ---- the statistics, on numbers whose law is known ------------------------------------------------------------------


def answers(rng: np.random.Generator, level: int, runs: int, loss: float = 1.0) -> Seen:
    """Runs of a mechanism that publishes one count with discrete Laplace noise: it loses exactly ``loss``."""
    drawn = rng.geometric(-np.expm1(-loss), (2, runs))
    values: Ints = level + drawn[0] - drawn[1]
    losses = loss * (np.abs(values - 101) - np.abs(values - 100)).astype(np.float64)
    blank = np.zeros((runs, 1, 1))
    return Seen(
        values.reshape(-1, 1, 1), blank.astype(np.int8), blank, np.zeros((runs, 1), np.int64), values < 101, losses
    )


def pair_of_runs(seed: int, runs: int, loss: float = 1.0) -> Trials:
    rng = np.random.default_rng(seed)
    return Trials(answers(rng, 100, runs, loss), answers(rng, 101, runs, loss), Epsilon("1"))


@pytest.mark.parametrize("runs", [10, 60])
@pytest.mark.parametrize("alpha", [0.5, 0.05])
def test_a_bound_is_wrong_no_oftener_than_it_says(runs: int, alpha: float) -> None:
    """Summed over everything that can be counted, for chances whose ratio is known."""
    for chance in (0.9, 0.5, 0.1):
        for loss in (0.0, 0.5, 2.0):
            weights = (
                binom.pmf(np.arange(runs + 1), runs, chance),
                binom.pmf(np.arange(runs + 1), runs, chance * math.exp(-loss)),
            )
            low = np.array([interval(k, runs, alpha)[0] for k in range(runs + 1)])
            high = np.array([interval(k, runs, alpha)[1] for k in range(runs + 1)])
            wrong = low[:, None] > high[None, :] * math.exp(loss) * (1 + 1e-12)
            assert (np.outer(*weights) * wrong).sum() <= alpha


def test_all_events_together_are_wrong_no_oftener_than_alpha() -> None:
    """With an alpha that is large enough to be seen; each event has a sixth of it, and none overdraws its share."""
    alpha, repetitions = 0.9, 250
    wrong = np.array([[f.lower > 1 for f in findings(PAIR, pair_of_runs(s, 300), alpha)] for s in range(repetitions)])
    assert wrong.shape == (repetitions, TESTS)
    share = alpha / TESTS
    assert wrong.mean(axis=0).max() <= share + 4 * math.sqrt(share / repetitions)
    assert wrong.any(axis=1).mean() <= alpha


def test_what_leaks_as_claimed_is_left_alone_and_what_leaks_more_is_caught() -> None:
    for seed in range(10):
        assert not judged("", PAIR, pair_of_runs(seed, 20_000), ALPHA, 0.0, "").exceeded
        leaking = pair_of_runs(seed, 20_000, loss=1.3)
        unweighed = Trials(_unweighed(leaking.one), _unweighed(leaking.other), leaking.charged)
        assert judged("", PAIR, unweighed, ALPHA, 0.0, "").best.lower > 1
        assert judged("", PAIR, leaking, ALPHA, 0.0, "").exceeded


def _unweighed(seen: Seen) -> Seen:
    return replace(seen, losses=np.empty(0))


def test_stated_events_are_counted_on_all_runs_and_found_ones_on_half() -> None:
    counted = {f.event: (f.trials, f.other_trials) for f in findings(PAIR, pair_of_runs(1, 401), ALPHA)}
    assert counted["stated"] == counted["stated, swapped"] == (401, 401)
    assert all(counted[name] == (201, 201) for name in ("told", "told, swapped", "learnt", "learnt, swapped"))


def test_the_chance_of_being_wrong_is_shared() -> None:
    for tests in (1, 7):
        best = judged("", PAIR, pair_of_runs(1, 2000), ALPHA, 0.0, "", tests=tests).best
        counts = best.hits, best.trials, best.other_hits, best.other_trials
        assert best.lower == loss_above(*counts, ALPHA / tests / TESTS)


def test_the_verdicts_of_a_command_share_it_too() -> None:
    wanted = dict.fromkeys(audited("rg"), 100)
    for verdict in auditing.verdicts(wanted, alpha=ALPHA, seed=1, workers=1, advance=lambda _: None):
        best = verdict.best
        counts = best.hits, best.trials, best.other_hits, best.other_trials
        assert best.lower == pytest.approx(loss_above(*counts, ALPHA / len(wanted) / TESTS))
        assert verdict.confidence == 1 - ALPHA


MANY_BINS = Attack(model=EventLevel(epsilon=1, per_unit=15), one=[[100] * 15], other=[[101] * 15])


def rubbish(rng: np.random.Generator, runs: int) -> Seen:
    """Values that have nothing to do with either stream, in so many bins that chance explains everything."""
    values = 100 + rng.integers(-2, 3, (runs, 1, 15))
    blank = np.zeros(values.shape)
    free = np.zeros((runs, 1), np.int64)
    return Seen(values, blank.astype(np.int8), blank, free, np.zeros(runs, np.bool_), np.empty(0))


def test_nothing_is_learnt_from_chance() -> None:
    rng = np.random.default_rng(5)
    for _ in range(10):
        trials = Trials(rubbish(rng, 80), rubbish(rng, 80), Epsilon("1"))
        assert max(f.lower for f in findings(MANY_BINS, trials, 0.05)) <= 0


def test_counting_where_the_event_was_chosen_would_cheat() -> None:
    """The same rubbish, if its second half repeats the first: so the two halves are what keeps the verdict honest."""
    rng = np.random.default_rng(5)
    one, other = (Seen.joined([half, half]) for half in (rubbish(rng, 40), rubbish(rng, 40)))
    assert max(f.lower for f in findings(MANY_BINS, Trials(one, other, Epsilon("1")), 0.05)) > 1


def test_a_threshold_is_not_chosen_where_it_is_counted() -> None:
    """A witness's score that is right on the first half and a lie on the second proves nothing."""
    rng = np.random.default_rng(1)
    one = pair_of_runs(1, 1000).one
    lie = (
        np.concatenate([np.full(500, 9.0), rng.normal(size=500)]),
        np.concatenate([np.full(500, -9.0), rng.normal(size=500)]),
    )
    told = [replace(one, losses=score) for score in lie]
    bare = Attack(model=EventLevel(epsilon=1), one=[100], other=[101])
    with mock.patch("penstock.audit.evidence.features", return_value=np.zeros((1000, 1))):
        assert max(f.lower for f in findings(bare, Trials(told[0], told[1], Epsilon("1")), 0.05)) <= 0


def asymmetric(runs: int, *, swapped: bool) -> Trials:
    """A value that is never 1 on the one stream, and now and then on the other."""
    rng = np.random.default_rng(3)
    rare = (rng.random(runs) < 0.2).astype(np.int64)
    seen = [
        Seen(
            values.reshape(-1, 1, 1),
            np.zeros((runs, 1, 1), np.int8),
            np.zeros((runs, 1, 1)),
            np.zeros((runs, 1), np.int64),
            values == 1,
            np.empty(0),
        )
        for values in (np.zeros(runs, np.int64), rare)
    ]
    return Trials(seen[swapped], seen[not swapped], Epsilon("1"))


@pytest.mark.parametrize("swapped", [False, True])
def test_both_directions_are_tried(swapped: bool) -> None:
    low = Attack(model=EventLevel(epsilon=1), one=[0], other=[1])
    assert max(f.lower for f in findings(low, asymmetric(2000, swapped=swapped), ALPHA)) > 2


@pytest.mark.parametrize("swapped", [False, True])
def test_a_stated_event_is_tried_on_both_streams(swapped: bool) -> None:
    """Whoever states an event may err about which stream it is more probable on; a leak in full is still one."""
    stated = Attack(model=EventLevel(epsilon=1), one=[0], other=[1], event=lambda outcome: True)
    trials = asymmetric(2000, swapped=swapped)
    found = [f for f in findings(stated, trials, ALPHA) if f.event.startswith("stated")]
    assert max(f.lower for f in found) > 2


@pytest.mark.parametrize(("one", "other"), [(2.5, 0.0), (-2.5, 0.0), (0.0, 2.5), (0.0, -2.5)])
def test_one_transcript_that_tells_too_much_is_enough_in_either_direction(one: float, other: float) -> None:
    """Pure privacy bounds the loss of every transcript on both sides, whichever stream it was seen on."""
    trials = pair_of_runs(1, 200)
    for seen, told in ((trials.one, one), (trials.other, other)):
        seen.losses[0] = told
    verdict = judged("", PAIR, trials, ALPHA, 0.0, "")
    assert verdict.largest == 2.5
    assert verdict.exceeded


# ---- verdicts -------------------------------------------------------------------------------------------------------


def verdict(**told: Any) -> Verdict:
    """A verdict on something, tight if nothing else is said."""
    lower, trials = told.pop("lower", 1.9), told.pop("trials", 25_000)
    usually: dict[str, Any] = {
        "name": "Mine",
        "model": EventLevel(epsilon=2),
        "charged": Epsilon("2"),
        "best": Finding("stated, swapped", 9, trials, 3, trials, lower),
        "confidence": 0.999,
        "largest": 2.0,
        "seconds": 12.3,
        "remark": "",
    }
    return Verdict(**{**usually, **told})


def test_words() -> None:
    assert verdict().word == "tight"
    assert verdict(lower=1.5).word == "weak"
    assert verdict(lower=1.5).vacuous
    assert verdict(lower=1.5, remark="it is known why").word == "explained"
    assert verdict(lower=2.0).word == "tight"
    assert verdict(lower=2.001).word == "EXCEEDED"
    assert verdict(largest=2.1).word == "EXCEEDED"
    assert verdict(largest=None).word == "tight"
    assert verdict(charged=Epsilon("0"), lower=-math.inf, largest=None).power == 0


def test_more_is_not_proved_than_was_booked() -> None:
    """What is proved to leak beyond the ledger leaks past it, whatever was claimed; that is nothing to call tight."""
    past = verdict(charged=Epsilon("0.1"), lower=1.0, largest=0.1)
    assert past.word == "UNPAID"
    assert verdict(charged=Epsilon("0"), lower=1.0, remark="no tight event is known").word == "UNPAID"


@pytest.mark.parametrize("lower", [-math.inf, 1.0])
def test_plain_data_is_json(lower: float) -> None:
    row = verdict(lower=lower, largest=None).as_row()
    assert list(row) == KEYS
    json.dumps(row, allow_nan=False)


EXTREMES = {
    "usual": [verdict()],
    "nothing": [verdict(charged=Epsilon("0"), lower=-math.inf, largest=None)],
    "exceeded by far": [verdict(lower=20.0, largest=300.0)],
    "fifty": [verdict(name=f"Mechanism{i}", model=WEvent(epsilon=4, w=i + 1)) for i in range(50)],
    "small": [
        verdict(model=EventLevel(epsilon="0.000000001"), charged=Epsilon("0.000000001"), lower=-3.0, largest=1e-9)
    ],
    "many trials": [verdict(trials=25_000_000, seconds=99_999.0)],
    "long": [verdict(name="TheSlidingBaselineOfEverything", model=UserLevel(epsilon=2, horizon=100_000))],
}


@pytest.mark.parametrize("found", EXTREMES.values(), ids=EXTREMES.keys())
def test_a_table_can_be_read_in_a_terminal(found: list[Verdict]) -> None:
    text = io.StringIO()
    Console(file=text, width=80).print(auditing.table("Audit", found))
    shown = text.getvalue()
    assert "…" not in shown
    assert shown.count(found[0].word) >= len(found)
    assert all(f"{each.power:.2f}" in shown for each in found)


def test_rows_can_be_told_apart() -> None:
    """Remarks name a row by its title; so two rows of one model must not have the same one."""
    titles = [v.title for v in auditing.verdicts(dict.fromkeys(audited("uniform"), 100), **QUICK)]
    assert len(set(titles)) == len(titles)


QUICK: dict[str, Any] = {"alpha": ALPHA, "seed": 1, "workers": 1, "advance": lambda _: None}


@pytest.mark.parametrize("found", EXTREMES.values(), ids=EXTREMES.keys())
def test_tables_on_a_page_lose_nothing(found: list[Verdict]) -> None:
    marked = "before\n<!-- begin: attacks -->\nold\n<!-- end: attacks -->\nafter\n"
    table = auditing.table("Audit", found, box.MARKDOWN)
    once = page.rewritten(marked, {"attacks": table})
    lines = once.splitlines()
    assert once.startswith("before\n")
    assert once.endswith("after\n")
    assert "old" not in once
    assert "…" not in once
    assert len([line for line in lines if line.startswith("|")]) == len(found) + 2
    assert len({line.count("|") for line in lines if line.startswith("|")}) == 1
    assert page.rewritten(once, {"attacks": table}) == once


def test_a_page_has_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever likes colours in the terminal, as many builds do, wants none in a document."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" not in page.as_markdown(auditing.table("Audit", [verdict(lower=5.0)], box.MARKDOWN))


@pytest.mark.parametrize("marks", ["", "<!-- end: a --><!-- begin: a -->", "<!-- begin: a -->" * 2 + "<!-- end: a -->"])
def test_a_page_without_a_place_is_refused(marks: str) -> None:
    with pytest.raises(ps.errors.BadInput, match="mark one"):
        page.rewritten(marks, {"a": auditing.table("Audit", [verdict()])})


@pytest.mark.parametrize("found", EXTREMES.values(), ids=EXTREMES.keys())
def test_pictures_show_all_of_it(found: list[Verdict], tmp_path: Path) -> None:
    drawn: list[tuple[Any, Any]] = []

    def kept(figure: Figure, path: Path, **_: Any) -> None:
        figure.draw_without_rendering()
        drawn.append((figure.get_tightbbox(), figure.get_size_inches()))
        assert len(figure.axes[0].get_yticklabels()) == len(found)

    with mock.patch.object(Figure, "savefig", kept):
        auditing.draw(found, tmp_path / "a.png")
    ((inside, (width, height)),) = drawn
    assert inside.x0 >= -0.01
    assert inside.y0 >= -0.01
    assert inside.x1 <= width + 0.01
    assert inside.y1 <= height + 0.01


def test_what_was_proved_is_said_with_its_confidence() -> None:
    assert "99.9%" in next(auditing.remarks([verdict()]))
    assert "100" not in next(auditing.remarks([verdict(confidence=0.99999)]))


# ---- runs with a common past ----------------------------------------------------------------------------------------


class Tape:
    """Noise that takes down what it draws; or, given a tape, plays it."""

    secure: ClassVar[bool] = False

    def __init__(self, played: Sequence[Any] | None = None) -> None:
        self.values: list[Any] = []
        self._noise, self._played = SimulationNoise(7), None if played is None else iter(played)

    def rekey(self) -> None:
        """Nothing to do."""

    def laplace(self, scale: Fraction, size: int) -> Ints:
        return self._next(lambda: self._noise.laplace(scale, size))

    def laplace_each(self, scales: Sequence[Fraction], which: NDArray[np.intp]) -> Ints:
        return self._next(lambda: self._noise.laplace_each(scales, which))

    def cube(self, scale: Fraction, size: int) -> Ints:
        return self._next(lambda: self._noise.cube(scale, size))

    def bernoulli(self, chance: Fraction, shape: tuple[int, ...]) -> Mask:
        return self._next(lambda: self._noise.bernoulli(chance, shape))

    def bernoulli_exp(self, rate: Fraction, steps: Ints) -> Mask:
        return self._next(lambda: self._noise.bernoulli_exp(rate, steps))

    def order(self, size: int) -> NDArray[np.intp]:
        return self._next(lambda: self._noise.order(size))

    def _next(self, draw: Callable[[], T]) -> T:
        value: T = draw() if self._played is None else next(self._played)
        self.values.append(value)
        return copy.copy(value)  # whoever draws may write into what was drawn


def outcome(releases: Sequence[Release]) -> Outcome:
    return Outcome.of(releases)


def anew(case: Case, tape: Tape, which: int) -> tuple[Run, int]:
    """A run from the very beginning, written without copies; and how much had been drawn before the difference."""
    past = case.attack.prefix
    while True:
        snapshots = case.attack.snapshots(which)
        witness = Witness(tape, case.attack.model, *case.attack.streams, points=POINTS)
        curator = ps.Curator(case.attack.model, case.attack.bins, noise=witness, answers=witness.answer)
        run = Run(case.subject, case.subject.make().start(curator), curator, [], witness)
        run.over(snapshots[:past])
        if case.attack.given is None or case.attack.given(outcome(run.releases)):
            break
    drawn = len(tape.values)
    run.over(snapshots[past:])
    return run, drawn


def same(one: Run, other: Run) -> bool:
    assert one.witness is not None
    assert other.witness is not None
    released = all(a.same_as(b) for a, b in zip(one.releases, other.releases, strict=True))
    booked = one.curator.ledger.audit() == other.curator.ledger.audit()
    return released and one.witness.loss == other.witness.loss and booked


FORKED = [(key, row.number) for key in mechanisms() for row in audited(key) if row.row().attack.prefix]


@pytest.mark.parametrize(("key", "number"), FORKED)
def test_a_forked_run_is_a_run(key: str, number: int) -> None:
    """Each arm, played anew from the beginning with the noise it has drawn, is the same to the last nano-epsilon."""
    case = audited(key)[number].case()
    for _ in range(3):
        tape = Tape()
        arms = Arena(case, tape).trial()
        played = Tape(tape.values)
        one, past = anew(case, played, 0)
        other, _ = anew(case, Tape([*tape.values[:past], *tape.values[len(played.values) :]]), 1)
        assert same(arms[0], one)
        assert same(arms[1], other)
        begun = [outcome(arm.releases[: case.attack.prefix]) for arm in arms]
        assert np.array_equal(begun[0].values, begun[1].values)
        assert case.attack.given is None or case.attack.given(begun[0])


def changeable(root: object) -> dict[int, object]:
    """Everything reachable that somebody could write to: containers, arrays, instances of our classes."""
    waiting, known, found = [root], set[int](), dict[int, object]()
    while waiting:
        each = waiting.pop()
        if id(each) in known or isinstance(each, (type, ModuleType, Enum)):
            continue
        known.add(id(each))
        if isinstance(each, FunctionType):
            waiting += each.__closure__ or ()
        elif _frozen(each):
            waiting += vars(each).values() if hasattr(each, "__dict__") else gc.get_referents(each)
        else:
            if _written_to(each):
                found[id(each)] = each
            waiting += gc.get_referents(each)
    return found


def _frozen(each: object) -> bool:
    parameters = getattr(type(each), "__dataclass_params__", None)
    return parameters is not None and bool(parameters.frozen)


def _written_to(each: object) -> bool:
    if isinstance(each, np.ndarray):
        return bool(each.flags.writeable)
    ours = type(each).__module__.startswith("penstock") and not isinstance(each, (tuple, Epsilon, Release))
    return ours or isinstance(each, (list, dict, set, bytearray, CellType))


@pytest.mark.parametrize("key", sorted({key for key, _ in FORKED}))
def test_the_two_arms_share_nothing_that_can_be_written_to(key: str) -> None:
    """Ledger, segments, pools, groupers, witness: but for the noise, the law and the two streams, all is copied."""
    case = next(row for row in audited(key) if row.row().attack.prefix).case()
    noise = SimulationNoise(1)
    one, other = Arena(case, noise).trial()
    allowed = changeable((noise, case.subject, case.attack.model, case.attack.streams))
    mine, theirs = changeable(one), changeable(other)
    assert {"Ledger", "Witness", type(one.mechanism).__name__} <= {type(each).__name__ for each in mine.values()}
    assert not [mine[key] for key in mine.keys() & theirs.keys() - allowed.keys()]


def test_the_arms_draw_noise_of_their_own() -> None:
    seen = worked_off(Job(audited("bd")[0], 60, 1))
    assert (seen.one.values[:, :2] == seen.other.values[:, :2]).all()
    later = seen.one.values[:, 2:] - [[1000], [2000]] != seen.other.values[:, 2:] - [[1001], [2001]]
    assert later.any(axis=(1, 2)).mean() > 0.5


def test_only_runs_that_begin_as_given_are_counted() -> None:
    mine = attack(EventLevel(epsilon=1), [[100], [100], [100]], [[100], [100], [101]], given=pattern("f>100 f<100"))
    arena = Arena(Case(Subject(mechanisms()["uniform"], mine.model), mine), SimulationNoise(1))
    for _ in range(50):
        for run in arena.trial():
            assert run.releases[0].values[0] > 100 > run.releases[1].values[0]


def test_what_never_begins_so_is_refused() -> None:
    never = attack(EventLevel(epsilon=1), [[100], [100]], [[100], [101]], given=pattern("r"))
    arena = Arena(Case(Subject(mechanisms()["uniform"], never.model), never), SimulationNoise(1))
    with mock.patch("penstock.audit.trials.PATIENCE", 20), pytest.raises(ps.errors.BadInput, match="more common"):
        arena.trial()


@dataclass(kw_only=True)
class Remembering(Planted):
    """Publishes like Uniform, and counts its steps in a list that is no declared state."""

    steps: ClassVar[int] = 3

    def validate(self) -> None:
        self.seen: list[int] = []

    def decide(self, snapshot: ps.Snapshot) -> Release:
        self.seen.append(snapshot.t)
        assert len(self.seen) <= self.steps, "an earlier trial is remembered"
        return super().decide(snapshot)


@pytest.mark.parametrize("prefix", [0, 1])
def test_no_trial_knows_of_another(prefix: int) -> None:
    """Bounds take runs to be independent; a mechanism that hides state must not carry it from one to the next."""
    level, rows = WEvent(epsilon=1, w=3), [[100]] * 3
    pair = Attack(model=level, one=rows, other=[[100]] * prefix + [[101]] * (3 - prefix))
    arena = Arena(Case(Subject(Remembering, level), pair), SimulationNoise(1))
    for _ in range(3):
        arena.trial()


class Quiet(SimulationNoise):
    """A kernel's noise that is half as wide as was paid for."""

    def __init__(self) -> None:
        super().__init__(5)

    def laplace(self, scale: Fraction, size: int) -> Ints:
        return super().laplace(scale / 2, size)


@dataclass(frozen=True)
class Given:
    """A case that is found because it is at hand."""

    number: int
    cases: ClassVar[list[Case]] = []

    def case(self) -> Case:
        return self.cases[self.number]


def attacked(case: Case, trials: int) -> Trials:
    Given.cases.append(case)
    ((_, seen),) = attempt({Given(len(Given.cases) - 1): trials}, 1, 1, lambda _: None)
    return seen


def test_a_kernel_with_too_little_noise_is_caught_from_outside() -> None:
    """End to end, without anybody who weighs answers."""
    row = audited("uniform")[0].row()
    case = Case(Subject(mechanisms()["uniform"], row.attack.model, Kernel(noise=Quiet)), row.attack, weigh=False)
    seen = attacked(case, 3000)
    assert np.isnan(seen.one.losses).all()
    assert judged("", row.attack, seen, ALPHA, 0.0, "").best.lower > 2


def test_too_little_noise_is_not_hidden_by_thrift() -> None:
    """On its row SecWeb spends a quarter of epsilon; with half the noise it loses more than is booked. Not tight."""
    row = audited("sec_web")[0].row()
    quiet = Subject(mechanisms()["sec_web"], row.attack.model, Kernel(noise=Quiet), row.parameters)
    found = judged("", row.attack, attacked(Case(quiet, row.attack, weigh=False), 2000), ALPHA, 0.0, "")
    assert found.best.lower > float(found.charged)
    assert found.word != "tight"


# ---- commands -------------------------------------------------------------------------------------------------------

KEYS = [
    *("mechanism", "row", "model", "epsilon", "charged", "released", "confidence", "power", "largest", "event", "hits"),
    *("trials", "other_hits", "other_trials", "lower", "seconds", "verdict", "remark"),
]
FAST = "--seed", 1, "--workers", 1, "--trials"

HEAD = '''
"""A mechanism of one's own."""
from dataclasses import dataclass, field, replace
from typing import ClassVar
import numpy as np
from penstock.epsilon import Epsilon
from penstock.mechanisms.base import Mechanism
from penstock.models import EventLevel, UserLevel, WEvent
from penstock.primitives.segment import SegmentPlan
from penstock.queries import Distance
from penstock.types import Kind, unseal

RNG = np.random.default_rng(1)

@dataclass(kw_only=True)
class Mine(Mechanism):
    """Publishes always.

    >>> 1 + 1
    2
    """

    proven_for: ClassVar = (EventLevel,)
'''
HONEST = """
def decide(self, snapshot):
    return self.publish(snapshot, self.model.epsilon / self.model.window)
"""
PROOF = "---\nclaims: EventLevel\nstatus: proved\nreviewed: {}\n---\n"
TABLE = (
    "| model | with | one stream | its neighbour | given | event | runs | remark |\n|---|---|---|---|---|---|---|---|\n"
)


@dataclass
class Desk:
    """Where files are written, each in a folder of its own, and handed to commands."""

    folder: Path
    made: int = 0

    def mine(self, body: str = HONEST, proof: str | None = None) -> Path:
        self.made += 1
        path = self.folder / str(self.made) / "mine.py"
        path.parent.mkdir()
        path.write_text(HEAD + textwrap.indent(textwrap.dedent(body), "    "))
        if proof is not None:
            path.with_suffix(".md").write_text(proof)
        return path


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def refused(*arguments: object) -> str:
    """The one sentence with which a command refuses something."""
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    lines = err.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    assert lines[0].endswith((".", "?"))
    return lines[0]


def data(*arguments: object) -> tuple[int, list[dict[str, Any]]]:
    """The exit code and the JSON of an audit."""
    code, out, _ = command("audit", *arguments, "--json")
    return code, json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


def test_an_audit_says_what_it_has_found() -> None:
    code, out, _ = command("audit", "uniform", *FAST, 300)
    assert code == 0
    assert out.count("Uniform") >= 5
    for words in ("Audit of uniform", "confidence", "99.9%", "more trials may prove more"):
        assert words in out
    assert "EXCEEDED" not in out


def test_an_audit_shows_its_table_whole() -> None:
    assert "…" not in command("audit", "uniform", *FAST, 100)[1]


def test_nothing_is_said_where_nobody_looks() -> None:
    assert command("audit", "sample", *FAST, 100)[2] == ""
    assert command("audit", "sample", *FAST, 100, "--json")[2] == ""


def test_json_of_an_audit() -> None:
    code, rows = data("fixed", *FAST, 300, "--confidence", "0.99")
    assert code == 0
    assert [list(row) for row in rows] == [KEYS] * 2
    row = rows[1]
    assert (row["mechanism"], row["epsilon"], row["charged"]) == ("Fixed", "3", "3")
    assert row["model"] == {"name": "w-event", "epsilon": "3", "neighbours": "add-remove", "per_unit": 1, "w": 4}
    assert (row["confidence"], row["largest"]) == (0.99, 3.0)
    assert row["power"] == pytest.approx(row["lower"] / 3)


def test_an_audit_can_be_repeated_and_shared() -> None:
    """With a seed, in one process or in two, everything but the time comes out the same; with another, not."""
    found = [
        data("sample", "--seed", seed, "--workers", n, "--trials", 2100)[1] for seed, n in ((1, 1), (1, 2), (2, 1))
    ]
    for rows in found:
        for row in rows:
            del row["seconds"]
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_without_a_seed_the_shipped_noise_is_used() -> None:
    assert data("sample", "--workers", 1, "--trials", 100)[0] == 0
    job = Job(audited("sample")[0], 1, None)
    assert type(job.noise(Kernel())).__name__ == "SecureNoise"


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    assert command("audit", "sample", *FAST, 100, "--picture", tmp_path / "a.png")[0] == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_models_choose_pairs() -> None:
    fitting = data("uniform", *FAST, 100, "--model", "w-event", "--w", 3, "--epsilon", 4)[1]
    assert [(row["epsilon"], row["remark"], row["event"].split(",")[0]) for row in fitting] == [("4", "", "stated")]
    for told in (["--w", 4], ["--w", 3, "--per-unit", 2], ["--w", 3, "--neighbours", "replace"]):
        rows = data("uniform", *FAST, 100, "--model", "w-event", *told)[1]
        assert len(rows) == 3
        assert {row["remark"] for row in rows} == {"no tight event is stated for it"}
    m_context = data("uniform", *FAST, 100, "--model", "m-context", "--m", 3)[1]
    assert {row["model"]["m"] for row in m_context} == {3}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["audit", "unifrom"], "Did you mean uniform?"),
        (["check", "unifrom"], "Did you mean uniform?"),
        (["audit", "nowhere/mine.py"], "there is no file"),
        (["audit", "baseline", "--model", "w-event", "--w", 3], "not proven for w-event"),
        (["audit", "uniform", "--epsilon", 3], "--model"),
        (["audit", "uniform", "--model", "w-event"], "needs w"),
        (["audit", "uniform", "--model", "w-event", "--w", 3, "--m", 2], "no parameter 'm'"),
        (["audit", "uniform", "--trials", 99], "at least 100"),
        (["audit", "uniform", "--trials", 200, "--workers", 0], "--workers"),
        (["audit", "uniform", "--trials", 200, "--confidence", 1], "--confidence"),
        (["audit", "uniform", "--trials", 200, "--confidence", "nan"], "nan"),
        (["audit", "uniform", "--trials", 200, "--picture", "/nowhere/at/all.png"], "no folder"),
        (["audit", "uniform", "--trials", 200, "--picture", "a.doc"], "one of these kinds"),
        (["audit", "spas", *FAST, 100, "--model", "w-event", "--w", 3, "--set", "warm_up=soon"], "warm_up"),
        # found here
        (["audit", "uniform", "--trials", 100, "--workers", 1, "--seed", -1], "--seed"),
        (["audit", "uniform", *FAST, 100, "--set", "nonsense=1"], "nonsense"),
        (["audit", "uniform", *FAST, 100, "--model", "event-level", "--set", "nonsense=1"], "nonsense"),
        (["check", "uniform", "--set", "nonsense=1"], "nonsense"),
    ],
)
def test_what_cannot_be_done_is_refused(arguments: list[object], words: str) -> None:
    assert words in refused(*arguments)


def test_a_parameter_may_be_a_list() -> None:
    told = "--model", "event-level", "--set", "histogram=quadtree", "--set"
    assert data("uniform", *FAST, 100, *told, "shape=2x2")[0] == 0
    assert data("uniform", *FAST, 100, *told, "shape=[2, 2]")[0] == 0


def test_without_scipy_it_says_what_to_install() -> None:
    with mock.patch.dict(sys.modules, {"scipy.stats": None}):
        assert "penstock[audit]" in refused("audit", "uniform", *FAST, 100)


def started(line: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def has_children(pid: int) -> bool:
    return bool(Path(f"/proc/{pid}/task/{pid}/children").read_text())


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks the kernel who has children")
@pytest.mark.parametrize(("workers", "after"), [(1, 3.0), (2, 0.5), (2, 3.0)])
def test_an_audit_stops_when_told_to(workers: int, after: float) -> None:
    """At once, without a word, and not with the exit code of an exceeded claim; also while processes begin."""
    with started([sys.executable, "-m", "penstock", "audit", "uniform", "--workers", str(workers)]) as child:
        while workers > 1 and child.poll() is None and not has_children(child.pid):
            time.sleep(0.05)
        time.sleep(after)
        os.killpg(child.pid, signal.SIGINT)
        try:
            out, err = child.communicate(timeout=60)
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)  # or the whole audit would have to be waited for
    assert child.returncode == 130
    assert "Traceback" not in err
    assert out == ""


# ---- mechanisms of one's own ----------------------------------------------------------------------------------------

SEEN_AS_WRONG = {
    "the count itself": "return self.released(snapshot, unseal(snapshot), Kind.FRESH, 0.0)",
    "half the noise": """
        self.publish(snapshot, self.model.epsilon)
        noise = RNG.laplace(0, 0.25, self.curator.bins)
        return self.released(snapshot, unseal(snapshot) + noise, Kind.FRESH, 0.0)""",
    "its parity": """
        values = self.publish(snapshot, self.model.epsilon).values
        return self.released(snapshot, values + (values + unseal(snapshot)) % 2, Kind.FRESH, 0.0)""",
    "whether it is fresh": """
        values = self.publish(snapshot, self.model.epsilon).values
        kind = Kind.FRESH if unseal(snapshot)[0] % 2 else Kind.GROUPED
        return self.released(snapshot, values, kind, 0.0)""",
    # found here: all of it is public, and none of it is looked at
    "its kind": """
        values = self.publish(snapshot, self.model.epsilon).values
        kind = Kind.ESTIMATED if unseal(snapshot)[0] % 2 else Kind.GROUPED
        return self.released(snapshot, values, kind, 0.0)""",
    "its noise_sd": """
        values = self.publish(snapshot, self.model.epsilon).values
        return self.released(snapshot, values, Kind.FRESH, float(unseal(snapshot)[0] % 2))""",
    "its noise_sd, a little": """
        values = self.publish(snapshot, self.model.epsilon).values
        return self.released(snapshot, values, Kind.FRESH, 1 + 1e-6 * unseal(snapshot)[0])""",
    "what it says it has charged": """
        release = self.publish(snapshot, self.model.epsilon)
        return replace(release, charged=Epsilon.of_nano(release.charged.nano - int(unseal(snapshot)[0]) % 2))""",
    "the second bin": """
        values = self.publish(snapshot, self.model.epsilon).values.copy()
        values[1:] = unseal(snapshot)[1:]
        return self.released(snapshot, values, Kind.FRESH, 0.0)""",
}


def deciding(body: str) -> str:
    return "def decide(self, snapshot):\n" + textwrap.indent(textwrap.dedent(body), "    ")


@pytest.mark.parametrize("body", SEEN_AS_WRONG.values(), ids=SEEN_AS_WRONG.keys())
def test_what_leaks_is_found(body: str, desk: Desk) -> None:
    code, out, _ = command("audit", desk.mine(deciding(body)), *FAST, 2000)
    assert code == 1
    assert "EXCE" in out
    assert "loses more than it claims" in out


def only(*names: str) -> Any:
    """Some of the checks, where all of them would take long."""
    return mock.patch("penstock.cli.check.CHECKS", {name: CHECKS[name] for name in names})


@pytest.mark.parametrize("name", ["the count itself", "its parity", "its kind", "its noise_sd", "the second bin"])
def test_what_leaks_keeps_no_promise(name: str, desk: Desk) -> None:
    with only("non_interference", "same_on_neighbours"):
        code, out, _ = command("check", desk.mine(deciding(SEEN_AS_WRONG[name])), "--json")
    assert code == 1
    assert [bool(row["broken"]) for row in json.loads(out)] == [True, True]


def test_a_leak_is_found_whatever_the_noise(desk: Desk) -> None:
    """Parity is told in full; that the noise around it is wide must not hide it."""
    leak = desk.mine(deciding(SEEN_AS_WRONG["its parity"]))
    assert data(leak, *FAST, 1000, "--model", "event-level", "--epsilon", "0.02")[0] == 1


def test_an_honest_mechanism_is_left_alone(desk: Desk) -> None:
    path = desk.mine()
    code, rows = data(path, *FAST, 400)
    assert code == 0
    assert {row["verdict"] for row in rows} <= {"explained", "weak", "tight"}
    assert command("audit", f"{path}:Mine", *FAST, 100)[0] == 0


def test_an_honest_segment_is_left_alone(desk: Desk) -> None:
    """However unevenly it divides its budget: the loss of a transcript is said to be exact, and convicts by itself."""
    body = """
        proven_for: ClassVar = (UserLevel,)

        def begin(self):
            u = self.model.epsilon.share(0.005)
            self.segment = self.curator.segment(SegmentPlan(1, u, (self.model.epsilon - u) / 2))

        def decide(self, snapshot):
            if not self.segment.left:
                return self.republish(snapshot)
            verdict = self.segment.above(snapshot, Distance([0] * self.curator.bins), 100, then=Epsilon(0))
            told = np.full(self.curator.bins, verdict.value == "above", np.int64)
            return self.released(snapshot, told, Kind.ESTIMATED, 0.0)
    """
    code, rows = data(desk.mine(body), *FAST, 300, "--model", "user-level", "--horizon", 3, "--epsilon", 2)
    assert [row["verdict"] for row in rows] == ["nothing"] * 3
    assert max(row["largest"] for row in rows) <= 2 * (1 + SUMMED)
    assert code == 0


def test_what_leaks_past_the_ledger_is_not_called_tight(desk: Desk) -> None:
    body = """
        self.publish(snapshot, self.model.epsilon / 100)
        noise = RNG.laplace(0, 1 / float(self.model.epsilon), self.curator.bins)
        return self.released(snapshot, unseal(snapshot) + noise, Kind.FRESH, 0.0)"""
    code, rows = data(desk.mine(deciding(body)), *FAST, 600)
    assert all(row["lower"] > 10 * float(row["charged"]) for row in rows)
    assert not {row["verdict"] for row in rows} & {"tight", "explained", "weak", "nothing"}
    assert code == 1


def test_a_proof_beside_it_says_where_it_loses_most(desk: Desk) -> None:
    table = TABLE + "| `EventLevel(epsilon=3)` |  | `7x2` | `7 8` | `f<8` | `f<8` | 2 | a word |\n"
    (row,) = data(desk.mine(proof=PROOF.format(0) + table), *FAST, 200)[1]
    assert (row["epsilon"], row["remark"], row["trials"] in (200, 400)) == ("3", "a word", True)


FILES = {
    "a syntax error": ("def x(", None, "SyntaxError"),
    "an error": ("raise KeyError('x')", None, "KeyError"),
    "nothing": ("x = 1", None, "no mechanism"),
}


@pytest.mark.parametrize(("text", "proof", "words"), FILES.values(), ids=FILES.keys())
@pytest.mark.parametrize("verb", ["audit", "check"])
def test_a_file_that_is_of_no_use(verb: str, text: str, proof: str | None, words: str, tmp_path: Path) -> None:
    path = tmp_path / f"{verb}.py"
    path.write_text(text)
    said = refused(verb, path)
    assert words in said
    assert ":NAME" not in said  # there is none to say


@pytest.mark.parametrize("verb", ["audit", "check"])
def test_a_file_of_two_mechanisms(verb: str, desk: Desk) -> None:
    path = desk.mine()
    path.write_text(path.read_text() + "\n\n@dataclass(kw_only=True)\nclass Other(Mine):\n    '''Other.'''\n")
    assert "Mine, Other" in refused(verb, path)
    assert "it has Mine, Other" in refused(verb, f"{path}:Third")
    assert mechanism(f"{path}:Other").__name__ == "Other"


UNUSABLE = {
    "it fails": deciding("raise RuntimeError(f'boom {unseal(snapshot)[0]}')"),
    "it fails later": deciding(
        "if snapshot.t == 4:\n    raise KeyError('x')\nreturn self.publish(snapshot, self.model.epsilon)"
    ),
    "it fails to begin": "def begin(self):\n    raise RuntimeError('no')\n" + HONEST,
    "it releases nothing": deciding("return None"),
    "it releases too little": deciding("return self.released(snapshot, np.zeros(self.curator.bins + 1), 0, 0.0)"),
    "it needs a parameter": "size: int\n" + HONEST,
    "it cannot be copied": "def begin(self):\n    self.steps = (i for i in range(9))\n" + HONEST,
    "it claims nothing": "proven_for: ClassVar = ()\n" + HONEST,
}


@pytest.mark.parametrize("body", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_a_mechanism_that_cannot_be_audited_is_refused_in_a_sentence(body: str, desk: Desk) -> None:
    refused("audit", desk.mine(body), *FAST, 100)


@pytest.mark.parametrize("body", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_a_mechanism_that_cannot_be_checked_keeps_no_promise(body: str, desk: Desk) -> None:
    """A failing mechanism is what a check is for; it ends with a verdict or a sentence, and never content."""
    with only("one_release_a_step", "exact_without_noise", "proof_is_current", "never_overspends"):
        code, out, err = command("check", desk.mine(body), "--json")
    assert code in (1, 2)
    assert json.loads(out) if code == 1 else err.startswith("error: ")


@pytest.mark.parametrize("verb", ["audit", "check"])
@pytest.mark.parametrize("proof", ["# A page\n", "---\nclaims: EventLevel\n---\n", PROOF.format(0) + TABLE + "| 1 |\n"])
def test_a_page_beside_it_that_is_no_proof(verb: str, proof: str, desk: Desk) -> None:
    with only("one_release_a_step", "proof_is_current"):
        code, out, err = command(verb, desk.mine(proof=proof), *([*FAST, 100] if verb == "audit" else []))
    assert (code, out) == (2, "") if verb == "audit" else code in (1, 2)
    assert code == 1 or err.startswith("error: ")


def test_a_pair_that_is_not_of_neighbours_accuses_nobody(desk: Desk) -> None:
    table = TABLE + "| `EventLevel(epsilon=2)` |  | `1x3` | `9x3` |  |  |  |  |\n"
    refused("audit", desk.mine(proof=PROOF.format(0) + table), *FAST, 100)


# ---- penstock check -------------------------------------------------------------------------------------------------


def test_a_good_mechanism_of_ones_own_keeps_every_promise(desk: Desk) -> None:
    path = desk.mine(proof=PROOF.format("0"))
    now = fingerprint(mechanism(str(path)))
    path.with_suffix(".md").write_text(PROOF.format(now))
    code, out, err = command("check", path)
    assert (code, err) == (0, "")
    assert "Checks of Mine" in out
    assert len(re.findall(r"│ yes +│$", out, re.MULTILINE)) == len(CHECKS)
    assert "…" not in out


def test_a_promise_that_is_broken_is_named(desk: Desk) -> None:
    with only("non_interference", "unproven_models_refused"):
        code, out, _ = command("check", desk.mine(deciding(SEEN_AS_WRONG["the count itself"])))
    assert code == 1
    assert len(re.findall(r"│ no +│$", out, re.MULTILINE)) == 1
    assert "breaks a promise" in " ".join(out.replace("│", "").split())


def test_json_of_a_check(desk: Desk) -> None:
    with only("one_release_a_step", "example_runs", "proof_is_current"):
        code, out, err = command("check", desk.mine(), "--json")
    rows = json.loads(out)
    assert (code, err) == (1, "")
    assert [list(row) for row in rows] == [["check", "keeps", "broken"]] * 3
    assert [row["check"] for row in rows if row["broken"]] == ["proof_is_current"]


# ---- planted failures, and the whole --------------------------------------------------------------------------------


def test_planted_failures_die(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        kills.main(["half_noise", "overspender", "wrong_window", "ma_aswritten", "--seed", "1", "--workers", "2"]) == 0
    )
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("half_noise", "overspender", "wrong_window", "ma_aswritten"))
    assert "SURVIVES" not in shown


@dataclass(kw_only=True)
class Innocent(Planted):
    """Nothing is wrong with it."""

    caught_by: ClassVar = "audit"
    attack: ClassVar = Attack(model=WEvent(epsilon=2, w=1), one=[100], other=[101])
    trials: ClassVar = 200


def test_what_survives_is_an_alarm(capsys: pytest.CaptureFixture[str]) -> None:
    with mock.patch("penstock.audit.kills.planted", return_value={"innocent": Innocent}):
        assert kills.main(["innocent", "--seed", "1", "--workers", "1"]) == 1
    assert "SURVIVES" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (["half_nose"], "Did you mean half_noise"),
        (["half_noise", "--workers", "0"], "workers"),
        (["half_noise", "--workers", "1", "--seed", "-1"], "seed"),
    ],
)
def test_kills_refuse_what_cannot_be_done(told: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert kills.main(told) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (["--trials", "0"], "--trials"),
        (["--workers", "0"], "--workers"),
        (["--write", "{folder}/none.md"], "no page"),
        (["--picture", "{folder}/none/a.png"], "no folder"),
        # found here: noticed after minutes, or not at all
        (["--trials", "1"], "--trials"),
        (["--seed", "-1"], "--seed"),
        (["--write", "{folder}/empty.md"], "mark one"),
        (["--json", "{folder}/none/a.json"], "folder"),
    ],
)
def test_the_whole_refuses_before_the_work(
    told: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.md").write_text("nothing is marked\n")
    with mock.patch.object(windows, "sweep", side_effect=AssertionError("the work has begun")):
        assert whole.main([each.format(folder=tmp_path) for each in told]) == 2
    assert words in capsys.readouterr().err
