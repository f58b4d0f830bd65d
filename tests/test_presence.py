"""m-context: what each user's last m presences have paid, against a slow count per user; and who is stored how."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.charges import Fact, Point, Span, recount
from penstock.codec import decode, encode
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.errors import BadPresence, BudgetExceeded
from penstock.ledger import Ledger
from penstock.models import MContext
from penstock.noise import ScriptedNoise
from penstock.primitives.segment import SegmentPlan, Verdict
from penstock.queries import Counts, Distance
from penstock.types import Snapshot

fixed = settings(derandomize=True, deadline=None, max_examples=120)

LIMIT = 12  # nano-epsilon
USERS = ["ann", "bob", "cleo"]

contexts = st.builds(MContext, epsilon=st.just(Epsilon.of_nano(LIMIT)), m=st.integers(1, 4))
crowds = st.lists(st.sampled_from(USERS), unique=True)
Act = tuple[str, int, Any]
acts: st.SearchStrategy[Act] = st.one_of(
    st.tuples(st.just("come"), st.just(0), crowds),
    st.tuples(st.sampled_from(["point", "span"]), st.integers(1, 7), st.none()),
    st.tuples(st.sampled_from(["compare", "close"]), st.integers(0, 3), st.none()),
    st.tuples(st.just("restart"), st.just(0), st.none()),
)
schedules = st.lists(acts, min_size=20, max_size=50)


@dataclass
class Gathering:
    """A ledger under m-context and, beside it, everything that happened."""

    model: MContext
    journal: list[Fact] = field(default_factory=list)
    presence: list[list[str]] = field(default_factory=list)
    open: list[Span] = field(default_factory=list)
    read: dict[int, set[int]] = field(default_factory=dict)  # a span's key -> the units it compared at

    def __post_init__(self) -> None:
        self.ledger = self.blank()
        self.come([])

    def blank(self) -> Ledger:
        return Ledger(self.model, journal=self.journal.append)

    def come(self, crowd: list[str]) -> None:
        self.presence.append(crowd)
        self.ledger.advance(len(self.presence), crowd)

    def act(self, verb: str, number: int, more: Any) -> None:
        e = Epsilon.of_nano(number)
        if verb == "come":
            self.come(more)
        elif verb == "point" and self.ledger.can(publish=e):
            self.ledger.add(e, "publish")
        elif verb == "span" and self.ledger.can(decide=e):
            self.open.append(self.ledger.open(e, "decide"))
            self.compare(self.open[-1].key)
        elif verb == "compare" and self.open:
            self.compare(self.open[number % len(self.open)].key)
        elif verb == "close" and self.open:
            key = self.open.pop(number % len(self.open)).key
            self.ledger.close(key, max(self.read[key]))
        elif verb == "restart":
            self.restart(*decode(encode(self.ledger.save())))

    def compare(self, key: int) -> None:
        if self.ledger.can(key):
            self.ledger.touch(key)
            self.read.setdefault(key, set()).add(self.ledger.t)

    def restart(self, public: dict[str, Any], sealed: dict[str, Any] | None) -> None:
        self.ledger = self.blank()
        self.ledger.load(public, sealed)
        self.open = self.open if sealed else []  # a segment whose threshold is lost has made its last comparison

    def metered(self) -> int:
        total: int = self.ledger.save()[1]["meters"][0]["total"]
        return total

    def runs(self, user: str) -> list[list[int]]:
        """The user's protected sets: m presences in a row, the last of them first."""
        own = [t for t, here in enumerate(self.presence, start=1) if user in here]
        return [own[max(i - self.model.m, 0) : i] for i in range(len(own), 0, -1)]

    def due(self) -> int:
        """What the fullest run of m presences that ends now has paid, user by user."""
        return self.fullest([self.runs(user)[0] for user in self.presence[-1]])

    def lost(self) -> int:
        """What was learnt about the most exposed run of all."""
        return self.fullest([run for user in USERS for run in self.runs(user)])

    def fullest(self, runs: list[list[int]]) -> int:
        """Points in a run count, and spans that compared in it, each once."""
        spans = {c.key: c for c in self.journal if isinstance(c, Span)}
        facts = [({c.t}, c.e.nano) for c in self.journal if isinstance(c, Point)]
        facts += [(self.read[key], span.e.nano) for key, span in spans.items()]
        return max((sum(nano for read, nano in facts if read & set(run)) for run in runs), default=0)


