"""Budgets are whole nano-epsilon: numbers come in through their text, and every part is rounded down."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.epsilon import LARGEST, NANO, Epsilon, EpsilonField, Number, as_fraction
from penstock.errors import BadInput

fixed = settings(derandomize=True, deadline=None, max_examples=200)
nanos = st.integers(0, LARGEST * NANO)
fractions = st.fractions(0, 1, max_denominator=10**12)


def test_one_tenth_means_one_tenth() -> None:
    """0.1 is not the float nearest to it: three of them are 0.3, ten are 1."""
    assert Epsilon(0.1) * 3 == Epsilon(0.3) == Epsilon("0.3") == Epsilon(Decimal("0.3")) == Epsilon(Fraction(3, 10))
    assert sum((Epsilon(0.1) for _ in range(10)), Epsilon(0)) == Epsilon(1)
    assert Epsilon(0.1 + 0.2) == Epsilon("0.3")  # 0.30000000000000004, rounded down
    assert Epsilon(float(np.float64(0.1))).nano == 100_000_000


@pytest.mark.parametrize(
    ("value", "nano"),
    [
        (1, NANO),
        ("1e-9", 1),
        (1e-9, 1),
        ("0.0000000019", 1),
        (9.99e-10, 0),
        (Fraction(1, 3), 333_333_333),
        (Fraction(2, 3), 666_666_666),
        ("1_000", 1000 * NANO),
        (10**6, LARGEST * NANO),
        (0, 0),
    ],
)
def test_input_is_rounded_down(value: Number, nano: int) -> None:
    """What does not fit a whole nano-epsilon is cut off, never rounded up."""
    assert Epsilon(value).nano == nano


@fixed
@given(st.floats(0, LARGEST))
def test_a_float_is_read_through_its_shortest_text(value: float) -> None:
    """Exactly the decimal that Python prints, floored to nano-epsilon."""
    assert Epsilon(value).nano == Fraction(repr(value)) * NANO // 1


@fixed
@given(nanos, nanos, st.integers(0, 10**6), st.integers(1, 10**6))
def test_arithmetic_is_that_of_whole_numbers(a: int, b: int, times: int, parts: int) -> None:
    """Sums and multiples are exact, divisions are floors, order is that of the numbers."""
    x, y = Epsilon.of_nano(a), Epsilon.of_nano(b)
    assert (x + y).nano == a + b
    assert (x * times).nano == (times * x).nano == a * times
    assert (x / parts).nano == a // parts
    assert (max(x, y) - min(x, y)).nano == abs(a - b)
    assert ((x < y), (x <= y), (x > y), (x >= y), (x == y)) == ((a < b), (a <= b), (a > b), (a >= b), (a == b))
    assert bool(x) == (a > 0)
    assert (x != a, x == Epsilon(x)) == (True, True)
    assert hash(x) == hash(Epsilon.of_nano(a))
    if b:
        assert x / y == Fraction(a, b)


@fixed
@given(nanos, st.integers(1, 10**9))
def test_equal_parts_never_exceed_the_whole(nano: int, parts: int) -> None:
    """n times the n-th part is at most the whole, and misses less than n nano-epsilon of it."""
    whole = Epsilon.of_nano(nano)
    assert whole - Epsilon.of_nano(min(parts - 1, nano)) <= whole / parts * parts <= whole


@fixed
@given(nanos, st.lists(st.integers(1, 10**6), min_size=1, max_size=20))
def test_unequal_shares_never_exceed_the_whole(nano: int, weights: list[int]) -> None:
    """Shares that add up to 1 cost at most the whole."""
    whole = Epsilon.of_nano(nano)
    shares = [whole.share(Fraction(weight, sum(weights))) for weight in weights]
    assert whole.nano - len(weights) < sum(share.nano for share in shares) <= whole.nano


@fixed
@given(nanos, fractions)
def test_a_share_is_the_floor_of_the_exact_product(nano: int, part: Fraction) -> None:
    """Whatever the part's size; and a float part is read through its text as well."""
    assert Epsilon.of_nano(nano).share(part).nano == nano * part // 1
    assert Epsilon.of_nano(nano).share(0.1).nano == nano // 10


