"""Volleys: noise of the law that is claimed, one span for all readings, nothing used twice, the lemma in numbers."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import penstock as ps
from in_process import models
from penstock.audit.planted import planted
from penstock.audit.volleying import Volleying
from penstock.charges import Fact, Point, Span, recount
from penstock.checks import CHECKS, Subject
from penstock.checks.likelihood import difference_of_reaches
from penstock.checks.shadow import UNBOUNDED, Shadow
from penstock.checks.witness import Witness
from penstock.codec import decode, encode
from penstock.curator import Curator
from penstock.desk import Question
from penstock.epsilon import NANO, Epsilon
from penstock.errors import BadInput, BudgetExceeded, CheckFailed, OutOfOrder
from penstock.mechanisms.base import Mechanism
from penstock.models import DeltaNeighbourhood, EventLevel, MContext, PrivacyModel, UserLevel, WEvent
from penstock.noise import Noise, ScriptedNoise, SecureNoise, SimulationNoise, cube_sd
from penstock.noise.base import LARGEST_CUBE, LARGEST_CUBE_SCALE, SUMMED
from penstock.noise.keystream import KeyStream
from penstock.primitives.segment import SegmentPlan
from penstock.primitives.volley import Volley, VolleyPlan
from penstock.queries import Counts, Distance
from penstock.store.record import unpack
from penstock.streams import Stream
from penstock.types import Ints, Kind, Release, Snapshot

fixed = settings(derandomize=True, deadline=None, max_examples=100)
E = Epsilon("0.4")
PLAN = VolleyPlan(3, E)
DRAWS = 5_000
FITS, FAILS = 1e-4, 1e-9


# ---- the law of the noise -------------------------------------------------------------------------------------------


def secure(word_bits: int = 32) -> SecureNoise:
    return SecureNoise(word_bits=word_bits, source=KeyStream(key=b"cube".ljust(32)))


def shell(far: int, size: int) -> int:
    """How many rows of so many numbers have a largest one of ``far``."""
    return (2 * far + 1) ** size - (2 * far - 1) ** size if far else 1


def weights(scale: Fraction, size: int) -> Iterator[tuple[int, float]]:
    """exp(-far / scale), as far out as it matters."""
    for far in range(int(60 * (size + 2) * scale) + 60):
        yield far, math.exp(-far / scale)


def fit(drawn: list[tuple[int, ...]], scale: Fraction) -> float:
    """p-value of the chi-square test against exp(-max |k_i| / scale), for cells where one is expected, or more."""
    size = len(drawn[0])
    whole = sum(weight * shell(far, size) for far, weight in weights(scale, size))
    reach = max(far for far, weight in weights(scale, size) if len(drawn) * weight >= whole)
    cells = itertools.product(range(-reach, reach + 1), repeat=size)
    expected = {cell: len(drawn) * math.exp(-max(map(abs, cell)) / scale) / whole for cell in cells}
    found = Counter(drawn)
    observed = [found[cell] for cell in expected]
    beyond = len(drawn) - sum(observed), len(drawn) - sum(expected.values())
    return float(stats.chisquare([*observed, beyond[0]], [*expected.values(), beyond[1]]).pvalue)


@pytest.mark.parametrize("source", [secure, lambda: secure(8), lambda: SimulationNoise(20240229)])
@pytest.mark.parametrize(
    ("size", "scale"),
    [(1, Fraction(7, 3)), (2, Fraction(1, 2)), (2, Fraction(7, 3)), (3, Fraction(3, 4)), (4, Fraction(1))],
)
def test_the_numbers_of_a_cube_have_the_law_that_is_claimed(
    source: Callable[[], Noise], size: int, scale: Fraction
) -> None:
    """All of them together, and neither another scale nor noise of their own."""
    noise = source()
    drawn = [tuple(noise.cube(scale, size).tolist()) for _ in range(DRAWS)]
    assert fit(drawn, scale) > FITS
    assert fit(drawn, scale * Fraction(3, 2)) < FAILS
    if size > 1:
        alone = [tuple(noise.laplace(scale, size).tolist()) for _ in range(DRAWS)]
        assert fit(alone, scale) < FAILS


@pytest.mark.parametrize("noise", [secure(), SimulationNoise(5)])
@pytest.mark.parametrize(("size", "scale"), [(64, Fraction(16)), (64, LARGEST_CUBE_SCALE), (1, LARGEST_CUBE_SCALE)])
def test_the_largest_cubes_fit_into_64_bits_and_spread_as_they_should(noise: Noise, size: int, scale: Fraction) -> None:
    drawn = np.array([noise.cube(scale, size) for _ in range(400)])
    assert drawn.shape == (400, size)
    reach = np.abs(drawn).max(axis=1)
    deviation = math.sqrt(float(np.square(drawn.astype(float)).mean()))
    assert deviation == pytest.approx(cube_sd(scale, size), rel=0.2)
    assert float(reach.mean()) == pytest.approx(float(size * scale), rel=0.2)  # of a gamma variable, in all but name


@fixed
@given(st.integers(1, 12), st.fractions(Fraction(1, 4), 40, max_denominator=12))
def test_the_deviation_of_a_cube_is_that_of_its_law(size: int, scale: Fraction) -> None:
    """Summed over shells, each with its share of squares; where it is an integral, to a millionth."""
    squares = total = before = 0.0
    for far, weight in weights(scale, size):
        within = far * (far + 1) * (2 * far + 1) / 3 * (2 * far + 1) ** (size - 1)
        squares, total, before = squares + weight * (within - before), total + weight * shell(far, size), within
    wide = scale > SUMMED
    assert cube_sd(scale, size) == pytest.approx(math.sqrt(squares / total), rel=1e-6 if wide else 1e-12)


class Words:
    """A byte source that plays these words of 128 bits."""

    def __init__(self, *words: int) -> None:
        self._bytes = b"".join(word.to_bytes(16, "little") for word in words)

    def rekey(self) -> None:
        """It has no key."""

    def fill(self, buffer: Any) -> None:
        told, self._bytes = self._bytes[: buffer.nbytes], self._bytes[buffer.nbytes :]
        buffer[:] = np.frombuffer(told, np.uint8)


@fixed
@given(st.integers(1, 2**61), st.data())
def test_places_are_drawn_by_words_each_as_many(bound: int, data: st.DataObject) -> None:
    """The words that lead to a number are a run of 2^128 / bound, rounded down: its first and last one lead to it."""
    number, each = data.draw(st.integers(0, bound - 1)), 2**128 // bound
    least = -((-number * 2**128 - 2**128 % bound) // bound)
    for word in (least, least + each - 1):
        assert SecureNoise(source=Words(word))._below([bound]) == [number]
    if 2**128 % bound:
        last = (number * 2**128 - 1) // bound  # of the number before, or refused
        found = SecureNoise(source=Words(max(last, 0), 2**128 - 1))._below([bound])
        assert found[0] in (max(number - 1, 0), bound - 1)


# ---- what readings are, and what they cost --------------------------------------------------------------------------


class Bench:
    """One count, a volley, a script, and a journal."""

    def __init__(self, script: Sequence[int] = (), w: int = 3, plan: VolleyPlan | None = PLAN, **options: Any) -> None:
        self.noise = Logged(script)
        self.journal: list[Fact] = []
        self.curator = Curator(WEvent(epsilon=1, w=w, **options), 1, noise=self.noise, journal=self.journal.append)
        self.volley: Volley = self.curator.volley()
        if plan:
            self.volley.renew(plan)
        self.t = 0

    def unit(self, count: int = 0) -> Snapshot:
        self.t += 1
        snapshot = Snapshot(self.t, [count])
        self.curator.begin_unit(snapshot)
        return snapshot

    def read(self, count: int = 0) -> int:
        (value,) = self.volley.read(self.unit(count)).tolist()
        return int(value)


class Logged(ScriptedNoise):
    """A script that remembers which cubes were asked for."""

    def __init__(self, values: Sequence[int]) -> None:
        super().__init__(values, strict=True)
        self.cubes: list[tuple[Fraction, int]] = []

    def cube(self, scale: Fraction, size: int) -> Ints:
        self.cubes.append((scale, size))
        return super().cube(scale, size)


@pytest.mark.parametrize(("options", "s1"), [({}, 1), ({"neighbours": "replace"}, 2), ({"per_unit": 4}, 4)])
def test_a_volley_draws_once_and_every_reading_has_the_next_noise(options: dict[str, Any], s1: int) -> None:
    bench = Bench([5, -3, 100], **options)
    assert [bench.read(count) for count in (10, 20, 30)] == [15, 17, 130]
    assert bench.noise.cubes == [(Fraction(s1 * NANO, E.nano), 3)]
    assert (bench.volley.left, bench.volley.running) == (0, False)
    with pytest.raises(BadInput, match="this volley is over; renew it with a plan"):
        bench.read()


def test_all_readings_are_one_span_from_the_first_to_the_last() -> None:
    """Which comes back a window after the last one."""
    bench = Bench([0] * 3)
    for t in (1, 2, 3):
        bench.read()
        assert bench.curator.charged() == (E if t == 1 else Epsilon(0))
        assert bench.curator.remaining() == Epsilon("0.6")
    assert bench.journal == [Span(1, None, E, "publish", 0), Span(1, 3, E, "publish", 0)]
    for left in ("0.6", "0.6", "1"):
        bench.unit()
        assert bench.curator.remaining() == Epsilon(left)


def test_given_up_early_it_costs_the_same_and_ends_at_its_last_reading() -> None:
    bench = Bench([0] * 3)
    bench.read(), bench.read()
    bench.unit(), bench.unit()
    assert bench.curator.remaining() == Epsilon("0.6")  # it may be read still
    bench.volley.retire()
    assert bench.journal[-1] == Span(1, 2, E, "publish", 0)
    assert bench.curator.remaining() == Epsilon("0.6")  # of the window of units 2 to 4
    bench.unit()
    assert bench.curator.remaining() == Epsilon(1)
    with pytest.raises(BadInput, match="this volley is over"):
        bench.read()
    bench.volley.retire()  # once more changes nothing
    assert len(bench.journal) == 2


def test_where_nobody_knows_when_it_was_read_last_it_ends_as_told() -> None:
    bench = Bench([0] * 3)
    bench.read()
    bench.unit()
    bench.curator.retire(last=2)
    assert bench.journal[-1] == Span(1, 2, E, "publish", 0)


def test_a_unit_may_be_read_twice_and_pays_once() -> None:
    """Both readings move by the same records, which is no corner of the box that was not reckoned with."""
    bench = Bench([1, 2, 3])
    snapshot = bench.unit(7)
    assert [bench.volley.read(snapshot).tolist(), bench.volley.read(snapshot).tolist()] == [[8], [9]]
    assert bench.curator.charged() == E


def charged_to(units: Sequence[int], facts: list[Fact], now: int) -> int:
    """What these units have paid in all, in nano-epsilon; a span that is open is paid by every unit until now."""
    spans = {fact.key: fact for fact in facts if isinstance(fact, Span)}.values()  # closed, if it ever was
    met = [span.e.nano for span in spans if any(span.a <= t <= (span.b or now) for t in units)]
    return sum(met) + sum(fact.e.nano for fact in facts if isinstance(fact, Point) and fact.t in units)


schedules = st.lists(
    st.tuples(
        st.sampled_from(["read", "read", "read", "rest", "give up", "ask"]), st.integers(1, 4), st.integers(1, 10)
    ),
    max_size=30,
)


@fixed
@given(schedules, models(["1"], longest=6, steps=30))
def test_what_remains_is_epsilon_without_the_spans_that_meet_the_window(
    schedule: list[Any], model: ps.PrivacyModel
) -> None:
    """Whatever is read when, given up, renewed and asked beside it; ``can_read`` says what ``read`` does."""
    facts = list[Fact]()
    curator = Curator(model, 1, noise=SimulationNoise(1), journal=facts.append)
    volley = curator.volley()
    for t, (verb, size, tenths) in enumerate(schedule, start=1):
        curator.begin_unit(snapshot := Snapshot(t, [5]))
        if not volley.running:
            volley.renew(VolleyPlan(size, model.epsilon.share(tenths / 10)))
        elif verb == "give up":
            volley.retire()
        affordable, before = volley.can_read(), (volley.left, volley.running, len(facts))
        if verb == "read" and affordable:
            volley.read(snapshot)
        elif verb == "read" and volley.left:
            with pytest.raises(BudgetExceeded):
                volley.read(snapshot)
            assert (volley.left, volley.running, len(facts)) == before
        elif verb == "ask":
            with suppress(BudgetExceeded):
                curator.ask(snapshot, Counts(), model.epsilon / 5)
        window = range(t - model.window + 1, t + 1)
        assert curator.remaining().nano == model.epsilon.nano - charged_to(window, facts, t)
    assert recount(facts, model) <= model.epsilon


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_a_volley_is_of_a_single_count() -> None:
    with pytest.raises(BadInput, match="a volley reads a single count"):
        Curator(WEvent(epsilon=1, w=3), 2).volley()


def test_without_a_plan_there_is_no_noise() -> None:
    bench = Bench(plan=None)
    assert (bench.volley.noise_sd, bench.volley.left, bench.volley.running) == (0.0, 0, False)
    bench.volley.renew(PLAN)
    assert bench.volley.noise_sd == bench.volley.buys(PLAN) > 0


def test_a_volley_is_made_before_the_first_unit() -> None:
    bench = Bench()
    bench.unit()
    with pytest.raises(BadInput, match=r"made in begin\(\)"):
        bench.curator.volley()


@pytest.mark.parametrize(
    ("size", "e", "words"),
    [
        (0, E, "the number of readings of a volley"),
        (LARGEST_CUBE + 1, E, "the number of readings of a volley"),
        (2.5, E, "the number of readings of a volley"),
        (3, 0.4, "a budget is an Epsilon"),
        (3, Epsilon(0), "at least one nano-epsilon"),
    ],
)
def test_what_is_no_plan(size: Any, e: Any, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        VolleyPlan(size, e)


@pytest.mark.parametrize(
    ("plan", "fits"),
    [
        (VolleyPlan(4, Epsilon(1)), True),
        (VolleyPlan(5, Epsilon(1)), False),  # too narrow for so many
        (VolleyPlan(4, Epsilon("1.000000001")), False),
        (VolleyPlan(64, Epsilon("0.0625")), True),
        (VolleyPlan(1, Epsilon.of_nano(1)), True),
        (VolleyPlan(1, Epsilon(5)), False),
    ],
)
def test_noise_that_is_too_narrow_is_refused_before_anything_is_paid(plan: VolleyPlan, fits: bool) -> None:
    bench = Bench(plan=None)
    assert bench.volley.fits(plan) is fits
    if fits:
        bench.volley.renew(plan)
        assert bench.volley.left == plan.size
        return
    with pytest.raises(BadInput, match="too narrow for its size, or too wide for 64 bits; look at fits first"):
        bench.volley.renew(plan)
    assert (bench.volley.plan, bench.volley.left, bench.volley.can_read(), bench.journal) == (None, 0, False, [])


def test_noise_that_is_too_wide_is_refused() -> None:
    wide = Bench(plan=None, per_unit=10**6)
    assert not wide.volley.fits(VolleyPlan(1, Epsilon.of_nano(1)))
    with pytest.raises(BadInput, match="too wide for 64 bits"):
        wide.volley.renew(VolleyPlan(1, Epsilon.of_nano(1)))


def test_a_volley_is_renewed_when_it_is_over() -> None:
    bench = Bench([0] * 3, plan=None)
    with pytest.raises(BadInput, match="renew it with a plan"):
        bench.read()
    bench.volley.renew(VolleyPlan(2, E))
    bench.volley.renew(PLAN)  # nothing was read yet
    bench.read()
    with pytest.raises(BadInput, match="renewed when it is over, or was given up"):
        bench.volley.renew(PLAN)


def test_a_refusal_leaves_everything_as_it_was() -> None:
    """A budget that does not suffice, another unit's snapshot, another number of bins: the noise goes on."""
    bench = Bench([0, 5, -3, 100])
    first = bench.unit(10)
    bench.curator.ask(first, Counts(), Epsilon("0.7"))
    assert not bench.volley.can_read()
    with pytest.raises(BudgetExceeded):
        bench.volley.read(first)
    assert (bench.volley.left, bench.volley.running, bench.noise.cubes) == (3, False, [])
    bench.unit(), bench.unit()
    assert bench.read(10) == 15
    before = bench.journal.copy()
    for other in (first, Snapshot(9, [1]), Snapshot(bench.t, [1, 2])):
        with pytest.raises((OutOfOrder, BadInput)):
            bench.volley.read(other)
    assert (bench.volley.left, bench.volley.running, bench.journal) == (2, True, before)
    assert [bench.read(20), bench.read(30)] == [17, 130]


