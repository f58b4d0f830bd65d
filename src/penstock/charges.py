"""The facts a ledger keeps, and a recount of them that shares no code with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from penstock.epsilon import Epsilon
from penstock.models import MContext, Presence, PrivacyModel

Stretch = tuple[int, int | None, int]  # first unit, last unit (None: still open), nano-epsilon


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


def recount(facts: Iterable[Fact], model: PrivacyModel, presence: Presence | None = None) -> Epsilon:
    """The fullest protected set, counted by brute force from the bare facts. Shares no code with the meters."""
    known = list(facts)
    spans = {fact.key: fact for fact in known if isinstance(fact, Span)}  # a span's closing replaces its opening
    if isinstance(model, MContext):
        return Epsilon.of_nano(_fullest_user(known, spans, presence or (), model.m))
    stretches: list[Stretch] = [(fact.t, fact.t, fact.e.nano) for fact in known if isinstance(fact, Point)]
    stretches += [(span.a, span.b, span.e.nano) for span in spans.values()]
    return Epsilon.of_nano(_fullest_window(stretches, model.window))


def _fullest_user(facts: list[Fact], spans: dict[int, Span], presence: Presence, m: int) -> int:
    """Everybody's charges, dated by the number of the presence instead of the time."""
    read: list[tuple[set[int], int]] = [({fact.t}, fact.e.nano) for fact in facts if isinstance(fact, Point)]
    for key, span in spans.items():
        touched = {fact.t for fact in facts if isinstance(fact, Touch) and fact.key == key}
        read.append((touched, span.e.nano))
    fullest = 0
    for user in {user for here in presence for user in here}:
        units = [t for t, here in enumerate(presence, start=1) if user in here]
        own: list[Stretch] = []
        for met, nano in read:
            presences = [i for i, t in enumerate(units) if t in met]
            own += [(first, last, nano) for first, last in _stretches(presences, m)]
        fullest = max(fullest, _fullest_window(own, m))
    return fullest


def _stretches(met: list[int], window: int) -> list[tuple[int, int]]:
    """Numbers in order, cut where a window fits between two of them and meets neither."""
    cuts = [i for i in range(1, len(met)) if met[i] - met[i - 1] > window]
    return [(met[a], met[b - 1]) for a, b in zip([0, *cuts], [*cuts, len(met)], strict=True) if met]


def _fullest_window(stretches: list[Stretch], window: int) -> int:
    """A window starting at s meets [a, b] if a - window < s <= b: sweep over s."""
    changes: dict[int, int] = {}
    for a, b, nano in stretches:
        changes[a - window + 1] = changes.get(a - window + 1, 0) + nano
        if b is not None:
            changes[b + 1] = changes.get(b + 1, 0) - nano
    return max(accumulate(changes[s] for s in sorted(changes)), default=0)
