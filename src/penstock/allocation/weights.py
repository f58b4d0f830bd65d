"""How much each time unit matters: what is told of it, as plain data.

Weights are numbers, one a unit; or text, which is a rule (see ``penstock.allocation.rules``) or names a file; or a
function of public values. They say which units are published at all, so they are public, and must not come from the
counts.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Set
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from penstock.allocation.rules import KNOWN, rule_of, weight_of
from penstock.errors import BadInput
from penstock.parameters import nearest, shown
from penstock.types import Release

COLUMN = "weight"
FILE = re.compile(r"[/\\]|\.[A-Za-z]\w*$")
NUMBER = re.compile(r"\s*[-+.\d]")


class Unit(NamedTuple):
    """A time unit as a function that weighs it sees it: its number, its label, its first day if that is known, and
    the last release before it. All of it is public."""

    t: int
    label: str
    date: date | None
    last: Release


class Function:
    """A function of public values, which is called by its name where it is written down."""

    def __init__(self, weigh: Callable[[Unit], Any]) -> None:
        self.weigh = weigh

    def __call__(self, unit: Unit) -> float:
        return weight_of(self.weigh(unit), f"the weight that {self} gives to t={unit.t}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Function) and self.weigh == other.weigh

    def __hash__(self) -> int:
        return hash(self.weigh)

    def __str__(self) -> str:
        kind = self.weigh if hasattr(self.weigh, "__qualname__") else type(self.weigh)
        return f"{kind.__module__}.{kind.__qualname__}"

    __repr__ = __str__


Numbers: TypeAlias = tuple[float, ...]
Weights: TypeAlias = Numbers | str | Function


class Listed(NamedTuple):
    """The weights of a file, and what it calls their units if it does."""

    weights: Numbers
    labels: tuple[str, ...] = ()


def weights_of(told: object) -> Weights:
    """Weights as plain data: numbers, the text of a rule, or a function that has a name.

    >>> weights_of([0, 5, 1]), weights_of("every Monday")
    ((0.0, 5.0, 1.0), 'every monday')
    """
    if isinstance(told, str):
        return read_weights(told).weights if is_file(told) else str(rule_of(told))
    if callable(told):
        return told if isinstance(told, Function) else Function(told)
    if not isinstance(told, Iterable) or isinstance(told, (bytes, Mapping, Set)):
        raise BadInput(f"weights are numbers, a rule, the name of a file or a function; got {shown(told)}.")
    return _some([weight_of(each, f"the weight of t={t}") for t, each in enumerate(told, start=1)], "these weights")


def is_file(text: str) -> bool:
    """Whether text names a file: it ends like one (``weights.csv``) or has a slash in it, which no rule does."""
    return FILE.search(text) is not None


def read_weights(path: str) -> Listed:
    """The weights in a file: one number a line, or a column called "weight" beside one of times."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file, strict=True))
    except OSError as fault:
        raise BadInput(
            f"the file of weights {path} cannot be read: {fault.strerror}; name another one, or write a rule: {KNOWN}."
        ) from None
    except (UnicodeDecodeError, csv.Error):
        raise BadInput(f"the file of weights {path} is no text in UTF-8, one row a line; save it as such.") from None
    name, rows = Path(path).name, _without_end(rows)
    if not rows:
        raise BadInput(f'{name} is empty; write one weight a line, or a column "{COLUMN}" under a header.')
    heading = [cell.strip().lower() for cell in rows[0]]
    if COLUMN in heading:
        return _from_columns(rows, heading.index(COLUMN), name)
    if len(rows[0]) != 1 or not NUMBER.match(rows[0][0]):
        hint = nearest(heading[-1] if heading else "", [COLUMN])
        raise BadInput(f'{name}, line 1: neither a weight nor a header with a column "{COLUMN}"; write one.{hint}')
    return Listed(_some([_cell(row, 0, 1, f"{name}, line {n}") for n, row in enumerate(rows, start=1)], name))


def _without_end(rows: list[list[str]]) -> list[list[str]]:
    """Without the blank lines that editors leave at the end."""
    last = max((n for n, row in enumerate(rows, start=1) if "".join(row).strip()), default=0)
    return rows[:last]


def _from_columns(rows: list[list[str]], column: int, name: str) -> Listed:
    """Below a header; the first other column has the labels."""
    width, others = len(rows[0]), [place for place in range(len(rows[0])) if place != column]
    below = list(enumerate(rows[1:], start=2))
    weights = _some([_cell(row, column, width, f"{name}, line {n}") for n, row in below], name)
    return Listed(weights, tuple(row[others[0]].strip() for _, row in below) if others else ())


def _cell(row: list[str], column: int, width: int, place: str) -> float:
    if not row:
        raise BadInput(f"{place} is blank; write 0 for a unit that is not to be published.")
    if len(row) != width:
        raise BadInput(f"{place}: {len(row)} columns instead of {width}; write every line alike.")
    return weight_of(row[column].strip(), f"{place}: a weight")


def _some(weights: list[float], what: str) -> Numbers:
    """Refuse weights of which none counts."""
    if not any(weights):
        raise BadInput(f"{what} must have a weight above 0; a unit that weighs 0 is not published.")
    return tuple(weights)