def test_under_m_context_a_reading_is_paid_by_those_who_are_present() -> None:
    """Somebody who cannot afford it keeps it from being read; it goes on without them."""
    noise = ScriptedNoise([5, -3, 100, 0])
    curator = Curator(MContext(epsilon=1, m=3), 1, noise=noise)
    volley = curator.volley()
    volley.renew(VolleyPlan(3, Epsilon("0.5")))
    heard = list[int]()
    for t, present in enumerate([["ann"], ["bob"], ["ann", "bob"], ["ann"]], start=1):
        curator.begin_unit(snapshot := Snapshot(t, [len(present)], present=present))
        if t == 2:
            curator.ask(snapshot, Counts(), Epsilon("0.6"))
        if volley.can_read():
            heard += volley.read(snapshot).tolist()
            continue
        before = volley.left
        with pytest.raises(BudgetExceeded):
            volley.read(snapshot)
        assert volley.left == before
    assert heard == [1 + 5, 1 - 3]


# ---- faults, and what is saved --------------------------------------------------------------------------------------


class Gone(BaseException):
    """Whatever it was."""


class Failing(SimulationNoise):
    """Fails when a cube is wanted."""

    def cube(self, scale: Fraction, size: int) -> Ints:
        raise Gone


def test_noise_that_fails_stays_paid_and_the_volley_is_over() -> None:
    bench = Bench()
    bench.curator = Curator(WEvent(epsilon=1, w=3), 1, noise=Failing(1), journal=bench.journal.append)
    bench.volley = bench.curator.volley()
    bench.volley.renew(PLAN)
    with pytest.raises(Gone):
        bench.read()
    assert (bench.volley.left, bench.volley.running) == (0, False)
    assert bench.journal[-1] == Span(1, 1, E, "publish", 0)
    assert bench.curator.remaining() == Epsilon("0.6")


