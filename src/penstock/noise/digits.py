"""Binary digits of probabilities, exact to any length.

A coin of probability p is thrown by comparing a uniform binary fraction with p digit by digit. Here are the digits:
rationals by division, exp(-x) and the logistic chances of the discrete Laplace by one ``Decimal.exp`` (correctly
rounded, by its documentation) and integer intervals. Where an interval leaves a digit open the precision is doubled, so
no libm and no rounding error enters.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

Interval = tuple[int, int]  # low <= p * 2**bits <= high
Digits = Callable[[int], int]  # bits -> floor(p * 2**bits)

GUARD = 96


def of_fraction(chance: Fraction) -> Digits:
    """Digits of a rational."""
    return lambda bits: (chance.numerator << bits) // chance.denominator


def of_exp(x: Fraction) -> Digits:
    """Digits of exp(-x); of 0.111... for x = 0."""
    return lambda bits: _settled(lambda precision: _below_one(exp_interval(x, precision), precision), bits)


def laplace_floors(scale: Fraction, places: int, bits: int) -> list[int]:
    """The first ``bits`` digits of each coin of one draw: ``places`` binary places of the geometric, then "zero".

    With q = exp(-1/scale), place i of the geometric is 1 with chance q^(2^i) / (1 + q^(2^i)), and the whole draw is 0
    with chance (1-q) / (1+q).
    """
    precision = bits + places + GUARD
    while True:
        intervals = _laplace_intervals(scale, places, precision)
        floors = [low >> (precision - bits) for low, _ in intervals]
        if floors == [high >> (precision - bits) for _, high in intervals]:
            return floors
        precision *= 2


def of_laplace_place(scale: Fraction, places: int, place: int) -> Digits:
    """Digits of one coin of ``laplace_floors``, to any length."""
    return lambda bits: laplace_floors(scale, places, bits)[place]


def _settled(interval: Callable[[int], Interval], bits: int) -> int:
    precision = bits + GUARD
    while True:
        low, high = (bound >> (precision - bits) for bound in interval(precision))
        if low == high:
            return low
        precision *= 2


def exp_interval(x: Fraction, bits: int) -> Interval:
    """Bounds of exp(-x) * 2**bits."""
    context = decimal.Context(prec=bits * 31 // 100 + 12, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
    below = context.divide(Decimal(x.numerator), Decimal(x.denominator))
    # the quotient is off by less than one unit in its last place; one on either side encloses x
    # (copy_negate: a plain minus would round to the precision of whoever called)
    low = context.exp(context.next_plus(below).copy_negate())
    high = context.exp(context.next_minus(below).copy_negate())
    one = Decimal(1 << bits)
    floor = int(context.multiply(context.next_minus(low), one)) - 1
    ceiling = int(context.multiply(context.next_plus(high), one)) + 1
    return max(floor, 0), ceiling


def _laplace_intervals(scale: Fraction, places: int, bits: int) -> list[Interval]:
    one = 1 << bits
    low, high = exp_interval(1 / scale, bits)
    zero = (one - high << bits) // (one + high), (one - low << bits) // (one + low) + 1
    coins = []
    for _ in range(places):
        coins.append(((low << bits) // (one + low), (high << bits) // (one + high) + 1))
        low, high = low * low >> bits, (high * high >> bits) + 1
    return [*coins, _below_one(zero, bits)]


def _below_one(interval: Interval, bits: int) -> Interval:
    """The interval of the floor of a chance that does not reach 1, however near it comes."""
    return interval[0], min(interval[1], (1 << bits) - 1)
