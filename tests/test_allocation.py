"""Budget plans: as good as they say, within every window exactly, and refused in one sentence where there is none."""

import math
import time
from collections.abc import Callable, Sequence
from itertools import pairwise

import clarabel  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from penstock.allocation import Error, Plan, plan
from penstock.allocation.posing import asked
from penstock.epsilon import Epsilon
from penstock.errors import BadInput
from penstock.ledger import Ledger
from penstock.models import DeltaNeighbourhood, PrivacyModel, WEvent
from penstock.types import Floats

POWERS: dict[Error, int] = {"squared": 2, "absolute": 1}
ERRORS: list[Error] = list(POWERS)
BOTH = pytest.mark.parametrize("error", ERRORS)
fixed = settings(derandomize=True, deadline=None, max_examples=60)
few = settings(fixed, max_examples=15)
MODELS: list[Callable[[Epsilon, int], PrivacyModel]] = [
    lambda epsilon, window: WEvent(epsilon=epsilon, w=window),
    lambda epsilon, window: DeltaNeighbourhood(epsilon=epsilon, steps=window),
]


@st.composite
def questions(draw: st.DrawFn, most: int = 30) -> tuple[Floats, int]:
    """Weights over six orders of magnitude, some of them 0 and not all, and a window that fits."""
    weight = st.one_of(st.just(0.0), st.just(1.0), st.floats(1e-3, 1e3))
    weights = draw(st.lists(weight, min_size=1, max_size=most).filter(any))
    return np.array(weights), draw(st.integers(1, len(weights)))


def charged(budgets: Sequence[Epsilon], model: PrivacyModel) -> Ledger:
    """A real ledger that was asked for all of them; it raises if one does not fit."""
    ledger = Ledger(model)
    for t, budget in enumerate(budgets, start=1):
        ledger.advance(t, None)
        ledger.add(budget, "publish")
    return ledger


def priced(made: Plan) -> float:
    """The dual value of a plan's prices, straight from its definition and with a loop."""
    power, limit = POWERS[made.error], float(made.epsilon)
    assert (made.prices >= 0).all()
    gains = []
    for i, weight in enumerate(made.weights):
        price = math.fsum(made.prices[max(i - made.window + 1, 0) : i + 1])
        factor = 3 * (weight / 4) ** (1 / 3) * price ** (2 / 3) if power == 2 else 2 * math.sqrt(weight * price)
        gains.append(factor)
    return math.fsum(gains) - limit * math.fsum(made.prices)


def ascended(weights: Floats, window: int, power: int) -> Floats:
    """Shares for an epsilon of 1 by dual coordinate ascent: one window after the other takes the price that fills it.

    Slow and plain, and shares nothing with the method under test.
    """
    windows = [slice(k, k + window) for k in range(len(weights) - window + 1)]
    prices, of_units = np.zeros(len(windows)), np.zeros(len(weights))
    for _ in range(2000):
        before = of_units.copy()
        for k, units in enumerate(windows):
            rest = np.maximum(of_units[units] - prices[k], 0)
            prices[k] = filling(weights[units], rest, power)
            of_units[units] = rest + prices[k]
        if np.abs(of_units - before).max() <= 1e-13 * of_units.max():
            break
    shares: Floats = (power * weights / of_units) ** (1 / (power + 1))
    return shares / float(max(shares[units].sum() for units in windows))


def filling(weights: Floats, rest: Floats, power: int) -> float:
    """The price at which the best answers fill a window of 1, by bisection; 0 if they leave room without it."""

    def over(price: float) -> bool:
        return bool(((power * weights / (rest + price)) ** (1 / (power + 1))).sum() > 1)

    low, high = 0.0, 1.0
    while over(high):
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if over(middle) else (low, middle)
    return high