@pytest.mark.parametrize("when", [1, 2, 3])
@pytest.mark.parametrize("before", [True, False])
def test_an_answer_that_fails_is_the_last(when: int, before: bool) -> None:
    """Somebody may have seen it, so its noise, and what belongs to it, is used no more."""
    told = list[int]()

    def fragile(question: Question, compute: Callable[[], Any]) -> Any:
        answer = None if before and len(told) == when - 1 else compute()
        told.append(0)
        if len(told) == when:
            raise Gone
        return answer

    facts = list[Fact]()
    curator = Curator(WEvent(epsilon=1, w=9), 1, noise=SimulationNoise(1), answers=fragile, journal=facts.append)
    volley = curator.volley()
    volley.renew(PLAN)
    for t in range(1, when + 1):
        curator.begin_unit(snapshot := Snapshot(t, [0]))
        if t < when:
            volley.read(snapshot)
            continue
        with pytest.raises(Gone):
            volley.read(snapshot)
        with pytest.raises(BadInput, match="this volley is over"):
            volley.read(snapshot)
    assert facts[-1] == Span(1, when, E, "publish", 0)
    public, sealed = volley._save()
    assert (public["left"], public["span"], len(sealed["noise"])) == (0, None, 0)


@fixed
@given(st.integers(0, 4), st.integers(0, 2**32))
def test_saved_at_any_reading_it_goes_on_with_the_same_noise(read: int, seed: int) -> None:
    """What is public does not tell the noise, nor does the length of what is sealed."""
    plan, told, states = VolleyPlan(4, E), list[list[int]](), list[Any]()
    for restarts in (False, True):
        curator = Curator(WEvent(epsilon=1, w=3), 1, noise=SimulationNoise(seed))
        volley = curator.volley()
        volley.renew(plan)
        told.append([])
        for t in range(1, 5):
            if t == read + 1 and restarts:
                states = [decode(encode(part)) for part in curator.save()]
                curator = Curator(WEvent(epsilon=1, w=3), 1, noise=Failing(0))
                volley = curator.volley()
                curator.load(*states)
            curator.begin_unit(snapshot := Snapshot(t, [t]))
            if read or not restarts:
                told[-1] += volley.read(snapshot).tolist()
    assert told[0] == told[1] or not read
    if states:
        other = Curator(WEvent(epsilon=1, w=3), 1, noise=SimulationNoise(seed + 1))
        another = other.volley()
        another.renew(plan)
        for t in range(1, read + 1):
            other.begin_unit(snapshot := Snapshot(t, [t + 10**9]))
            another.read(snapshot)
        public, sealed = other.save()
        assert encode(public) == encode(states[0])
        assert len(encode(sealed)) == len(encode(states[1]))


