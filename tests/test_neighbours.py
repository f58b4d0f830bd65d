"""Replay on neighbours: every mechanism holds on any of them, and what breaks the law does not get through."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from penstock.catalogue import mechanisms
from penstock.checks import CHECKS, Kernel, Subject, example_models
from penstock.checks.neighbours import neighbours, record, replay, weigh
from penstock.curator import Curator
from penstock.desk import Question, scale_of
from penstock.epsilon import Epsilon
from penstock.errors import CheckFailed
from penstock.mechanisms.base import Mechanism
from penstock.models import DeltaNeighbourhood, EventLevel, MContext, PrivacyModel, UserLevel, WEvent
from penstock.noise import SimulationNoise
from penstock.primitives.pool import Pool
from penstock.queries import Counts, Distance, Query
from penstock.streams import Stream
from penstock.types import LARGEST_COUNT, Ints, Kind, Release, Snapshot, unseal

fixed = settings(derandomize=True, deadline=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow])
USERS = ("ann", "bob", "cyd")
BOTH = ("same_on_neighbours", "no_answer_moves_further")

# ---- what neighbours are, and any of them ---------------------------------------------------------------------------


def are_neighbours(model: PrivacyModel, one: Ints, other: Ints, presence: Sequence[Sequence[str]] | None) -> bool:
    """Whether the streams differ in one protected set only, by one person's records in each of its units."""
    if one.shape != other.shape or min(one.min(), other.min()) < 0 or max(one.max(), other.max()) > LARGEST_COUNT:
        return False
    units = {t for t in range(len(one)) if one[t].tolist() != other[t].tolist()}
    if not any(units <= protected for protected in protected_sets(model, len(one), presence)):
        return False
    return all(one_person_apart(model, (other[t] - one[t]).tolist()) for t in units)


def protected_sets(model: PrivacyModel, steps: int, presence: Sequence[Sequence[str]] | None) -> Iterator[set[int]]:
    match model:
        case MContext():
            own = [[t for t in range(steps) if user in (presence or [])[t]] for user in USERS]
            yield from (set(units[i : i + model.m]) for units in own for i in range(max(len(units), 1)))
        case UserLevel():
            yield set(range(model.horizon))
        case EventLevel():
            yield from ({t} for t in range(steps))
        case WEvent(w=length) | DeltaNeighbourhood(steps=length):
            yield from (set(range(first, first + length)) for first in range(1 - length, steps))


def one_person_apart(model: PrivacyModel, moved: list[int]) -> bool:
    came, went = sum(m for m in moved if m > 0), -sum(m for m in moved if m < 0)
    if model.neighbours == "replace":
        return came == went <= model.per_unit
    return came + went <= model.per_unit


relations = st.sampled_from(["add-remove", "replace"])
lengths, rates = st.sampled_from([3, 2, 4, 1]), st.integers(1, 3)
MODELS: dict[type[PrivacyModel], st.SearchStrategy[Any]] = {
    EventLevel: st.builds(EventLevel, epsilon=st.just(1), neighbours=relations, per_unit=rates),
    WEvent: st.builds(
        WEvent, epsilon=st.just(1), w=st.sampled_from([4, 2, 12, 1]), neighbours=relations, per_unit=rates
    ),
    UserLevel: st.builds(
        UserLevel, epsilon=st.just(1), horizon=st.integers(8, 11), neighbours=relations, per_unit=rates
    ),
    MContext: st.builds(MContext, epsilon=st.just(1), m=lengths, per_unit=rates),
    DeltaNeighbourhood: st.builds(
        DeltaNeighbourhood, epsilon=st.just(1), steps=lengths, neighbours=relations, per_unit=rates
    ),
}


@dataclass
class Pair:
    """Neighbouring streams under a model."""

    model: PrivacyModel
    one: Stream
    other: Ints


