"""Golden vectors: a fixed key gives fixed draws, on every machine.

Every vector was made twice, by SecureNoise and by a slow reading of the same recipe in plain Python (AES blocks of a
counter, words read little-endian, digits by series). A change here is a change of the stream: right only if meant.
"""

import hashlib
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from penstock.noise import SecureNoise
from penstock.noise.keystream import CHUNK_BYTES, KeyStream
from penstock.types import Ints, Mask

BILLION = 10**9
THIRD = Fraction(10**15, 3)

SHORT = [
    (8, Fraction(3, 7), [0, 0, 0, 0, 0, 0, 0]),
    (16, Fraction(3, 7), [0, 1, 0, 0, 0, 0, 0]),
    (32, Fraction(3, 7), [0, 0, 0, 0, 1, 0, -1]),
    (8, Fraction(10), [14, 6, -9, 8, -37, 0, 4]),
    (16, Fraction(10), [2, 10, -3, 0, 0, 6, -17]),
    (32, Fraction(10), [2, 0, -4, -1, 28, 10, -9]),
    (64, Fraction(10), [3, 9, 2, 36, 5, 7, -1]),
    (8, Fraction(1000), [14, -1609, -101, 1044, 848, -1273, -3079]),
    (16, Fraction(1000), [90, -99, -1214, -17, -3709, -1977, -1682]),
    (32, Fraction(1000), [306, -520, 92, -45, -391, -161, 65]),
    (64, Fraction(1000), [243, 1322, 517, -1281, -626, 3348, 460]),
    (8, Fraction(BILLION), [1980078606, -526233957, 496724944, -457264135, -1608642498, 1392410374, 900094300]),
    (16, Fraction(BILLION), [584656986, -484906430, -136683133, -2887870098, 2220753333, 473378818, -1086361860]),
    (32, Fraction(BILLION), [1481813298, 111096412, -204030343, 1338770497, -1106356571, -2732416125, -106925692]),
    (64, Fraction(BILLION), [101486835, 957223685, -58050162, 499272156, -661692991, 647447661, -429681308]),
    (8, THIRD, [156441868868110, -523451812917605, 251755373489104, -524924380859399]),
    (16, THIRD, [239016588421210, -448673169741246, -580234649116285, -801307420092050]),
    (32, THIRD, [90741255875890, 407010002547292, -20479681839495, 120204588483649]),
    (64, THIRD, [15021749604595, 172625356526341, -682878383277682, 176356151413212]),
]

LONG = [  # 10,000 draws: two blocks of 16-coin rows, three of 32, five of 64
    (8, 10, "22d851b41be5212ccdbdd746c107b6688b9e7c75a60400c9f9bf91e2995133e6"),
    (16, 10, "51126aaa71fb8d8cf32c68d6535b6048aea698e8f8ab09076c164e460fa996fa"),
    (32, 10, "4762e44449459959c519f343248f99544d64a4eb1993620fb2c039389afb57ad"),
    (64, 10, "cb61683db4e330506ce6cc31a4d3e7a413b23e8f02f810cfac2bb4b9cd8aea4e"),
    (8, 1000, "a7d714960db73de5d3b3ac0294684a87543d87277dcc9b968f8e627f1091bb56"),
    (16, 1000, "d7da8fc48478fd32a4c83e9157faaf53e8d71be3fac11c515890396b128f63aa"),
    (32, 1000, "732ad87c4ea2b6ee1431183ec61fbc876fff94de5d5420fa6133f163e2beb428"),
    (64, 1000, "fb7d2f6c74d554e86468e9d5b9855de0d44a6a50a12817381923fd6917b5f848"),
    (8, BILLION, "6a580b878a5e76cc0f91fce270489ce3278685db4d72742e47ce6a8eb55404ff"),
    (16, BILLION, "0374e7a6fc356c8fb51ac1ddd2e944f802ec7a9f70e15538306d490a74745399"),
    (32, BILLION, "fde1533eae49fe61d1c154dace2b7dc6926c99d4497d5a8aa4ea114b4435bf18"),
    (64, BILLION, "4c98d9931c187a6ecca6e65c0fd8de4cb580ca8703103c412fb47ac092df115b"),
]

EACH = [
    (8, [0, -9, -101, 0, 8, -1273], "be1feaf80b376ae94fe0cdd5449db86300effd88d9fa6f46e614b5a62171111a"),
    (32, [0, -4, 92, -1, -7, -161], "f466628bb04f959d5049c5c8db31b2d0c373a556eeb78a1c8b5d7a0bbde891cb"),
]