def test_without_what_is_sealed_it_is_over_and_stays_paid() -> None:
    bench = Bench([5, -3, 100])
    bench.read(), bench.read()
    public, _ = bench.curator.save()
    journal = list[Fact]()
    curator = Curator(WEvent(epsilon=1, w=3), 1, noise=Failing(1), journal=journal.append)
    volley = curator.volley()
    curator.load(public, None)
    assert (volley.left, volley.running, volley.plan) == (0, False, PLAN)
    assert journal == [Span(1, 2, E, "publish", 0)]
    assert curator.remaining() == Epsilon("0.6")


@dataclass(kw_only=True)
class Reader(Mechanism):
    """Reads in volleys of three, gives every third one up after two, and reads no more than it can pay for."""

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, MContext, DeltaNeighbourhood)
    unasked: ClassVar = frozenset({"ask"})

    def begin(self) -> None:
        self.volley = self.curator.volley()
        self.plan = VolleyPlan(3, self.model.epsilon / 4)

    def decide(self, snapshot: Snapshot) -> Release:
        if snapshot.t % 8 == 0 and self.volley.running:
            self.volley.retire()
        if not self.volley.left and snapshot.t % 2:
            self.volley.renew(self.plan)
        if not self.volley.can_read():
            return self.republish(snapshot)
        return self.released(snapshot, self.volley.read(snapshot), Kind.ESTIMATED, self.volley.noise_sd)


