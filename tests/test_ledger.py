"""The ledger against bare facts that are added up the slow way: over every window, after every step."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from penstock.charges import Fact, Point, Span, recount
from penstock.codec import decode, encode
from penstock.epsilon import Epsilon
from penstock.errors import BadInput, BadState, BudgetExceeded, OutOfOrder
from penstock.ledger import ENVELOPES, Ledger
from penstock.models import DeltaNeighbourhood, EventLevel, PrivacyModel, UserLevel, WEvent
from penstock.population import Population

fixed = settings(derandomize=True, deadline=None, max_examples=150)

Entry = tuple[int, int | None, int, str]  # first unit, last unit (None: open), nano-epsilon, envelope

LIMIT = 12  # nano-epsilon: so little that schedules run into it all the time
law = st.just(Epsilon.of_nano(LIMIT))
lengths = st.integers(1, 5)
models: st.SearchStrategy[PrivacyModel] = st.one_of(
    st.builds(EventLevel, epsilon=law),
    st.builds(WEvent, epsilon=law, w=lengths),
    st.builds(UserLevel, epsilon=law, horizon=lengths),
    st.builds(DeltaNeighbourhood, epsilon=law, steps=lengths),
)
amounts = st.integers(1, 7)
envelopes = st.sampled_from(ENVELOPES)


def total(facts: list[Entry], first: int, last: int) -> int:
    """What the units from ``first`` to ``last`` have paid together: every charge that meets them, once."""
    return sum(nano for a, b, nano, _ in facts if a <= last and (b is None or b >= first))


def fullest(facts: list[Entry], window: int, now: int) -> int:
    """Every window there is, one by one."""
    return max(total(facts, start, start + window - 1) for start in range(2 - window, now + 1))


def nano(amount: int) -> Epsilon:
    """So many nano-epsilon."""
    return Epsilon.of_nano(amount)


def started(model: PrivacyModel, units: int = 1, **caps: Epsilon) -> Ledger:
    """A ledger with these caps, at unit ``units``."""
    ledger = Ledger(model)
    ledger.cap(**caps)
    for t in range(1, units + 1):
        ledger.advance(t, None)
    return ledger


class Books(RuleBasedStateMachine):
    """A ledger and, beside it, the list of facts that it should have in mind."""

    @initialize(model=models, caps=st.dictionaries(envelopes, st.integers(1, LIMIT), max_size=2))
    def begin(self, model: PrivacyModel, caps: dict[str, int]) -> None:
        self.model, self.caps = model, caps
        self.journal: list[Fact] = []
        self.facts: dict[int, Entry] = {}
        self.ledger = self.blank()
        self.ledger.advance(1, None)

    def blank(self) -> Ledger:
        ledger = Ledger(self.model, journal=self.journal.append)
        ledger.cap(**{name: nano(limit) for name, limit in self.caps.items()})
        return ledger

    def of(self, envelope: str) -> list[Entry]:
        return [fact for fact in self.facts.values() if fact[3] == envelope]

    def fits(self, **charges: int) -> bool:
        """Whether every window and every cap would bear these charges on the current unit; none past a horizon."""
        t, window = self.ledger.t, self.model.window
        if self.model.is_over(t):
            return False
        new: list[Entry] = [(t, t, amount, name) for name, amount in charges.items()]
        capped = [fullest(self.of(n) + [f for f in new if f[3] == n], window, t) <= self.caps[n] for n in self.caps]
        return fullest([*self.facts.values(), *new], window, t) <= LIMIT and all(capped)

    def refusal(self, charge: str) -> str:
        t = self.ledger.t
        return f"t={t} is past the horizon" if self.model.is_over(t) else f"{charge} at t={t} exceeds the"

    def note(self, b: int | None, amount: int, envelope: str) -> None:
        self.facts[len(self.facts)] = (self.ledger.t, b, amount, envelope)

    def image(self) -> Any:
        return self.ledger.save(), list(self.journal), self.ledger.charged, self.ledger.remaining()

    @rule(amount=amounts, envelope=envelopes, spans=st.booleans())
    def charge(self, amount: int, envelope: str, spans: bool) -> None:
        book, e = (self.ledger.open if spans else self.ledger.add), nano(amount)
        fits, before = self.fits(**{envelope: amount}), self.image()
        assert self.ledger.can(**{envelope: e}) == fits
        assert (self.ledger.remaining(envelope) >= e) == fits
        if fits:
            book(e, envelope)
            self.note(None if spans else self.ledger.t, amount, envelope)
        else:
            with pytest.raises(BudgetExceeded, match=self.refusal(f"{e} for {envelope}")):
                book(e, envelope)
            assert self.image() == before

    @precondition(lambda self: any(b is None for _, b, _, _ in self.facts.values()))
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        still_open = [i for i, fact in self.facts.items() if fact[1] is None]
        chosen = data.draw(st.integers(0, len(still_open) - 1))
        first, _, amount, envelope = self.facts[still_open[chosen]]
        now = min(self.ledger.t, self.model.window) if self.model.horizon_bound else self.ledger.t
        last = data.draw(st.integers(first, now))
        key = [c.key for c in self.journal if isinstance(c, Span) and c.b is None and not self.closed(c.key)][chosen]
        self.ledger.close(key, last)
        self.facts[still_open[chosen]] = (first, last, amount, envelope)

    def closed(self, key: int) -> bool:
        return any(isinstance(c, Span) and c.key == key and c.b is not None for c in self.journal)

    @rule(decide=st.integers(0, 7), publish=st.integers(0, 7), yes=st.booleans())
    def reserve(self, decide: int, publish: int, yes: bool) -> None:
        reserved, before = {"decide": nano(decide), "publish": nano(publish)}, self.image()
        fits = self.fits(decide=decide, publish=publish)
        assert self.ledger.can(**reserved) == fits
        if not fits:
            with pytest.raises(BudgetExceeded, match=self.refusal("for decide and publish")):
                self.ledger.reserve(**reserved)
            assert self.image() == before
            return
        self.ledger.reserve(**reserved)
        assert before[-1] - self.ledger.remaining() == nano(decide + publish)
        self.ledger.settle(reserved, {"decide": nano(decide)} if yes else {})
        if yes and decide:
            self.note(self.ledger.t, decide, "decide")
        assert yes or self.image()[1:] == before[1:]

    @rule(units=st.integers(1, 3))
    def wait(self, units: int) -> None:
        for t in range(self.ledger.t + 1, self.ledger.t + 1 + units):
            self.ledger.advance(t, None)

    @rule()
    def restart(self) -> None:
        saved, (public, sealed) = self.ledger.save(), decode(encode(self.ledger.save()))
        self.ledger = self.blank()
        self.ledger.load(public, sealed)
        assert encode(self.ledger.save()) == encode(saved)

    @invariant()
    def the_law_is_kept_exactly(self) -> None:
        now, window, facts = self.ledger.t, self.model.window, list(self.facts.values())
        assert recount(self.journal, self.model).nano == fullest(facts, window, now) <= LIMIT
        over = self.model.is_over(now)
        assert self.ledger.remaining().nano == (0 if over else LIMIT - total(facts, now - window + 1, now))
        audit = self.ledger.audit()
        assert audit.holds
        assert recount(self.journal, self.model) <= audit.peak <= audit.limit == nano(LIMIT)
        assert all(len(meter["dated"]) <= window for meter in self.ledger.save()[0]["meters"])


def test_random_schedules_never_break_the_law_and_nothing_that_fits_is_refused() -> None:
    """Points, spans closed at any time, reservations, caps, restarts: the meters agree with the slow count."""
    run_state_machine_as_test(Books, settings=settings(fixed, max_examples=150, stateful_step_count=40))


@fixed
@given(models, st.lists(st.tuples(st.sampled_from(["point", "span", "close", "wait"]), amounts), max_size=30))
def test_the_audit_is_the_recount(model: PrivacyModel, schedule: list[tuple[str, int]]) -> None:
    """To the nano-epsilon, where spans close at the unit of their last reading."""
    journal: list[Fact] = []
    ledger = Ledger(model, journal=journal.append)
    ledger.advance(1, None)
    spans: list[Span] = []
    for verb, amount in schedule:
        if verb == "wait" and not (model.horizon_bound and ledger.t == model.window):
            ledger.advance(ledger.t + 1, None)
        elif verb == "close" and spans:
            ledger.close(spans.pop().key, ledger.t)
        elif verb == "point" and ledger.can(publish=nano(amount)):
            ledger.add(nano(amount), "publish")
        elif verb == "span" and ledger.can(decide=nano(amount)):
            spans.append(ledger.open(nano(amount), "decide"))
        assert ledger.audit().peak == recount(journal, model)


def test_what_was_reserved_and_handed_back_is_not_in_the_audit() -> None:
    """A yes costs v; the release that was kept free for it was never made."""
    journal: list[Fact] = []
    ledger = Ledger(WEvent(epsilon=1, w=3), journal=journal.append)
    ledger.advance(1, None)
    reserved = {"decide": Epsilon(0.1), "publish": Epsilon(0.5)}
    ledger.reserve(**reserved)
    ledger.settle(reserved, {"decide": Epsilon(0.1)})
    assert journal == [Point(1, Epsilon(0.1), "decide")]
    assert ledger.audit().peak == recount(journal, ledger.model) == Epsilon(0.1)


def test_memory_stays_bounded_on_an_endless_stream() -> None:
    """However long it runs and however many spans it has seen, what is kept is a window's worth."""
    ledger, size = Ledger(WEvent(epsilon=1, w=7)), 0
    for t in range(1, 5001):
        ledger.advance(t, None)
        span = ledger.open(Epsilon(0.01), "decide")
        ledger.add(Epsilon(0.02), "publish")
        ledger.close(span.key, t)
        public, _ = ledger.save()
        assert len(public["meters"][0]["dated"]) <= 7
        assert public["spans"] == public["meters"][0]["open"] == []
        size = max(size, len(encode(public))) if t <= 1000 else size
        assert len(encode(public)) <= size + 40  # the numbers themselves grow a digit now and then


