"""A privacy statement as plain data: of a stream in a store, or of one that has not begun.

Everything in it is public: what was declared, and what the releases, their charges and their times tell. Nothing is
taken from counts, keys or paths, and the same store makes the same statement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, NamedTuple

from penstock.domain import Domain
from penstock.epsilon import Epsilon
from penstock.laws import model_of
from penstock.mechanisms.base import Mechanism
from penstock.models import MContext, PrivacyModel
from penstock.population import Population
from penstock.statement import once
from penstock.statement.origin import Origin, origin_of
from penstock.statement.promise import Promise, promised, unit_of
from penstock.store import Archive
from penstock.store.record import Entry
from penstock.store.verify import verify
from penstock.types import Cause

FORM = 1  # of the statement; another number has other keys

NOT_CHECKED = (
    "Declared by the publisher, who also decides who is one person (accounts or devices, if those are counted). The"
    " software is given counts, not people, so it cannot check this."
)
CHECKED_IN_ALL = " It refuses a unit with more records than all who are listed as present may have together."
LATE = (
    "A unit that is released is never drawn again. A record that is counted late counts in the unit it is counted in,"
    " and towards the bound there."
)
PUBLIC = (
    "The bins and what they are called, the model, epsilon, and every parameter.",
    "The times of releases, which of them were measured anew, what each cost, and what was left.",
)
PRESENCE_IS_PUBLIC = "Who is present, and when."
READING = (
    "noise_sd is the standard deviation of the noise that was drawn for a value, or for the last measurement in it.",
    "Only a value whose kind is fresh consists of a count and that noise alone, so only these have noise intervals.",
    "A value that is republished, grouped or estimated can be off by more: by how much, its noise does not tell.",
    "A value below 0 is the noise, not a mistake.",
)
INTERVALS = (
    "Between low and high the true count lies with a probability of 95 %, by what the mechanism believes of the stream;"
    " that is a statement about accuracy, and no promise."
)
TRUST = (
    "The publisher's computer, which has the raw counts and the key of what is sealed, is trusted.",
    "That nobody looked at the raw stream to choose bins, model or parameters is trusted: no software can check it.",
)


@dataclass(frozen=True)
class Data:
    """What is counted, and how often."""

    bins: int | None
    attributes: dict[str, int] | None
    every: str
    time_unit: str | None


@dataclass(frozen=True)
class Released:
    """What is published so far. ``repeated`` says how many units have no release of their own making, and why."""

    units: int
    first: str | None
    last: str | None
    fresh: int
    repeated: dict[str, int]


@dataclass(frozen=True)
class People:
    """A population: what all its streams may spend together, and how much of that is set aside."""

    name: str
    epsilon: str | None
    set_aside: str
    streams: int


@dataclass(frozen=True)
class Bounds:
    """What the publisher has declared about the data, or has not."""

    per_unit: int
    enforcement: str
    late_data: str | None
    late_data_consequence: str
    missing_units: str | None


@dataclass(frozen=True)
class Spent:
    """What the stored charges amount to. ``fullest_set`` is None where that takes to know who was present."""

    charges: int
    fullest_set: str | None
    unit: int
    link: str


@dataclass(frozen=True)
class Statement:
    """Everything that a reader of the data has to know about their privacy. None stands for "not declared"."""

    statement: int
    stream: str
    stated_by: str
    promise: Promise
    data: Data
    released: Released
    population: People | None
    bounds: Bounds
    public: tuple[str, ...]
    origin: Origin
    spent: Spent
    reading: tuple[str, ...]
    trust: tuple[str, ...]


class Declared(NamedTuple):
    """What a stream is declared as, in a store or in a plan."""

    stream: str
    model: PrivacyModel
    mechanism: str
    parameters: Mapping[str, Any]
    bins: Sequence[str] | None
    every: str
    population: People | None
    missing_units: str | None
    size: int | None = None  # how many points there are, of a one-time publication
    intervals: bool = False  # whether releases may have some


@dataclass
class History:
    """What the records of a stream tell, unit by unit."""

    labels: list[tuple[int, str]] = field(default_factory=list)  # of the first two units, and of the last
    fresh: int = 0
    causes: Counter[Cause] = field(default_factory=Counter)
    versions: dict[str, None] = field(default_factory=dict)  # in order of appearance

    def add(self, entry: Entry) -> None:
        """The next unit."""
        self.fresh += entry.is_new
        self.causes[entry.cause] += 1
        self.versions[entry.version] = None
        if entry.cause is not Cause.ADOPTED:  # whose labels are not known
            self.labels[2:] = [(entry.t, entry.label)]

    @property
    def released(self) -> Released:
        """How far the stream is published."""
        first, last = (self.labels[0][1], self.labels[-1][1]) if self.labels else (None, None)
        others = {cause.value: self.causes[cause] for cause in Cause if cause is not Cause.DECIDED}
        return Released(self.causes.total(), first, last, self.fresh, others)


def stated(archive: Archive, stream: str, progress: Callable[[int], None] = lambda t: None) -> Statement:
    """The statement of a stream in a store, as far as it is published; a store that is not whole is refused."""
    account, declared = archive.visible(stream), archive.streams()[stream]
    history = History()
    found = verify(archive, stream, progress, upto=account, seen=history.add)
    people = population_of(archive, declared["population"])
    told = (declared["mechanism"], declared["parameters"], declared["bins"], declared["every"])
    fullest = None if found.peak is None else str(found.peak)
    spent = Spent(found.charges, fullest, account.t, account.link.hex() if account.t else "")
    return _made(
        Declared(stream, found.model, *told, people, None, declared.get("size"), account.intervals), history, spent
    )


def planned(
    stream: str,
    mechanism: Mechanism,
    *,
    bins: Sequence[str] | None = None,
    every: str = "auto",
    population: People | None = None,
    gaps: bool = False,
) -> Statement:
    """The statement of a stream that is still to begin."""
    missing = "the release before is repeated, for nothing" if gaps else "refused"
    told = (type(mechanism).__name__, mechanism.parameters, bins, every)
    nothing = Spent(0, str(Epsilon.of_nano(0)), 0, "")
    terms = Declared(stream, mechanism.model, *told, population, missing, intervals=mechanism.intervals)
    return _made(terms, History(), nothing)


def population_of(
    archive: Archive | None,
    name: str | None,
    total: Epsilon | None = None,
    joining: tuple[str, PrivacyModel] | None = None,
) -> People | None:
    """A population as a store knows it, if there is one. ``joining`` is a stream that is still to begin in it."""
    if name is None:
        return None
    stored = {} if archive is None else archive.streams()
    members = {each: model_of(told["model"]) for each, told in stored.items() if told["population"] == name}
    budget = total if archive is None else archive.populations().get(name, total)
    if joining is not None:
        stream, model = joining
        members.pop(stream, None)
        if budget is not None:
            Population(name, budget, list(members.values())).join(model)  # or is refused, as it would be by a run
        members[stream] = model
    aside = sum((model.epsilon for model in members.values()), Epsilon.of_nano(0))
    return People(name, None if budget is None else str(budget), str(aside), len(members))


def _made(declared: Declared, history: History, spent: Spent) -> Statement:
    """Everything put together."""
    model, unit = declared.model, unit_of(declared.every, history.labels)
    return Statement(
        FORM,
        declared.stream,
        f"penstock {version('penstock')}",
        promised(model, unit),
        _data(declared, str(unit) or None),
        history.released,
        declared.population,
        _bounds(declared),
        _public(declared),
        origin_of(declared.mechanism, declared.parameters, model, list(history.versions)),
        spent,
        _reading(declared) if declared.size is None else once.reading(declared.mechanism),
        TRUST if declared.size is None else once.TRUST,
    )


def _reading(declared: Declared) -> tuple[str, ...]:
    width = declared.parameters.get("width", 1)
    sums = [f"A value is the sum of the last {width} units, of fewer at the beginning."] if width > 1 else []
    return (*sums, *READING, *([INTERVALS] if declared.intervals else []))


def _data(declared: Declared, unit: str | None) -> Data:
    """What is counted; the numbers of a one-time publication are made of nothing."""
    if declared.bins is None or declared.size is not None:
        return Data(None if declared.bins is None else len(declared.bins), None, declared.every, unit)
    domain = Domain.of_bins(declared.bins)
    return Data(len(domain), dict(zip(domain.attributes, domain.shape, strict=True)), declared.every, unit)


def _bounds(declared: Declared) -> Bounds:
    checked = CHECKED_IN_ALL * isinstance(declared.model, MContext)
    told = (NOT_CHECKED + checked, LATE) if declared.size is None else (once.NOT_CHECKED, once.LATE)
    return Bounds(declared.model.per_unit, told[0], None, told[1], declared.missing_units)


def _public(declared: Declared) -> tuple[str, ...]:
    if declared.size is not None:
        return once.public(declared.size)
    return (*PUBLIC, *([PRESENCE_IS_PUBLIC] if isinstance(declared.model, MContext) else []))
