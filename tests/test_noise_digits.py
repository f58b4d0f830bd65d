"""Binary digits of probabilities, against series and interval arithmetic written here in plain integers."""

from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.noise import digits

Bounds = tuple[Fraction, Fraction]

BITS = st.integers(8, 256)
PLACES = st.sampled_from([14, 30, 62])
SCALES = st.one_of(
    st.fractions(Fraction(1, 50), 10, max_denominator=10**6),
    st.fractions(10, 10**12, max_denominator=10**6),
    st.fractions(Fraction(1, 50), 10**12),
)
EXPONENTS = st.one_of(
    st.fractions(Fraction(1, 10**12), 50),
    st.fractions(Fraction(1, 10**6), 2000, max_denominator=10**6),
    st.builds(lambda zeros, n: Fraction(n, 10**zeros), st.integers(1, 60), st.integers(1, 1000)),
)
CHANCES = st.fractions(0, 1)

# Few digits, so that an interval too narrow by one of them leaves the chance out.
SHORT = [(scale, bits) for scale in (Fraction(1, 3), Fraction(2), Fraction(7), Fraction(90)) for bits in range(8, 40)]

exactly = settings(deadline=None, max_examples=60)


def exp_bounds(x: Fraction, bits: int) -> Bounds:
    """Bounds of exp(-x) on the grid of 2^-bits: the alternating series at x / 2^k <= 1/2, then k squarings."""
    halvings = (x.numerator // x.denominator).bit_length() + 1
    above, below = x.numerator << bits, x.denominator << halvings
    y_low, y_high = above // below, -(-above // below)
    low = high = term_low = term_high = 1 << bits
    n = 0
    while term_high > 1:
        n += 1
        term_low = term_low * y_low // (n << bits)
        term_high = -(-term_high * y_high // (n << bits))
        low, high = (low - term_high, high - term_low) if n % 2 else (low + term_low, high + term_high)
    low, high = low - 1, high + 1  # the terms left out add up to less than the last one taken
    for _ in range(halvings):
        low, high = low * low >> bits, -(-high * high >> bits)
    return Fraction(low, 1 << bits), Fraction(high, 1 << bits)


def place_bounds(scale: Fraction, place: int, bits: int) -> Bounds:
    """Bounds of 1 / (1 + exp(2^place / scale)), the chance that the geometric has a 1 in this place."""
    low, high = exp_bounds(2**place / scale, bits)
    return low / (1 + low), high / (1 + high)


def zero_bounds(scale: Fraction, bits: int) -> Bounds:
    """Bounds of (1-q) / (1+q), the chance of a zero."""
    low, high = exp_bounds(1 / scale, bits)
    return (1 - high) / (1 + high), (1 - low) / (1 + low)


def first_digits(bounds: Callable[[int], Bounds], bits: int) -> int:
    """floor(p * 2^bits), from bounds made as narrow as it takes."""
    precision = bits + 200
    while True:
        low, high = (int(bound * 2**bits) for bound in bounds(precision))
        if low == high:
            return low
        precision *= 3


@exactly
@given(SCALES, PLACES, BITS)
@example(Fraction(1, 50), 62, 256)
@example(Fraction(10**12), 62, 256)
@example(Fraction(1, 2000), 14, 32)
@example(Fraction(2**62, 178), 62, 32)
def test_every_coin_of_a_laplace_row_has_the_digits_of_its_chance(scale: Fraction, places: int, bits: int) -> None:
    """All places of the geometric, each by a series of its own, and the zero coin."""
    expected = [first_digits(lambda b, i=i: place_bounds(scale, i, b), bits) for i in range(places)]  # type: ignore[misc]
    expected.append(first_digits(lambda b: zero_bounds(scale, b), bits))
    assert digits.laplace_floors(scale, places, bits) == expected


@exactly
@given(EXPONENTS, BITS)
@example(Fraction(1, 10**12), 256)
@example(Fraction(1, 10**200), 64)
@example(Fraction(50), 256)
@example(Fraction(10**6), 256)
def test_digits_of_an_exponential(x: Fraction, bits: int) -> None:
    """Also where exp(-x) lies so near to 0 or 1 that the first precision tried leaves the digits open."""
    assert digits.of_exp(x)(bits) == first_digits(lambda b: exp_bounds(x, b), bits)


@exactly
@given(EXPONENTS, BITS)
def test_the_interval_of_an_exponential_encloses_it(x: Fraction, bits: int) -> None:
    """The enclosure the digits rest on holds, and is narrow."""
    low, high = digits.exp_interval(x, bits)
    true_low, true_high = exp_bounds(x, bits + 200)
    assert low <= true_low * 2**bits
    assert true_high * 2**bits <= high
    assert high - low <= 4


def nearly(logarithm: Decimal, step: int) -> Fraction:
    """A rational 10^-100 below or above a logarithm."""
    return Fraction(logarithm) + Fraction(step, 10**100)


@exactly
@given(st.integers(8, 64), st.data(), st.sampled_from([-1, 1]))
def test_digits_of_a_chance_next_to_a_short_one(bits: int, data: st.DataObject, step: int) -> None:
    """Chances within 10^-99 of n / 2^bits, on either side, for an exponential, a place and the zero coin.

    There the first precision tried leaves the last digit open, and bounds that are a little wrong would show.
    """
    n, place = data.draw(st.integers(1, 2 ** (bits - 1) - 1)), data.draw(st.integers(0, 13))
    expected = n if step < 0 else n - 1  # a larger exponent makes a smaller chance
    whole, context = Decimal(2**bits), Context(prec=150)
    x = nearly(context.ln(context.divide(whole, Decimal(n))), step)
    assert digits.of_exp(x)(bits) == expected
    odds = nearly(context.ln(context.divide(Decimal(2**bits - n), Decimal(n))), step)
    assert digits.laplace_floors(2**place / odds, 14, bits)[place] == expected
    ratio = nearly(context.ln(context.divide(Decimal(2**bits + n), Decimal(2**bits - n))), -step)
    assert digits.laplace_floors(1 / ratio, 14, bits)[-1] == expected


@exactly
@given(CHANCES, BITS)
def test_digits_of_a_rational_are_those_of_long_division(chance: Fraction, bits: int) -> None:
    """Digit by digit: double, write down the whole part, keep the rest."""
    whole, rest = divmod(chance, 1)
    written = int(whole)
    for _ in range(bits):
        digit, rest = divmod(2 * rest, 1)
        written = 2 * written + int(digit)
    assert digits.of_fraction(chance)(bits) == written


@exactly
@given(SCALES, EXPONENTS, CHANCES, BITS, st.integers(0, 128))
def test_a_longer_expansion_begins_with_the_shorter(
    scale: Fraction, x: Fraction, chance: Fraction, bits: int, more: int
) -> None:
    """What lets a coin go on from where its first word was equal."""
    for expansion in (digits.of_exp(x), digits.of_fraction(chance)):
        assert expansion(bits + more) >> more == expansion(bits)
    longer = digits.laplace_floors(scale, 30, bits + more)
    assert [floor >> more for floor in longer] == digits.laplace_floors(scale, 30, bits)


@exactly
@given(SCALES, PLACES, BITS)
def test_the_places_of_one_coin_are_those_of_the_row(scale: Fraction, places: int, bits: int) -> None:
    """``of_laplace_place`` picks the coin by its number; the last is the zero coin."""
    row = digits.laplace_floors(scale, places, bits)
    for place in (0, places // 2, places - 1, places):
        assert digits.of_laplace_place(scale, places, place)(bits) == row[place]


@pytest.mark.parametrize("precision", [3, 28, 500])
def test_the_decimal_context_of_the_caller_plays_no_part(precision: int) -> None:
    """A program may have set its own precision for Decimal; the digits are the same, and exact."""
    x = Fraction(1, precision * 1001)  # of its own, so that nothing is remembered from elsewhere
    with localcontext() as context:
        context.prec = precision
        assert digits.of_exp(x)(200) == first_digits(lambda b: exp_bounds(x, b), 200)
        assert digits.laplace_floors(1 / x / 2, 30, 200)[-1] == first_digits(lambda b: zero_bounds(1 / x / 2, b), 200)


@pytest.mark.parametrize("bits", [8, 64, 256])
def test_the_series_of_this_file_knows_e(bits: int) -> None:
    """The oracle itself, against the digits of 1/e as printed in tables (OEIS A068985)."""
    tables = "0.36787944117144232159552377016146086744581113103176783450783680169746149574489980335714727434591964"
    assert first_digits(lambda b: exp_bounds(Fraction(1), b), bits) == int(Fraction(tables) * 2**bits)


def test_a_quotient_of_more_digits_than_decimal_keeps_by_default() -> None:
    """Its digits are found, and are those of the neighbouring rational with a short quotient up to their distance."""
    x, near = Fraction(10**28 + 5, 10**29), Fraction(1, 10)
    assert abs(digits.of_exp(x)(200) - digits.of_exp(near)(200)) <= 2**200 * (x - near) + 1
    assert digits.of_exp(x)(200) < digits.of_exp(near)(200)


def test_a_huge_budget_leaves_the_count_alone_at_once() -> None:
    """exp(-1/scale) is far below any word; the zero coin must not ask for ever more digits to find out."""
    assert digits.laplace_floors(Fraction(1, 10**6), 14, 32) == [0] * 14 + [2**32 - 1]


@pytest.mark.parametrize(("scale", "bits"), SHORT)
def test_intervals_enclose_the_chances_of_all_coins(scale: Fraction, bits: int) -> None:
    """However few digits they have: each rounding widens them."""
    *places, zero = digits._laplace_intervals(scale, 4, bits)
    for place, (low, high) in enumerate(places):
        least, most = place_bounds(scale, place, bits + 60)
        assert Fraction(low, 2**bits) <= least <= most <= Fraction(high, 2**bits)
    least, most = zero_bounds(scale, bits + 60)
    assert Fraction(zero[0], 2**bits) <= least
    assert most <= Fraction(zero[1], 2**bits) or zero[1] == 2**bits - 1


@pytest.mark.parametrize("bits", range(8, 40))
@pytest.mark.parametrize("x", [Fraction(1, 10**6), Fraction(1, 7), Fraction(1), Fraction(23, 3), Fraction(60)])
def test_an_interval_encloses_an_exponential(x: Fraction, bits: int) -> None:
    low, high = digits.exp_interval(x, bits)
    least, most = exp_bounds(x, bits + 60)
    assert Fraction(low, 2**bits) <= least <= most <= Fraction(high, 2**bits)


@pytest.mark.parametrize("aside", [Fraction(1, 10**16), Fraction(-1, 10**16)], ids=["below", "above"])
def test_an_interval_encloses_an_exponential_that_is_nearly_a_whole_number(aside: Fraction) -> None:
    """There a product that is rounded may end on the other side."""
    for number in range(1, 256):
        with localcontext(Context(prec=60)):
            x = Fraction((Decimal(256) / number).ln()) + aside
        low, high = digits.exp_interval(x, 8)
        least, most = exp_bounds(x, 120)
        assert Fraction(low, 256) <= least <= most <= Fraction(high, 256)