@fixed
@given(contexts, schedules)
def test_the_meter_is_exact_and_nobody_loses_more_than_epsilon(model: MContext, schedule: list[Act]) -> None:
    """Random crowds, points, spans, comparisons and restarts: to the nano-epsilon, for whoever is present."""
    gathering = Gathering(model)
    for act in schedule:
        gathering.act(*act)
        assert gathering.metered() == gathering.due()
        assert gathering.lost() <= LIMIT


@fixed
@given(contexts, schedules)
def test_a_recount_of_the_journal_keeps_the_law(model: MContext, schedule: list[Act]) -> None:
    """Exactly, after every step, whoever comes while a span is open."""
    gathering = Gathering(model)
    for act in schedule:
        gathering.act(*act)
        assert recount(gathering.journal, model, gathering.presence).nano <= LIMIT
        assert gathering.ledger.audit().holds


def test_a_span_opened_in_somebodys_absence_is_not_read_if_they_cannot_afford_it() -> None:
    """Ann has paid 0.9 and comes back while a span of 0.5 is open: what concerns her is the rest, not the span."""
    ledger = Ledger(MContext(epsilon=1, m=2))
    ledger.advance(1, ["ann"])
    ledger.add(Epsilon(0.9), "publish")
    ledger.advance(2, ["bob"])
    span = ledger.open(Epsilon(0.5), "decide")
    ledger.advance(3, ["ann"])
    assert ledger.remaining() == Epsilon(0.1)
    assert not ledger.can(span.key)
    with pytest.raises(BudgetExceeded, match=r"0\.5 for decide at t=3"):
        ledger.touch(span.key)
    ledger.advance(4, ["bob"])
    assert ledger.can(span.key, publish=Epsilon(0.5))


@fixed
@given(contexts, schedules, schedules)
def test_after_the_loss_of_presence_the_whole_history_still_keeps_the_law(
    model: MContext, before: list[Act], after: list[Act]
) -> None:
    """Without the sealed part everybody is taken to have paid everything; spans that were open have ended."""
    gathering = Gathering(model)
    for act in before:
        gathering.act(*act)
    gathering.restart(gathering.ledger.save()[0], None)
    gathering.come(USERS[:2])
    for act in after:
        gathering.act(*act)
        assert gathering.lost() <= LIMIT


@pytest.mark.parametrize("m", [1, 2, 3])
def test_after_a_loss_nobody_pays_before_their_m_th_presence(m: int) -> None:
    """And each user by their own count: who stays away stays fully paid."""
    model = MContext(epsilon=1, m=m)
    first = Ledger(model)
    first.advance(1, ["ann", "bob"])
    second = Ledger(model)
    second.load(first.save()[0], None)
    for presence in range(1, m + 1):
        second.advance(1 + presence, ["ann"])
        assert second.remaining() == (Epsilon(1) if presence == m else Epsilon(0))
    second.advance(2 + m, ["ann", "bob"])
    assert second.remaining() == (Epsilon(1) if m == 1 else Epsilon(0))


def test_after_a_loss_the_unit_that_was_under_way_cannot_be_asked_again() -> None:
    """Its users were present and have paid nobody knows how much: nothing remains until the next unit."""
    snapshot, model = Snapshot(1, [1, 0], present=["ann"]), MContext(epsilon=1, m=3)
    before = Curator(model, 2, noise=ScriptedNoise())
    before.begin_unit(snapshot)
    before.ask(snapshot, Counts(), Epsilon(1))
    after = Curator(model, 2, noise=ScriptedNoise())
    after.load(before.save()[0], None)
    assert after.remaining() == Epsilon(0)
    with pytest.raises(BudgetExceeded):
        after.ask(Snapshot(1, [1, 0], present=["ann"]), Counts(), Epsilon(1))


def test_after_a_loss_the_journal_knows_that_open_spans_have_ended() -> None:
    """Or a recount of the journal would count them in everything that follows, and find the law broken."""
    journal: list[Fact] = []
    model, presence = MContext(epsilon=1, m=2), [["ann"]] * 5
    plan = SegmentPlan(1, Epsilon(0.4), Epsilon(0.3))
    before = Curator(model, 1, noise=ScriptedNoise(), journal=journal.append)
    segment, snapshot = before.segment(plan), Snapshot(1, [0], present=["ann"])
    before.begin_unit(snapshot)
    assert segment.above(snapshot, Distance([0]), 9, then=Epsilon(0)) is Verdict.BELOW
    after = Curator(model, 1, noise=ScriptedNoise(), journal=journal.append)
    after.segment(plan)
    after.load(before.save()[0], None)
    for t in range(2, 6):
        snapshot = Snapshot(t, [0], present=["ann"])
        after.begin_unit(snapshot)
    after.ask(snapshot, Counts(), Epsilon(1))
    assert recount(journal, model, presence) <= Epsilon(1)


