"""Audit rows: how they are read, that each is a fair pair, and every one of them attacked with few runs.

A pair that is not of neighbours would accuse a mechanism falsely; one on which nothing is lost would prove nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from in_process import models
from penstock.audit.attack import Attack, Outcome
from penstock.audit.piece import audited_pieces
from penstock.audit.rows import COLUMNS, Row, arguments, model_of_call, pattern, rows, stream
from penstock.audit.targets import audited, rows_of
from penstock.audit.trials import Trials, attempt
from penstock.audit.usual import SMALL, usual
from penstock.audit.verdict import ENOUGH, SUMMED, judged
from penstock.catalogue import mechanisms
from penstock.checks import example_models
from penstock.errors import BadInput
from penstock.laws import MODELS
from penstock.mechanisms.base import Mechanism
from penstock.models import MContext, PrivacyModel
from penstock.proofs import proof_of
from penstock.spatial import SpatialNeighbourhood
from penstock.types import Ints, Kind

HEADING = "| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|\n"
ALL: dict[str, list[Any]] = {key: list(audited(key)) for key in mechanisms()} | {"pieces": list(audited_pieces())}
FEW = 400  # trials
ALPHA = 1e-3
ROUNDING = 1e-9


def written(**cells: str) -> str:
    """A proof with one row; what is not said is a small honest pair."""
    usually = {"model": "EventLevel(epsilon=2)", "one stream": "100x2", "its neighbour": "100 101"}
    return HEADING + "| " + " | ".join({**usually, **cells}.get(name, "") for name in COLUMNS) + " |\n"


def seen(values: list[int], kinds: str = "") -> Outcome:
    """An outcome of one bin; kinds by their signs, fresh if nothing is said."""
    signs = {"f": Kind.FRESH, "r": Kind.REPUBLISHED, "g": Kind.GROUPED, "e": Kind.ESTIMATED}
    shown = np.array([[signs[k]] for k in kinds or "f" * len(values)], np.int8)
    return Outcome(np.array(values)[:, None], shown, np.zeros((len(values), 1)), np.zeros(len(values), np.int64))


# ---- whether two streams are neighbours -----------------------------------------------------------------------------


def unfair(attack: Attack) -> str:
    """Why the two streams are not neighbours under the model, in a word; nothing if they are."""
    one, other = attack.streams
    if min(one.min(), other.min()) < 0:
        return "negative"
    apart = np.flatnonzero((one != other).any(axis=1)).tolist()
    if isinstance(attack.model, SpatialNeighbourhood):
        return "" if one_move(one[0].tolist(), other[0].tolist(), attack.model.reach) else "records"
    if any(not one_person(attack.model, other[t] - one[t]) for t in apart):
        return "records"
    if isinstance(attack.model, MContext):
        return unfair_in_context(attack, attack.model, apart)
    if attack.model.horizon_bound and len(one) > attack.model.window:
        return "horizon"
    return "" if apart[-1] - apart[0] < attack.model.window else "window"


def one_move(one: list[int], other: list[int], reach: int) -> bool:
    """Whether the one becomes the other if some point of it moves so far at most, and all are put in order."""
    moved = [(i, to) for i, cell in enumerate(one) for to in range(cell - reach, cell + reach + 1)]
    return one == sorted(one) and any(sorted([*one[:i], to, *one[i + 1 :]]) == other for i, to in moved)


def one_person(model: PrivacyModel, change: Ints) -> bool:
    """Whether one person's records in one unit account for a change of the counts."""
    more, less = int(change.clip(min=0).sum()), int((-change).clip(min=0).sum())
    if model.neighbours == "replace":
        return more == less <= model.per_unit
    return min(more, less) == 0 and max(more, less) <= model.per_unit


def unfair_in_context(attack: Attack, model: MContext, apart: list[int]) -> str:
    """The same where presence is public: of some user, all differences lie in m presences that follow each other."""
    presence = [set(here) for here in attack.presence or ()]
    if len(presence) != len(attack.streams[0]):
        return "presence"
    for rows_of_stream in attack.streams:
        if any(row.sum() > model.per_unit * len(here) for row, here in zip(rows_of_stream, presence, strict=True)):
            return "crowded"
    for user in set().union(*presence):
        attended = [t for t, here in enumerate(presence) if user in here]
        places = [attended.index(t) for t in apart if t in attended]
        if len(places) == len(apart) and places[-1] - places[0] < model.m:
            return ""
    return "window"


