"""Budgets one unit at a time: whatever comes, no window is overspent, and the guarantees against the best plan hold.

Last, ``python -m penstock.bench.allocators``, which measures how near they come to the best plan.
"""

import json
import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.allocation import Allocator, Error, PredictAndHedge, TopUp, UniformShares, plan
from penstock.bench import allocators as command
from penstock.bench.allocators import RISING, Trial
from penstock.codec import decode, encode
from penstock.epsilon import Epsilon
from penstock.errors import BadInput, BadState
from penstock.ledger import Ledger
from penstock.models import DeltaNeighbourhood, WEvent

POWERS: dict[Error, int] = {"squared": 2, "absolute": 1}
ERRORS: list[Error] = list(POWERS)
BOTH = pytest.mark.parametrize("error", ERRORS)
fixed = settings(derandomize=True, deadline=None, max_examples=60)
ROUNDED = 1 + 1e-6  # budgets are whole numbers of nano-epsilon

WEIGHTS = st.lists(st.one_of(st.just(0.0), st.just(1.0), st.floats(1e-3, 1e3)), min_size=1, max_size=24)
Made = Callable[[int, Epsilon, Error], Allocator]


def foretold(weights: Sequence[float]) -> Callable[[int, int], list[float]]:
    """Predictions that are the weights themselves, and 0 past their end."""
    return lambda first, number: [*weights[first - 1 : first - 1 + number], *[0.0] * number][:number]


@st.composite
def rules(draw: st.DrawFn) -> Made:
    """Any allocator, whose predictions have nothing to do with what comes."""
    predicted = draw(st.lists(st.floats(1e-3, 1e3), min_size=12, max_size=30))
    part = draw(st.sampled_from([0.1, 0.5, 1.0]))
    made: list[Made] = [
        UniformShares,
        lambda *told: PredictAndHedge(*told, predicted=predicted, trust=part),
        lambda *told: TopUp(*told, predict=foretold(predicted), floor=part),
        lambda *told: TopUp(*told, predict=foretold(predicted), floor=0),
    ]
    return draw(st.sampled_from(made))


def error_of(budgets: Sequence[Epsilon], weights: Sequence[float], error: Error) -> float:
    """The weighted error of budgets; a unit that weighs something and gets nothing has an endless one."""
    pairs = [(weight, float(budget)) for weight, budget in zip(weights, budgets, strict=True) if weight]
    return math.fsum(weight / budget ** POWERS[error] if budget else math.inf for weight, budget in pairs)


def ratio(allocator: Allocator, weights: Sequence[float]) -> float:
    """The error of an allocator over what no plan can be below."""
    budgets = [allocator.next(weight) for weight in weights]
    best = plan(weights, allocator.window, allocator.epsilon, error=allocator.error)
    return error_of(budgets, weights, allocator.error) / best.bound


@fixed
@given(
    made=rules(),
    weights=WEIGHTS,
    window=st.integers(1, 12),
    nano=st.integers(1, 10**15),
    error=st.sampled_from(ERRORS),
)
def test_a_ledger_never_refuses_whatever_comes(
    made: Made, weights: list[float], window: int, nano: int, error: Error
) -> None:
    allocator = made(window, Epsilon.of_nano(nano), error)
    ledgers = [
        Ledger(WEvent(epsilon=allocator.epsilon, w=window)),
        Ledger(DeltaNeighbourhood(epsilon=allocator.epsilon, steps=window)),
    ]
    for t, weight in enumerate(weights, start=1):
        budget = allocator.next(weight)
        assert weight or not budget
        for ledger in ledgers:
            ledger.advance(t, None)
            ledger.add(budget, "publish")
    assert all(ledger.audit().holds for ledger in ledgers)


@fixed
@given(weights=WEIGHTS.filter(any), data=st.data(), error=st.sampled_from(ERRORS))
def test_equal_shares_are_never_worse_than_the_window_allows(
    weights: list[float], data: st.DataObject, error: Error
) -> None:
    window = data.draw(st.integers(1, len(weights)))
    assert ratio(UniformShares(window, 1, error), weights) <= window ** POWERS[error] * ROUNDED


@fixed
@given(
    weights=WEIGHTS.filter(any),
    data=st.data(),
    trust=st.sampled_from(["0.1", "0.5", "0.9"]),
    error=st.sampled_from(ERRORS),
)
def test_a_hedged_plan_is_good_if_right_and_bounded_if_wrong(
    weights: list[float], data: st.DataObject, trust: str, error: Error
) -> None:
    window, power = data.draw(st.integers(1, len(weights))), POWERS[error]
    right = PredictAndHedge(window, 1, error, predicted=weights, trust=trust)
    assert ratio(right, weights) <= (1 / float(trust)) ** power * ROUNDED
    predicted = data.draw(st.lists(st.sampled_from([0.0, 1e-3, 1.0, 1e3]), min_size=window, max_size=30).filter(any))
    wrong = PredictAndHedge(window, 1, error, predicted=predicted, trust=trust)
    assert ratio(wrong, weights) <= (window / (1 - float(trust))) ** power * ROUNDED