@dataclass(frozen=True)
class OneCount(Subject):
    """A mechanism that is checked on streams of one bin."""

    @property
    def widths(self) -> tuple[int, ...]:
        return (1,)

    def streams(self, seed: int = 1) -> Iterator[Stream]:
        for stream in super().streams(seed):
            yield Stream(stream.counts[:, :1], presence=stream.presence)

    def start(self, noise: Noise, *, bins: int = 1, **options: Any) -> Mechanism:
        return super().start(noise, bins=1, **options)


# many bins, a proof, an example; and a snapshot of other bins is refused by all mechanisms alike
NOT_MEANT_FOR_IT = {
    "noise_is_as_claimed",
    "proof_is_current",
    "example_runs",
    "bounded_memory",
    "refuses_bad_snapshots",
}
LAWS: list[PrivacyModel] = [
    EventLevel(epsilon=2),
    WEvent(epsilon=2, w=4, per_unit=2),
    UserLevel(epsilon=2, horizon=12),
    DeltaNeighbourhood(epsilon=2, steps=4),
    MContext(epsilon=2, m=3),
]


@pytest.mark.parametrize("check", [check for check in CHECKS if check not in NOT_MEANT_FOR_IT])
@pytest.mark.parametrize("model", LAWS, ids=lambda model: type(model).__name__)
def test_a_mechanism_that_reads_in_volleys_keeps_every_promise(model: PrivacyModel, check: str) -> None:
    CHECKS[check](OneCount(Reader, model))