@pytest.mark.parametrize(
    ("model", "one", "other", "why"),
    [
        (ps.EventLevel(epsilon=1), [[5], [5]], [[5], [6]], ""),
        (ps.EventLevel(epsilon=1), [[5], [5]], [[6], [6]], "window"),
        (ps.EventLevel(epsilon=1), [[5]], [[7]], "records"),
        (ps.EventLevel(epsilon=1, per_unit=2), [[5, 5]], [[6, 6]], ""),
        (ps.EventLevel(epsilon=1, per_unit=2), [[5, 5]], [[6, 4]], "records"),  # one way, not both
        (ps.EventLevel(epsilon=1, neighbours="replace"), [[5, 5]], [[6, 4]], ""),
        (ps.EventLevel(epsilon=1, neighbours="replace"), [[5, 5]], [[6, 5]], "records"),
        (ps.WEvent(epsilon=1, w=2), [[5], [5], [5]], [[6], [5], [6]], "window"),
        (ps.WEvent(epsilon=1, w=3), [[5], [5], [5]], [[6], [5], [4]], ""),
        (ps.UserLevel(epsilon=1, horizon=1), [[5], [5]], [[5], [6]], "horizon"),
        (ps.EventLevel(epsilon=1), [[0]], [[-1]], "negative"),
        (ps.MContext(epsilon=1, m=1), [[1, 0]], [[0, 1]], "presence"),
        (SpatialNeighbourhood(epsilon=1, radius=2, grid="0..9/1"), [[3, 4, 5]], [[4, 5, 5]], ""),
        (SpatialNeighbourhood(epsilon=1, radius=2, grid="0..9/1"), [[3, 4, 5]], [[4, 5, 6]], "records"),  # too far
        (SpatialNeighbourhood(epsilon=1, radius=2, grid="0..9/1"), [[3, 3, 5]], [[4, 4, 5]], "records"),  # two move
        (SpatialNeighbourhood(epsilon=1, radius=2, grid="0..9/1"), [[8]], [[9]], "records"),  # there is no such cell
    ],
)
def test_the_judge_of_pairs_can_say_no(model: PrivacyModel, one: Any, other: Any, why: str) -> None:
    if not why:
        assert not unfair(Attack(model=model, one=one, other=other))
        return
    with pytest.raises(BadInput, match=r"no neighbours|not negative"):
        Attack(model=model, one=one, other=other)


def test_the_judge_of_pairs_knows_presences() -> None:
    def pair(m: int, presence: list[list[str]]) -> Attack:
        one, other = [[1, 0]] * 3, [[0, 1], [1, 0], [0, 1]]
        return Attack(model=ps.MContext(epsilon=1, m=m), one=one, other=other, presence=presence)

    assert unfair(pair(2, [["a"], ["b"], ["a"]])) == ""
    for presence in ([["a"], ["a"], ["a"]], [["a"], ["a"], ["b"]]):
        with pytest.raises(BadInput, match="no neighbours"):
            pair(2, presence)
    assert unfair(pair(3, [["a"], [], ["a"]])) == "crowded"


# ---- reading --------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.lists(st.integers(0, 2**40), min_size=1, max_size=3), st.integers(1, 4)), max_size=5))
def test_streams_are_read_as_they_are_written(parts: list[tuple[list[int], int]]) -> None:
    text = " ".join(",".join(map(str, row)) + (f"x{times}" if times > 1 else "") for row, times in parts)
    assert stream(text) == [row for row, times in parts for _ in range(times)]


@pytest.mark.parametrize(
    ("text", "outcome", "matches"),
    [
        ("f<101 r .", seen([100, 7, 7], "fre"), True),
        ("f<101 r .", seen([101, 7, 7], "fre"), False),
        ("f<101 r .", seen([100, 7, 7], "ffe"), False),
        ("f<101 r .", seen([100, 7, 7], "grf"), False),
        (".>100x2", seen([101, 101], "ge"), True),
        (".>100x2", seen([101, 100], "ge"), False),
        (".<-3", seen([-4]), True),
        (".<-3", seen([-3]), False),
        ("r", seen([1, 2, 3], "rff"), True),  # what is not mentioned may be anything
    ],
)
def test_patterns(text: str, outcome: Outcome, matches: bool) -> None:
    event = pattern(text)
    assert event is not None
    assert event(outcome) is matches