def by_cones(weights: Floats, window: int, power: int) -> float:
    """The best value for an epsilon of 1 by a general solver: error**a * share**(1 - a) >= 1 is a power cone.

    It is asked with shares around 1, which it likes better.
    """
    n, windows = len(weights), len(weights) - window + 1
    limits = sparse.csc_matrix(np.array([[k <= i < k + window for i in range(n)] for k in range(windows)], float))
    cones, right = [sparse.hstack([sparse.csc_matrix((windows, n)), limits])], [float(window)] * windows
    kinds: list[object] = [clarabel.NonnegativeConeT(windows)]
    for i in range(n):
        cones.append(sparse.csc_matrix(([-1.0, -1.0], ([0, 1], [i, n + i])), shape=(3, 2 * n)))
        right += [0.0, 0.0, 1.0]
        kinds.append(clarabel.PowerConeT(1 / (power + 1)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cost = np.concatenate([weights, np.zeros(n)])
    nothing, constraints = sparse.csc_matrix((2 * n, 2 * n)), sparse.csc_matrix(sparse.vstack(cones))
    solution = clarabel.DefaultSolver(nothing, cost, constraints, np.array(right), kinds, settings).solve()
    assert str(solution.status) == "Solved"
    best: float = solution.obj_val * window**power
    return best


def value(weights: Floats, shares: Sequence[float] | Floats, error: Error) -> float:
    paid = weights > 0
    return math.fsum(weights[paid] / np.asarray(shares)[paid] ** POWERS[error])


@BOTH
@fixed
@given(weights=st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20), epsilon=st.sampled_from(["0.1", "1", "7.5"]))
def test_one_window_is_shared_in_proportion_to_roots(weights: list[float], epsilon: str, error: Error) -> None:
    made, power = plan(weights, len(weights), epsilon, error=error), POWERS[error]
    roots = np.array(weights) ** (1 / (power + 1))
    assert made.shares == pytest.approx(float(epsilon) * roots / roots.sum(), rel=1e-9)
    assert made.value == pytest.approx(roots.sum() ** (power + 1) / float(epsilon) ** power, rel=1e-12)


@BOTH
@fixed
@given(period=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=8), times=st.integers(1, 5))
def test_whole_periods_as_long_as_the_window_repeat_its_shares(period: list[float], times: int, error: Error) -> None:
    once = plan(period, len(period), 1, error=error).shares
    made = plan(period * times, len(period), 1, error=error)
    assert made.shares == pytest.approx(np.tile(once, times), rel=1e-9)


@BOTH
@pytest.mark.parametrize("window", [1, 2, 5])
def test_units_that_share_no_window_get_all(window: int, error: Error) -> None:
    """Also what a window of 1 comes to, where none do."""
    weights = np.zeros(30)
    weights[::window] = np.arange(1, 1 + len(weights[::window]))
    made = plan(weights, window, "0.7", error=error)
    assert [budget for budget, weight in zip(made.budgets, weights, strict=True) if weight] == [
        Epsilon("0.7")
    ] * np.count_nonzero(weights)
    assert not any(budget for budget, weight in zip(made.budgets, weights, strict=True) if not weight)


@BOTH
@pytest.mark.parametrize(("units", "window"), [(1, 1), (8, 8), (20, 4), (40, 10), (50, 1)])
def test_equal_weights_get_equal_shares_in_whole_windows(units: int, window: int, error: Error) -> None:
    made = plan(np.full(units, 3.0), window, 1, error=error)
    assert set(made.budgets) == {Epsilon(1) / window}
    assert made.value == pytest.approx(made.uniform_value, rel=1e-12)


@BOTH
def test_ends_get_more_where_windows_overlap(error: Error) -> None:
    """Three equal units, windows of two: the middle one is in both, so it pays twice the price."""
    ends, middle, again = plan([1, 1, 1], 2, 1, error=error).shares
    ratio = 2 ** (1 / (POWERS[error] + 1))
    assert (ends, middle, again) == pytest.approx((ratio / (1 + ratio), 1 / (1 + ratio), ratio / (1 + ratio)))


@BOTH
@pytest.mark.parametrize("heavy", [8.0, 1e6, 1e12])
def test_one_heavy_unit_among_equal_ones(heavy: float, error: Error) -> None:
    root = heavy ** (1 / (POWERS[error] + 1))
    made = plan([1, 1, heavy, 1, 1], 5, 1, error=error)
    assert made.shares == pytest.approx(np.array([1, 1, root, 1, 1]) / (root + 4), rel=1e-9)


