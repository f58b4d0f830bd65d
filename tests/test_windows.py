"""No protected set pays more than epsilon, recounted from stores, whoever makes up the stream; and what is caught."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.audit import windows
from penstock.audit.adversaries import (
    ADVERSARIES,
    ATTENDANCES,
    Adversary,
    Attendance,
    Seen,
    chaser,
    empty,
    everyone,
    leaving_early,
    mirror,
    mixture,
    other_bin,
    saver,
    window_edge,
)
from penstock.audit.broken.float_budget import FloatBudget
from penstock.audit.broken.overspender import Overspender
from penstock.audit.broken.wrong_window import WrongWindow
from penstock.audit.planted import Planted
from penstock.audit.recounted import Fullest, fullest, recount_one_by_one
from penstock.audit.windows import sweep
from penstock.charges import Fact, Point, Span, Touch, recount
from penstock.checks import Kernel
from penstock.checks.subject import example_models
from penstock.epsilon import Epsilon
from penstock.laws import named
from penstock.ledger import Ledger
from penstock.meters import PresenceMeter, Rows
from penstock.models import PrivacyModel
from penstock.primitives.segment import SegmentPlan, Verdict
from penstock.queries import Distance
from penstock.store.record import pack


@dataclass(kw_only=True)
class Greedy(ps.Mechanism):
    """Runs comparisons whenever it can, and spends all that the ledger leaves it: nothing is held back."""

    proven_for: ClassVar = (ps.EventLevel, ps.WEvent, ps.UserLevel, ps.MContext, ps.DeltaNeighbourhood)

    def begin(self) -> None:
        self.segments = [self.curator.segment() for _ in range(2)]

    def decide(self, snapshot: ps.Snapshot) -> ps.Release:
        e, above = self.model.epsilon / 11, False
        for c, segment in enumerate(self.segments, start=1):
            if not segment.running:
                segment.renew(SegmentPlan(c, e, e / 3))
            above |= segment.above(snapshot, Distance(self.last.values), 1000, then=e) is Verdict.ABOVE
        left = self.curator.remaining()
        return self.publish(snapshot, left) if left and above else self.republish(snapshot)


KINDS: list[type[ps.Mechanism]] = [*ps.mechanisms().values(), Greedy]
PROVEN = [(kind, law) for kind in KINDS for law in kind.proven_for]
CASES = [pytest.param(kind, example_models(law)[0], id=f"{kind.__name__}-{law.__name__}") for kind, law in PROVEN]
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("spas", {"warm_up": 1, "direct": False}),
    ("spas", {"warm_up": 2, "histogram": "adaptive"}),
    ("bd", {"groups": 3}),
    ("bd", {"groups": 2, "shift": True, "histogram": "quadtree"}),
    ("ba", {"groups": 3, "shift": True}),
    ("fast", {"rate": 0.5, "blocks": True}),
    ("dsft", {"decide_share": 0.5, "metric": "l2"}),
    ("dsat", {"decide_share": 0.1, "burn_in": 0, "gain": 3.0}),
    ("ma", {"mode": "single", "k": 5}),
    ("rg", {"rate": 0.5, "limit": 50, "growth": 1.5}),
    ("pegasus", {"max_length": 3, "histogram": "quadtree"}),
    ("sliding_baseline", {"width": 3}),
    ("fixed", {"every": 3}),
]


def within_the_law(found: Fullest) -> bool:
    return found.spent <= found.limit and found.faults == 0


@pytest.mark.parametrize(("kind", "model"), CASES)
def test_no_protected_set_pays_more_than_epsilon(kind: type[ps.Mechanism], model: PrivacyModel) -> None:
    steps = min(model.window, 12) if model.horizon_bound else 2 * model.window + 5
    tries: list[tuple[Adversary, Attendance, int]] = [
        (saver, leaving_early, 2),
        (chaser, everyone, 0),
        (mixture, everyone, 1),
    ]
    for seed, (adversary, attendance, restarts) in enumerate(tries):
        found = fullest(kind, model, adversary, steps, seed, attendance=attendance, restarts=restarts)
        assert within_the_law(found), (adversary, found)
        assert found.units == steps


@pytest.mark.parametrize(("key", "parameters"), VARIANTS, ids=[f"{key}-{i}" for i, (key, _) in enumerate(VARIANTS)])
def test_nor_with_unusual_parameters(key: str, parameters: dict[str, Any]) -> None:
    for seed, adversary in enumerate((saver, chaser, other_bin)):
        for w in (1, 4):
            model = ps.WEvent(epsilon="0.7", w=w)
            found = fullest(ps.mechanism(key), model, adversary, 3 * w + 2, seed, restarts=seed, parameters=parameters)
            assert within_the_law(found), (adversary, w, found)


@pytest.mark.parametrize("attendance", ATTENDANCES.values(), ids=ATTENDANCES)
@pytest.mark.parametrize("kind", [kind for kind, law in PROVEN if law is ps.MContext])
def test_nor_does_anybody_who_comes_and_goes(kind: type[ps.Mechanism], attendance: Attendance) -> None:
    for seed, m in enumerate((1, 3)):
        model = ps.MContext(epsilon=1, m=m, per_unit=1000)
        assert within_the_law(fullest(kind, model, chaser, 14, seed, attendance=attendance, restarts=3 * seed))


@pytest.mark.parametrize("kind", [Greedy, ps.SPAS, ps.BA, ps.RG])
def test_nor_if_a_stream_is_taken_up_after_every_unit(kind: type[ps.Mechanism]) -> None:
    assert within_the_law(fullest(kind, ps.WEvent(epsilon=1, w=3), chaser, 12, 5, restarts=100))


@pytest.mark.parametrize("kind", [Greedy, ps.Uniform, ps.DSFT])
def test_nor_past_the_horizon(kind: type[ps.Mechanism]) -> None:
    model = ps.UserLevel(epsilon=1, horizon=4, on_horizon="republish")
    assert within_the_law(fullest(kind, model, chaser, 11, 1))


def played(moves: Sequence[int]) -> Adversary:
    """An adversary whose every move is given."""
    return lambda seen: (mirror, chaser, other_bin, empty)[moves[(seen.t - 1) % len(moves)]](seen)


@pytest.mark.parametrize("kind", [Greedy, ps.SPAS, ps.BA, ps.BD, ps.DSAT, ps.RescueDP], ids=lambda kind: kind.__name__)
@settings(max_examples=12, deadline=None)
@given(moves=st.lists(st.integers(0, 3), min_size=1, max_size=16), w=st.integers(1, 6), seed=st.integers(0, 99))
def test_whatever_the_adversary_does(kind: type[ps.Mechanism], moves: list[int], w: int, seed: int) -> None:
    model = ps.WEvent(epsilon="0.7", w=w)
    assert within_the_law(fullest(kind, model, played(moves), 2 * w + 4, seed, restarts=seed % 3))


def test_whoever_is_present() -> None:
    @settings(max_examples=25, deadline=None)
    @given(st.lists(st.sets(st.sampled_from("abc")), min_size=14, max_size=14), st.integers(1, 4), st.integers(0, 9))
    def holds(presence: list[set[str]], m: int, seed: int) -> None:
        model = ps.MContext(epsilon=1, m=m, per_unit=1000)
        found = fullest(
            Greedy, model, chaser, 14, seed, attendance=lambda seen: tuple(sorted(presence[seen.t - 1])), restarts=2
        )
        assert within_the_law(found)

    holds()


# ---- the store holds what the ledger booked -------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "model"), CASES)
def test_the_store_holds_what_the_ledger_said(kind: type[ps.Mechanism], model: PrivacyModel) -> None:
    """Every charge, in order, and nothing else: the journal is overheard at its source."""
    heard, read = list[Fact](), list[Fact]()

    class Overheard(ps.Curator):
        def __init__(self, *arguments: Any, journal: Callable[[Fact], None], **options: Any) -> None:
            def both(fact: Fact) -> None:
                heard.append(fact)
                journal(fact)

            super().__init__(*arguments, journal=both, **options)

    def recounted(facts: list[Fact], *law: Any) -> Epsilon:
        read.extend(facts)
        return recount(facts, *law)

    with mock.patch("penstock.session.Curator", Overheard), mock.patch("penstock.audit.recounted.recount", recounted):
        fullest(kind, model, window_edge, min(model.window + 3, 7), restarts=0)
    assert read == heard
    assert any(isinstance(fact, Point | Span) for fact in read)


# ---- and it can fail ------------------------------------------------------------------------------------------------


def hiding(kernel: Kernel) -> type[ps.Curator]:
    """A faulty curator who never says that less than nothing is left: a store would not take that down."""
    faulty = kernel.curator
    assert isinstance(faulty, type)
    assert issubclass(faulty, ps.Curator)

    class HidingLedger(faulty.ledger_type):  # type: ignore[misc, name-defined]
        def remaining(self, envelope: str | None = None) -> Epsilon:
            try:
                left: Epsilon = super().remaining(envelope)
            except ps.BadInput:
                return Epsilon(0)
            return left

        def remaining_next(self) -> Epsilon:
            return Epsilon(0)

    class HidingCurator(faulty):  # type: ignore[misc, valid-type]
        ledger_type = HidingLedger

    return HidingCurator


@dataclass(kw_only=True)
class Absorber(Planted):
    """A unit that publishes takes the shares of those before it that did not; none is nullified in return."""

    kernel: ClassVar = Overspender.kernel
    published: int = ps.state(0)

    def decide(self, snapshot: ps.Snapshot) -> ps.Release:
        share = self.model.epsilon / 2 / self.model.window
        if self.moved(snapshot, share, np.zeros(self.curator.bins, np.int64))[0] < 1000:
            return self.republish(snapshot)
        shares = min(snapshot.t - self.published, self.model.window)
        self.published = snapshot.t
        return self.publish(snapshot, share * shares)


class ForgivingMeter(PresenceMeter):
    """Whoever was away has paid nothing."""

    def advance(self, present: Rows) -> None:
        back = np.setdiff1d(present, self._here)
        super().advance(present)
        self._paid[back] = 0
        self.total = self.recount()


class ForgivingLedger(Ledger):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._meter = ForgivingMeter(self.model.window)


class ForgivingCurator(ps.Curator):
    ledger_type = ForgivingLedger


@dataclass(kw_only=True)
class Forgiving(Planted):
    """Spends half of what is left."""

    proven_for: ClassVar[Any] = (ps.MContext,)
    under: ClassVar = ps.MContext(epsilon=1, m=4, per_unit=1000)
    kernel: ClassVar = Kernel(curator=ForgivingCurator)

    def decide(self, snapshot: ps.Snapshot) -> ps.Release:
        left = self.curator.remaining() / 2
        return self.publish(snapshot, left) if left else self.republish(snapshot)


def stored(planted: type[Planted], adversary: Adversary, **options: Any) -> Fullest:
    """What a store makes of a planted failure."""
    with mock.patch("penstock.session.Curator", hiding(planted.kernel)):
        return fullest(planted, planted.under, adversary, **options)


@pytest.mark.parametrize("restarts", [0, 3])
@pytest.mark.parametrize(
    ("planted", "spent"), [(Overspender, "5"), (WrongWindow, "2"), (FloatBudget, "1.1")], ids=lambda case: str(case)
)
def test_planted_failures_are_found_in_the_store(planted: type[Planted], spent: str, restarts: int) -> None:
    found = stored(planted, chaser, restarts=restarts)
    assert not found.holds
    assert found.faults == 0
    assert found.spent == Epsilon(spent) or (restarts and planted is FloatBudget)  # whose sums do not outlive it


def test_some_are_found_by_the_right_adversary_alone() -> None:
    assert stored(Absorber, chaser).holds
    assert stored(Absorber, mirror).holds
    assert not stored(Absorber, saver).holds
    assert stored(Forgiving, chaser, attendance=everyone, restarts=0).holds
    assert not stored(Forgiving, chaser, attendance=leaving_early, restarts=0).holds


def test_a_charge_that_is_not_stored_is_missed() -> None:
    def forgets(release: ps.Published, facts: list[Fact], *rest: Any) -> Any:
        return pack(release, facts[1:], *rest)

    with mock.patch("penstock.writer.pack", forgets), pytest.raises(ps.PenstockError, match="every charge of t=1"):
        fullest(ps.Uniform, ps.WEvent(epsilon=1, w=3), chaser, restarts=0)


# ---- two recounts ---------------------------------------------------------------------------------------------------

UNITS = 12


@st.composite
def bare_facts(draw: st.DrawFn) -> list[Fact]:
    """Points, spans that are closed and spans that are not, and what they have read."""
    units, cents = st.integers(1, UNITS), st.integers(1, 9).map(lambda nano: Epsilon.of_nano(nano))
    facts: list[Fact] = [Point(draw(units), draw(cents), "publish") for _ in range(draw(st.integers(0, 5)))]
    for key in range(draw(st.integers(0, 4))):
        a, e, closed = draw(units), draw(cents), draw(st.booleans())
        b = draw(st.integers(a, UNITS))
        facts.append(Span(a, None, e, "decide", key))
        facts += [Touch(t, key) for t in sorted(draw(st.sets(st.integers(a, b))) | {a})]
        facts += [Span(a, b, e, "decide", key)] if closed else []
    return facts


@settings(max_examples=300, deadline=None)
@given(
    bare_facts(), st.integers(1, UNITS + 2), st.lists(st.sets(st.sampled_from("abc")), min_size=UNITS, max_size=UNITS)
)
def test_two_recounts_agree(facts: list[Fact], window: int, present: list[set[str]]) -> None:
    presence = [sorted(here) for here in present]
    for model in (ps.WEvent(epsilon=1, w=window), ps.UserLevel(epsilon=1, horizon=UNITS), ps.EventLevel(epsilon=1)):
        assert recount(facts, model) == recount_one_by_one(facts, model)
    context = ps.MContext(epsilon=1, m=window)
    assert recount(facts, context, presence) == recount_one_by_one(facts, context, presence)


def test_the_second_recount_by_hand() -> None:
    e = Epsilon(1)
    spans: list[Fact] = [Span(2, None, e * 10, "decide", 0), Touch(2, 0), Touch(5, 0), Span(2, 5, e * 10, "decide", 0)]
    facts: list[Fact] = [Point(1, e, "publish"), *spans, Point(4, e * 2, "publish"), Point(8, e * 4, "publish")]
    law = ps.WEvent(epsilon=1, w=3)
    assert recount_one_by_one([], law) == Epsilon(0)
    assert recount_one_by_one(facts, law) == Epsilon(12)
    assert recount_one_by_one(facts, ps.WEvent(epsilon=1, w=4)) == Epsilon(14)  # from 5 to 8 it is as much
    assert recount_one_by_one([*facts, Span(7, None, e * 20, "decide", 9)], law) == Epsilon(30)  # open: it goes on
    presence = [["ann"], [], [], ["ann", "bob"], ["bob"], [], [], ["ann"]]
    paid = [recount_one_by_one(facts, ps.MContext(epsilon=1, m=m), presence) for m in (1, 2, 3)]
    assert paid == [Epsilon(10), Epsilon(12), Epsilon(12)]  # bob at 5, bob at 4 and 5; ann never meets the span


# ---- the adversaries, and the command -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ADVERSARIES)
@given(st.integers(1, 60), st.integers(1, 9), st.lists(st.integers(-(2**60), 2**60), min_size=3, max_size=3))
@settings(max_examples=20, deadline=None)
def test_an_adversary_names_counts_that_there_can_be(name: str, t: int, window: int, last: list[int]) -> None:
    e = Epsilon(1)
    seen = Seen(t, window, e, np.array(last), e, e, 1000, t % 7, np.random.default_rng(t))
    ps.Snapshot(t, ADVERSARIES[name](seen), ATTENDANCES["anybody"](seen))
    assert seen.last.tolist() == last


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two adversaries, for speed."""
    monkeypatch.setattr(windows, "ADVERSARIES", {"chaser": chaser, "mirror": mirror})
    monkeypatch.setattr(windows, "ATTENDANCES", {"everyone": everyone})


