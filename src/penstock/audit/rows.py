"""Audit rows: the pairs of streams on which a mechanism loses most, as its proof file states them.

A proof file ends with a table whose columns are COLUMNS. Streams are counts of the time units, ``100x6`` six times the
same, bins joined by commas: ``100,0 99,1``. ``given`` and ``event`` are patterns with one sign a unit: ``f`` fresh,
``r`` repeated, ``.`` anything, each of which may demand that the first bin is below or above a number: ``f<100``.
``given`` is about the units before the streams differ, ``event`` about those from there on. ``runs`` says how many
times as many trials it takes, and ``remark`` why the pair is not known to be tight, if it is not: tight is what comes
as near to what is charged as chance allows.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from penstock.audit.attack import Attack, Event, Outcome
from penstock.errors import BadInput
from penstock.laws import LAWS
from penstock.models import MContext, PrivacyModel
from penstock.parameters import at_least_one
from penstock.types import Kind

COLUMNS = ("model", "with", "one stream", "its neighbour", "given", "event", "runs", "remark")
SIGN = re.compile(r"(?P<kind>[fr.])((?P<side>[<>])(?P<level>-?\d+))?$")
KINDS = {"f": (Kind.FRESH,), "r": (Kind.REPUBLISHED,), ".": tuple(Kind)}


class Row(NamedTuple):
    """An attack on a mechanism with these parameters."""

    attack: Attack
    parameters: dict[str, Any]
    runs: int = 1  # how many times as many trials it takes
    remark: str = ""  # why it is not tight, if it is not


def rows(proof: str) -> list[Row]:
    """The audit rows of a proof file."""
    return [_row([cell.strip(" `") for cell in line[1:-1].split("|")]) for line in _table(proof)]


def _table(proof: str) -> Iterator[str]:
    """The lines below the heading and its rule."""
    lines = (line.strip() for line in proof.splitlines())
    for line in lines:
        heading = tuple(cell.strip() for cell in line[1:-1].split("|"))
        if heading == COLUMNS:
            next(lines, "")
            yield from takewhile(lambda line: line.startswith("|"), lines)
        elif set(COLUMNS[2:4]) & set(heading):
            raise BadInput(f"a table of audit rows has the columns {', '.join(COLUMNS)}; got {', '.join(heading)}.")


def _row(cells: list[str]) -> Row:
    try:
        law, parameters, one, other, given, event, runs, remark = cells
        pair, plain = (stream(one), stream(other)), attack(model_of_call(law), stream(one), stream(other))
        after, before = pattern(event, len(pair[0]) - plain.prefix), pattern(given, plain.prefix)
        attacked = attack(plain.model, *pair, event=after, given=before)
        at_least_one("runs", int(runs or 1))
        return Row(attacked, arguments(parameters), int(runs or 1), remark)
    except (ValueError, SyntaxError, TypeError, KeyError, OverflowError) as fault:
        told = " | ".join(cells)
        raise BadInput(f"an audit row cannot be read, because of {fault}: {told}; see penstock.audit.rows.") from None


def attack(
    model: PrivacyModel,
    one: list[list[int]],
    other: list[list[int]],
    *,
    event: Event | None = None,
    given: Event | None = None,
) -> Attack:
    """An attack with an event about what comes after the first difference.

    Under m-context as many people as the counts need are present all the time.
    """
    presence = None
    if isinstance(model, MContext):
        people = max(-(-sum(row) // model.per_unit) for row in [*one, *other])
        presence = [[f"user{i}" for i in range(people)]] * len(one)
    begun = Attack(model=model, one=one, other=other, given=given, presence=presence)
    return begun if event is None else replace(begun, event=partial(_from, begun.prefix, event))


def _from(prefix: int, event: Event, outcome: Outcome) -> bool:
    return event(outcome.since(prefix))


def model_of_call(text: str) -> PrivacyModel:
    """``WEvent(epsilon=1, w=3)`` as a model."""
    name, _, rest = text.partition("(")
    kinds = {kind.__name__: kind for kind in LAWS.values()}
    return kinds[name](**arguments(rest.rstrip(")")))


def arguments(text: str) -> dict[str, Any]:
    """``a=1, b="two"`` as a dictionary."""
    call = ast.parse(f"dict({text})", mode="eval").body
    if not isinstance(call, ast.Call) or call.args:
        raise ValueError(f"{text!r}, which is not a list of name=value")
    return {str(keyword.arg): _plain(keyword.value) for keyword in call.keywords}


def _plain(value: ast.expr) -> Any:
    try:
        return ast.literal_eval(value)
    except ValueError:
        raise ValueError(f"{ast.unparse(value)!r}, which is not a plain value") from None


def stream(text: str) -> list[list[int]]:
    """``100,0x2 7,8`` as rows of counts."""
    return [[int(count) for count in word.split(",")] for word in _repeated(text)]


def _repeated(text: str) -> Iterator[str]:
    for word in text.split():
        what, _, times = word.partition("x")
        yield from [what] * int(times or 1)


def pattern(text: str, units: int | None = None) -> Event | None:
    """``f r .>100`` as an event about so many units at most; None if there is none."""
    signs = [SIGN.match(word) for word in _repeated(text)]
    if not all(signs) or (units is not None and len(signs) > units):
        raise ValueError(f"{text!r}, which is no pattern of f, r and . for these time units")
    return partial(_matches, [sign.groupdict() for sign in signs if sign]) if signs else None


def _matches(signs: list[dict[str, str | None]], outcome: Outcome) -> bool:
    return all(
        int(outcome.kinds[i, 0]) in KINDS[str(sign["kind"])] and _on_side(outcome.values[i, 0], sign)
        for i, sign in enumerate(signs)
    )


def _on_side(value: np.int64, sign: dict[str, str | None]) -> bool:
    if sign["side"] is None:
        return True
    level = int(str(sign["level"]))
    return bool(value < level if sign["side"] == "<" else value > level)