def test_no_pattern_is_no_event() -> None:
    assert pattern("") is None
    (row,) = rows(written())
    assert row.attack.event is None
    assert row.attack.given is None


def test_a_row_is_read_whole() -> None:
    (row,) = rows(
        written(
            **{"model": "`WEvent(epsilon=0.5, w=3)`", "with": "`rate=0.5, shape=(2, 2)`", "one stream": "`100,0x3`"},
            **{"its neighbour": "100,0 100,1x2", "given": "f>99", "event": "f r<5", "runs": "4", "remark": "why not"},
        )
    )
    assert row.attack.model == ps.WEvent(epsilon="0.5", w=3)
    assert row.parameters == {"rate": 0.5, "shape": (2, 2)}
    assert (row.runs, row.remark) == (4, "why not")
    assert row.attack.prefix == 1
    assert row.attack.streams[1].tolist() == [[100, 0], [100, 1], [100, 1]]
    before, after = seen([100, 3, 3], "ffr"), seen([100, 3, 5], "ffr")
    assert row.attack.given is not None
    assert row.attack.event is not None
    assert row.attack.given(before)
    assert row.attack.event(before)  # from the first difference on
    assert not row.attack.event(after)


def test_rows_end_with_the_table() -> None:
    proof = f"text\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n{written()}\n| not | a row |\n"
    assert len(rows(proof)) == 1
    assert rows("a proof without a table") == []


def test_models_and_arguments_are_literals() -> None:
    assert model_of_call("MContext(epsilon=2, m=2)") == ps.MContext(epsilon=2, m=2)
    assert arguments("a=1, b='two', c=(1, 2)") == {"a": 1, "b": "two", "c": (1, 2)}
    assert arguments("") == {}
    with pytest.raises(ValueError, match="not a plain value"):
        arguments("a=__import__('os')")


BAD_ROWS = {
    "an unknown model": {"model": "Nothing(epsilon=1)"},
    "a parameter no model has": {"model": "EventLevel(epsilon=1, zeta=2)"},
    "no epsilon": {"model": "EventLevel(epsilon=0)"},
    "no model": {"model": ""},
    "a stream that is none": {"one stream": "100 many"},
    "no stream": {"one stream": "", "its neighbour": ""},
    "streams of two lengths": {"one stream": "100x3"},
    "ragged bins": {"one stream": "1,2 3", "its neighbour": "1,2 4"},
    "streams that are equal": {"its neighbour": "100x2"},
    "a pattern of other signs": {"event": "q"},
    "a side without a number": {"event": "f<"},
    "runs in words": {"runs": "many"},
    "code": {"with": "a=open('x')"},
    "no name": {"with": "1, 2"},
    # what is found here
    "a count that is too large": {"one stream": f"{10**30} 1", "its neighbour": f"{10**30} 2"},
    "a negative count": {"one stream": "0x2", "its neighbour": "0 -1"},
    "no runs": {"runs": "0"},
    "fewer runs than none": {"runs": "-1"},
    "an event longer than the stream": {"event": "fx2"},
    "more given than comes before": {"given": "fx2"},
    "no neighbours": {"its neighbour": "109x2"},
}


