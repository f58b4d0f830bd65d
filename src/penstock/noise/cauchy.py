"""Where a Cauchy variable of a secret scale falls on a grid: by inversion, in whole numbers.

The size of a standard Cauchy variable is tan(pi v / 2) for a uniform v, and a fair coin tells its side. Of v only the
first binary places are drawn; they leave an interval for the size, and every rounding widens it. If all of it falls
into one cell, that is the cell; else more places are drawn. So no float ever holds the scale, which is as secret as the
data, nor the variable, and the chances of all cells are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import MAX_EMAX, MIN_EMIN, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from penstock.epsilon import Epsilon, require_epsilon
from penstock.types import Mask

Bounds = tuple[Fraction, Fraction]
Scale = Callable[[int], Bounds]  # bounds of a number above 0, the nearer the more bits are asked for
Coins = Callable[[int], Mask]  # so many fair coins

PLACES = 64
GUARD = 64
DIGITS = 60
MOST = Decimal(50)  # a larger budget buys no less noise: it protects nobody, and has too many digits


class Calibration(NamedTuple):
    """How Cauchy noise for a smooth sensitivity S is bought: its scale is S / ``shift``, S is ``rate``-smooth."""

    shift: Fraction
    rate: Fraction


@lru_cache(maxsize=64)
def calibrated(e: Epsilon) -> Calibration:
    """The noise that ``e`` buys.

    Two Cauchy densities of scales s and r s, r >= 1, whose middles lie d s apart differ by a factor of exp(D) at most,
    cosh D = (1 + r^2 + d^2) / (2 r), which is attained. Between neighbours r <= exp(rate), and d <= shift, because the
    answer moves by no more than the smaller of their two sensitivities. For given d this is largest at one end of the
    range of r; so D <= e is the same as shift^2 <= 2 (cosh e - 1) and shift^2 <= 2 exp(rate) (cosh e - cosh rate).

    The rate is e / 2, or the largest that costs no shift, 2 cosh e - 1 = exp(rate), if that is more. Both are rounded
    down.
    """
    with localcontext(Context(prec=DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX)):
        whole = min(Decimal(require_epsilon(e).nano).scaleb(-9), MOST)
        rate = max(whole / 2, (2 * _cosh(whole) - 1).ln()).quantize(Decimal("1e-18"), ROUND_FLOOR)
        square = 2 * min(_cosh(whole) - 1, rate.exp() * (_cosh(whole) - _cosh(rate)))
        shift = square.sqrt() * (1 - Decimal("1e-20"))
        return Calibration(Fraction(shift), Fraction(rate))


def _cosh(x: Decimal) -> Decimal:
    return (x.exp() + (-x).exp()) / 2


def cauchy_cell(middle: int, scale: Scale, cells: int, coins: Coins) -> int:
    """The cell, of 0 .. cells - 1, in which middle + scale * C falls, rounded; what falls outside is at the end."""
    upwards, place, bits = bool(coins(1)[0]), 0, 0
    while True:
        place, bits = place << PLACES | _number(coins(PLACES)), bits + PLACES
        near, far = (_cell(middle, away, upwards, cells) for away in _distances(place, bits, scale(bits)))
        if near == far:
            return near


def _number(coins: Mask) -> int:
    """Coins as binary places; those that fall are 0, so that coins that all fall leave the middle where it is."""
    return int("".join("0" if fallen else "1" for fallen in coins), 2)


def _distances(place: int, bits: int, scale: Bounds) -> tuple[Fraction, Fraction | None]:
    """Bounds of the distance from the middle; None if there is no upper one."""
    least = scale[0] * _tangent(place, bits)[0]
    return least, scale[1] * _tangent(place + 1, bits)[1] if place + 1 < 1 << bits else None


def _cell(middle: int, away: Fraction | None, upwards: bool, cells: int) -> int:
    """Where somebody arrives who goes so far, which may be endlessly far."""
    if away is None:
        return cells - 1 if upwards else 0
    steps = int(away + Fraction(1, 2))
    return min(middle + steps, cells - 1) if upwards else max(middle - steps, 0)


def _tangent(place: int, bits: int) -> Bounds:
    """Bounds of tan(pi v / 2), v = place / 2**bits below 1. The cosine is 2**-bits at least, so twice the bits do."""
    precision = 2 * bits + GUARD
    angle = pi(precision) * place >> bits + 1  # too small by less than 2 units of 2**-precision
    square = angle * angle >> precision
    sine = _alternating(angle, lambda term, k: (term * square >> precision) // ((2 * k + 2) * (2 * k + 3)))
    cosine = _alternating(1 << precision, lambda term, k: (term * square >> precision) // ((2 * k + 1) * (2 * k + 2)))
    slack = precision  # units: of fewer than precision / 7 terms each is too small by less than 6
    return Fraction(max(sine - slack, 0), cosine + slack), Fraction(sine + slack, cosine - slack)


@lru_cache(maxsize=16)
def pi(precision: int) -> int:
    """The whole number below pi * 2**precision, or one less, by Machin's formula."""
    unit = 1 << precision + GUARD
    return 16 * _arctangent(unit, 5) - 4 * _arctangent(unit, 239) >> GUARD


def _arctangent(unit: int, inverse: int) -> int:
    """The arc tangent of 1 / inverse, off by less than a unit for each of its terms."""
    powers = _powers(unit // inverse, inverse * inverse)
    return sum((-1) ** k * (power // (2 * k + 1)) for k, power in enumerate(powers))


def _powers(first: int, divisor: int) -> Iterator[int]:
    while first:
        yield first
        first //= divisor


def _alternating(term: int, following: Callable[[int, int], int]) -> int:
    """The sum of terms of changing sign, until nothing is left of them."""
    total, k = 0, 0
    while term:
        total += term if k % 2 == 0 else -term
        term, k = following(term, k), k + 1
    return total