@BOTH
@fixed
@given(question=questions())
def test_a_plan_shows_how_good_it_is(question: tuple[Floats, int], error: Error) -> None:
    weights, window = question
    made = plan(weights, window, 1, error=error)
    assert 0 <= made.gap <= 1e-9
    assert priced(made) == pytest.approx(made.bound, rel=1e-12)
    assert made.value == pytest.approx(value(weights, made.shares, error), rel=1e-12)
    assert max(made.shares[k : k + window].sum() for k in range(len(weights) - window + 1)) <= 1 + 1e-12
    assert (made.shares > 0).tolist() == (weights > 0).tolist()


@BOTH
@fixed
@given(question=questions(), data=st.data())
def test_no_other_shares_are_better_than_the_bound(
    question: tuple[Floats, int], data: st.DataObject, error: Error
) -> None:
    weights, window = question
    made = plan(weights, window, 1, error=error)
    factors = data.draw(st.lists(st.floats(0.5, 2), min_size=len(weights), max_size=len(weights)))
    others = made.shares * factors
    others /= max(others[k : k + window].sum() for k in range(len(weights) - window + 1))
    assert value(weights, others, error) >= made.bound


@BOTH
@few
@given(weights=st.lists(st.floats(1e-1, 1e2), min_size=2, max_size=6), data=st.data())
def test_coordinate_ascent_finds_the_same(weights: list[float], data: st.DataObject, error: Error) -> None:
    window = data.draw(st.integers(1, len(weights)))
    made = plan(weights, window, 1, error=error)
    shares = ascended(np.array(weights), window, POWERS[error])
    assert value(np.array(weights), shares, error) >= made.bound
    assert value(np.array(weights), shares, error) == pytest.approx(made.value, rel=1e-5)


@BOTH
@pytest.mark.parametrize(("units", "window"), [(5, 2), (12, 5), (40, 8), (90, 30), (90, 89)])
def test_a_general_solver_finds_the_same(units: int, window: int, error: Error) -> None:
    for seed in range(4):
        weights = np.random.default_rng(seed).lognormal(0, 2, units)
        made = plan(weights, window, 1, error=error)
        assert by_cones(weights, window, POWERS[error]) == pytest.approx(made.value, rel=1e-5)


FAMILIES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "uniform": lambda rng, n: rng.random(n),
    "heavy tails": lambda rng, n: rng.pareto(0.5, n) + 1e-3,
    "12 orders": lambda rng, n: 10 ** rng.uniform(-6, 6, n),
    "two kinds, 16 orders apart": lambda rng, n: rng.choice([1e-8, 1e8], n),
    "20 orders up": lambda rng, n: 10 ** np.linspace(-10, 10, n),
    "up and down": lambda rng, n: np.exp(np.cumsum(rng.normal(0, 1, n))),
    "sparse": lambda rng, n: np.where(np.arange(n) % 17 == 3, rng.lognormal(0, 1, n), 0.0),
    "half of them 0": lambda rng, n: np.where(rng.random(n) < 0.5, rng.random(n), 0.0),
    "month ends": lambda rng, n: np.where(np.arange(n) % 30 == 29, 100.0, 1.0),
    "all alike": lambda rng, n: np.ones(n),
    "one heavy": lambda rng, n: np.where(np.arange(n) == n // 2, 1e12, 1.0),
}


@BOTH
@pytest.mark.parametrize("family", FAMILIES)
def test_weights_of_every_kind_are_planned_for(family: str, error: Error) -> None:
    weights = FAMILIES[family](np.random.default_rng(1), 300)
    for window in (1, 2, 7, 24, 150, 299, 300):
        assert 0 <= plan(weights, window, 1000, error=error).gap <= 1e-9


