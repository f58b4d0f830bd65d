"""What a mechanism holds of its curator: questions, and no way to change or to copy what they go by.

Each slip below once went through a whole stream with a contented ledger. They use no name with an underscore.
"""

import copy
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

import penstock as ps
from penstock.curator import Curator
from penstock.desk import Handle, Question
from penstock.door import Door
from penstock.errors import PenstockError, Sealed
from penstock.ledger import Ledger
from penstock.primitives.purse import Purse
from penstock.primitives.segment import SegmentPlan, Verdict
from penstock.primitives.volley import Volley, VolleyPlan
from penstock.queries import Counts, Distance, Distances, EuclideanDistance, GroupDistances, GroupSums, Query
from penstock.uncopied import Uncopied

SECRET = 1234
EACH = ps.Epsilon("0.1")
Slip = Callable[[Any, ps.Snapshot], object]


@dataclass(kw_only=True)
class Slips(ps.Mechanism):
    """Makes a handle of every kind, uses each as it is meant, and then does what its author should not have."""

    proven_for: ClassVar = (ps.WEvent,)
    slip: Slip | None = None
    volley: Volley = field(init=False)

    def begin(self) -> None:
        self.volley = self.curator.volley()
        self.segment = self.curator.segment(SegmentPlan(1, EACH, EACH / 2))
        self.pool = self.curator.pool(reads=4)
        self.grouper = self.curator.grouper(EACH)
        self.plan = VolleyPlan(2, EACH)

    def decide(self, snapshot: ps.Snapshot) -> ps.Release:
        if not self.volley.running:
            self.volley.renew(self.plan)
        self.volley.read(snapshot)
        self.pool.absorb(snapshot, EACH)
        self.purse = self.curator.purse(snapshot, EACH)
        if self.slip is not None:
            self.slip(self, snapshot)
        return self.republish(snapshot)


def run(slip: Slip | None) -> ps.Curator:
    """One unit of such a mechanism."""
    model = ps.WEvent(epsilon=1, w=5)
    curator = ps.Curator(model, 1)
    mechanism = Slips(model=model, slip=slip, allow_unproven=True).start(curator)
    mechanism.step(ps.Snapshot(1, [SECRET]))
    return curator


class Spy:
    """Looks like a vector to numpy, and keeps what it is combined with."""

    shape = (1,)

    def __array_ufunc__(self, ufunc: Any, how: str, *inputs: Any, **options: Any) -> Any:
        raise AssertionError("a raw count has reached a mechanism")


class Changing(ps.Epsilon):
    """Another amount at every look."""

    looks: ClassVar = 0

    def __init__(self) -> None:
        """Nothing is kept."""

    @property
    def nano(self) -> int:  # type: ignore[override]
        Changing.looks += 1
        return 10**14 if Changing.looks == 1 else 1


class Negative:
    """What looks like an amount, and gives budget back."""

    nano = -(10**12)


class Sly(list[Query]):
    """A good list at first."""

    passes = 0

    def __iter__(self) -> Iterator[Any]:
        self.passes += 1
        return iter([Distance([0])] if self.passes == 1 else [self.peek])

    def peek(self, counts: Any, bins: Any) -> Any:
        raise AssertionError("a raw count has reached a mechanism")


class LyingWhole(int):
    """A whole number that says it is another one when it is asked for its parts."""

    numerator = property(lambda self: 10**30)
    denominator = property(lambda self: 1)


class LyingAmount:
    """What looks like an amount, and would buy noise of no width."""

    nano = LyingWhole(10**8)


class Unhashable(str):
    """An envelope that is another one at every look."""

    __hash__ = None  # type: ignore[assignment]


class Below:
    """Never negative, and negative."""

    def __lt__(self, other: object) -> bool:
        return False

    def __index__(self) -> int:
        return -(10**12)


def again(m: Slips, snapshot: ps.Snapshot) -> None:
    Curator(m.model, 1).begin_unit(snapshot)


def attended_again(m: Slips, snapshot: ps.Snapshot) -> None:
    Curator(m.model, 1).begin_unit(snapshot.attended(["somebody"]))