class Crash(BaseException):
    """The process is gone."""


def reader(store: ps.Store) -> ps.Publisher:
    return ps.Publisher(Reader(model=WEvent(epsilon=1, w=9), allow_unproven=True), store, "s", bins=["a"])


@pytest.mark.parametrize("lost", [False, True])
def test_a_stored_stream_goes_on_with_its_volley_unless_a_unit_was_lost(tmp_path: Path, lost: bool) -> None:
    """A dead step may have read it and told; so it ends there, and its noise is never used again."""

    def at(point: str) -> None:
        if lost and point == "draw" and publisher.t == 1:
            raise Crash

    with suppress(Crash), ps.Store(tmp_path / "db", at=at) as store:
        publisher = reader(store)
        for t in (1, 2):
            publisher.publish(Snapshot(t, [10 * t]))
    with ps.Store(tmp_path / "db") as store, reader(store) as publisher:
        for t in range(publisher.t + 1, 4):
            publisher.publish(Snapshot(t, [10 * t]))
        facts = [fact for record in store.records(store.account("s")) for fact in unpack(record.body).facts]
    spans = {fact.key: (fact.a, fact.b) for fact in facts if isinstance(fact, Span)}
    assert list(spans.values()) == [(1, 2 if lost else 3)]
    assert recount(facts, WEvent(epsilon=1, w=9)) <= Epsilon(1)


# ---- what is told ---------------------------------------------------------------------------------------------------