@pytest.mark.parametrize("epsilon", [1, 1.0, "1"])
def test_ten_times_one_tenth_is_one_and_an_eleventh_is_refused(epsilon: Any) -> None:
    """In floats ten times 0.1 is 0.9999999999999999, and there is always a little left."""
    ledger = started(WEvent(epsilon=epsilon, w=10))
    for t in range(1, 11):
        ledger.add(Epsilon(0.1), "publish")
        if t < 10:
            ledger.advance(t + 1, None)
    assert ledger.remaining() == Epsilon(0)
    with pytest.raises(BudgetExceeded, match=r"^0\.000000001 for publish at t=10 exceeds the 0 that remain of"):
        ledger.add(nano(1), "publish")
    ledger.advance(11, None)
    assert ledger.remaining() == Epsilon(0.1)


def test_a_span_counts_once_in_a_window_and_for_as_long_as_the_window_meets_it() -> None:
    """Opened at 1 and closed at 4 it concerns a window of 3 until unit 6."""
    ledger = started(WEvent(epsilon=1, w=3))
    span = ledger.open(Epsilon(0.4), "decide")
    left = []
    for t in range(2, 9):
        ledger.advance(t, None)
        if t == 5:
            ledger.close(span.key, 4)
        left.append(str(ledger.remaining()))
    assert left == ["0.6", "0.6", "0.6", "0.6", "0.6", "1", "1"]