def in_a_thread(m: Slips, snapshot: ps.Snapshot) -> None:
    refused: list[Exception] = []

    def ask() -> None:
        try:
            m.curator.ask(snapshot, Counts(), EACH)
        except PenstockError as fault:
            refused.append(fault)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    raise refused[0]


def replaced(target: str, name: str, value: object) -> Slip:
    return lambda m, snapshot: setattr(getattr(m, target), name, value)


def copied(how: Callable[[Any], object], target: str) -> Slip:
    return lambda m, snapshot: how(getattr(m, target))


ASSIGNED = {
    "volley.left": replaced("volley", "left", 2),
    "volley.plan": replaced("volley", "plan", VolleyPlan(2, ps.Epsilon(50))),
    "volley.read": replaced("volley", "read", None),
    "volley.noise": replaced("volley", "noise", 0),
    "pool.reads": replaced("pool", "reads", 1),
    "pool.size": replaced("pool", "size", np.zeros(1)),
    "segment.left": replaced("segment", "left", 50),
    "segment.plan": replaced("segment", "plan", SegmentPlan(9, EACH, EACH)),
    "grouper.deviation": replaced("grouper", "deviation", lambda members, lengths: members[0]),
    "grouper.max_length": replaced("grouper", "max_length", 1),
    "purse.size": replaced("purse", "size", 7),
    "purse.remaining": replaced("purse", "remaining", ps.Epsilon(9)),
    "plan.size": replaced("plan", "size", 9),
    "curator.model": replaced("curator", "model", ps.EventLevel(epsilon=1)),
    "curator.bins": replaced("curator", "bins", 2),
    "curator.ask": replaced("curator", "ask", None),
}


@pytest.mark.parametrize("slip", ASSIGNED.values(), ids=ASSIGNED)
def test_nothing_that_the_kernel_goes_by_can_be_assigned(slip: Slip) -> None:
    with pytest.raises(AttributeError):
        run(slip)


WAYS = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": pickle.dumps}
HELD = ("curator", "volley", "segment", "pool", "grouper", "purse")


@pytest.mark.parametrize("target", HELD)
@pytest.mark.parametrize("how", WAYS.values(), ids=WAYS)
def test_nothing_is_copied_or_pickled(how: Callable[[Any], object], target: str) -> None:
    with pytest.raises(Sealed, match="cannot be copied or pickled"):
        run(copied(how, target))


def test_a_mechanism_that_holds_handles_is_not_copied_either() -> None:
    with pytest.raises(Sealed):
        run(lambda m, snapshot: copy.deepcopy(m))


REACHED = ("ledger", "begin_unit", "check", "retire", "save", "load", "door")


@pytest.mark.parametrize("name", REACHED)
def test_the_law_the_ledger_and_the_state_stay_behind_the_door(name: str) -> None:
    with pytest.raises(AttributeError):
        run(lambda m, snapshot: getattr(m.curator, name))


@pytest.mark.parametrize("target", ["volley", "segment", "pool", "grouper"])
@pytest.mark.parametrize("name", ["save", "load", "number", "desk"])
def test_handles_are_saved_and_loaded_by_the_curator_alone(target: str, name: str) -> None:
    with pytest.raises(AttributeError):
        run(lambda m, snapshot: getattr(getattr(m, target), name))