@fixed
@given(nanos)
def test_text_and_repr_come_back(nano: int) -> None:
    """What is printed is the budget itself, to the last nano-epsilon."""
    e = Epsilon.of_nano(nano)
    assert Epsilon(str(e)) == e
    assert repr(e) == f"Epsilon('{e}')"
    assert float(e) == nano / NANO


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        float("-inf"),
        -1,
        -0.5,
        "-1e-12",
        10**6 + 1,
        1e7,
        1e308,
        10**400,
        "text",
        "",
        "nan",
        "inf",
        "1,5",
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("-Infinity"),
        Fraction(-1, 10**12),
        None,
        1j,
        [1],
    ],
)
def test_what_is_no_budget_is_refused(value: Any) -> None:
    """Not a number, not finite, below 0 by however little, or larger than protects anybody."""
    with pytest.raises(BadInput, match=r"\.$"):
        Epsilon(value)


@pytest.mark.parametrize("part", [float("nan"), float("inf"), "text", None, -1])
def test_what_is_no_part_is_refused(part: Any) -> None:
    """A share is a finite number, not below 0."""
    with pytest.raises(BadInput, match=r"\.$"):
        Epsilon(1).share(part)


@pytest.mark.parametrize("value", [True, False, np.True_])
def test_a_truth_value_is_no_number(value: Any) -> None:
    with pytest.raises(BadInput, match=f"number .*is needed here; got .*{value}"):
        Epsilon(value)


@pytest.mark.parametrize("sign", ["", "-"])
def test_a_number_has_at_most_a_thousand_digits_before_and_after_the_point(sign: str) -> None:
    """Beyond that the fraction alone would fill the memory."""
    assert as_fraction(f"1e{sign}1000") == Fraction(10) ** int(f"{sign}1000")
    with pytest.raises(BadInput, match="of reasonable size"):
        as_fraction(f"1e{sign}1001")


def test_a_budget_never_goes_below_zero() -> None:
    """Subtraction, negation by a factor, a negative number of nano-epsilon: all refused."""
    with pytest.raises(BadInput, match="compare before subtracting"):
        Epsilon(1) - Epsilon(2)
    with pytest.raises(BadInput, match="cannot be negative"):
        Epsilon(1) * -1
    with pytest.raises(BadInput, match="cannot be negative"):
        Epsilon.of_nano(-1)


@pytest.mark.parametrize("factor", [0.5, 0.1, float("nan")])
def test_no_float_gets_in_by_arithmetic(factor: Any) -> None:
    """The module's first line says that no float ever enters a ledger; shares are taken with share()."""
    with pytest.raises((BadInput, TypeError)):
        Epsilon(1) * factor
    with pytest.raises((BadInput, TypeError)):
        Epsilon(1) / factor


def test_a_budget_cannot_be_changed() -> None:
    """It stands in models, charges and journals at once, and is hashed by its value."""
    e = Epsilon(1)
    with pytest.raises(AttributeError):
        e.nano += 1
    assert e == Epsilon(1)


@dataclass(frozen=True)
class Held:
    """A dataclass with a budget in it."""

    epsilon: EpsilonField = EpsilonField()


def test_a_budget_field_takes_any_number_and_has_no_default() -> None:
    """It holds an Epsilon, compares by it, and must be given."""
    assert Held(0.1).epsilon == Held("0.1").epsilon == Epsilon(Fraction(1, 10))
    assert Held(0.1) == Held(Epsilon(0.1))
    with pytest.raises(TypeError, match="epsilon"):
        Held()
    with pytest.raises(BadInput, match="between 0 and"):
        Held(-1)