def test_ten_thousand_units_take_seconds() -> None:
    begin = time.process_time()
    made = plan(np.random.default_rng(1).lognormal(0, 2, 10_000), 100, 1)
    assert made.gap <= 1e-9
    assert time.process_time() - begin < 20  # one or two on a quiet machine


@BOTH
def test_what_weighs_little_is_planned_as_well_as_what_weighs_much(error: Error) -> None:
    """The gap alone would not tell: the light stretch hardly adds to it."""
    light, apart = np.random.default_rng(1).lognormal(0, 1, 40), np.zeros(10)
    alone = plan(light, 10, 1, error=error)
    for heavy in (1e14 * light[::-1], np.full(10, 1e20)):
        both = plan(np.concatenate([heavy, apart, light]), 10, 1, error=error)
        assert both.shares[-40:] == pytest.approx(alone.shares, rel=1e-5)


@pytest.mark.parametrize("law", MODELS)
@fixed
@given(question=questions(), nano=st.integers(10**7, 10**15), error=st.sampled_from(ERRORS))
def test_a_ledger_never_refuses_a_plan(
    law: Callable[[Epsilon, int], PrivacyModel], question: tuple[Floats, int], nano: int, error: Error
) -> None:
    weights, window = question
    made = plan(weights, window, Epsilon.of_nano(nano), error=error)
    ledger = charged(made.budgets, law(made.epsilon, window))
    assert ledger.audit().peak == max(made.window_sums()) <= made.epsilon
    assert max(made.window_sums()).nano >= nano - 2 * window - 1e-6 * nano  # and little is left over by rounding


@fixed
@given(shares=st.lists(st.floats(0, 2), min_size=1, max_size=12), nano=st.integers(1, 2 * 10**9), data=st.data())
def test_budgets_fit_however_far_off_shares_are(shares: list[float], nano: int, data: st.DataObject) -> None:
    """They are lowered in whole numbers, whatever floats say, and only where they must."""
    window = data.draw(st.integers(1, len(shares)))
    budgets = asked(np.ones(len(shares)), window, nano).floored(np.array(shares))
    sums = [sum(budgets[k : k + window]) for k in range(len(shares) - window + 1)]
    assert max(sums) <= nano
    assert all(0 <= budget <= share * 1e9 + 1 for budget, share in zip(budgets, shares, strict=True))
    if sum(int(share * 1e9) + 1 for share in shares) <= nano:
        assert all(budget >= math.floor(share * 1e9) for budget, share in zip(budgets, shares, strict=True))


@fixed
@given(question=questions(), data=st.data(), error=st.sampled_from(ERRORS))
def test_a_plan_goes_on_from_what_was_spent(question: tuple[Floats, int], data: st.DataObject, error: Error) -> None:
    weights, window = question
    parts = data.draw(st.lists(st.sampled_from([0, 1, 3]), max_size=window - 1))
    spent = [Epsilon(part) / max(sum(parts), data.draw(st.integers(1, 9))) for part in parts]
    made = plan(weights, window, 1, error=error, spent=spent)
    charged([*spent, *made.budgets], WEvent(epsilon=1, w=window))
    assert max(made.window_sums()) <= Epsilon(1)
    assert len(made.window_sums()) == len(made.prices) == len(spent) + len(weights) - window + 1
    assert 0 <= made.gap <= 1e-9
    assert not (made.unpaid & (made.shares > 0)).any()
    assert ((made.shares > 0) | made.unpaid).tolist() == (weights > 0).tolist()


def test_less_is_left_the_more_was_spent() -> None:
    spent = [[Epsilon(0), Epsilon(part)] for part in ("0", "0.3", "0.9")]
    plans = [plan([1, 8, 1, 8, 3], 3, 1, spent=each) for each in spent]
    assert all(a.value < b.value for a, b in pairwise(plans))
    assert plans[0].shares == pytest.approx(plan([1, 8, 1, 8, 3], 3, 1).shares)