@cache
def first_few(farthest: int, rest: int, scale: Fraction) -> float:
    """How likely noise is that goes so far, but for a constant: summed over all that ``rest`` others may be."""
    total = before = 0.0
    for far, weight in weights(scale, rest + 1):
        within = float((2 * far + 1) ** rest) if far >= farthest else 0.0
        total, before = total + weight * (within - before), within
    return total


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(13, 4)])
def test_no_readings_tell_more_than_was_paid(size: int, scale: Fraction) -> None:
    """All of them or a first few, wherever neighbours move the counts, each by one at most; and it is no idle bound."""
    worst = 0.0
    for read in range(1, size + 1):
        for noise in itertools.product((-3, 0, 1, 4), repeat=read):
            for moves in itertools.product((-1, 0, 1), repeat=read):
                one = max(map(abs, noise))
                other = max(abs(z + move) for z, move in zip(noise, moves, strict=True))
                loss = math.log(first_few(one, size - read, scale) / first_few(other, size - read, scale))
                assert loss == pytest.approx(difference_of_reaches(one, other, size - read, scale), abs=1e-9)
                assert abs(loss) <= 1 / scale + 1e-9
                worst = max(worst, loss)
    assert worst == pytest.approx(1 / float(scale))


def test_far_apart_and_for_large_volleys_the_loss_is_exact() -> None:
    """A step outwards costs the most where nothing is left to come, and ever less the more is."""
    for scale in (Fraction(16), LARGEST_CUBE_SCALE):
        far = int(scale * 64)
        steps = [difference_of_reaches(far, far + 1, rest, scale) for rest in (0, 1, 32, 63)]
        assert steps == sorted(steps, reverse=True)
        assert steps[0] == pytest.approx(float(1 / scale))
        assert min(steps) > 0
        assert difference_of_reaches(far, far, 63, scale) == 0


@dataclass
class Curious:
    """Asks whatever it is told to about a single count, if it can be afforded."""

    curator: Curator

    def __post_init__(self) -> None:
        self.volleys, self.segment = [self.curator.volley(), self.curator.volley()], self.curator.segment()

    def ask(self, snapshot: Snapshot, verb: str, which: int, size: int, e: Epsilon) -> None:
        volley = self.volleys[which]
        match verb:
            case "read":
                if not volley.left and volley.fits(VolleyPlan(size, e)):
                    volley.renew(VolleyPlan(size, e))
                if volley.can_read():
                    volley.read(snapshot)
            case "give up":
                volley.retire()
            case "count" if self.curator.can(publish=e):
                self.curator.ask(snapshot, Counts(), e)
            case "above":
                if not self.segment.running:
                    self.segment.renew(SegmentPlan(size, e, e / 3))
                self.segment.above(snapshot, Distance([0]), 4, then=Epsilon(0))


VERBS = ["read", "read", "read", "read", "give up", "count", "above"]
question = st.tuples(
    st.sampled_from(VERBS), st.integers(0, 1), st.integers(1, 4), st.sampled_from([Epsilon("0.3"), Epsilon(1)])
)
laws: st.SearchStrategy[PrivacyModel] = st.one_of(
    st.builds(WEvent, epsilon=st.just(2), w=st.integers(1, 4)),
    st.builds(EventLevel, epsilon=st.just(2), per_unit=st.integers(1, 3)),
    st.builds(UserLevel, epsilon=st.just(2), horizon=st.just(8), per_unit=st.integers(1, 3)),
)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(
    laws, st.lists(st.lists(question, min_size=1, max_size=4), min_size=1, max_size=8), st.integers(0, 99), st.data()
)
def test_among_any_questions_no_more_is_told_than_was_paid_for(
    model: PrivacyModel, asked: list[Any], seed: int, data: st.DataObject
) -> None:
    """To the units that differ; and priced by the noise that was drawn, no protected set is told more than epsilon."""
    one = np.array([[data.draw(st.integers(0, 9))] for _ in asked])
    other, first = one.copy(), data.draw(st.integers(0, len(asked) - 1))
    for row in other[first : first + model.window]:
        row[0] = max(row[0] + data.draw(st.integers(-model.per_unit, model.per_unit)), 0)
    facts = list[Fact]()
    shadow = Shadow(SimulationNoise(seed), model, 1)
    witness = Witness(shadow, model, one, other, distrust=True)

    def answer(question: Question, compute: Callable[[], Any]) -> Any:
        return witness.answer(question, lambda: shadow.answer(question, compute))

    who = Curious(Curator(model, 1, noise=witness, answers=answer, journal=facts.append))
    for t, (row, questions) in enumerate(zip(one, asked, strict=True), start=1):
        who.curator.begin_unit(snapshot := Snapshot(t, row))
        for each in questions:
            who.ask(snapshot, *each)
    units = (np.flatnonzero((one != other).any(axis=1)) + 1).tolist()
    paid = charged_to(units, facts, len(asked))
    assert abs(witness.loss) <= paid / NANO + 1e-5
    assert all(move.moved <= move.allowed for move in witness.moves)
    assert recount(shadow.facts(), model) <= recount(facts, model) <= model.epsilon


