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


Charge = Point | Span


def recount(charges: Iterable[Charge], model: PrivacyModel, presence: Presence | None = None) -> Epsilon:
    """The fullest protected set, counted by brute force from the bare charges. Shares no code with the meters."""
    facts = list(charges)
    spans = {c.key: c for c in facts if isinstance(c, Span)}  # a span's closing replaces its opening
    stretches: list[Stretch] = [(c.t, c.t, c.e.nano) for c in facts if isinstance(c, Point)]
    stretches += [(span.a, span.b, span.e.nano) for span in spans.values()]
    if not isinstance(model, MContext):
        return Epsilon.of_nano(_fullest_window(stretches, model.window))
    units: dict[str, list[int]] = {}
    for t, here in enumerate(presence or (), start=1):
        for user in here:
            units.setdefault(user, []).append(t)
    return Epsilon.of_nano(max((_fullest_run(stretches, own, model.m) for own in units.values()), default=0))


def _fullest_run(stretches: list[Stretch], units: list[int], m: int) -> int:
    """One user's charges, dated by the number of the presence instead of the time."""
    own: list[Stretch] = []
    for a, b, nano in stretches:
        met = [i for i, t in enumerate(units) if t >= a and (b is None or t <= b)]
        if met:
            own.append((met[0], met[-1], nano))
    return _fullest_window(own, m)


def _fullest_window(stretches: list[Stretch], window: int) -> int:
    """A window starting at s meets [a, b] if a - window < s <= b: sweep over s."""
    changes: dict[int, int] = {}
    for a, b, nano in stretches:
        changes[a - window + 1] = changes.get(a - window + 1, 0) + nano
        if b is not None:
            changes[b + 1] = changes.get(b + 1, 0) - nano
    return max(accumulate(changes[s] for s in sorted(changes)), default=0)