def possible(rng: np.random.Generator, model: PrivacyModel, bins: int, present: list[str]) -> list[int]:
    """Counts of one unit; under m-context no more than those present have."""
    if isinstance(model, MContext):
        records = rng.integers(0, bins, rng.integers(0, model.per_unit * len(present) + 1))
        return [int(number) for number in np.bincount(records, minlength=bins)]
    return [int(rng.choice([0, 1, 2, 9, 100, 2**40, 2**53 - 1, 2**53])) for _ in range(bins)]


def changed(rng: np.random.Generator, model: PrivacyModel, row: Ints) -> None:
    """Change up to all records of one person, each in any bin; what cannot be changed stays."""
    came = rng.random() < 0.5
    for _ in range(rng.integers(1, model.per_unit + 1)):
        filled, free = rng.permutation(np.flatnonzero(row)), rng.permutation(np.flatnonzero(row < LARGEST_COUNT))
        if model.neighbours == "replace":
            elsewhere = free[free != filled[0]] if len(filled) else free
            if len(filled) and len(elsewhere):
                row[filled[0]] -= 1
                row[elsewhere[0]] += 1
        elif came:
            row[free[:1]] += 1
        else:
            row[filled[:1]] -= 1
        came = came != (rng.random() < 0.3)


@st.composite
def pairs(draw: st.DrawFn, kind: type[PrivacyModel]) -> Pair:
    """Neighbours under a model of this kind; the protected set may stick out at either end of the stream."""
    model, steps, bins = draw(MODELS[kind]), draw(st.sampled_from([8, 5, 3, 1])), draw(st.sampled_from([3, 2, 1]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    here = [[user for user in USERS if rng.random() < 0.6] for _ in range(steps)]
    one = np.array([possible(rng, model, bins, present) for present in here], np.int64)
    other, presence = one.copy(), here if kind is MContext else None
    sets = [sorted(units) for units in protected_sets(model, steps, presence)]
    for t in sets[draw(st.integers(0, len(sets) - 1))]:
        if 0 <= t < steps and rng.random() < 0.9:
            changed(rng, model, other[t])
    return Pair(model, Stream(one, presence=presence), other)


any_pair = st.one_of(*(pairs(kind) for kind in MODELS))


@fixed
@given(any_pair)
def test_what_is_made_here_are_neighbours(pair: Pair) -> None:
    """Either way round."""
    assert are_neighbours(pair.model, pair.one.counts, pair.other, pair.one.presence)
    assert are_neighbours(pair.model, pair.other, pair.one.counts, pair.one.presence)


@pytest.mark.parametrize(
    ("model", "other"),
    [
        (WEvent(epsilon=1, w=2), [[6], [5], [6]]),
        (WEvent(epsilon=1, w=3), [[7], [5], [5]]),
        (WEvent(epsilon=1, w=3, neighbours="replace"), [[6], [5], [5]]),
        (UserLevel(epsilon=1, horizon=2), [[5], [5], [6]]),
        (EventLevel(epsilon=1, per_unit=6), [[-1], [5], [5]]),
        (MContext(epsilon=1, m=2), [[5], [5], [6]]),
    ],
    ids=str,
)
def test_others_are_not(model: PrivacyModel, other: list[list[int]]) -> None:
    """Too far apart in time, too many records, a record more under replace, past the horizon, below 0, nobody there."""
    assert not are_neighbours(model, np.full((3, 1), 5), np.array(other), [["ann"], ["ann"], []])


@fixed
@given(any_pair, st.integers(0, 99))
def test_the_neighbours_of_the_checks_are_neighbours(pair: Pair, seed: int) -> None:
    """Random ones and farthest ones, of any stream."""
    assume(pair.one.counts.max() < LARGEST_COUNT - 3)
    subject = Subject(mechanisms()["uniform"], pair.model)
    found = list(neighbours(subject, pair.one, np.random.default_rng(seed)))
    assert len(found) >= 3
    for other in found:
        assert are_neighbours(pair.model, pair.one.counts, other, pair.one.presence)


# ---- every mechanism holds ------------------------------------------------------------------------------------------

CASES = [
    pytest.param(mechanism, kind, id=f"{key}-{kind.__name__}")
    for key, mechanism in mechanisms().items()
    for kind in mechanism.proven_for
]


@pytest.mark.parametrize(("mechanism", "kind"), CASES)
def test_every_mechanism_holds_on_any_neighbours(mechanism: type[Mechanism], kind: type[PrivacyModel]) -> None:
    """The same is asked, charged and published, and no more is told than the law allows."""

    @settings(fixed, max_examples=12)
    @given(pairs(kind), st.integers(0, 9))
    def holds(pair: Pair, seed: int) -> None:
        subject, other = Subject(mechanism, pair.model), Stream(pair.other, presence=pair.one.presence)
        replay(subject, record(subject, pair.one, SimulationNoise(seed)), other)
        replay(subject, record(subject, other, SimulationNoise(seed)), pair.one)
        weigh(subject, pair.one, [pair.other], seed)
        weigh(subject, other, [pair.one.counts], seed)

    holds()


@pytest.mark.parametrize(
    ("key", "model", "parameters"),
    [
        ("ma", UserLevel(epsilon=1, horizon=66), {"k": 66}),
        ("pegasus", EventLevel(epsilon=10_000), {}),
        ("rg", EventLevel(epsilon=1), {"rate": 0.3, "limit": 5000}),
        ("bd", WEvent(epsilon=1, w=4), {"histogram": "quadtree"}),
        ("rg", WEvent(epsilon=1, w=4), {"histogram": "adaptive"}),
    ],
    ids=["ma", "pegasus", "rg-rate", "bd-quadtree", "rg-adaptive"],
)
def test_unusual_parameters_are_no_fault(key: str, model: PrivacyModel, parameters: dict[str, Any]) -> None:
    """What is proven for any epsilon and any parameter passes the check for all of them."""
    CHECKS["no_answer_moves_further"](Subject(mechanisms()[key], model, parameters=parameters))


# ---- what breaks the law does not get through -----------------------------------------------------------------------


@dataclass(kw_only=True)
class Plain(Mechanism):
    """Publishes every unit for its share."""

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, MContext, DeltaNeighbourhood)

    @property
    def share(self) -> Epsilon:
        return self.model.epsilon / self.model.window

    def decide(self, snapshot: Snapshot) -> Release:
        return self.fresh(snapshot, self.curator.ask(snapshot, Counts(), self.share))

    def fresh(self, snapshot: Snapshot, values: Ints) -> Release:
        return self.released(snapshot, values, Kind.ESTIMATED, 0.0)


def odd(snapshot: Snapshot) -> bool:
    """Something that only the counts can tell."""
    return bool(unseal(snapshot).sum() % 2)


@dataclass(kw_only=True)
class ChargesByTheCounts(Plain):
    def decide(self, snapshot: Snapshot) -> Release:
        return self.fresh(snapshot, self.curator.ask(snapshot, Counts(), self.share / (2 if odd(snapshot) else 1)))


@dataclass(kw_only=True)
class AsksMoreByTheCounts(Plain):
    def decide(self, snapshot: Snapshot) -> Release:
        for _ in range(2 if odd(snapshot) else 1):
            values = self.curator.ask(snapshot, Counts(), self.share / 2)
        return self.fresh(snapshot, values)


@dataclass(kw_only=True)
class AsksLastByTheCounts(Plain):
    """At the very end, where there is nothing afterwards to be out of step."""

    def decide(self, snapshot: Snapshot) -> Release:
        values = self.curator.ask(snapshot, Counts(), self.share / 2)
        if snapshot.t == 4 * self.model.window + 3 and odd(snapshot):
            self.curator.ask(snapshot, Counts(), self.share / 2)
        return self.fresh(snapshot, values)


@dataclass(kw_only=True)
class SaysByTheCounts(Plain):
    def decide(self, snapshot: Snapshot) -> Release:
        return self.fresh(snapshot, self.curator.ask(snapshot, Counts(), self.share) + odd(snapshot))


class SurchargingCurator(Curator):
    """Asks in the same way and books a little more where the counts are odd."""

    def ask(self, snapshot: Snapshot, *rest: Any, **options: Any) -> Ints:
        answer = super().ask(snapshot, *rest, **options)
        if odd(snapshot):
            self._desk.charge(Epsilon.of_nano(1), "publish", None)
        return answer


@dataclass(kw_only=True)
class Frugal(Plain):
    """Leaves a little."""

    @property
    def share(self) -> Epsilon:
        return self.model.epsilon / self.model.window - Epsilon.of_nano(1)


DIFFERENT: dict[str, Subject] = {
    "charges": Subject(ChargesByTheCounts, WEvent(epsilon=1, w=5)),
    "more": Subject(AsksMoreByTheCounts, WEvent(epsilon=1, w=5)),
    "last": Subject(AsksLastByTheCounts, WEvent(epsilon=1, w=5)),
    "says": Subject(SaysByTheCounts, WEvent(epsilon=1, w=5)),
    "surcharge": Subject(Frugal, WEvent(epsilon=1, w=5), Kernel(curator=SurchargingCurator)),
}


@pytest.mark.parametrize("subject", DIFFERENT.values(), ids=DIFFERENT)
def test_what_depends_on_the_counts_is_found_on_neighbours(subject: Subject) -> None:
    """Under add-remove, a neighbour's sum is odd where the other's is even."""
    with pytest.raises(CheckFailed, match="neighbouring stream"):
        CHECKS["same_on_neighbours"](subject)


def test_what_depends_on_nothing_but_answers_passes() -> None:
    """So that the failures above are found for their own fault."""
    for model in (
        WEvent(epsilon=1, w=5),
        EventLevel(epsilon=1),
        MContext(epsilon=1, m=3),
        example_models(UserLevel)[1],
    ):
        both(Subject(Plain, model))
        both(Subject(Frugal, model))


@dataclass(kw_only=True)
class ChangesItsAnswers(Plain):
    """An answer belongs to whoever asked; changing it in place is nobody's loss."""

    def decide(self, snapshot: Snapshot) -> Release:
        values = self.curator.ask(snapshot, Counts(), self.share)
        values += 1
        return self.fresh(snapshot, values)


@pytest.mark.parametrize("check", ["same_on_neighbours", "no_answer_moves_further", "non_interference"])
def test_whoever_changes_an_answer_in_place_is_not_accused(check: str) -> None:
    """A tape that is played more than once hands out copies."""
    CHECKS[check](Subject(ChangesItsAnswers, WEvent(epsilon=1, w=5)))


@dataclass(kw_only=True)
class TakesInTwice(Plain):
    """Lets every unit into a pool twice, and pays twice."""

    def begin(self) -> None:
        self.pool = self.curator.pool()

    def decide(self, snapshot: Snapshot) -> Release:
        self.pool.absorb(snapshot, self.share / 2)
        self.pool.absorb(snapshot, self.share / 2)
        return self.fresh(snapshot, self.pool.settle())


@pytest.mark.parametrize("check", [*BOTH, "never_overspends", "every_draw_is_paid"])
def test_whoever_pays_twice_may_take_in_twice(check: str) -> None:
    """The sum moves by two records a person, and all of it was charged."""
    CHECKS[check](Subject(TakesInTwice, WEvent(epsilon=1, w=5)))


# ---- too little noise, and answers that are not what they say -------------------------------------------------------


class LoudCurator(Curator):
    """Asks with a part of the noise that was paid for."""

    part: ClassVar[int] = 2

    def ask(self, snapshot: Snapshot, query: Query, e: Any, *rest: Any, **options: Any) -> Ints:
        counts, scale = self._desk.counts(snapshot), scale_of(query.sensitivity(self.model), e.nano) / self.part
        self._desk.charge(e, "publish", None)
        question = Question("ask", scale, self.bins, None, (query, "publish"))
        return self._desk.noisy(question, scale, lambda: query(counts, None))


@pytest.mark.parametrize(
    "model",
    [
        EventLevel(epsilon=1),
        WEvent(epsilon=1, w=5),
        WEvent(epsilon="0.7", w=13, neighbours="replace"),
        UserLevel(epsilon=3, horizon=7, per_unit=3),
        DeltaNeighbourhood(epsilon=1, steps=6),
        MContext(epsilon=1, m=1),
        MContext(epsilon=1, m=4, per_unit=100),
    ],
    ids=str,
)
def test_half_of_the_noise_is_found(model: PrivacyModel) -> None:
    """Under every model that the checks come with."""
    with pytest.raises(CheckFailed, match="told from it"):
        CHECKS["no_answer_moves_further"](Subject(Plain, model, Kernel(curator=LoudCurator)))


def test_an_understated_sensitivity_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """By how far true values move: a record that is replaced moves them by two, and the query says one."""
    monkeypatch.setattr(Counts, "sensitivity", lambda query, model: 1)
    with pytest.raises(CheckFailed, match="moves by its sensitivity at most"):
        CHECKS["no_answer_moves_further"](Subject(Plain, EventLevel(epsilon=1, neighbours="replace")))


class TwoUnitsCurator(Curator):
    """Adds the counts of the unit before to what it answers."""

    before: Ints | int = 0

    def ask(self, snapshot: Snapshot, query: Query, e: Any, *rest: Any, **options: Any) -> Ints:
        both, self.before = self._desk.counts(snapshot) + self.before, self._desk.counts(snapshot)
        scale = scale_of(query.sensitivity(self.model), e.nano)
        self._desk.charge(e, "publish", None)
        question = Question("ask", scale, self.bins, None, (query, "publish"))
        return self._desk.noisy(question, scale, lambda: both)


class HalfHeartedCurator(Curator):
    """Draws the noise that was paid for, and adds a tenth of it."""

    def ask(self, snapshot: Snapshot, query: Query, e: Any, *rest: Any, **options: Any) -> Ints:
        counts, scale = self._desk.counts(snapshot), scale_of(query.sensitivity(self.model), e.nano)
        self._desk.charge(e, "publish", None)
        question = Question("ask", scale, self.bins, None, (query, "publish"))
        return self._desk.answer(question, lambda: counts + self._desk.noise.laplace(scale, self.bins) // 10)


class SilentPool(Pool):
    """Says nothing of what it takes in for nothing, at every other unit."""

    def absorb(self, snapshot: Snapshot, e: Epsilon, bins: ArrayLike | None = None) -> None:
        if snapshot.t % 2:
            self._sums += self._desk.counts(snapshot)
        else:
            super().absorb(snapshot, e, bins)


class UnpaidPool(Pool):
    """Takes in every other unit for nothing, and says so."""

    def absorb(self, snapshot: Snapshot, e: Epsilon, bins: ArrayLike | None = None) -> None:
        if snapshot.t % 2:
            self._sums += self._desk.counts(snapshot)
            self._tell_nothing("absorb", self._chosen(bins), e)
        else:
            super().absorb(snapshot, e, bins)


class SilentCurator(Curator):
    def pool(self, reads: int = 1) -> Pool:
        return self._issue(SilentPool(self._desk, len(self._handles), reads))


class UnpaidCurator(Curator):
    def pool(self, reads: int = 1) -> Pool:
        return self._issue(UnpaidPool(self._desk, len(self._handles), reads))


class SureCurator(Curator):
    """Chooses the nearest without a coin."""

    def nearest(self, snapshot: Snapshot, queries: Sequence[Query], e: Epsilon, envelope: str = "decide") -> int:
        counts = self._desk.counts(snapshot)
        self._desk.charge(e, envelope, None)
        question = Question("nearest", None, 0, None, (*queries, e, envelope))
        return self._desk.answer(question, lambda: int(np.argmin([query(counts, None)[0] for query in queries])))


@dataclass(kw_only=True)
class Chooses(Plain):
    """Says which of two levels is nearer."""

    def decide(self, snapshot: Snapshot) -> Release:
        levels = [Distance(np.full(self.curator.bins, level)) for level in (0, 200)]
        return self.fresh(snapshot, np.full(self.curator.bins, self.curator.nearest(snapshot, levels, self.share)))


@dataclass(kw_only=True)
class Pools(Plain):
    """Publishes sums of two units."""

    def begin(self) -> None:
        self.pool = self.curator.pool()

    def decide(self, snapshot: Snapshot) -> Release:
        self.pool.absorb(snapshot, self.share)
        if snapshot.t % 2:
            return self.republish(snapshot)
        return self.fresh(snapshot, self.pool.settle())


def both(subject: Subject) -> None:
    for check in BOTH:
        CHECKS[check](subject)


LYING = {
    "two-units": Subject(Plain, EventLevel(epsilon=1), Kernel(curator=TwoUnitsCurator)),
    "a-tenth-of-the-noise": Subject(Plain, EventLevel(epsilon=1), Kernel(curator=HalfHeartedCurator)),
    "silent-pool": Subject(Pools, EventLevel(epsilon=1), Kernel(curator=SilentCurator)),
    "sure-choice": Subject(Chooses, EventLevel(epsilon=1), Kernel(curator=SureCurator)),
    "unpaid-pool": Subject(Pools, EventLevel(epsilon=1), Kernel(curator=UnpaidCurator)),
}


def test_who_pools_and_who_chooses_without_lying_passes() -> None:
    """So that the failures below are found for their own fault."""
    for mechanism in (Pools, Chooses):
        both(Subject(mechanism, EventLevel(epsilon=1)))


@pytest.mark.parametrize("subject", LYING.values(), ids=LYING)
def test_an_answer_is_what_its_question_says_and_was_paid_for(subject: Subject) -> None:
    """The witness knows the stream and hears the noise, so it can tell what the answer ought to be."""
    with pytest.raises(CheckFailed):
        both(subject)


# ---- which neighbours are tried -------------------------------------------------------------------------------------


def farthest_possible(model: PrivacyModel, one: Ints, other: Ints) -> bool:
    """Whether the streams differ as much as they can, in as many units as a protected set has."""
    moved = np.abs(one - other).sum(axis=1)
    return int((moved == model.sensitivity).sum()) == min(model.window, len(one))


@pytest.mark.parametrize("kind", MODELS)
def test_some_neighbours_differ_as_much_as_they_can(kind: type[PrivacyModel]) -> None:
    """Whatever the model, because it is them that a broken promise shows on."""
    for model in example_models(kind):
        subject = Subject(Plain, model)
        for stream in list(subject.streams())[:1]:
            others = list(neighbours(subject, stream, np.random.default_rng(0)))
            assert any(farthest_possible(model, stream.counts, other) for other in others)


def test_some_neighbours_have_fewer_records_throughout() -> None:
    """What is cut at a bound from above, or asked only below a level, moves when records go and not when they come."""
    subject = Subject(Plain, WEvent(epsilon=1, w=5))
    stream = next(subject.streams())
    others = list(neighbours(subject, stream, np.random.default_rng(0)))
    assert any((other.sum(axis=1) - stream.counts.sum(axis=1)).sum() == -5 for other in others)


@pytest.mark.parametrize("model", [EventLevel(epsilon=1, per_unit=3), WEvent(epsilon=1, w=2)], ids=str)
def test_a_full_bin_has_neighbours_too(model: PrivacyModel) -> None:
    """A count is 2**53 at most, also in a neighbouring stream."""
    stream = Stream(np.full((6, 2), LARGEST_COUNT))
    for other in neighbours(Subject(Plain, model), stream, np.random.default_rng(1)):
        assert are_neighbours(model, stream.counts, other, None)