# ---- who would notice -----------------------------------------------------------------------------------------------

PLANTED = {name: failure for name, failure in planted().items() if issubclass(failure, Volleying) and failure.attack}
NOTICED = {
    "each_its_own": ("every_draw_is_paid", "what is learnt"),
    "half_reach": ("every_draw_is_paid", "what is learnt"),
    "closed_too_soon": ("every_draw_is_paid", "what is learnt"),
    "noise_used_again": ("every_draw_is_paid", "volley says it draws 2 values and draws 0"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_on_a_single_count_checks_find_what_attacks_kill(name: str) -> None:
    failure = PLANTED[name]
    check, words = NOTICED[name]
    with pytest.raises(CheckFailed, match=words):
        CHECKS[check](OneCount(failure, failure.under, failure.kernel))


def test_checks_find_nothing_where_nothing_is_planted() -> None:
    for check in ("never_overspends", "every_draw_is_paid", "no_answer_moves_further"):
        CHECKS[check](OneCount(Volleying, WEvent(epsilon=1, w=3)))


def told(*questions: tuple[int, int, int, str]) -> tuple[int, float]:
    """What shadow and witness make of readings: size, place, numbers that are drawn, and how."""
    shadow = Shadow(SimulationNoise(1), UserLevel(epsilon=1, horizon=9), 1)
    witness = Witness(shadow, UserLevel(epsilon=1, horizon=9), np.zeros((9, 1), int), np.ones((9, 1), int))
    for size, place, draws, how in questions:
        witness.rekey()
        asked = Question("volley", Fraction(2), draws, None, (0, size, place, Epsilon("0.5")))

        def compute(draws: int = draws, how: str = how) -> Ints:
            for number in [draws] * bool(draws) if how == "cube" else [1] * draws:
                getattr(witness, how)(Fraction(2), number)
            return np.array(witness.numbers[:1] or [0])

        witness.answer(asked, lambda asked=asked, compute=compute: shadow.answer(asked, compute))  # type: ignore[misc]
    return max(fact.e.nano for fact in shadow.facts() if isinstance(fact, Span)), abs(witness.loss)


def test_a_reading_without_noise_of_its_own_has_no_price_that_anybody_could_pay() -> None:
    """Without an opening, one too many, of another place, of numbers that share nothing, or of more than it says."""
    half = NANO // 2
    assert told((2, 0, 2, "cube"))[0] == half
    assert told((2, 0, 2, "cube"), (2, 1, 0, "cube"))[0] == half
    assert told((2, 0, 2, "cube"), (2, 0, 2, "cube"))[0] == half  # given up, and another one
    for wrong in (
        [(2, 0, 0, "cube")],
        [(2, 0, 2, "cube"), (2, 1, 0, "cube"), (2, 2, 0, "cube")],
        [(2, 0, 2, "cube"), (2, 0, 0, "cube")],
        [(2, 1, 2, "cube")],
        [(2, 0, 2, "laplace")],
        [(2, 0, 3, "cube")],
        [(3, 0, 2, "cube")],
    ):
        assert told(*wrong)[0] == UNBOUNDED
    assert told((2, 0, 0, "cube"))[1] == math.inf
    assert told((2, 0, 2, "laplace"))[1] == math.inf
    assert 0 < told((2, 0, 2, "cube"))[1] <= 0.5


def test_what_it_buys_is_public_and_needs_no_budget() -> None:
    bench = Bench(plan=None)
    assert bench.volley.noise_sd == 0
    assert bench.volley.buys(VolleyPlan(1, E)) == bench.curator.noise_sd(E)
    sds = [bench.volley.buys(VolleyPlan(size, E)) for size in (1, 2, 4, 8)]
    assert sds == sorted(sds)
    bench.volley.renew(VolleyPlan(4, E))
    assert bench.volley.noise_sd == sds[2]
    assert sds[2] < 4 * sds[0]  # than four that share e by paying a quarter each
    assert bench.journal == []