FOOLED = {
    "a second curator": again,
    "a second curator for a list of people": attended_again,
    "a second curator for the same once more": lambda m, s: Curator(m.model, 1).begin_unit(s.anew()),
    "a second thread": in_a_thread,
    "a negative amount for a yes": lambda m, s: m.segment.above(s, Distance([0]), 5, Negative()),
    "can with a negative amount": lambda m, s: m.segment.can_ask(Negative()),
    "can of the curator": lambda m, s: m.curator.can(publish=Negative()),
    "an amount that changes": lambda m, s: m.curator.ask(s, Counts(), Changing()),
    "amounts that change": lambda m, s: m.curator.ask(s, Counts(), [Changing()]),
    "a purse of it": lambda m, s: m.curator.purse(s, Changing()),
    "a pool of it": lambda m, s: m.pool.absorb(s, Changing()),
    "a plan of it": lambda m, s: VolleyPlan(2, Changing()),
    "a run of it": lambda m, s: SegmentPlan(1, Changing(), EACH),
    "a plan that looks like one": lambda m, s: m.segment.renew(type("Plan", (SegmentPlan,), {})(1, EACH, EACH)),
    "a retreat into the past": lambda m, s: m.volley.retire(last=-10),
    "an envelope that looks like one": lambda m, s: m.curator.ask(s, Counts(), [EACH], envelope=Unhashable("publish")),
    "an unknown envelope for what costs no more": lambda m, s: m.curator.ask(s, Counts(), EACH, [], envelope="mine"),
    "what an amount that lies would buy": lambda m, s: m.curator.noise_sd(LyingAmount()),
    "what a plan that lies would buy": lambda m, s: m.volley.buys(LyingAmount()),
    "whether a plan that lies would fit": lambda m, s: m.volley.fits(LyingAmount()),
    "the noise of a query that lies": lambda m, s: m.curator.noise_sd(EACH, LyingAmount()),
    "a negative amount that says it is none": lambda m, s: ps.Epsilon.of_nano(Below()),  # type: ignore[arg-type]
    "a query that looks like one": lambda m, s: m.curator.ask(s, Sly.peek, EACH),
    "a list that looks like a table": lambda m, s: m.curator.nearest(s, [Sly.peek], EACH),
    "a snapshot that looks like one": lambda m, s: m.curator.ask(
        type("Sub", (ps.Snapshot,), {})(1, [0]), Counts(), EACH
    ),
}


@pytest.mark.parametrize("slip", FOOLED.values(), ids=FOOLED)
def test_nothing_but_the_real_thing_is_taken(slip: Slip) -> None:
    with pytest.raises((PenstockError, TypeError)):
        run(slip)


def test_a_list_that_changes_is_read_once() -> None:
    assert run(lambda m, s: m.curator.nearest(s, Sly([Distance([0])]), EACH)).ledger.audit().holds


@pytest.mark.parametrize("of", [Distance, EuclideanDistance])
def test_a_query_cannot_be_given_another_reference(of: type[Distance]) -> None:
    with pytest.raises(AttributeError):
        run(lambda m, s: setattr(of([0]), "reference", Spy()))


def test_a_query_is_not_made_by_whoever_asks() -> None:
    with pytest.raises(ps.BadInput, match="belongs to the kernel"):
        type("Mine", (Query,), {})


def shown(held: object) -> dict[str, Any]:
    """The values of all public attributes that are no methods."""
    names = [name for name in dir(held) if not name.startswith("_")]
    values = {name: getattr(held, name) for name in names}
    return {name: value for name, value in values.items() if not callable(value)}


def every_uncopied(m: Slips) -> list[Uncopied]:
    return [getattr(m, name) for name in HELD]


def test_arrays_that_are_shown_are_copies() -> None:
    """A view leads back to what it is a view of, and whoever holds a read-only array can make it writable."""

    def scribble(m: Slips, snapshot: ps.Snapshot) -> None:
        queries: list[Any] = [Distance([3]), GroupSums([0]), GroupDistances([0], [3]), Distances([[3]])[0]]
        for held in (*every_uncopied(m), *queries):
            before = shown(held)
            for value in before.values():
                for array in value if isinstance(value, tuple) else [value]:
                    while isinstance(array, np.ndarray):
                        array.setflags(write=True)
                        array[...] = 99
                        array = array.base
            after = shown(held)
            kept = {name: value for name, value in before.items() if isinstance(value, (np.ndarray, tuple))}
            for name in kept:
                for was, now in zip(np.atleast_1d(before[name]), np.atleast_1d(after[name]), strict=True):
                    assert not np.array_equal(was, now), f"{type(held).__name__}.{name}"

    run(scribble)


