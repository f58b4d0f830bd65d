"""Privacy budgets as integers: no float ever enters a ledger."""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import NoReturn, TypeAlias, overload

from penstock.errors import BadInput

Number: TypeAlias = int | float | str | Decimal | Fraction

NANO = 10**9
MOST_DIGITS = 1000  # before or after the point
LARGEST = 10**6  # a larger budget protects nobody, and below it 64-bit sums of nano-epsilon stay exact


class Epsilon:
    """An amount of privacy loss, held as a whole number of nano-epsilon.

    Numbers come in through their decimal text, so that 0.1 means one tenth; every division and every share is
    rounded down, so that parts never add up to more than the whole.

    >>> Epsilon(0.1) * 3 == Epsilon("0.3")
    True
    >>> Epsilon(1) / 3
    Epsilon('0.333333333')
    """

    __slots__ = ("nano",)

    nano: int

    def __init__(self, value: Epsilon | Number) -> None:
        exact = Fraction(value.nano, NANO) if isinstance(value, Epsilon) else as_fraction(value)
        if not 0 <= exact <= LARGEST:
            raise BadInput(f"an epsilon lies between 0 and {LARGEST}; got {value}.")
        object.__setattr__(self, "nano", int(exact * NANO))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a budget cannot be changed; compute a new one.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a budget cannot be changed; compute a new one.")

    @staticmethod
    def of_nano(nano: int) -> Epsilon:
        """The budget of ``nano`` nano-epsilon."""
        whole = operator.index(nano)
        if whole < 0:
            raise BadInput("a budget cannot be negative; compare before subtracting.")
        made = object.__new__(Epsilon)
        object.__setattr__(made, "nano", whole)
        return made

    def __reduce__(self) -> tuple[Callable[[int], Epsilon], tuple[int]]:
        return Epsilon.of_nano, (self.nano,)

    def share(self, part: Number) -> Epsilon:
        """The given part of this budget, rounded down."""
        return Epsilon.of_nano(int(self.nano * as_fraction(part)))

    def __add__(self, other: Epsilon) -> Epsilon:
        return Epsilon.of_nano(self.nano + other.nano)

    def __sub__(self, other: Epsilon) -> Epsilon:
        return Epsilon.of_nano(self.nano - other.nano)

    def __mul__(self, times: int) -> Epsilon:
        return Epsilon.of_nano(self.nano * operator.index(times))

    __rmul__ = __mul__

    @overload
    def __truediv__(self, other: int) -> Epsilon: ...
    @overload
    def __truediv__(self, other: Epsilon) -> Fraction: ...
    def __truediv__(self, other: int | Epsilon) -> Epsilon | Fraction:
        if isinstance(other, Epsilon):
            return Fraction(self.nano, other.nano)
        return Epsilon.of_nano(self.nano // operator.index(other))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Epsilon) and self.nano == other.nano

    def __lt__(self, other: Epsilon) -> bool:
        return self.nano < other.nano

    def __le__(self, other: Epsilon) -> bool:
        return self.nano <= other.nano

    def __gt__(self, other: Epsilon) -> bool:
        return self.nano > other.nano

    def __ge__(self, other: Epsilon) -> bool:
        return self.nano >= other.nano

    def __hash__(self) -> int:
        return hash(self.nano)

    def __bool__(self) -> bool:
        return self.nano > 0

    def __float__(self) -> float:
        return self.nano / NANO

    def __str__(self) -> str:
        whole, rest = divmod(self.nano, NANO)
        return f"{whole}.{rest:09d}".rstrip("0").rstrip(".")

    def __repr__(self) -> str:
        return f"Epsilon('{self}')"


def require_epsilon(e: object) -> Epsilon:
    """Refuse what is not exactly an Epsilon: an amount is read more than once, and only an Epsilon cannot change."""
    if type(e) is not Epsilon:
        raise BadInput(f"a budget is an Epsilon; write Epsilon(...) instead of a value of type {type(e).__name__}.")
    return e


def as_fraction(value: Number) -> Fraction:
    """The exact rational a human meant by ``value``: a float is read through its shortest decimal text."""
    if isinstance(value, bool):
        raise BadInput(f"a number is needed here; got {value}.")
    if isinstance(value, (int, Fraction)):
        return Fraction(operator.index(value.numerator), operator.index(value.denominator))
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or abs(number.adjusted()) > MOST_DIGITS:
        raise BadInput(f"a finite number of reasonable size is needed here; got {value!r}.")
    return Fraction(number)


class EpsilonField:
    """A dataclass field that takes any number and holds an Epsilon: ``epsilon: EpsilonField = EpsilonField()``."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object | None, owner: type) -> Epsilon:
        if instance is None:
            raise AttributeError(self._name)  # tells dataclasses that the field has no default
        held: Epsilon = vars(instance)[self._name]
        return held

    def __set__(self, instance: object, value: Epsilon | Number) -> None:
        try:
            vars(instance)[self._name] = Epsilon(value)
        except BadInput as fault:
            raise BadInput(f"{self._name}: {fault}") from None