@dataclass(kw_only=True)
class Spendthrift(ps.Mechanism):
    proven_for: ClassVar = (ps.EventLevel, ps.MContext)

    def decide(self, snapshot: ps.Snapshot) -> ps.Release:
        left = self.curator.remaining()
        return self.publish(snapshot, left) if left else self.republish(snapshot)


@pytest.mark.usefixtures("few")
def test_everybody_can_sweep_a_mechanism_of_their_own() -> None:
    done: list[None] = []
    rows = list(sweep([Spendthrift], rounds=2, advance=lambda: done.append(None)))
    assert len(done) == len(rows) == 4
    assert {named(row.model) for row in rows} == {"event-level", "m-context"}
    assert all(row.fullest.part == 1 and row.streams >= 8 and row.by.startswith("chaser") for row in rows)


def test_the_command_shows_how_full_sets_get(capsys: pytest.CaptureFixture[str]) -> None:
    assert windows.main(["baseline", "--workers", "2", "--markdown"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("Baseline") == 4
    assert "99999999/100000000" in shown  # 30 times 1 / 30, rounded down


@pytest.mark.usefixtures("few")
def test_the_command_says_so_if_the_law_is_broken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.session.Curator", hiding(Overspender.kernel))
    monkeypatch.setattr("penstock.catalogue.mechanism", {"overspender": Overspender}.__getitem__)
    assert windows.main(["overspender", "--workers", "1"]) == 1
    assert "500.0%, BROKEN" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["nonsense"], ["bd", "--rounds", "0"], ["bd", "--workers", "0"]])
def test_the_command_refuses(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert windows.main(arguments) == 2
    assert "error" in capsys.readouterr().err