def test_every_handle_and_query_is_closed_by_its_slots() -> None:
    """Without a dictionary there is nothing to assign to but slots, and all of these are private."""
    kinds = [Door, Purse, *_below(Handle), *_below(Query)]
    shipped = [kind for kind in kinds if vars(sys.modules[kind.__module__]).get(kind.__name__) is kind]
    shipped = [kind for kind in shipped if kind.__module__.startswith("penstock.") and "audit" not in kind.__module__]
    assert len(shipped) >= 16
    for kind in shipped:
        assert kind.__dictoffset__ == 0, kind  # its objects have no dictionary
        names = [name for each in kind.__mro__ for name in getattr(each, "__slots__", ())]
        assert all(name.startswith("_") for name in names), kind


def _below(kind: type) -> list[type]:
    found: list[type] = kind.__subclasses__()
    return [kind, *(each for below in found for each in _below(below))]


def test_what_is_asked_as_it_should_be_is_answered() -> None:
    """The slips above are refused for what they are, not because nothing works."""

    def asks(m: Slips, snapshot: ps.Snapshot) -> None:
        m.purse(EACH / 2)
        assert m.segment.above(snapshot, Distance([0]), 5, EACH) in (Verdict.ABOVE, Verdict.BELOW)
        m.grouper.extend(snapshot, 3.0)
        m.pool.settle()
        assert m.curator.nearest(snapshot, Distances([[0], [9]]), EACH) in (0, 1)
        assert m.curator.charged() == m.model.epsilon - m.curator.remaining()

    assert run(asks).ledger.audit().holds


def test_a_step_that_slips_spends_what_it_has_spent_and_the_stream_goes_on() -> None:
    model = ps.WEvent(epsilon=1, w=5)
    curator = ps.Curator(model, 1)
    mechanism = Slips(model=model, slip=ASSIGNED["volley.left"], allow_unproven=True).start(curator)
    with pytest.raises(AttributeError):
        mechanism.step(ps.Snapshot(1, [SECRET]))
    spent = curator.ledger.charged
    mechanism.slip = None
    mechanism.step(ps.Snapshot(2, [SECRET]))
    assert 0 < spent <= ps.Epsilon(1).nano
    assert curator.ledger.audit().holds


def test_the_ledger_is_read_and_not_written() -> None:
    ledger = Ledger(ps.WEvent(epsilon=1, w=5))
    for name in ("t", "sequence", "charged", "model"):
        with pytest.raises(AttributeError):
            setattr(ledger, name, 0)
    amount: Any = Negative()
    with pytest.raises(ps.BadInput, match="a budget is an Epsilon"):
        ledger.cap(decide=amount)
    with pytest.raises(ps.BadInput, match="a budget is an Epsilon"):
        ledger.lose(amount)


@pytest.mark.parametrize("last", [-10, 1, 4])
def test_a_span_is_not_closed_before_it_was_opened_nor_ahead_of_the_next_unit(last: int) -> None:
    """It would leave the windows that it has read too early, or never."""
    ledger = Ledger(ps.WEvent(epsilon=1, w=5))
    for t in (1, 2):
        ledger.advance(t, None)
    span = ledger.open(EACH, "decide")
    with pytest.raises(ps.BadInput, match="a span is closed at a unit from t=2 to t=3"):
        ledger.close(span.key, last)
    assert ledger.remaining() == ps.Epsilon(1) - EACH


@pytest.mark.parametrize("name", ["start", "step", "pass_over", "save", "load"])
def test_a_mechanism_does_not_write_the_loop_around_itself(name: str) -> None:
    """In a step of its own it would hold a snapshot that no ledger has claimed, in a start the whole curator."""
    with pytest.raises(ps.BadInput, match=f"Looping defines {name}"):
        type("Looping", (Slips,), {name: None})


def test_queries_and_plans_are_their_own_copies() -> None:
    """A copy that is put together from parts of somebody's choosing would never have seen the constructor."""
    for held in (Distance([3]), Counts(), SegmentPlan(1, EACH, EACH), VolleyPlan(2, EACH)):
        assert copy.copy(held) is held
        assert copy.deepcopy(held, {}) is held