@pytest.mark.parametrize("cells", BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_a_bad_row_is_refused_when_it_is_read(cells: dict[str, str]) -> None:
    with pytest.raises(BadInput) as refused:
        rows(written(**cells))
    assert "0x7f" not in str(refused.value)


def test_a_row_of_too_few_cells_is_refused() -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        rows(HEADING + "| EventLevel(epsilon=1) | 1 |\n")


def test_a_heading_alone_is_a_table_without_rows() -> None:
    assert rows(HEADING.splitlines()[0]) == []


def test_a_table_of_any_width_is_the_table() -> None:
    """Formatters of Markdown pad cells; rows that are there must not be overlooked for it."""
    padded = written().replace("| model |", "| model                 |")
    assert len(rows(padded)) == 1


# ---- what is shipped ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", mechanisms())
def test_every_mechanism_says_where_it_loses_most(key: str) -> None:
    kind = mechanisms()[key]
    stated = rows(proof_of(kind).text)
    assert stated
    assert any(not row.remark for row in stated)  # at least one is tight
    for row in stated:
        assert unfair(row.attack) == ""
        assert type(row.attack.model) in kind.proven_for
        kind.example(row.attack.model, **row.parameters)  # nothing has to be allowed
        assert set(row.parameters) <= {kept.name for kept in kind.parameter_fields()}


@pytest.mark.parametrize("number", range(len(ALL["pieces"])))
def test_pieces_are_attacked_on_neighbours(number: int) -> None:
    assert unfair(ALL["pieces"][number].row().attack) == ""


def test_every_law_has_small_usual_pairs() -> None:
    assert set(SMALL) == set(MODELS.values())
    for law in MODELS.values():
        for model in (SMALL[law], *example_models(law)):
            assert {unfair(row.attack) for row in usual(model, {})} == {""}


@settings(max_examples=50)
@given(models(["1", "3"], longest=6, steps=5), st.integers(1, 4), st.integers(1, 3))
def test_usual_pairs_are_neighbours(model: PrivacyModel, m: int, per_unit: int) -> None:
    for law in (model, ps.MContext(epsilon=1, m=m, per_unit=per_unit)):
        found = usual(law, {"a": 1})
        assert {unfair(row.attack) for row in found} == {""}
        assert all(row.remark and row.parameters == {"a": 1} for row in found)


# ---- which rows are taken -------------------------------------------------------------------------------------------


def laws(found: list[Row]) -> set[PrivacyModel]:
    return {row.attack.model for row in found}


def test_rows_that_fit_a_model_are_taken_with_its_epsilon() -> None:
    kind: type[Mechanism] = mechanisms()["uniform"]
    mine = ps.WEvent(epsilon="0.7", w=3)
    (row,) = rows_of(kind, mine, {})
    assert row.attack.model == mine
    assert row.attack.event is not None  # of the proof, not a usual pair
    others = rows_of(kind, ps.WEvent(epsilon=2, w=4), {})
    assert laws(others) == {ps.WEvent(epsilon=2, w=4)}
    assert all(row.attack.event is None for row in others)


def test_parameters_go_along() -> None:
    (row,) = rows_of(mechanisms()["fixed"], ps.WEvent(epsilon=2, w=4), {"every": 4})
    assert row.parameters == {"every": 4}
    assert all(
        row.parameters == {"every": 4}
        for row in rows_of(mechanisms()["fixed"], ps.WEvent(epsilon=2, w=5), {"every": 4})
    )


def test_parameters_are_not_forgotten_without_a_model() -> None:
    """Who asks for every=4 must not be shown the verdict on every=2."""
    assert all(row.parameters["every"] == 4 for row in rows_of(mechanisms()["fixed"], None, {"every": 4}))


# ---- the reduced audit ----------------------------------------------------------------------------------------------


def attacked(key: str) -> dict[Any, Trials]:
    return dict(attempt(dict.fromkeys(ALL[key], FEW), seed=1, workers=1, advance=lambda _: None))


@pytest.mark.parametrize("key", ALL)
def test_few_runs_of_every_row(key: str) -> None:
    """Nothing is lost beyond epsilon, in no transcript and in neither direction; and rows find what was charged."""
    for finder, trials in attacked(key).items():
        row, limit = finder.row(), float(finder.row().attack.model.epsilon)
        verdict = judged(str(finder), row.attack, trials, ALPHA, 0.0, row.remark, tests=len(ALL[key]))
        assert not verdict.exceeded
        assert trials.charged <= verdict.epsilon
        losses = np.concatenate([trials.one.losses, trials.other.losses])
        assert np.abs(losses).max() <= limit * (1 + SUMMED)
        assert np.abs(losses).max() <= float(trials.charged) * (1 + SUMMED)  # the ledger is right, too
        assert verdict.best.lower <= float(trials.charged)
        if not row.remark:
            assert verdict.largest is not None
            assert verdict.largest >= ENOUGH * float(trials.charged)
            assert verdict.best.lower > 0.05 * float(trials.charged)
        # a transcript of one stream, weighed by its loss, stands for one of the other: the mean of exp(-loss) is 1
        for scores in (np.exp(-trials.one.losses), np.exp(trials.other.losses)):
            assert abs(scores.mean() - 1) <= 5 * scores.std() / np.sqrt(FEW) + ROUNDING
