"""The facts a ledger keeps, and a recount of them that shares no code with it."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from penstock.epsilon import Epsilon
from penstock.models import MContext, Presence, PrivacyModel
from penstock.types import Ints

NEVER = 2**62  # the last unit of what is still open


@dataclass(frozen=True, slots=True)
class Point:
    """``e`` was spent on the data of time unit ``t``."""

    t: int
    e: Epsilon
    envelope: str


@dataclass(frozen=True, slots=True)
class Span:
    """``e`` was spent once on the data of units ``a`` to ``b``; ``b`` is None while the span is open."""

    a: int
    b: int | None
    e: Epsilon
    envelope: str
    key: int


@dataclass(frozen=True, slots=True)
class Touch:
    """The span of this key read the data of unit ``t``. Kept under m-context, where only who was present then pays."""

    t: int
    key: int


Charge = Point | Span
Fact = Charge | Touch


def cost(fact: Fact) -> int:
    """What a fact charges when it is booked, in nano-epsilon: a point, or a span when it opens."""
    match fact:
        case Point(_, e, _) | Span(_, None, e, _, _):
            return e.nano
    return 0


class Recount:
    """The fullest protected set, counted by brute force from bare facts that come one after another.

    Shares no code with the meters. Of the facts only numbers are kept, so that a stream may be long.
    """

    def __init__(self) -> None:
        self._units, self._nano = array("q"), array("q")
        self._spans: dict[int, Span] = {}  # a span's closing replaces its opening

    def add(self, facts: Iterable[Fact]) -> None:
        """The facts of another unit."""
        for fact in facts:
            if isinstance(fact, Point):
                self._units.append(fact.t)
                self._nano.append(fact.e.nano)
            elif isinstance(fact, Span):
                self._spans[fact.key] = fact

    def fullest(self, model: PrivacyModel) -> Epsilon:
        """What the fullest protected set has spent, where everybody may be present always."""
        spans = self._spans.values()
        units, nano = np.array(self._units, np.int64), np.array(self._nano, np.int64)
        begun = np.array([span.a for span in spans], np.int64)
        ended = np.array([NEVER if span.b is None else span.b for span in spans], np.int64)
        spent = np.array([span.e.nano for span in spans], np.int64)
        first, last = np.append(units, begun), np.append(units, ended)
        return Epsilon.of_nano(_fullest_window(first, last, np.append(nano, spent), model.window))


def recount(facts: Iterable[Fact], model: PrivacyModel, presence: Presence | None = None) -> Epsilon:
    """The fullest protected set, counted by brute force from the bare facts."""
    if isinstance(model, MContext):
        known = list(facts)
        spans = {fact.key: fact for fact in known if isinstance(fact, Span)}
        return Epsilon.of_nano(_fullest_user(known, spans, presence or (), model.m))
    counted = Recount()
    counted.add(facts)
    return counted.fullest(model)


def _fullest_user(facts: list[Fact], spans: dict[int, Span], presence: Presence, m: int) -> int:
    """Everybody's charges, dated by the number of the presence instead of the time."""
    read: list[tuple[set[int], int]] = [({fact.t}, fact.e.nano) for fact in facts if isinstance(fact, Point)]
    for key, span in spans.items():
        touched = {fact.t for fact in facts if isinstance(fact, Touch) and fact.key == key}
        read.append((touched, span.e.nano))
    fullest = 0
    for user in {user for here in presence for user in here}:
        units = [t for t, here in enumerate(presence, start=1) if user in here]
        own: list[tuple[int, int, int]] = []
        for met, nano in read:
            presences = [i for i, t in enumerate(units) if t in met]
            own += [(first, last, nano) for first, last in _stretches(presences, m)]
        begun, ended, spent = np.array(own, np.int64).reshape(-1, 3).T
        fullest = max(fullest, _fullest_window(begun, ended, spent, m))
    return fullest


def _stretches(met: list[int], window: int) -> list[tuple[int, int]]:
    """Numbers in order, cut where a window fits between two of them and meets neither."""
    cuts = [i for i in range(1, len(met)) if met[i] - met[i - 1] > window]
    return [(met[a], met[b - 1]) for a, b in zip([0, *cuts], [*cuts, len(met)], strict=True) if met]


def _fullest_window(first: Ints, last: Ints, nano: Ints, window: int) -> int:
    """A window starting at s meets [a, b] if a - window < s <= b: sweep over s."""
    at, change = np.concatenate([first - window + 1, last + 1]), np.concatenate([nano, -nano])
    order = np.argsort(at, kind="stable")
    running = np.cumsum(change[order])
    whole = np.diff(at[order], append=NEVER + 2) > 0  # all changes at one place are made at once
    return int(running[whole].max(initial=0))