def test_what_rounding_has_left_over_is_nothing() -> None:
    """Of three equal shares one nano-epsilon is left; nobody can publish with that."""
    before = plan([1, 1, 1], 3, 1).budgets
    made = plan([1, 1, 1, 0], 4, 1, spent=before)
    assert sum(budget.nano for budget in before) == 10**9 - 1
    assert made.unpaid.tolist() == [True, False, False, False]
    assert made.shares[1:3] == pytest.approx([1 / 3, 1 / 3], abs=1e-8)


def test_units_for_which_nothing_is_left_are_named() -> None:
    made = plan([1, 0, 8, 1], 3, 1, spent=[Epsilon(0), Epsilon(1)])
    assert made.unpaid.tolist() == [True, False, False, False]
    assert made.budgets[:2] == (Epsilon(0), Epsilon(0))
    assert made.value == pytest.approx(27)  # of 8 and 1 in one window
    assert "nothing was left" in made.certificate()
    nothing = plan([1, 1, 0], 3, 1, spent=[Epsilon(0), Epsilon(1)])
    assert (nothing.value, nothing.bound, nothing.gap) == (0, 0, 0)
    assert not any(nothing.budgets)
    assert "(relative gap 0)" in nothing.certificate()


@BOTH
def test_a_certificate_says_it_in_words(error: Error) -> None:
    made = plan([1, 100, 1, 1] * 5, 4, 2, error=error)
    text = made.certificate()
    noise = {"squared": 2, "absolute": 1}[error]
    assert f"weighted {error} error of this plan, the sum of weight times " in text
    assert f"is {noise * made.value:.6g}, and no plan can be below {noise * made.bound:.6g} " in text
    assert f"is {noise * 3 ** POWERS[error] * made.value:.6g}, " in made.certificate(3)
    assert f"Equal shares would have {made.uniform_value / made.value:.3g} times" in text
    assert made.uniform_value == pytest.approx(5 * 103 * 2 ** POWERS[error])
    assert made.value <= made.rounded_value <= made.value * (1 + 1e-7)


def test_a_looser_tolerance_takes_fewer_steps() -> None:
    weights = np.random.default_rng(1).random(100)
    rough, fine = plan(weights, 10, 1, tolerance=1e-2), plan(weights, 10, 1)
    assert rough.steps < fine.steps
    assert fine.gap < rough.gap


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"weights": [0, 0, 0]}, "at least one unit must have a weight above 0"),
        ({"weights": [1, -2, 1]}, "unit 2 has -2"),
        ({"weights": [1, 1, math.nan]}, "unit 3 has nan"),
        ({"weights": [math.inf, 1, 1]}, "unit 1 has inf"),
        ({"weights": [1e-60, 1, 1]}, "unit 1 has 1e-60"),
        ({"weights": []}, "one row of at least one number"),
        ({"weights": [[1, 2], [3, 4]]}, "one row of at least one number"),
        ({"weights": [[1], [2, 3]]}, "one row of numbers"),
        ({"weights": ["much", 1, 1]}, "one row of numbers"),
        ({"window": 0}, "window must be a whole number of 1 or more"),
        ({"window": 1.5}, "window must be a whole number of 1 or more"),
        ({"window": 4}, "a window of 4 is longer than the plan, which has 3 units"),
        ({"epsilon": 0}, "epsilon must be above 0"),
        ({"epsilon": -1}, "an epsilon lies between"),
        ({"error": "relative"}, 'error must be "squared" or "absolute"'),
        ({"error": ["squared"]}, 'error must be "squared" or "absolute"'),
        ({"tolerance": 0}, "tolerance must lie between 0 and 1"),
        ({"spent": [Epsilon(0)] * 2}, "at most 1 units before the plan"),
        ({"spent": [Epsilon("1.1")]}, "exceeds epsilon"),
        ({"weights": [1, 1e40, 1]}, "unit 1 weighs so little"),
        ({"epsilon": "0.000000001"}, "unit 1 weighs so little"),
    ],
)
def test_what_cannot_be_planned_is_refused(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said) as refusal:
        plan(**{"weights": [1, 2, 3], "window": 2, "epsilon": 1, **arguments})  # type: ignore[arg-type]
    assert str(refusal.value).count(". ") == 0
    assert str(refusal.value).endswith(".")