class Interrupted(Exception):
    """What a signal raises in the middle of a draw."""


def interrupted(question: Question, compute: Callable[[], Any]) -> Any:
    """Answers everything but the sums of pools, which are computed and then not told."""
    answer = compute()
    if question.verb == "settle":
        raise Interrupted
    return answer


def test_a_sum_whose_last_reading_was_interrupted_cannot_be_read_again() -> None:
    """It was drawn, and nobody can say that it was not seen."""
    model = ps.WEvent(epsilon=1, w=5)
    curator = ps.Curator(model, 1, answers=interrupted)
    pool = curator.pool(reads=2)
    curator.begin_unit(snapshot := ps.Snapshot(1, [SECRET]))
    pool.absorb(snapshot, EACH)
    for _ in range(2):
        with pytest.raises(Interrupted):
            pool.settle()
    with pytest.raises(ps.BadInput, match="only a bin that has absorbed something"):
        pool.settle()


@pytest.mark.parametrize("bins", [4, 2000])
def test_memory_that_is_given_back_holds_nothing_of_an_answer_about_counts(bins: int) -> None:
    """Neither the noise, with which an answer is an exact count, nor the counts themselves."""
    truth = np.arange(bins) * 7919 + 10**12
    little = EACH / 10**7  # for which noise is never 0 by chance
    curator = ps.Curator(ps.WEvent(epsilon=1, w=5), bins)
    curator.begin_unit(snapshot := ps.Snapshot(1, truth))
    for chosen, amounts in ((None, little), (np.arange(bins), little), (None, [little, little * 2] * (bins // 2))):
        told = curator.ask(snapshot, Counts(), amounts, chosen)
        for left in [np.empty(bins, np.int64) for _ in range(8)]:
            assert not (left == truth).any()
            assert not (told - left == truth).any()


FORKING = """
import os, sys
import penstock as ps
from penstock.queries import Counts

curator = ps.Curator(ps.WEvent(epsilon=1, w=5), 1)
curator.begin_unit(snapshot := ps.Snapshot(1, [5]))
if os.fork() == 0:
    try:
        curator.ask(snapshot, Counts(), ps.Epsilon(1))
    except ps.BadInput as fault:
        print(fault, flush=True)
    os._exit(0)
os.wait()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_cannot_ask_what_its_parent_pays_for() -> None:
    told = subprocess.check_output([sys.executable, "-c", FORKING], text=True)
    assert told == "a unit is asked about from the thread and the process that began it; ask there.\n"


def test_a_purse_is_not_emptied_twice_by_labels_that_ask() -> None:
    """What decides is how much is left once the labels were looked at."""

    class Asking:
        def __init__(self, purse: Purse) -> None:
            self.purse = purse

        def __array__(self, dtype: object = None, copy: object = None) -> Any:
            self.purse(EACH)
            return np.array([0])

    with pytest.raises(ps.BudgetExceeded):
        run(lambda m, snapshot: m.purse(EACH, Asking(m.purse)))


class LyingRate(Fraction):
    """One in a million to whoever divides, nearly one to whoever throws coins."""

    numerator = property(lambda self: LyingPart(1))


class LyingPart(int):
    """A whole number that is shifted to another one."""

    def __lshift__(self, places: int) -> int:
        return (10**6 - 1) << places


def test_a_rate_is_what_it_says_to_everybody() -> None:
    """Coins fall with the chance that the noise was computed for."""
    seen = []

    def kept(question: Question, compute: Callable[[], Any]) -> Any:
        seen.append(question.details[0])
        return compute()

    curator = ps.Curator(ps.WEvent(epsilon=1, w=5), 1, answers=kept)
    curator.begin_unit(snapshot := ps.Snapshot(1, [SECRET]))
    curator.sampled(snapshot, LyingRate(1, 10**6), EACH, 2000)
    assert type(seen[0]) is Fraction
    assert type(seen[0].numerator) is int