def test_caps_are_budgets_inside_the_budget() -> None:
    """An envelope may be empty while the stream still has something, and the other way round."""
    ledger = started(WEvent(epsilon=1, w=2), decide=Epsilon(0.3))
    ledger.add(Epsilon(0.3), "decide")
    assert (ledger.remaining("decide"), ledger.remaining("publish")) == (Epsilon(0), Epsilon(0.7))
    with pytest.raises(BudgetExceeded, match=r"^0\.1 for decide at t=1 exceeds the 0 that remain"):
        ledger.add(Epsilon(0.1), "decide")
    ledger.add(Epsilon(0.7), "publish")
    assert not ledger.can(publish=nano(1))
    with pytest.raises(BadInput, match="capped before the first charge"):
        ledger.cap(publish=Epsilon(0.5))


def test_a_new_ledger_has_booked_nothing() -> None:
    ledger = Ledger(WEvent(epsilon=1, w=2))
    assert (ledger.t, ledger.sequence, ledger.charged, ledger.audit().peak) == (0, 0, 0, Epsilon(0))


def test_a_span_that_fills_its_envelope_can_still_read() -> None:
    """And nothing else fits beside it."""
    ledger = started(WEvent(epsilon=1, w=2), decide=Epsilon(0.3))
    span = ledger.open(Epsilon(0.3), "decide")
    assert ledger.can(span.key)
    assert not ledger.can(span.key, decide=nano(1))
    assert ledger.can(span.key, publish=Epsilon(0.7))
    assert not ledger.can(span.key, publish=Epsilon("0.700000001"))


