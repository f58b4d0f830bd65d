"""The usual pairs: what to try on a mechanism of which nobody has said where it loses most.

A person is there in every time unit of a protected set, or is not, in two bins in turn: while nothing happens, while
the counts leap so that there is always something to publish, and so that first one thing looks likely, and then the
opposite.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.audit.attack import Attack
from penstock.audit.rows import Row, attack
from penstock.models import DeltaNeighbourhood, EventLevel, MContext, PrivacyModel, UserLevel, WEvent

BEFORE, AFTER = 2, 3  # time units around a protected set; what it told may show later
LEVEL, LEAP = 100, 1000  # records, for one that a person may have
CROWD = 4  # records where as many people have to be present
REMARK = "no tight event is stated for it"

SMALL: dict[type[PrivacyModel], PrivacyModel] = {  # windows so short that what is improbable still happens
    EventLevel: EventLevel(epsilon=2),
    WEvent: WEvent(epsilon=2, w=3),
    UserLevel: UserLevel(epsilon=2, horizon=3),
    MContext: MContext(epsilon=2, m=2),
    DeltaNeighbourhood: DeltaNeighbourhood(epsilon=2, steps=3),
}


def usual(model: PrivacyModel, parameters: Mapping[str, Any]) -> list[Row]:
    """A row for each of the usual pairs."""
    length, level, leap = model.window, *_sizes(model)
    calm, leaping = [level] * length, [level + leap * ((i + 1) % 2) for i in range(length)]
    always, turning = [1] * length, [1] * (length - 1) + [-1]
    pairs = (calm, always, 0), (leaping, always, 1), (calm, turning, 0)
    return [Row(_attack(model, *pair), dict(parameters), remark=REMARK) for pair in pairs]


def _sizes(model: PrivacyModel) -> tuple[int, int]:
    """How many records there are, and how many more after a leap."""
    level = model.per_unit * (CROWD if isinstance(model, MContext) else LEVEL)
    return level, level * LEAP // LEVEL


def _attack(model: PrivacyModel, counts: list[int], moves: list[int], first: int) -> Attack:
    """So many records in one of two bins, and one person's more or less in either in turn, from the ``first`` on."""
    before, after = (0, 0) if model.horizon_bound else (BEFORE, AFTER)
    level, _ = _sizes(model)
    changes = (
        [[0, 0]] * before + [_change(model, move, (first + i) % 2) for i, move in enumerate(moves)] + [[0, 0]] * after
    )
    one = [[count, level] for count in [level] * before + counts + counts[-1:] * after]
    other = [[count + move for count, move in zip(*pair, strict=True)] for pair in zip(one, changes, strict=True)]
    return attack(model, one, other)


def _change(model: PrivacyModel, move: int, into: int) -> list[int]:
    records = model.per_unit * move
    if model.neighbours == "replace":
        return [records, -records]
    return [0, records] if into else [records, 0]