def test_full_trust_is_the_plan_itself() -> None:
    weights = [1.0, 0.0, 8.0, 2.0, 1.0, 5.0]
    allocator = PredictAndHedge(3, 1, predicted=weights, trust=1)
    assert tuple(allocator.next(weight) for weight in weights) == plan(weights, 3, 1).budgets


def test_units_past_the_predictions_have_the_hedge() -> None:
    allocator = PredictAndHedge(2, 1, predicted=[1, 8], trust="0.4")
    assert [str(allocator.next(1)) for _ in range(4)] == ["0.433333333", "0.566666666", "0.3", "0.3"]
    assert allocator.next(0) == Epsilon(0)


@fixed
@given(
    weights=WEIGHTS,
    predicted=WEIGHTS,
    window=st.integers(1, 12),
    nano=st.integers(1, 10**10),
    floor=st.sampled_from(["0", "0.1", "0.5", "0.77", "1"]),
)
def test_the_floor_is_always_left(
    weights: list[float], predicted: list[float], window: int, nano: int, floor: str
) -> None:
    """The cap never falls below the floor, it is what a recount finds, and shares lie between the two."""
    allocator = TopUp(window, Epsilon.of_nano(nano), predict=foretold(predicted), floor=floor)
    spent: list[int] = []
    for weight in weights:
        cap = allocator.cap
        gone = list(accumulate(reversed(spent[max(len(spent) - window + 1, 0) :]), initial=0))
        assert cap.nano == min(nano - each - (window - 1 - i) * allocator.floor.nano for i, each in enumerate(gone))
        assert cap >= allocator.floor
        budget = allocator.next(weight)
        assert (allocator.floor <= budget <= cap) if weight else not budget
        spent.append(budget.nano)


@fixed
@given(weights=WEIGHTS.filter(any), predicted=WEIGHTS, data=st.data(), error=st.sampled_from(ERRORS))
def test_topping_up_is_bounded_by_its_floor(
    weights: list[float], predicted: list[float], data: st.DataObject, error: Error
) -> None:
    window = data.draw(st.integers(1, len(weights)))
    allocator = TopUp(window, 1, error, predict=foretold(predicted), floor=0.5)
    assert ratio(allocator, weights) <= (2 * window) ** POWERS[error] * ROUNDED


@BOTH
def test_who_knows_the_future_is_near_the_best_plan(error: Error) -> None:
    rng = np.random.default_rng(1)
    streams = {
        "mondays": np.where(np.arange(120) % 7 == 0, 10.0, 1.0),
        "only mondays": np.where(np.arange(120) % 7 == 0, 10.0, 0.0),
        "lognormal": rng.lognormal(0, 2, 120),
        "uniform": rng.random(120),
    }
    for weights in (stream.tolist() for stream in streams.values()):
        assert 1 <= ratio(TopUp(12, 1, error, predict=foretold(weights), floor=0), weights) <= 1.03


def test_a_plan_is_kept_while_predictions_are_right() -> None:
    """It reaches four windows ahead and is made anew when one is left. What was saved on the way stays as it was."""
    weights, saved = np.random.default_rng(1).random(40).tolist(), []
    allocator = TopUp(5, 1, predict=foretold(weights), floor=0)
    for weight in [*weights[:16], weights[16] + 1, weights[17]]:  # nobody has expected the last but one
        allocator.next(weight)
        saved.append(allocator.save())
    assert [len(state["planned"]) for state in saved] == [*range(19, 4, -1), 19, 19, 18]
    assert [len(state["weights"]) for state in saved] == [*range(19, 4, -1), 19, 19, 18]


def test_a_plan_that_could_not_be_kept_to_is_made_anew() -> None:
    """The first unit weighs so little beside others that the floor is more than its share."""
    allocator = TopUp(5, 1, predict=foretold([1.0, 1e6, 1.0] * 10))
    assert allocator.next(1.0) == allocator.floor
    assert not allocator.save()["planned"]


def test_a_heavier_unit_than_expected_gets_more() -> None:
    expected = [1.0] * 30
    plain, surprised = (TopUp(10, 1, predict=foretold(expected)) for _ in range(2))
    assert surprised.next(1000) > plain.next(1)
    assert surprised.cap >= surprised.floor == Epsilon("0.05")


@fixed
@given(made=rules(), weights=WEIGHTS, window=st.integers(1, 12), data=st.data())
def test_a_restart_changes_nothing(made: Made, weights: list[float], window: int, data: st.DataObject) -> None:
    whole, first = made(window, Epsilon(1), "squared"), made(window, Epsilon(1), "squared")
    stopped = data.draw(st.integers(0, len(weights)))
    expected = [whole.next(weight) for weight in weights]
    budgets = [first.next(weight) for weight in weights[:stopped]]
    saved = first.save()
    for weight in weights[stopped:]:
        first.next(weight)  # which changes nothing of what was saved
    second = made(window, Epsilon(1), "squared")
    second.load(decode(encode(saved)))
    assert budgets + [second.next(weight) for weight in weights[stopped:]] == expected
    assert second.save() == whole.save()