def test_a_reservation_is_settled_in_its_own_unit_or_never() -> None:
    """Handed back later it would take away what another unit has paid."""
    ledger = started(WEvent(epsilon=1, w=2))
    reserved = {"decide": Epsilon(0.4)}
    ledger.reserve(**reserved)
    ledger.advance(2, None)
    with pytest.raises(BadInput, match="only what was reserved in this time unit can be handed back"):
        ledger.settle(reserved, {})
    assert ledger.remaining() == Epsilon(0.6)


def test_a_state_is_not_loaded_into_a_ledger_that_runs() -> None:
    saved = started(WEvent(epsilon=1, w=2)).save()
    ledger = started(WEvent(epsilon=1, w=2))
    ledger.add(Epsilon(1), "publish")
    with pytest.raises(BadState, match="a state is loaded before the first unit"):
        ledger.load(*saved)
    assert ledger.remaining() == Epsilon(0)


def test_a_refusal_names_the_least_that_is_left_in_any_envelope_that_was_asked() -> None:
    ledger = started(WEvent(epsilon=1, w=2), decide=Epsilon(0.2))
    for envelopes in (("decide", "publish"), ("publish", "decide")):
        with pytest.raises(BudgetExceeded, match=rf"^1 for {' and '.join(envelopes)} at t=1 exceeds the 0\.2 that"):
            ledger.reserve(**dict.fromkeys(envelopes, Epsilon(0.5)))


def test_what_the_next_unit_can_cost_is_what_is_left_and_what_leaves_the_window() -> None:
    ledger = started(WEvent(epsilon=1, w=2))
    ledger.add(Epsilon(0.7), "publish")
    assert ledger.remaining_next() == Epsilon(0.3)
    ledger.advance(2, None)
    ledger.add(Epsilon(0.2), "publish")
    assert (ledger.remaining(), ledger.remaining_next()) == (Epsilon(0.1), Epsilon(0.8))


@pytest.mark.parametrize("verb", ["cap", "add", "open", "can", "reserve", "remaining"])
def test_a_misspelt_envelope_is_refused(verb: str) -> None:
    """Whoever asks about an envelope that does not exist gets no answer, least of all a yes past its cap."""
    ledger, e = started(EventLevel(epsilon=1), publish=nano(1)), Epsilon(0.5)
    calls: dict[str, Any] = {"add": (e, "publsh"), "open": (e, "publsh"), "remaining": ("publsh",)}
    with pytest.raises(BadInput, match="an envelope is one of decide, publish, monitor, quality; got 'publsh'"):
        getattr(ledger, verb)(*calls.get(verb, ()), **({} if verb in calls else {"publsh": e}))


@pytest.mark.parametrize("t", [0, 1, 3, 7, -1])
def test_time_units_come_one_after_another(t: int) -> None:
    """Neither again, nor with a gap, nor backwards; and a refusal leaves the ledger where it was."""
    ledger = started(WEvent(epsilon=1, w=2))
    with pytest.raises(OutOfOrder, match=f"expected t=2, got t={t}"):
        ledger.advance(t, None)
    ledger.advance(2, None)


def test_a_population_shares_one_budget() -> None:
    """Every stream sets its epsilon aside when it joins; who does not fit, or protects otherwise, is refused."""
    town = Population("town", 1)
    Ledger(WEvent(epsilon=0.6, w=3), population=town)
    with pytest.raises(BadInput, match='the streams of population "town" must share one kind'):
        Ledger(EventLevel(epsilon=0.1), population=town)
    with pytest.raises(BudgetExceeded, match=r'"town" has 0\.4 of 1 left and this stream asks for 0\.400000001'):
        Ledger(WEvent(epsilon="0.400000001", w=3), population=town)
    Ledger(WEvent(epsilon=0.4, w=9), population=town)
    assert [model.epsilon for model in town.members] == [Epsilon(0.6), Epsilon(0.4)]
