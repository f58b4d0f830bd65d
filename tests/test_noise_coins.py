"""Coins thrown by hand: a tape of chosen bytes stands in for the key stream, and the falls are watched from outside.

With words of 8 bits every first word can be tried, and the words that are equal to the first digits of the chance must
go on to 64 further bits. From the falls alone the chance of every coin is read off to 128 bits and more, and with
it the exact distribution of a draw.
"""

from collections import deque
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.noise import SecureNoise, digits
from penstock.noise.keystream import Bytes
from penstock.noise.secure import STEP_PLACES

FURTHER = 64
GRID = 256  # bits of the integers in which distributions are computed
PRECISE = Context(prec=80)
SCALES_BY_ROW = {16: Fraction(92), 32: Fraction(6_000_000), 64: Fraction(2**62, 178)}

Throw = Callable[[int], bool]  # u -> how the coin falls when its digits are those of u / 2**(word_bits + 128)


class Tape:
    """A byte source that plays what was loaded, one piece a fill, and then bytes of 255 for ever."""

    def __init__(self) -> None:
        self.pieces: deque[bytes] = deque()

    def load(self, *pieces: bytes) -> None:
        self.pieces = deque(pieces)

    def rekey(self) -> None:
        """A tape has no key."""

    def fill(self, buffer: Bytes) -> None:
        piece = self.pieces.popleft() if self.pieces else b"\xff" * buffer.nbytes
        assert len(piece) == buffer.nbytes
        buffer[:] = np.frombuffer(piece, np.uint8)