RATIONAL_COINS = [
    (8, "0010110000000100", "02c1fbb3abe907337486a73aa527563a65395c13c7b83aa604d8a9c39cb6781e"),
    (32, "0000001100100100", "1be6feae05775982775ee7d2cd04ebd12b69dafdf9d18e552b51e9128935ea4f"),
]

EXPONENTIAL_COINS = [
    (8, "1101001110101011", "bed12c2ccc76c36e81d9b0031a37324891c8c98c7930d04758edb3cd5fbe7ebc"),
    (32, "1011001111111111", "3b5fc5e8f6e22223da022973b334034f874bb4246ac81d6f3e1c1a4774b6ef1b"),
]


def golden(word_bits: int) -> SecureNoise:
    return SecureNoise(word_bits=word_bits, source=KeyStream(key=bytes(range(32))))


def digest(draws: Ints) -> str:
    return hashlib.sha256(draws.astype("<i8").tobytes()).hexdigest()


def coin_digest(coins: Mask) -> str:
    return hashlib.sha256(np.packbits(coins, bitorder="little").tobytes()).hexdigest()


def coin_text(coins: Mask) -> str:
    return "".join(str(int(coin)) for coin in coins)


def test_the_key_stream_is_aes_256_in_counter_mode() -> None:
    """The blocks of the counters 0, 1, 2 under the key 0, as in test cases 13 and 14 of the GCM specification."""
    blocks = np.empty(48, np.uint8)
    KeyStream(key=bytes(32)).fill(blocks)
    assert blocks.tobytes().hex() == (
        "dc95c078a2408989ad48a21492842087530f8afbc74536b9a963b4f1c4cb738bcea7403d4d606b6e074ec5d3baf39d18"
    )


def test_the_key_stream_goes_on_where_it_stopped() -> None:
    """Pieces of odd lengths, the largest among them, are one stream."""
    whole, pieces = np.empty(CHUNK_BYTES, np.uint8), np.full(CHUNK_BYTES, 255, np.uint8)
    KeyStream(key=bytes(32)).fill(whole)
    stream, cuts = KeyStream(key=bytes(32)), [0, 1, 8, 8, 25, 1000, 123_457, CHUNK_BYTES]
    for start, end in pairwise(cuts):
        stream.fill(pieces[start:end])
    np.testing.assert_array_equal(whole, pieces)


@pytest.mark.parametrize(("word_bits", "scale", "values"), SHORT)
def test_a_few_draws(word_bits: int, scale: Fraction, values: list[int]) -> None:
    """The first draw alone, and a handful."""
    assert golden(word_bits).laplace(scale, 1).tolist() == values[:1]
    assert golden(word_bits).laplace(scale, 7).tolist()[: len(values)] == values


@pytest.mark.parametrize(("word_bits", "scale", "expected"), LONG)
def test_many_draws(word_bits: int, scale: int, expected: str) -> None:
    """More than one block, with thousands of equal words where words are short."""
    assert digest(golden(word_bits).laplace(Fraction(scale), 10_000)) == expected


@pytest.mark.parametrize(("word_bits", "first", "expected"), EACH)
def test_draws_of_mixed_scales(word_bits: int, first: list[int], expected: str) -> None:
    """Scales 3/7, 10 and 1000 in turn, over three blocks."""
    draws = golden(word_bits).laplace_each([Fraction(3, 7), Fraction(10), Fraction(1000)], np.arange(10_000) % 3)
    assert draws[:6].tolist() == first
    assert digest(draws) == expected


@pytest.mark.parametrize(("word_bits", "first", "expected"), RATIONAL_COINS)
def test_rational_coins(word_bits: int, first: str, expected: str) -> None:
    """Coins of chance 2/7, over two blocks."""
    coins = golden(word_bits).bernoulli(Fraction(2, 7), (3, 50_000)).reshape(-1)
    assert coin_text(coins[:16]) == first
    assert coin_digest(coins) == expected


@pytest.mark.parametrize(("word_bits", "first", "expected"), EXPONENTIAL_COINS)
def test_exponential_coins(word_bits: int, first: str, expected: str) -> None:
    """Chances exp(-0), exp(-1/5), ..., exp(-6/5) in turn."""
    coins = golden(word_bits).bernoulli_exp(Fraction(1, 5), np.arange(5000) % 7)
    assert coin_text(coins[:16]) == first
    assert coin_digest(coins) == expected


@pytest.mark.parametrize("word_bits", [8, 32, 64])
def test_orders(word_bits: int) -> None:
    """By keys of 64 bits, whatever the words of the coins."""
    assert golden(word_bits).order(8).tolist() == [6, 3, 7, 1, 5, 4, 0, 2]
    order = golden(word_bits).order(1000).astype(np.int64)
    assert digest(order) == "56cb355dee197b100ff866e6300e5a968be23abd215995d8319f178bf38af72a"
