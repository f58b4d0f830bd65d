"""What a model promises, in words: whom it protects, whom it does not, and what its epsilon means."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any, NamedTuple

from penstock.epsilon import NANO, Epsilon
from penstock.errors import BadInput
from penstock.laws import described
from penstock.models import DeltaNeighbourhood, EventLevel, MContext, PrivacyModel, UserLevel
from penstock.spatial import SpatialNeighbourhood
from penstock.statement import once
from penstock.static.declared import ONCE
from penstock.streams.labels import MONTHS, SECONDS, Step, placed, step_of, stepped

SPOKEN = {"y": "year", "mo": "month", "w": "week", "d": "day", "h": "hour", "min": "minute", "s": "second"}
EXACT, SHOWN = Context(prec=20), Context(prec=5, rounding=ROUND_CEILING)
PLAIN_BELOW = 10**6
GROUPED = "for {} the bound is k times epsilon."
# Replacing one record by another moves counts further than adding or removing one, so its noise covers all three.
CHANGES = {
    "add-remove": "adding or removing their records",
    "replace": "adding their records, removing them, or replacing them by others",
}
FOR_EVERYBODY = (
    f"Several people who act together: {GROUPED.format('k of them')}",
    "What the releases tell about people in general, and hence about somebody who is like others or linked to them.",
    "What is published elsewhere about the same people, or was computed from the raw {} in any other way.",
)


class Unit(NamedTuple):
    """What a time unit is called: ``Unit("week")``, or ``Unit(length="30 minutes")``."""

    word: str = "time unit"
    length: str = ""

    def __str__(self) -> str:
        return self.length or (f"1 {self.word}" if self != Unit() else "")

    @property
    def one(self) -> str:
        """One of them."""
        return f"{self.word} of {self.length}" if self.length else self.word

    @property
    def many(self) -> str:
        """Several of them."""
        return f"{self.word}s of {self.length}" if self.length else f"{self.word}s"


def unit_of(every: str, labels: Sequence[tuple[int, str]] = ()) -> Unit:
    """The time unit of a stream, as it was declared, or as the numbers and labels of two units tell.

    >>> unit_of("1w").many, unit_of("30min").one, unit_of("auto", [(1, "2026-01"), (2, "2026-02")]).one
    ('weeks', 'time unit of 30 minutes', 'month')
    """
    step = _step(every, labels)
    if step is None:
        return Unit()
    sizes = MONTHS if step.months else SECONDS
    size, name = max((size, name) for name, size in sizes.items() if step.length % size == 0)
    number = step.length // size
    return Unit(SPOKEN[name]) if number == 1 else Unit(length=f"{number} {SPOKEN[name]}s")


def _step(every: str, labels: Sequence[tuple[int, str]]) -> Step | None:
    """How long a unit is, if it is a length of time."""
    if every not in ("auto", "row", ONCE):
        told = step_of(every)
        return told if told.timed else None
    if every == "auto" and len(labels) > 1:
        (one, first), (other, second) = labels[:2]
        with suppress(BadInput):  # labels from Python can be anything
            place = placed(first)
            return None if place.kind == "number" else stepped(place, placed(second), other - one)
    return None


@dataclass(frozen=True)
class Promise:
    """A model in words. ``odds`` is e^epsilon and ``chance`` what it makes of even odds; both are rounded up."""

    model: str
    parameters: dict[str, Any]
    relation: str
    per_unit: int
    epsilon: str
    delta: str
    odds: str
    chance: str
    protects: str
    does_not_protect: tuple[str, ...]


def promised(model: PrivacyModel, unit: Unit) -> Promise:
    """What a model promises about a stream of such time units."""
    told = described(model)
    odds, chance = _odds(model.epsilon)
    raw = "points" if isinstance(model, SpatialNeighbourhood) else "counts"
    return Promise(
        told.pop("name"),
        {key: value for key, value in told.items() if key not in ("epsilon", "neighbours", "per_unit")},
        model.neighbours,
        model.per_unit,
        str(model.epsilon),
        "0",
        odds,
        chance,
        protects(model, unit),
        (*_left_out(model, unit), *(each.format(raw) for each in FOR_EVERYBODY)),
    )


def protects(model: PrivacyModel, unit: Unit) -> str:
    """Whom a model protects, as one sentence.

    >>> from penstock.models import WEvent
    >>> protects(WEvent(epsilon=1, w=52), Unit("week"))
    'Whatever one person does within any 52 consecutive weeks: adding or removing their records (at most 1 per week).'
    """
    if isinstance(model, SpatialNeighbourhood):
        return once.protects(model)
    change = CHANGES[model.neighbours]
    whatever = "Everything one person does" if isinstance(model, UserLevel) else "Whatever one person does"
    return f"{whatever} {_stretch(model, unit)}: {change} (at most {model.per_unit} per {unit.word})."


def _stretch(model: PrivacyModel, unit: Unit) -> str:
    """How long a protected set is."""
    length = model.window
    match model:
        case UserLevel():
            return f"in the whole stream, which is declared for {_all_of(length, unit)}"
        case MContext():
            presences = "in any one presence" if length == 1 else f"in any {length} consecutive presences"
            return f"{presences} (these are {unit.many} in which the person is listed as present)"
    return f"in any one {unit.one}" if length == 1 else f"within any {length} consecutive {unit.many}"


def _all_of(length: int, unit: Unit) -> str:
    return f"1 {unit.one}" if length == 1 else f"{length} {unit.many}"


def _left_out(model: PrivacyModel, unit: Unit) -> tuple[str, ...]:
    """Whom a model does not protect, or less."""
    if isinstance(model, SpatialNeighbourhood):
        return once.beyond(model)
    return (*_beyond(model, unit), *_uncounted(model, unit))


def _beyond(model: PrivacyModel, unit: Unit) -> tuple[str, ...]:
    """What lies outside every protected set."""
    length = model.window
    again = f"for up to {2 * length} the bound is 2 times epsilon, for up to {3 * length} it is 3 times, and so on"
    match model:
        case EventLevel():
            return (f"What a person does over several {unit.many}: {again}.",)
        case UserLevel():
            return (f"What comes after {_all_of(length, unit)}: it is not read, and a stream that follows it adds up.",)
        case MContext():
            return (
                "That a person is present, and when: it is public.",
                f"What a person does over more than {length} presences, such as a habit: {again}.",
                "Records of somebody who is counted and not listed as present.",
            )
        case DeltaNeighbourhood():
            return (f"Changes that lie further apart than {_all_of(length, unit)}: {again}.",)
    return (f"What a person does over longer than {_all_of(length, unit)}, such as a lasting habit: {again}.",)


def _uncounted(model: PrivacyModel, unit: Unit) -> tuple[str, ...]:
    """What the relation and its bound leave out."""
    more = f"People with more records than {model.per_unit} per {unit.word}: {GROUPED.format('k times as many')}"
    if model.neighbours == "replace":
        return (more,)
    return (more, "Replacing records by others, which removes some and adds as many: the bound is 2 times epsilon.")


def _odds(epsilon: Epsilon) -> tuple[str, str]:
    """e^epsilon, and the chance in percent that it makes of one half; never below what they are."""
    factor = EXACT.exp(EXACT.divide(Decimal(epsilon.nano), Decimal(NANO)))
    chance = EXACT.divide(100 * factor, 1 + factor).quantize(Decimal("0.1"), rounding=ROUND_CEILING)
    shown = SHOWN.plus(factor)
    return f"{shown:f}" if shown < PLAIN_BELOW else f"{shown:.4e}".replace("e+", " x 10^"), f"{chance}%"