@pytest.mark.parametrize(("m", "peak"), [(1, 0), (2, 1)])
def test_after_a_loss_an_audit_counts_what_is_assumed_where_a_protected_set_reaches_back(m: int, peak: int) -> None:
    """With m = 1 every protected set is one presence, so what was lost is over."""
    model = MContext(epsilon=1, m=m)
    ledger = Ledger(model)
    ledger.load(Ledger(model).save()[0], None)
    for users in (1, 2, 3):
        ledger.advance(users, USERS[:users])
    assert ledger.audit().peak == Epsilon(peak)


def test_after_a_loss_users_are_counted_anew() -> None:
    ledger = Ledger(MContext(epsilon=1, m=2, max_users=2))
    ledger.advance(1, ["ann", "bob"])
    ledger.forget()
    assert ledger.remaining() == Epsilon(0)
    ledger.advance(2, ["cleo"])
    assert ledger.remaining() == Epsilon(0)


def test_ids_are_never_stored() -> None:
    """Neither in the public part nor in the sealed one, nor does the public part say who was there."""
    ids = ["ann@example.org", "bob@example.org"]
    curator = Curator(MContext(epsilon=1, m=2), 1, noise=ScriptedNoise())
    snapshot = Snapshot(1, [1], present=ids)
    curator.begin_unit(snapshot)
    curator.ask(snapshot, Counts(), Epsilon(0.5))
    public, sealed = curator.save()
    stored = encode([public, sealed])
    assert not any(user.encode() in stored or user.encode().hex().encode() in stored for user in ids)
    assert "roll" not in public["ledger"]
    assert "meters" not in public["ledger"]


def test_more_users_than_declared_are_refused() -> None:
    """The bound is on all users ever seen; a refused unit can be passed again."""
    ledger = Ledger(MContext(epsilon=1, m=2, max_users=2))
    ledger.advance(1, ["ann"])
    with pytest.raises(BadPresence, match="more than the declared 2 users have been present; raise max_users"):
        ledger.advance(2, ["bob", "cleo"])
    ledger.advance(2, ["ann", "bob"])
    with pytest.raises(BadPresence, match="more than the declared 2"):
        ledger.advance(3, ["cleo"])
    ledger.advance(3, ["bob"])


def test_presence_must_be_stated() -> None:
    """Nobody present is a statement; none at all is not. A user listed twice is refused before the ledger."""
    curator = Curator(MContext(epsilon=1, m=2), 1, noise=ScriptedNoise())
    with pytest.raises(BadPresence, match="m-context needs the users present in every time unit"):
        curator.begin_unit(Snapshot(1, [1]))
    with pytest.raises(BadPresence, match="listed twice"):
        Snapshot(1, [1], present=["ann", "ann"])
    curator.begin_unit(Snapshot(1, [0], present=[]))
    assert curator.remaining() == Epsilon(1)


def test_who_is_absent_pays_nothing() -> None:
    """A user's budget comes back with presences, not with time."""
    ledger = Ledger(MContext(epsilon=1, m=2))
    ledger.advance(1, ["ann"])
    ledger.add(Epsilon(1), "publish")
    for t in range(2, 6):
        ledger.advance(t, ["bob"])
        assert ledger.remaining() == Epsilon(1)
    ledger.advance(6, ["ann", "bob"])
    assert ledger.remaining() == Epsilon(0)
    ledger.advance(7, ["ann"])
    assert ledger.remaining() == Epsilon(1)


def test_memory_is_bounded_by_users_and_m() -> None:
    """Rings do not grow with time."""
    ledger, rng, sizes = Ledger(MContext(epsilon=1, m=3)), np.random.default_rng(5), []
    for t in range(1, 1001):
        ledger.advance(t, [f"user{u}" for u in np.flatnonzero(rng.random(20) < 0.4)])
        if ledger.can(publish=Epsilon(0.2)):
            ledger.add(Epsilon(0.2), "publish")
        sizes.append(len(encode(ledger.save())))
    assert max(sizes[100:]) <= max(sizes[:100]) + 200