def test_a_state_is_taken_up_by_its_own_kind_only() -> None:
    saved = UniformShares(3, 1).save()
    others: list[Allocator] = [
        UniformShares(4, 1),
        UniformShares(3, 2),
        UniformShares(3, 1, "absolute"),
        PredictAndHedge(3, 1, predicted=[1, 1, 1]),
    ]
    begun = UniformShares(3, 1)
    begun.next(1)
    for other in [*others, begun]:
        with pytest.raises(BadState, match="another allocator"):
            other.load(saved)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: UniformShares(0, 1), "window must be a whole number of 1 or more"),
        (lambda: UniformShares(2, 0), "epsilon must be above 0"),
        (lambda: UniformShares(2, 1, "cubic"), 'error must be "squared" or "absolute"'),  # type: ignore[arg-type]
        (lambda: UniformShares(2, 1).next(-1), "unit 1 has -1"),
        (lambda: UniformShares(2, 1).next(math.nan), "unit 1 has nan"),
        (lambda: PredictAndHedge(3, 1, predicted=[1, 2]), "a window of 3 is longer than the plan"),
        (lambda: PredictAndHedge(2, 1, predicted=[0, 0]), "at least one unit must have a weight above 0"),
        (lambda: PredictAndHedge(2, 1, predicted=[1, 2], trust=0), "trust must be above 0 and at most 1"),
        (lambda: PredictAndHedge(2, 1, predicted=[1, 2], trust=1.5), "trust must be above 0 and at most 1"),
        (lambda: TopUp(2, 1, predict=foretold([]), floor=-1), "floor must lie between 0 and 1"),
        (lambda: TopUp(2, 1, predict=foretold([]), floor=1.1), "floor must lie between 0 and 1"),
        (lambda: TopUp(2, 1, predict=lambda first, number: [1]).next(1), "7 units were to be predicted, and 1 were"),
        (lambda: TopUp(2, 1, predict=lambda first, number: [math.inf] * number).next(1), "unit 2 has inf"),
    ],
)
def test_what_cannot_be_allocated_is_refused(make: Callable[[], object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        make()


# ---- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    few = {name: command.STREAMS[name] for name in ("Mondays only", "lognormal, sigma 2")}
    sizes = {"WINDOW": 8, "UNITS": 20, "LONG_WINDOW": 10, "LONG_UNITS": 100}
    for name, value in (sizes | {"STREAMS": few, "LONG_STREAMS": few}).items():
        monkeypatch.setattr(command, name, value)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("small")
def test_ratios_are_shown_written_and_kept(capsys: pytest.CaptureFixture[str]) -> None:
    marks = "".join(f"before\n<!-- begin: {name} -->\nold\n<!-- end: {name} -->\n" for name in command.TABLES)
    Path("page.md").write_text(marks, encoding="utf-8")
    assert command.main(["--workers", "1", "--write", "page.md", "--json", "kept.json"]) == 0
    shown, page = capsys.readouterr().out, Path("page.md").read_text(encoding="utf-8")
    for name in (*command.STREAMS, *command.PREDICTIONS, *command.RULES, RISING):
        assert name in shown
        assert name in page
    assert "no rule can promise less than 64 on every stream" in shown
    assert "old" not in page
    assert "nan" not in shown + page
    kept = json.loads(Path("kept.json").read_text(encoding="utf-8"))
    assert len(kept["plans"]) == len(command.LONG_STREAMS) * len(POWERS)
    assert all(0 <= each["gap"] <= 1e-9 and each["equal"] >= 1 - 1e-9 for each in kept["plans"])
    for each in kept["ratios"]:
        right = each["predictions"] == "right"
        promised = {"equal shares": 8, "predict and hedge": 2 if right else 16, "top up": 16}.get(each["rule"])
        if promised:
            assert 1 - 1e-9 <= each["ratio"] <= promised ** POWERS[each["error"]] * ROUNDED


@BOTH
@pytest.mark.usefixtures("small")
def test_rising_weights_show_that_no_rule_can_promise_less(error: Error) -> None:
    """Equal shares meet the bound, because whatever weight comes last is all that counts."""
    least = 8 ** POWERS[error]
    assert Trial("equal shares", RISING, "right", error, seed=1).ratio() == pytest.approx(least, rel=1e-3)
    assert Trial("top up", RISING, "backwards", error, seed=1).ratio() > least


@pytest.mark.usefixtures("small")
def test_predictions_are_what_they_are_called() -> None:
    right, noisy, backwards = (
        Trial("predict and hedge", "Mondays only", kind, "squared", seed=1).ratio() for kind in command.PREDICTIONS
    )
    assert 1 < right < backwards
    assert noisy not in (right, backwards)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--workers", "0"], "--workers must be a whole number of 1 or more"),
        (["--seed", "-1"], "--seed must be 0 or more"),
        (["--write", "nowhere.md"], "there is no page nowhere.md"),
        (["--json", "nowhere/kept.json"], "its folder does not exist"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(arguments) == 2
    assert said in capsys.readouterr().err
