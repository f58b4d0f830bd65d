"""Exact discrete Laplace noise at the speed of numpy's float Laplace.

A geometric variable G with ratio q = exp(-1/scale) has independent binary places, so a draw is a row of coins: the
places of G, a coin for "zero" and a fair coin for the sign; the value is 0, or +-(1 + G). A coin of chance p compares
a W-bit word with the first W digits of p; only when they are equal (chance 2^-W) are further digits drawn and compared,
so every coin is exact. Rows have 16, 32 or 64 coins, the least for which P(G does not fit) < 2^-256.

All coins of a block are compared in three numpy calls whatever falls, so that time does not depend on the noise, but
for the rare equal words; ``word_bits=64`` makes those 2^32 times rarer still.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BadInput, Sealed
from penstock.noise import digits
from penstock.noise.base import NATS_OF_256_BITS
from penstock.noise.keystream import ByteSource, KeyStream
from penstock.types import Ints, Mask

BLOCK_COINS = 1 << 17
FURTHER_BITS = 64
STEP_PLACES = 63
WORD_BYTES = 16
WORDS = 1 << 8 * WORD_BYTES

Words = NDArray[Any]  # unsigned words of the chosen width
_FACTORS = np.array([1, -1, 0, 0], np.int64)  # by the sign coin and the zero coin
_PACKED: dict[int, np.dtype[Any]] = {16: np.dtype("<u2"), 32: np.dtype("<u4"), 64: np.dtype("<u8")}


@lru_cache(maxsize=64)
def _row_floors(numerator: int, denominator: int, row: int, bits: int) -> Words:
    """First digits of every coin of one draw: sign, zero, places of the geometric."""
    *places, zero = digits.laplace_floors(Fraction(numerator, denominator), row - 2, bits)
    return np.array([1 << (bits - 1), zero, *places], f"<u{bits // 8}")


@lru_cache(maxsize=64)
def _place_floors(numerator: int, denominator: int, bits: int) -> Words:
    """First digits of exp(-rate * 2**i) for every binary place i of a step."""
    rate = Fraction(numerator, denominator)
    return np.array([digits.of_exp(rate * 2**i)(bits) for i in range(STEP_PLACES)], f"<u{bits // 8}")


def _row_length(scale: Fraction) -> int:
    for row in _PACKED:
        if scale.numerator * NATS_OF_256_BITS <= scale.denominator << (row - 2):
            return row
    raise BadInput("the noise this budget needs does not fit in 64 bits; use a larger epsilon.")


def _coin_digits(scale: Fraction, row: int, coin: int) -> digits.Digits:
    """All digits of one coin of a row."""
    if coin == 0:
        return digits.of_fraction(Fraction(1, 2))
    return digits.of_laplace_place(scale, row - 2, coin - 2)  # place -1 is the last: zero


class _Workspace(threading.local):
    """The arrays that one thread draws in."""

    def __init__(self, word_bits: int) -> None:
        word = np.dtype(f"<u{word_bits // 8}")
        self.words = np.empty(BLOCK_COINS, word)
        self.floors = np.empty(BLOCK_COINS, word)
        self.flags = np.empty(BLOCK_COINS, np.bool_)
        self.tiled: tuple[Fraction, int] | None = None  # which scale, how many coins of it, ``floors`` holds


@dataclass
class SecureNoise:
    """The only noise a real release may carry. It cannot be pickled, and a deep copy has a key of its own.

    Threads may share it: each draws with a key and with working memory of its own. ``source`` is for tests; the curator
    re-keys it at every release, so that not even they can seed a stream.
    """

    secure: ClassVar[bool] = True

    word_bits: int = 32
    source: ByteSource = field(default_factory=KeyStream, repr=False)

    def __post_init__(self) -> None:
        if self.word_bits not in (8, 16, 32, 64):
            raise BadInput(f"word_bits must be 8, 16, 32 or 64; got {self.word_bits}.")
        self._own = _Workspace(self.word_bits)

    def __copy__(self) -> NoReturn:
        raise Sealed("secure noise is not copied; make a new SecureNoise instead.")

    def __deepcopy__(self, memo: dict[int, Any]) -> SecureNoise:
        return SecureNoise(self.word_bits, deepcopy(self.source, memo))

    def rekey(self) -> None:
        self.source.rekey()

    def laplace(self, scale: Fraction, size: int) -> Ints:
        row = _row_length(scale)
        drawn = np.empty(size, np.int64)
        for start in range(0, size, BLOCK_COINS // row):
            rows = min(BLOCK_COINS // row, size - start)
            self._tile(scale, row, rows)
            coins = self._throw(rows * row, lambda i: _coin_digits(scale, row, i % row))
            _decode(coins, row, drawn[start : start + rows])
        return drawn

    def cube(self, scale: Fraction, size: int) -> Ints:
        # the reach r is a sum of size + 1 geometric variables, a place u_i is uniform below 2 (r + i), and all is drawn
        # anew unless every u_i <= 2 r. So r and u have the weight C(r + size, size) q^r / prod 2 (r + i), which is q^r
        # up to a constant; what is left are the numbers u - r, and summing over r gives q^max|u - r|. How many tries it
        # took tells nothing of the one that counts, because every try is like every other
        while True:
            reach = sum(self._geometric(scale, size + 1).tolist())
            places = self._below([2 * (reach + i) for i in range(1, size + 1)])
            if max(places) <= 2 * reach:
                cube: Ints = np.array(places, np.int64)
                cube -= reach
                return cube

    def laplace_each(self, scales: Sequence[Fraction], which: NDArray[np.intp]) -> Ints:
        row = max((_row_length(scale) for scale in scales), default=1)
        table = np.array([self._row(scale, row) for scale in scales])
        drawn = np.empty(len(which), np.int64)
        self._own.tiled = None
        for start in range(0, len(which), BLOCK_COINS // row):
            block = which[start : start + BLOCK_COINS // row]
            np.take(table, block, axis=0, out=self._own.floors[: len(block) * row].reshape(-1, row))

            def place(i: int, block: NDArray[np.intp] = block) -> digits.Digits:
                return _coin_digits(scales[block[i // row]], row, i % row)

            _decode(self._throw(len(block) * row, place), row, drawn[start : start + len(block)])
        return drawn

    def bernoulli(self, chance: Fraction, shape: tuple[int, ...]) -> Mask:
        size = int(np.prod(shape))
        if chance in (0, 1):
            return np.full(shape, chance == 1)
        self._own.tiled = None
        self._own.floors[: min(size, BLOCK_COINS)] = digits.of_fraction(chance)(self.word_bits)
        fallen = np.empty(size, np.bool_)
        for start in range(0, size, BLOCK_COINS):
            block = fallen[start : start + BLOCK_COINS]
            block[:] = self._throw(len(block), lambda _: digits.of_fraction(chance))
        return fallen.reshape(shape)

    def bernoulli_exp(self, rate: Fraction, steps: Ints) -> Mask:
        # exp(-rate * step) is the product of exp(-rate * 2**i) over the binary places of step. All the coins of all
        # places are thrown, and those of places that are 0 are ignored: the steps are secret, the time is not
        self._own.tiled = None
        fallen = np.empty(len(steps), np.bool_)
        places = np.arange(STEP_PLACES)
        for start in range(0, len(steps), BLOCK_COINS // STEP_PLACES):
            block = np.asarray(steps[start : start + BLOCK_COINS // STEP_PLACES], np.int64)
            coins = len(block) * STEP_PLACES
            table = _place_floors(int(rate.numerator), int(rate.denominator), self.word_bits)
            self._own.floors[:coins].reshape(-1, STEP_PLACES)[:] = table
            heads = self._throw(coins, lambda i: digits.of_exp(rate * 2 ** (i % STEP_PLACES)))
            needed = (block[:, np.newaxis] >> places) & 1 == 1
            fallen[start : start + len(block)] = (heads.reshape(-1, STEP_PLACES) | ~needed).all(axis=1)
        return fallen

    def order(self, size: int) -> NDArray[np.intp]:
        keys = np.empty(size, "<u8")
        while True:
            self.source.fill(keys.view(np.uint8))
            if len(np.unique(keys)) == size:  # given that all differ, every order is equally likely
                return np.argsort(keys)

    def _geometric(self, scale: Fraction, size: int) -> Ints:
        """Draws of G: the places of a row of coins, whatever its sign and its zero are."""
        row = _row_length(scale)
        self._tile(scale, row, size)
        packed = np.packbits(self._throw(size * row, lambda i: _coin_digits(scale, row, i % row)), bitorder="little")
        drawn: Ints = (packed.view(_PACKED[row]) >> np.uint8(2)).astype(np.int64)
        return drawn

    def _below(self, bounds: list[int]) -> list[int]:
        """A whole number from 0 to each bound - 1, all as likely.

        A word of 128 bits times the bound, without the lower 128 bits. The 2^128 mod bound words whose products end
        lowest are refused, all draws with them, so that every number is left as many: with a chance below 2^-60.
        """
        while True:
            buffer = np.empty(WORD_BYTES * len(bounds), np.uint8)
            self.source.fill(buffer)
            words = np.frombuffer(buffer.tobytes(), "<u8").reshape(-1, 2).tolist()
            products = [((high << 64) | low) * bound for (low, high), bound in zip(words, bounds, strict=True)]
            if all(product % WORDS >= WORDS % bound for product, bound in zip(products, bounds, strict=True)):
                return [product // WORDS for product in products]

    def _tile(self, scale: Fraction, row: int, rows: int) -> None:
        """Lay the row of first digits ``rows`` times side by side, unless it lies there already."""
        if self._own.tiled is not None and self._own.tiled[0] is scale and self._own.tiled[1] >= rows:
            return
        self._own.tiled = None  # an interrupt must not leave half a tile under a name
        self._own.floors[: rows * row].reshape(rows, row)[:] = self._row(scale, row)
        self._own.tiled = (scale, rows)

    def _row(self, scale: Fraction, row: int) -> Words:
        return _row_floors(int(scale.numerator), int(scale.denominator), row, self.word_bits)

    def _throw(self, coins: int, further: Callable[[int], digits.Digits]) -> Mask:
        """Coins 0 .. coins-1, whose first digits lie in ``floors``; ``further(i)`` gives all digits of coin i."""
        words, floors, flags = self._own.words[:coins], self._own.floors[:coins], self._own.flags[:coins]
        self.source.fill(words.view(np.uint8))
        equal = np.equal(words, floors, out=flags).nonzero()[0]
        np.less(words, floors, out=flags)
        for i in equal:
            flags[i] = self._compare_further(further(int(i)))
        return flags

    def _compare_further(self, chance: digits.Digits) -> bool:
        """The first word equalled the first digits: compare 64 more at a time until they differ."""
        bits = self.word_bits
        while True:
            bits += FURTHER_BITS
            buffer = np.empty(FURTHER_BITS // 8, np.uint8)
            self.source.fill(buffer)
            word, floor = int.from_bytes(buffer.tobytes(), "little"), chance(bits) % (1 << FURTHER_BITS)
            if word != floor:
                return word < floor


def _decode(coins: Mask, row: int, drawn: Ints) -> None:
    """Read rows of coins as numbers, without a branch: 0 if the zero coin fell, else sign * (1 + places).

    They are written where they are needed, and nowhere else: memory that is given back is handed out as it is.
    """
    packed = np.packbits(coins, bitorder="little").view(_PACKED[row])
    factor = _FACTORS.take((packed & packed.dtype.type(3)).astype(np.intp))
    drawn[:] = np.right_shift(packed, packed.dtype.type(2), out=packed)
    drawn += 1
    drawn *= factor
    packed.fill(0)
