"""What a parameter may be: its kind, its range, and the one sentence with which anything else is refused."""

from __future__ import annotations

import difflib
import operator
import os
from collections.abc import Iterable
from dataclasses import fields
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from penstock.epsilon import Number, as_fraction
from penstock.errors import BadInput

T = TypeVar("T")

SMALLEST, LARGEST = 1e-50, 1e50  # beyond these, arithmetic with floats goes astray
LARGEST_WHOLE = 2**53
LONGEST_SHOWN = 40  # characters of a value in a message
KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text", NoneType: "nothing"}


def of_kind(name: str, value: Any, hint: Any) -> Any:
    """The value as Python's own kind, or a refusal if a parameter annotated with ``hint`` cannot take it."""
    if not _fits(value, hint):
        raise BadInput(f"{name} must be {' or '.join(_names(hint, value))}; got {shown(value)}.")
    if isinstance(value, np.integer):
        value = int(value)
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if isinstance(value, (np.floating, Fraction)) or (type(value) is int and float in options and int not in options):
        value = float(value)  # so that 3 and 3.0 are the same parameter
    return value


def as_path(told: str | Path) -> Path:
    """A path, or a refusal of one that no file can have."""
    if "\0" in str(told):
        raise BadInput(f"no file has a name with a NUL character; mend the path {str(told)!r}.")
    return Path(told)


def resolved(told: str | Path) -> Path:
    """The path of the file itself; a link that leads to itself is left as it is, and refused when it is opened."""
    return Path(os.path.realpath(as_path(told)))


def require_name(what: str, name: str) -> str:
    """Refuse a name that cannot be written into one line of text."""
    if not name.strip() or not name.isprintable():
        raise BadInput(f"the name of {what} is printable text; got {shown(name)}.")
    return name


@lru_cache(maxsize=256)
def hints_of(made: type) -> dict[str, Any]:
    """The annotations of a class, read once: that takes longer than a step of most mechanisms."""
    return get_type_hints(made)


def plain(value: Any) -> Any:
    """A parameter as a file can hold it."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, (int, float, str, type(None), list)) else str(value)


def hold_kinds(made: Any) -> None:
    """Hold every field of a frozen dataclass to the kind it is declared with."""
    hints = hints_of(made.__class__)
    for each in fields(made):
        object.__setattr__(made, each.name, of_kind(each.name, getattr(made, each.name), hints[each.name]))


def _fits(value: object, hint: Any) -> bool:
    if get_origin(hint) in (Union, UnionType):
        return any(_fits(value, option) for option in get_args(hint))
    if get_origin(hint) is Literal:
        return isinstance(value, str) and value in get_args(hint)
    if hint in (int, float) and isinstance(value, bool):
        return False
    if hint is int:
        return isinstance(value, (int, np.integer)) and abs(int(value)) <= LARGEST_WHOLE
    if hint is float:
        return isinstance(value, (int, float, Fraction, np.floating, np.integer)) and _sane(value)
    return isinstance(value, hint) if hint in KINDS else True


def _sane(value: Any) -> bool:
    """Whether a number is finite, and neither absurdly large nor absurdly small."""
    try:
        size = abs(float(value))
    except OverflowError:
        return False
    return size == 0 or SMALLEST <= size <= LARGEST


def shown(value: object) -> str:
    """The value, if it is short enough to be read."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of thousands of digits
        text = "a huge number"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def _names(hint: Any, value: object) -> list[str]:
    """What is asked for; and of which size, if only that is wrong with the value."""
    if get_origin(hint) in (Union, UnionType):
        return [name for option in get_args(hint) for name in _names(option, value)]
    if get_origin(hint) is Literal:
        return [f'"{option}"' for option in get_args(hint)]
    if hint is int and type(value) is int:
        return [f"{KINDS[int]} of at most 2**53"]
    if hint is float and type(value) in (int, float):
        return [f"{KINDS[float]} of a size from 1e-50 to 1e50"]
    return [KINDS[hint]]


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint for a misspelt word, if one of those known is near."""
    near = difflib.get_close_matches(word.lower(), known, n=1)
    return f" Did you mean {near[0]}?" if near else ""


def require_exactly(kind: type[T], value: T) -> T:
    """Refuse what merely looks like a ``kind``: the kernel reads it more than once, and a subclass could change."""
    if type(value) is not kind:
        raise BadInput(f"a {kind.__name__} is needed here; got a value of type {type(value).__name__}.")
    return value


def at_least_one(name: str, value: object) -> int:
    """The whole number of 1 or more that ``value`` is, as Python's own, or a refusal."""
    whole = _as_whole(value)
    if whole is None or whole < 1:
        raise BadInput(f"{name} must be a whole number of 1 or more; got {value!r}.")
    return whole


def from_one_to(name: str, value: object, most: int) -> int:
    """The whole number from 1 to a public bound that ``value`` is, as Python's own, or a refusal."""
    whole = _as_whole(value)
    if whole is None or not 1 <= whole <= most:
        raise BadInput(f"{name} must be a whole number from 1 to {most}; got {value!r}.")
    return whole


def _as_whole(value: object) -> int | None:
    """The value as Python's own whole number, so that it is compared as what it will be used as; None if it is none."""
    return operator.index(value) if isinstance(value, (int, np.integer)) and not isinstance(value, bool) else None


def above(name: str, value: Number, low: int) -> None:
    """Refuse a number that is not above a public bound."""
    if not as_fraction(value) > low:
        raise BadInput(f"{name} must be above {low}; got {value}.")


def not_negative(name: str, value: Number) -> None:
    """Refuse a number below 0."""
    if as_fraction(value) < 0:
        raise BadInput(f"{name} must be 0 or more; got {value}.")


def within(name: str, value: Number, low: int, high: int) -> None:
    """Refuse a number that does not lie strictly between two public bounds."""
    if not low < as_fraction(value) < high:
        raise BadInput(f"{name} must lie between {low} and {high}, both excluded; got {value}.")


def up_to_one(name: str, value: Number) -> None:
    """Refuse a number that is not above 0 and at most 1."""
    if not 0 < as_fraction(value) <= 1:
        raise BadInput(f"{name} must be above 0 and at most 1; got {value}.")
