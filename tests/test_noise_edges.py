"""The edges: largest and smallest scales, nothing drawn, sizes beyond one block, scripts that run out."""

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.errors import BadInput
from penstock.noise import Noise, ScriptedNoise, SecureNoise, SimulationNoise, laplace_sd
from penstock.noise.keystream import Bytes, KeyStream
from penstock.types import Ints, Mask

LARGEST_SCALE = Fraction(2**62, 178)
TOO_LARGE = r"^the noise this budget needs does not fit in 64 bits; use a larger epsilon\.$"
ALL: list[Noise] = [SecureNoise(), SimulationNoise(1), ScriptedNoise()]


class Counted:
    """A byte source that is not secret and always the same."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(3)
        self.bytes = 0

    def rekey(self) -> None:
        """Counting needs no key."""

    def fill(self, buffer: Bytes) -> None:
        self.bytes += buffer.nbytes
        buffer[:] = self._rng.integers(0, 256, buffer.nbytes, np.uint8)


class Constant:
    """A byte source that plays one row of words, and then zeros."""

    def __init__(self, row: bytes) -> None:
        self._row = row

    def rekey(self) -> None:
        """A constant has no key."""

    def fill(self, buffer: Bytes) -> None:
        buffer[:] = np.frombuffer(self._row, np.uint8) if buffer.nbytes == len(self._row) else 0


@pytest.mark.parametrize("scale", [LARGEST_SCALE + Fraction(1, 10**9), Fraction(10**17), Fraction(10**400)])
def test_a_scale_too_large_for_64_bits_is_refused(scale: Fraction) -> None:
    """One sentence, before anything is drawn; in a mixed draw too."""
    source = Counted()
    noise = SecureNoise(source=source)
    with pytest.raises(BadInput, match=TOO_LARGE):
        noise.laplace(scale, 3)
    with pytest.raises(BadInput, match=TOO_LARGE):
        noise.laplace_each([Fraction(1), scale], np.array([0, 1]))
    assert source.bytes == 0


@pytest.mark.parametrize("boundary", [Fraction(2**14, 178), Fraction(2**30, 178), LARGEST_SCALE])
def test_a_draw_costs_the_coins_its_scale_needs(boundary: Fraction) -> None:
    """16 coins while the geometric outgrows 14 places with a chance below 2^-256, then 32, then 64."""
    row = {14: 16, 30: 32, 62: 64}[(boundary * 178).numerator.bit_length() - 1]
    source = Counted()
    SecureNoise(word_bits=64, source=source).laplace(boundary, 1)
    assert source.bytes == row * 8
    if boundary < LARGEST_SCALE:
        SecureNoise(word_bits=64, source=source).laplace(boundary + Fraction(1, 10**9), 1)
        assert source.bytes == row * 8 + 2 * row * 8


@pytest.mark.parametrize("scale", [Fraction(2**14, 178), Fraction(2**30, 178), LARGEST_SCALE])
def test_the_largest_draws_do_not_overflow(scale: Fraction) -> None:
    """If every place falls the draw is 2^62 at most, above or below zero; found by letting all coins but one fall."""
    row = {14: 16, 30: 32, 62: 64}[(scale * 178).numerator.bit_length() - 1]
    values = set()
    for standing in range(row):
        words = np.zeros(row, "<u4")
        words[standing] = 2**32 - 1
        values.add(int(SecureNoise(source=Constant(words.tobytes())).laplace(scale, 1)[0]))
    assert values == {0, -(2 ** (row - 2))}


def test_a_tiny_scale_gives_zeros() -> None:
    """At 1/2000 a draw differs from 0 once in 10^868."""
    for noise in (SecureNoise(), SimulationNoise(1)):
        assert not noise.laplace(Fraction(1, 2000), 1000).any()
        assert not noise.laplace_each([Fraction(1, 2000)], np.zeros(1000, np.intp)).any()
    assert laplace_sd(Fraction(1, 2000)) == 0


@pytest.mark.parametrize("noise", ALL, ids=lambda noise: type(noise).__name__)
def test_nothing_asked_nothing_drawn(noise: Noise) -> None:
    """Every kind of draw may be empty."""
    assert noise.laplace(Fraction(10), 0).shape == (0,)
    assert noise.laplace_each([Fraction(10)], np.zeros(0, np.intp)).shape == (0,)
    assert noise.bernoulli(Fraction(1, 3), (0, 5)).shape == (0, 5)
    assert noise.bernoulli_exp(Fraction(1), np.array([], np.int64)).shape == (0,)
    assert noise.order(0).shape == (0,)


@pytest.mark.parametrize("noise", ALL, ids=lambda noise: type(noise).__name__)
def test_what_is_drawn_has_the_promised_type(noise: Noise) -> None:
    """Whole numbers of 64 bits, masks and indices."""
    assert noise.laplace(Fraction(10), 3).dtype == np.int64
    assert noise.laplace_each([Fraction(10)], np.zeros(3, np.intp)).dtype == np.int64
    assert noise.bernoulli(Fraction(1, 3), (3,)).dtype == np.bool_
    assert noise.bernoulli_exp(Fraction(1), np.array([1])).dtype == np.bool_
    assert noise.order(3).dtype == np.intp
    assert noise.order(1).tolist() == [0]


@pytest.mark.parametrize("noise", ALL, ids=lambda noise: type(noise).__name__)
def test_certain_coins(noise: Noise) -> None:
    """Chances 0 and 1 and the exponent 0 leave nothing to chance."""
    assert noise.bernoulli(Fraction(1), (2, 500)).all()
    assert not noise.bernoulli(Fraction(0), (2, 500)).any()
    assert noise.bernoulli_exp(Fraction(1), np.zeros(1000, np.int64)).all()


def test_who_shows_secure_noise_shows_no_source() -> None:
    assert repr(SecureNoise(word_bits=8)) == "SecureNoise(word_bits=8)"


def test_a_deviation_is_told_as_long_as_a_float_holds_it() -> None:
    """From a scale of 1/1400 down it is 0."""
    assert laplace_sd(Fraction(1, 1399)) == pytest.approx(math.sqrt(2) * math.exp(-699.5), rel=1e-9)
    assert laplace_sd(Fraction(1, 1400)) == 0


def test_certain_coins_take_no_random_bytes() -> None:
    source = Counted()
    for chance in (0, 1):
        SecureNoise(source=source).bernoulli(Fraction(chance), (2, 5))
    assert source.bytes == 0


@pytest.mark.parametrize("word_bits", [8, 64])
def test_draws_beyond_one_block(word_bits: int) -> None:
    """Large draws are as large as asked."""
    noise = SecureNoise(word_bits=word_bits, source=Counted())
    assert noise.laplace(Fraction(10), 20_000).shape == (20_000,)
    assert noise.laplace_each([Fraction(10), Fraction(10**9)], np.arange(5000) % 2).shape == (5000,)
    assert noise.bernoulli(Fraction(1, 3), (2, 140_000)).shape == (2, 140_000)


def test_many_exponential_coins() -> None:
    """More coins than one block holds."""
    fallen = SecureNoise(source=Counted()).bernoulli_exp(Fraction(1), np.arange(40_000) % 2)
    assert fallen[::2].all()
    assert fallen[1::2].mean() == pytest.approx(np.exp(-1), abs=0.01)


def test_a_long_order() -> None:
    """More keys than one chunk of the key stream; every number once, and no trend."""
    order = SecureNoise(source=KeyStream(key=bytes(32))).order(300_000)
    assert (np.sort(order) == np.arange(300_000)).all()
    assert abs(np.corrcoef(order, np.arange(300_000))[0, 1]) < 0.01


Ask = Callable[[SecureNoise], Ints | Mask | NDArray[np.intp]]
SCALES = [Fraction(1, 3), Fraction(10), Fraction(90), Fraction(1000), Fraction(10**9)]
ASKS: st.SearchStrategy[Ask] = st.one_of(
    st.builds(lambda s, n: lambda noise: noise.laplace(s, n), st.sampled_from(SCALES), st.integers(0, 30)),
    st.builds(lambda s, n: lambda noise: noise.laplace(s, n), st.sampled_from(SCALES), st.sampled_from([2049, 8193])),
    st.builds(
        lambda which: lambda noise: noise.laplace_each(SCALES, np.array(which)), st.lists(st.integers(0, 4), min_size=1)
    ),
    st.builds(lambda n: lambda noise: noise.bernoulli(Fraction(1, 7), (n,)), st.integers(0, 300)),
    st.builds(lambda n: lambda noise: noise.bernoulli_exp(Fraction(1, 5), np.arange(2 * n) % 2), st.integers(0, 300)),
    st.builds(lambda n: lambda noise: noise.order(n), st.integers(0, 30)),
)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(SCALES), st.lists(ASKS, min_size=1, max_size=4), st.sampled_from([8, 32]))
def test_what_was_asked_before_has_no_influence(scale: Fraction, between: list[Ask], word_bits: int) -> None:
    """One generator asked in turn draws what new ones, each asked once, draw from the same bytes."""
    lasting = SecureNoise(word_bits=word_bits, source=KeyStream(key=bytes(32)))
    stream = KeyStream(key=bytes(32))
    asks: list[Ask] = [lambda noise: noise.laplace(scale, 20)]
    for other in between:
        asks += [other, lambda noise: noise.laplace(scale, 15)]
    for ask in asks:
        np.testing.assert_array_equal(ask(lasting), ask(SecureNoise(word_bits=word_bits, source=stream)))


@pytest.mark.parametrize("word_bits", [0, 7, 24, 128])
def test_other_word_widths_are_refused(word_bits: int) -> None:
    """The widths there are, in one sentence."""
    with pytest.raises(BadInput, match=rf"^word_bits must be 8, 16, 32 or 64; got {word_bits}\.$"):
        SecureNoise(word_bits=word_bits)


def test_a_script_is_played_in_order_and_then_is_silent() -> None:
    """Values first, zeros after, over both kinds of draw."""
    noise = ScriptedNoise([3, -1, 7, 2])
    assert noise.laplace(Fraction(10), 2).tolist() == [3, -1]
    assert noise.left == 2
    noise.rekey()
    assert noise.laplace_each([Fraction(1), Fraction(5)], np.array([0, 1, 1])).tolist() == [7, 2, 0]
    assert noise.laplace(Fraction(10), 2).tolist() == [0, 0]
    assert noise.left == 0


def test_a_strict_script_that_runs_out_says_so() -> None:
    """The refused draw takes nothing from the script."""
    noise = ScriptedNoise([3, -1], strict=True)
    with pytest.raises(BadInput, match=r"^the script has 2 values left and 3 were asked for; write more\.$"):
        noise.laplace(Fraction(10), 3)
    assert noise.laplace(Fraction(10), 2).tolist() == [3, -1]
    with pytest.raises(BadInput, match="has 0 values left"):
        noise.laplace_each([Fraction(10)], np.zeros(1, np.intp))


def test_a_script_throws_coins_as_likely() -> None:
    """Its coins fall when their chance is at least one half, and its orders are plain."""
    noise = ScriptedNoise()
    assert noise.bernoulli(Fraction(1, 2), (2,)).all()
    assert not noise.bernoulli(Fraction(49, 100), (2,)).any()
    assert noise.bernoulli_exp(Fraction(1), np.array([0, 3])).tolist() == [True, False]
    assert noise.order(4).tolist() == [0, 1, 2, 3]


@settings(deadline=None)
@given(st.integers(0, 2**32), st.fractions(Fraction(1, 10), 1000, max_denominator=1000))
def test_a_simulation_draws_the_same_however_a_scale_is_told(seed: int, scale: Fraction) -> None:
    """Once for all numbers, or for each; numpy has a quick way for the first."""
    drawn = [
        SimulationNoise(seed).laplace(scale, 20),
        SimulationNoise(seed).laplace_each([scale], np.zeros(20, np.intp)),
    ]
    drawn += [SimulationNoise(seed).laplace_each([scale, scale], np.arange(20) % 2)]
    assert drawn[0].tolist() == drawn[1].tolist() == drawn[2].tolist()


@settings(deadline=None)
@given(st.integers(0, 2**32), st.fractions(Fraction(1, 10), 1000, max_denominator=1000))
def test_a_simulation_repeats_itself(seed: int, scale: Fraction) -> None:
    """The same seed gives the same draws, rekeyed or not; the next seed gives others."""
    runs = []
    for rekeyed, start in ((False, seed), (True, seed), (False, seed + 1)):
        noise = SimulationNoise(start)
        if rekeyed:
            noise.rekey()
        coins = noise.bernoulli(Fraction(1, 3), (100,)).tolist()
        runs.append((coins, noise.laplace(scale, 20).tolist(), noise.order(50).tolist()))
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]
    assert repr(SimulationNoise(seed)) == f"SimulationNoise(seed={seed})"


def test_only_secure_noise_calls_itself_secure() -> None:
    """What a curator looks at before a real release."""
    assert [noise.secure for noise in ALL] == [True, False, False]


@settings(deadline=None, max_examples=30)
@given(st.fractions(Fraction(1, 50), 40, max_denominator=10**4))
def test_the_standard_deviation_is_that_of_the_exact_distribution(scale: Fraction) -> None:
    """The variance summed term by term, k^2 exp(-|k|/s) (1-q)/(1+q), until the terms vanish."""
    precise = Context(prec=50)
    ratio = Fraction(precise.exp(precise.divide(Decimal(-scale.denominator), Decimal(scale.numerator))))
    grid = 1 << 160
    q, weight, variance, k = int(ratio * grid), int((1 - ratio) / (1 + ratio) * grid), 0, 0
    while weight:
        k, weight = k + 1, weight * q // grid
        variance += 2 * k * k * weight
    assert laplace_sd(scale) == pytest.approx(float(Fraction(variance, grid)) ** 0.5, rel=1e-12)