def further(word: int) -> bytes:
    return word.to_bytes(FURTHER // 8, "little")


def pieces_of(u: int, word_bits: int) -> tuple[bytes, bytes, bytes]:
    """The digits of u as a first word and two further ones."""
    mask = (1 << FURTHER) - 1
    first = (u >> 2 * FURTHER).to_bytes(word_bits // 8, "little")
    return first, further(u >> FURTHER & mask), further(u & mask)


def threshold(throw: Throw, bits: int) -> int:
    """floor(chance * 2**bits), read off the falls: the least u for which the coin does not fall."""
    low, high = 0, 1 << bits
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if throw(middle) else (low, middle)
    return low


def rows_of_words(row: int, coin: int, words: bytes, word_bits: int = 8) -> bytes:
    """One row of coins for each word: ``coin`` gets the word, all others the highest, with which none of them falls."""
    size = word_bits // 8
    chosen = [words[i : i + size] for i in range(0, len(words), size)]
    before, after = b"\xff" * (coin * size), b"\xff" * ((row - 1 - coin) * size)
    return b"".join(before + word + after for word in chosen)


def roles(row: int) -> list[int]:
    """What a draw is worth if this coin alone falls, for each of a row: -1 the sign, 0 the zero, 1 + 2^i a place."""
    tape = Tape()
    noise = SecureNoise(word_bits=8, source=tape)
    values = []
    for coin in range(row):
        tape.load(rows_of_words(row, coin, b"\0"), *[further(0)] * 4)
        values.append(int(noise.laplace(SCALES_BY_ROW[row], 1)[0]))
    return values


def chance_of_role(scale: Fraction, row: int, value: int) -> digits.Digits:
    """Digits of the chance of the coin that is worth ``value``; tested against series in test_noise_digits."""
    if value == -1:
        return digits.of_fraction(Fraction(1, 2))
    places = row - 2
    return digits.of_laplace_place(scale, places, places if value == 0 else (value - 1).bit_length() - 1)


def laplace_coin(scale: Fraction, row: int, coin: int, word_bits: int = 8) -> Throw:
    """The coin in this place of a row, thrown alone."""
    tape = Tape()
    noise = SecureNoise(word_bits=word_bits, source=tape)

    def throw(u: int) -> bool:
        first, *more = pieces_of(u, word_bits)
        tape.load(rows_of_words(row, coin, first, word_bits), *more)
        return int(noise.laplace(scale, 1)[0]) != 1

    return throw


@pytest.mark.parametrize("row", SCALES_BY_ROW)
def test_a_row_is_a_sign_a_zero_and_the_places_of_the_geometric(row: int) -> None:
    """Every coin of a row has one meaning, and no meaning is missing."""
    assert sorted(roles(row)) == [-1, 0, *(1 + 2**place for place in range(row - 2))]


@pytest.mark.parametrize("scale", [Fraction(3, 7), Fraction(10), Fraction(92), Fraction(1000)])
def test_all_256_words_of_every_coin_fall_as_the_digits_say(scale: Fraction) -> None:
    """Words below the first digits fall, words above do not, and the equal one asks for one further word."""
    row = 16 if scale < 93 else 32
    tape = Tape()
    noise = SecureNoise(word_bits=8, source=tape)
    for coin, value in enumerate(roles(row)):
        chance = chance_of_role(scale, row, value)
        tape.load(rows_of_words(row, coin, bytes(range(256))), further(chance(72) % 2**64 ^ 1))
        falls = noise.laplace(scale, 256) != 1
        assert not tape.pieces
        expected = np.arange(256) < chance(8)
        expected[chance(8)] = chance(72) % 2 == 1  # the further word was one less, else one more
        np.testing.assert_array_equal(falls, expected)


@pytest.mark.parametrize("word_bits", [8, 16, 32, 64])
@pytest.mark.parametrize(("row", "scale"), [(16, Fraction(10)), (32, Fraction(1000)), (64, Fraction(10**9))])
def test_equal_words_go_on_until_they_differ(row: int, scale: Fraction, word_bits: int) -> None:
    """The coin falls below its chance and not above, though only the 64 or the 128 bits after the word tell."""
    bits = word_bits + 2 * FURTHER
    for coin, value in enumerate(roles(row)):
        throw = laplace_coin(scale, row, coin, word_bits)
        exact = chance_of_role(scale, row, value)(bits)
        for distance in (1, 1 << FURTHER):
            assert exact < distance or throw(exact - distance)
            assert not throw(exact + distance)
        assert not throw(exact)  # equal to the end, and then the tape plays ones


def on_grid(x: Fraction) -> int:
    return (x.numerator << GRID) // x.denominator


def geometric_pmf(places: list[Fraction]) -> list[int]:
    """The distribution of a number whose binary places are independent coins of these chances, lowest first."""
    pmf = [1 << GRID]
    for chance in map(on_grid, places):
        pmf = [p * ((1 << GRID) - chance) >> GRID for p in pmf] + [p * chance >> GRID for p in pmf]
    return pmf


def read_chances(scale: Fraction) -> dict[int, Fraction]:
    """The chance of every coin of a 16-coin row, by its role, as its falls show it to 136 bits."""
    bits = 8 + 2 * FURTHER
    return {
        value: Fraction(threshold(laplace_coin(scale, 16, coin), bits), 2**bits) for coin, value in enumerate(roles(16))
    }


@pytest.mark.parametrize("scale", [Fraction(3, 7), Fraction(10), Fraction(92)])
def test_the_distribution_of_a_draw_is_the_discrete_laplace(scale: Fraction) -> None:
    """Over all 2^15 + 1 values at once the distance to exp(-|k|/s) (1-q)/(1+q) is below 2^-100."""
    chances = read_chances(scale)
    assert chances[-1] == Fraction(1, 2)
    ratio = Fraction(PRECISE.exp(PRECISE.divide(Decimal(-scale.denominator), Decimal(scale.numerator))))
    expected = on_grid((1 - ratio) / (1 + ratio))
    distance = abs(on_grid(chances[0]) - expected)
    not_zero = on_grid((1 - chances[0]) / 2)
    for p in geometric_pmf([chances[1 + 2**place] for place in range(14)]):
        expected = expected * on_grid(ratio) >> GRID
        distance += 2 * abs((not_zero * p >> GRID) - expected)
    assert distance < 1 << (GRID - 100)


@settings(deadline=None, max_examples=25)
@given(st.fractions(0, 1).filter(lambda p: 0 < p < 1), st.sampled_from([8, 16, 32, 64]))
def test_a_rational_coin_has_exactly_its_chance(chance: Fraction, word_bits: int) -> None:
    """Read off its falls, the chance of ``bernoulli`` agrees to the last of 128 bits after the word."""
    tape, bits = Tape(), word_bits + 2 * FURTHER
    noise = SecureNoise(word_bits=word_bits, source=tape)

    def throw(u: int) -> bool:
        tape.load(*pieces_of(u, word_bits))
        return bool(noise.bernoulli(chance, (1,))[0])

    assert threshold(throw, bits) == int(chance * 2**bits)


@settings(deadline=None, max_examples=25)
@given(st.fractions(Fraction(1, 10**9), 60), st.integers(0, 8), st.sampled_from([8, 16, 32, 64]))
def test_an_exponential_coin_has_exactly_its_chance(rate: Fraction, place: int, word_bits: int) -> None:
    """A step of 2**place hangs on the coin of that place alone; its digits are tested in test_noise_digits."""
    tape, bits = Tape(), word_bits + 2 * FURTHER
    noise = SecureNoise(word_bits=word_bits, source=tape)
    size = word_bits // 8
    others = [(digits.of_exp(rate * 2**i)(word_bits) + 1) % 2**word_bits for i in range(STEP_PLACES)]

    def throw(u: int) -> bool:
        word, *rest = pieces_of(u, word_bits)
        words = [other.to_bytes(size, "little") for other in others]
        words[place] = word
        tape.load(b"".join(words), *rest)
        return bool(noise.bernoulli_exp(rate, np.array([2**place]))[0])

    assert threshold(throw, bits) == digits.of_exp(rate * 2**place)(bits)


@settings(deadline=None)
@given(st.fractions(0, 1).filter(lambda p: 0 < p < 1))
def test_all_256_words_of_a_rational_coin(chance: Fraction) -> None:
    """As many words fall as the first digits say, whatever the shape; one goes on."""
    tape, floor = Tape(), int(chance * 256)
    for last, falls in ((0, int(chance * 2**72) % 2**64 > 0), (2**64 - 1, False)):
        tape.load(bytes(range(256)), further(last), further(2**64 - 1))
        fallen = SecureNoise(word_bits=8, source=tape).bernoulli(chance, (16, 16)).reshape(-1)
        assert fallen.tolist() == [word < floor or (word == floor and falls) for word in range(256)]


@given(st.integers(0, 2**12 - 1), st.integers(0, 2**12 - 1))
def test_a_step_falls_if_the_coins_of_all_its_places_do(step: int, heads: int) -> None:
    """exp(-rate * step) is a product over the binary places that are 1; the other coins are thrown and ignored."""
    tape = Tape()
    tape.load(b"".join(b"\0\0" if heads >> i & 1 else b"\xff\xff" for i in range(STEP_PLACES)))
    fallen = SecureNoise(word_bits=16, source=tape).bernoulli_exp(Fraction(1, 1000), np.array([step]))
    assert fallen.tolist() == [step & ~heads == 0]
    assert not tape.pieces


@pytest.mark.parametrize("before", [0, 3, 8191, 8192, 8195])
@pytest.mark.parametrize(("each", "step"), [(True, -1), (True, 1), (False, -1), (False, 1)])
def test_equal_words_find_the_digits_of_their_own_row(before: int, each: bool, step: int) -> None:
    """In any row of any block, a place of a draw goes on with the digits of the scale of that draw."""
    scales = [Fraction(92), Fraction(5), Fraction(40)]
    coin, row, block = roles(16).index(1 + 2**3), 16, 8192
    exact = digits.of_laplace_place(scales[1], row - 2, 3)(72)
    words = b"\xff" * (before * row) + rows_of_words(row, coin, bytes([exact >> 64])) + b"\xff" * row
    pieces = [words[i : i + block * row] for i in range(0, len(words), block * row)]
    pieces.insert(before // block + 1, further(exact % 2**64 + step))
    tape = Tape()
    tape.load(*pieces)
    noise = SecureNoise(word_bits=8, source=tape)
    which = np.array([*(2 * (i % 2) for i in range(before)), 1, 0])
    drawn = noise.laplace_each(scales, which) if each else noise.laplace(scales[1], before + 2)
    assert drawn.tolist() == [1] * before + [9 if step < 0 else 1, 1]
    assert not tape.pieces
