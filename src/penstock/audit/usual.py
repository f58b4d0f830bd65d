"""The usual pairs: what to try on a mechanism of which nobody has said where it loses most.

A person is there in every time unit of a protected set, or is not: while nothing happens, while the counts leap so that
there is always something to publish, and so that first one thing and then the opposite looks likely.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.audit.rows import Row, attack
from penstock.models import PrivacyModel

BEFORE, AFTER = 2, 3  # time units around a protected set; what it told may show later
LEVEL, LEAP = 100, 1000
REMARK = "no tight event is stated for it"


def usual(model: PrivacyModel, parameters: Mapping[str, Any]) -> list[Row]:
    """A row for each of the usual pairs."""
    length = model.window
    calm = [LEVEL] * length
    leaping = [LEVEL + LEAP * (i + 1) for i in range(length)]
    always, turning = [1] * length, [1] * (length - 1) + [-1]
    return [
        _row(model, parameters, counts, moves) for counts, moves in ((calm, always), (leaping, always), (calm, turning))
    ]


def _row(model: PrivacyModel, parameters: Mapping[str, Any], counts: list[int], moves: list[int]) -> Row:
    before, after = (0, 0) if model.horizon_bound else (BEFORE, AFTER)
    one = [LEVEL] * before + counts + counts[-1:] * after
    moved = [0] * before + [model.per_unit * move for move in moves] + [0] * after
    if model.neighbours == "add-remove":
        pair = [[count] for count in one], [[count + move] for count, move in zip(one, moved, strict=True)]
    else:
        pair = [[c, LEVEL] for c in one], [[c + move, LEVEL - move] for c, move in zip(one, moved, strict=True)]
    return Row(attack(model, *pair), dict(parameters), remark=REMARK)
