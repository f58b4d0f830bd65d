"""Past the horizon of a user-level stream nothing is read, nothing is spent and nothing is handed back."""

import copy
import json
import pickle
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from in_process import Crash, crash_at, penstock
from penstock.charges import Fact, Point, Span, recount
from penstock.checks import CHECKS, Subject
from penstock.codec import decode, encode
from penstock.desk import Question
from penstock.errors import HorizonReached
from penstock.laws import described, model_of
from penstock.ledger import ENVELOPES
from penstock.mechanisms.uniform import Uniform
from penstock.models import OnHorizon
from penstock.primitives.segment import SegmentPlan, Verdict
from penstock.proofs import fingerprint
from penstock.queries import Counts, Distance, EuclideanDistance, GroupSums
from penstock.store import Archive
from penstock.store.account import Record
from penstock.store.record import unpack
from penstock.store.verify import verify, verify_file
from penstock.types import Cause, Published

N = 3
RULES: tuple[OnHorizon, ...] = ("stop", "republish")
POINTS = ("intent", "draw", "write", "commit", "head")
SECRET = 31337
few = settings(derandomize=True, deadline=None, max_examples=60)


def law(rule: OnHorizon = "republish", horizon: int = N, **options: Any) -> ps.UserLevel:
    return ps.UserLevel(epsilon=4, horizon=horizon, on_horizon=rule, **options)


def unit(t: int) -> ps.Snapshot:
    return ps.Snapshot(t, [SECRET + 100 * t, SECRET])


@dataclass(kw_only=True)
class Secretive(ps.Mechanism):
    """Has a run of comparisons, a pool and groups open for as long as it is asked, and shares its budget out evenly."""

    proven_for: ClassVar = (ps.UserLevel,)

    def begin(self) -> None:
        self.e = self.model.epsilon / (8 * self.model.window)
        self.pool, self.grouper = self.curator.pool(reads=2), self.curator.grouper(self.e)
        self.segment = self.curator.segment(SegmentPlan(10**6, self.e, self.e / 10**6))

    def decide(self, snapshot: ps.Snapshot) -> ps.Release:
        if not self.curator.can(publish=self.e * 3, decide=self.e * 3, monitor=self.e):
            return self.republish(snapshot)
        self.grouper.extend(snapshot, 40)
        self.pool.absorb(snapshot, self.e)
        if self.segment.left:
            self.segment.above(snapshot, Distance(self.last.values), 50, then=self.e)
        return self.publish(snapshot, self.e, np.array([True, snapshot.t % 2 == 0]))


MAKERS: dict[str, Callable[..., ps.Mechanism]] = {
    "uniform": Uniform,
    "dsft": lambda **options: ps.DSFT(releases=2, total=2 * SECRET, **options),
    "secretive": lambda **options: Secretive(allow_unproven=True, **options),
}
every_maker = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
either_rule = pytest.mark.parametrize("rule", RULES)


# ---- the kernel by itself -------------------------------------------------------------------------------------------


class Overrun:
    """A curator with something of every kind open, moved past the horizon by somebody who asks for no rule."""

    def __init__(self, rule: OnHorizon, units: int) -> None:
        self.asked: list[tuple[int, str]] = []
        self.journal: list[Fact] = []
        curator = ps.Curator(law(rule), 2, noise=ps.ScriptedNoise(), journal=self.journal.append, answers=self._answers)
        self.e, self.curator = ps.Epsilon("0.1"), curator
        self.pool, self.grouper = curator.pool(), curator.grouper(self.e)
        self.segment = curator.segment(SegmentPlan(9, self.e, self.e / 9))
        self.fresh = curator.segment(SegmentPlan(9, self.e, self.e / 9))
        for t in range(1, units + 1):
            self.snapshot = unit(t)
            curator.begin_unit(self.snapshot)
            if t <= N:
                self.grouper.extend(self.snapshot, 40)
                self.pool.absorb(self.snapshot, self.e)
                self.segment.above(self.snapshot, Distance([0, 0]), 50, then=self.e)

    def _answers(self, question: Question, compute: Callable[[], Any]) -> Any:
        self.asked.append((self.curator.ledger.t, question.verb))
        return compute()


QUESTIONS: dict[str, Callable[[Overrun], object]] = {
    "ask": lambda o: o.curator.ask(o.snapshot, Counts(), o.e),
    "ask one bin": lambda o: o.curator.ask(o.snapshot, Counts(), o.e, bins=[1]),
    "ask bin by bin": lambda o: o.curator.ask(o.snapshot, Counts(), [o.e, o.e / 2]),
    "ask a distance": lambda o: o.curator.ask(o.snapshot, EuclideanDistance([0, 0]), o.e, envelope="decide"),
    "ask a group": lambda o: o.curator.ask(o.snapshot, GroupSums([0, -1]), o.e),
    "ask for a nano": lambda o: o.curator.ask(o.snapshot, Counts(), ps.Epsilon.of_nano(1)),
    "nearest": lambda o: o.curator.nearest(o.snapshot, [Distance([0, 0])], o.e),
    "sampled": lambda o: o.curator.sampled(o.snapshot, 0.5, o.e, limit=9),
    "absorb": lambda o: o.pool.absorb(o.snapshot, o.e),
    "absorb one bin": lambda o: o.pool.absorb(o.snapshot, o.e, bins=[0]),
    "extend": lambda o: o.grouper.extend(o.snapshot, 40),
    "add nothing": lambda o: o.curator.ledger.add(ps.Epsilon(0), "publish"),
    "reserve": lambda o: o.curator.ledger.reserve(publish=o.e),
    "open": lambda o: o.curator.ledger.open(o.e, "decide"),
    "touch": lambda o: o.curator.ledger.touch(next(f.key for f in o.journal if isinstance(f, Span))),
}


@either_rule
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_kernel_answers_nothing_past_the_horizon(question: str, rule: OnHorizon) -> None:
    QUESTIONS[question](Overrun(rule, N))  # at the horizon itself it can be asked, so that what follows means something
    for units in (N + 1, 2 * N + 1, 5 * N):
        overrun = Overrun(rule, units)
        ledger = overrun.curator.ledger
        before, booked = list(overrun.journal), (ledger.sequence, ledger.audit().peak)
        with pytest.raises(ps.BudgetExceeded, match="past the horizon, where nothing can be paid for"):
            QUESTIONS[question](overrun)
        assert overrun.journal == before
        assert (ledger.sequence, ledger.audit().peak) == booked
        assert not any(t > N for t, _ in overrun.asked)
        assert not overrun.curator.charged()


@either_rule
def test_comparisons_are_skipped_past_the_horizon_and_what_was_paid_can_be_read(rule: OnHorizon) -> None:
    overrun = Overrun(rule, N + 1)
    for segment in (overrun.segment, overrun.fresh):
        assert segment.above(overrun.snapshot, Distance([0, 0]), 50, then=overrun.e) is Verdict.SKIPPED
    assert overrun.pool.settle().tolist() == [N * SECRET + 100 * N * (N + 1) // 2, N * SECRET]  # nothing of N + 1
    assert [verb for t, verb in overrun.asked if t > N] == ["settle"]
    assert not overrun.curator.can()
    assert not any(overrun.curator.can(**{name: ps.Epsilon.of_nano(1)}) for name in ENVELOPES)
    assert not any(overrun.curator.remaining(name) for name in (None, *ENVELOPES))


class Books:
    """A ledger over one protected set, to which anything may happen; what it has left never grows."""

    def __init__(self, model: ps.PrivacyModel, capped: bool) -> None:
        self.model, self.capped, self.e = model, capped, ps.Epsilon("0.7")
        self.journal, self.spans = list[Fact](), list[int]()
        self.ledger = self.begun()
        self.wait()

    def begun(self) -> ps.Ledger:
        ledger = ps.Ledger(self.model, journal=self.journal.append)
        ledger.cap(**{"publish": ps.Epsilon(1)} if self.capped else {})
        return ledger

    def wait(self) -> None:
        over = self.ledger.t >= self.model.window
        assert self.ledger.remaining_next() == (ps.Epsilon(0) if over else self.ledger.remaining())
        meters = self.ledger.save()[0]["meters"]
        self.ledger.advance(self.ledger.t + 1, None)
        assert not over or self.ledger.save()[0]["meters"] == meters  # they stand still

    def add(self) -> None:
        if self.ledger.can(publish=self.e):
            self.ledger.add(self.e, "publish")
        else:
            with pytest.raises(ps.BudgetExceeded):
                self.ledger.add(self.e, "publish")

    def open(self) -> None:
        with suppress(ps.BudgetExceeded):
            self.spans.append(self.ledger.open(self.e, "publish").key)

    def close(self) -> None:
        if self.spans:
            self.ledger.close(self.spans.pop(), self.ledger.t)

    def lose(self) -> None:
        self.ledger.lose(self.model.epsilon)

    def forget(self) -> None:
        self.ledger.forget()

    def reload(self) -> None:
        saved, self.ledger = self.ledger.save(), self.begun()
        self.ledger.load(*(decode(encode(part)) for part in saved))


DEEDS = ("wait", "wait", "add", "open", "close", "lose", "forget", "reload")


@few
@given(
    deeds=st.lists(st.sampled_from(DEEDS), max_size=25),
    horizon=st.integers(1, 4),
    rule=st.sampled_from(RULES),
    capped=st.booleans(),
)
def test_nothing_comes_back_whatever_is_done(deeds: list[str], horizon: int, rule: OnHorizon, capped: bool) -> None:
    books = Books(law(rule, horizon), capped)
    for deed in deeds:
        left = books.ledger.remaining()
        getattr(books, deed)()
        assert books.ledger.remaining() <= (ps.Epsilon(0) if books.ledger.t > horizon else left)
        assert books.ledger.audit().holds
    assert recount(books.journal, books.model) <= books.model.epsilon
    assert all(fact.t <= horizon for fact in books.journal if isinstance(fact, Point))
    assert all(fact.a <= horizon for fact in books.journal if isinstance(fact, Span))


@dataclass(kw_only=True)
class Fussy(Uniform):
    """Has no idea what to do past its horizon."""

    def decide(self, snapshot: ps.Snapshot) -> ps.Release:
        if snapshot.t > self.model.window:
            raise RuntimeError("nobody told me")
        return super().decide(snapshot)


def test_a_mechanism_is_not_asked_what_to_do_past_the_horizon() -> None:
    mechanism = Fussy(model=law(), allow_unproven=True)
    releases = list(ps.publish(ps.streams.Stream([[5], [6], [7], [8], [9]]), mechanism))
    assert [bool(release.charged) for release in releases] == [True] * N + [False] * 2
    assert all(release.same_as(replace(releases[3], t=release.t)) for release in releases[3:])
    assert (releases[4].values == releases[2].values).all()
    assert set(releases[4].kind) == {ps.Kind.REPUBLISHED}


def test_a_stream_that_stops_can_be_asked_again_and_has_not_moved() -> None:
    mechanism = Uniform(model=law("stop")).start(ps.Curator(law("stop"), 2))
    for t in range(1, N + 1):
        mechanism.step(unit(t))
    for _ in range(2):
        with pytest.raises(
            HorizonReached, match=rf"declared for a horizon of {N} and t={N + 1} is past that"
        ) as refusal:
            mechanism.step(unit(N + 1))
        assert str(SECRET)[:3] not in str(refusal.value)
        assert mechanism._curator.ledger.t == N


@pytest.mark.parametrize("horizon", [1, 2])
@either_rule
def test_a_unit_out_of_order_is_called_that_on_a_short_horizon_too(horizon: int, rule: OnHorizon) -> None:
    CHECKS["refuses_bad_snapshots"](Subject(Uniform, law(rule, horizon)))


# ---- through a store ------------------------------------------------------------------------------------------------


def opened(store: ps.Store, make: Callable[..., ps.Mechanism], rule: OnHorizon, **options: Any) -> ps.Publisher:
    return ps.Publisher(make(model=law(rule)), store, "s", bins=("a", "b"), **options)


def publish_on(path: Path, make: Callable[..., ps.Mechanism], rule: OnHorizon, until: int) -> list[Published]:
    """Publish up to a unit, retrying every unit that is stored, and leave like a process that is killed."""
    with ps.Store(path) as store:
        publisher = opened(store, make, rule)
        return [publisher.publish(unit(t)) for t in range(1, until + 1)]


def kept(path: Path) -> list[Record]:
    """What is stored, if it verifies and nothing was told or booked past the horizon."""
    with Archive(path) as archive:
        verify_file(archive)
        verify(archive, "s")
        records = list(archive.records(archive.account("s")))
    entries = [unpack(record.body) for record in records]
    assert not any(entry.charged or entry.remaining or entry.answers for entry in entries[N:])
    assert all(isinstance(fact, Span) and fact.b for entry in entries[N:] for fact in entry.facts)  # which only close
    return records


def causes(path: Path) -> list[Cause]:
    return [unpack(record.body).cause for record in kept(path)]


@every_maker
@pytest.mark.parametrize(("first", "then"), list(product(RULES, RULES)))
def test_the_rule_can_change_at_any_unit(
    make: Callable[..., ps.Mechanism], first: OnHorizon, then: OnHorizon, tmp_path: Path
) -> None:
    for until in range(1, N + 3 if first == "republish" else N + 1):
        path = tmp_path / str(until)
        published = publish_on(path, make, first, until)
        before = kept(path)
        further = N + 3 if then == "republish" else max(until, N)
        again = publish_on(path, make, then, further)
        assert [release.link for release in again[:until]] == [release.link for release in published]
        assert all(a.same_as(b) for a, b in zip(published, again, strict=False))
        assert kept(path)[:until] == before
        assert causes(path) == [Cause.DECIDED] * N + [Cause.OVER] * (further - N)
        if then == "stop":
            stored = kept(path)
            with pytest.raises(HorizonReached):
                publish_on(path, make, then, further + 1)
            with ps.Store(path) as store, opened(store, make, then) as publisher:
                with pytest.raises(HorizonReached):
                    publisher.miss()
                assert store.intent(store.account("s")) is None
            assert kept(path) == stored


@every_maker
def test_states_and_playback_go_on_past_the_horizon(make: Callable[..., ps.Mechanism], tmp_path: Path) -> None:
    """A state is due after a hundred units there too, and whatever is played back is what was stored."""
    for until in (N - 1, N, N + 1, N + 97, N + 103):
        publish_on(tmp_path / "db", make, "republish", until)
        for rule in RULES:
            with ps.Store(tmp_path / "db") as store, opened(store, make, rule) as publisher:
                assert publisher.t == until
                state = store.state(store.account("s"))
    assert state is not None
    assert N + 90 < state.t < N + 103
    assert causes(tmp_path / "db") == [Cause.DECIDED] * N + [Cause.OVER] * 103


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("make", [MAKERS["uniform"], MAKERS["secretive"]], ids=["uniform", "secretive"])
@pytest.mark.parametrize("ahead", [False, True], ids=["live", "ahead"])
def test_a_crash_at_the_horizon_or_past_it_hands_nothing_back(
    make: Callable[..., ps.Mechanism], point: str, ahead: bool, tmp_path: Path
) -> None:
    """Past it nothing can be drawn, so nothing is announced, and a unit whose release was not stored never was."""
    for at, rule in product((N, N + 1) if point not in ("intent", "draw") else (N,), RULES):
        path = tmp_path / f"{at}{rule}"
        publish_on(path, make, "republish", at - 1)
        before = kept(path)
        with ps.Store(path) as store:
            publisher, store.at = opened(store, make, "republish"), crash_at(point)
            with pytest.raises(Crash):
                publisher.publish(unit(at), ahead=unit(at + 1) if ahead else None)
        lost = point in POINTS[: POINTS.index("commit")]
        with ps.Store(path) as store, opened(store, make, rule) as publisher:
            last = list(publisher.releases())[-1]
            assert (publisher.t, last.t) == (at - (lost and at > N),) * 2
            assert (last.cause is Cause.LOST) == (lost and at == N)
            assert not (last.remaining and (last.cause is Cause.LOST or last.t > N))
        assert kept(path)[: at - 1] == before
        publish_on(path, make, "republish", N + 3)
        assert set(causes(path)[N:]) == {Cause.OVER}


@either_rule
def test_a_unit_past_the_horizon_is_not_announced(rule: OnHorizon, tmp_path: Path) -> None:
    with ps.Store(tmp_path / "db") as store:
        publisher = opened(store, Uniform, rule)
        for t in range(1, N + 1):
            publisher.publish(unit(t), ahead=unit(t + 1))
        assert store.intent(store.account("s")) is None


@every_maker
@either_rule
def test_a_key_lost_near_the_horizon_hands_nothing_back(
    make: Callable[..., ps.Mechanism], rule: OnHorizon, tmp_path: Path
) -> None:
    for until, announced in product((N - 1, N, N + 1), (False, True)):
        path = tmp_path / f"{until}{announced}"
        with ps.Store(path) as store:
            publisher = opened(store, make, "republish")
            for t in range(1, until + 1):
                publisher.publish(unit(t), ahead=unit(t + 1) if announced and t == until else None)
        before = kept(path)
        path.with_name(path.name + ".key").unlink()
        with ps.Store(path) as store:
            store.replace_key()
        publish_on(path, make, rule, max(N, until))
        publish_on(path, make, "republish", N + 2)  # which plays back what was done without the key
        assert kept(path)[:until] == before
        assert len(kept(path)) == N + 2


# ---- a store that is older than what was published ------------------------------------------------------------------


def rolled_back(path: Path, copied: int, published: int) -> None:
    """A store that was published up to one unit, in the place of which lies a copy that ends at another."""
    publish_on(path, Uniform, "republish", copied)
    shutil.copy(path, path.with_name("copy"))
    publish_on(path, Uniform, "republish", published)
    shutil.copy(path.with_name("copy"), path)


@pytest.mark.parametrize(("copied", "published"), [(1, N), (1, N + 1), (N, N + 2), (N + 1, N + 2)])
def test_an_old_copy_is_adopted_past_the_horizon(copied: int, published: int, tmp_path: Path) -> None:
    rolled_back(tmp_path / "db", copied, published)
    with ps.Store(tmp_path / "db") as store, opened(store, Uniform, "republish", adopt=0) as publisher:
        assert publisher.t == published
        releases = [publisher.publish(unit(t)) for t in (published + 1, published + 2)]
    assert [(release.cause, release.charged, release.remaining) for release in releases] == [
        (Cause.OVER, ps.Epsilon(0), ps.Epsilon(0))
    ] * 2
    assert causes(tmp_path / "db")[copied:published] == [Cause.ADOPTED] * (published - copied)


@pytest.mark.parametrize(("copied", "published"), [(1, N), (1, N + 1), (N, N + 2)])
def test_the_command_line_adopts_what_was_published_past_the_horizon(
    copied: int, published: int, tmp_path: Path
) -> None:
    """What is adopted was published already, so no rule for what comes next can stand in the way."""
    rolled_back(tmp_path / "db", copied, published)
    assert penstock("ledger", "adopt", tmp_path / "db", "--stream", "s", "--yes")[0] == 0
    assert causes(tmp_path / "db")[copied:] == [Cause.ADOPTED] * (published - copied)


def test_a_finished_stream_whose_head_file_is_gone_can_be_adopted(tmp_path: Path) -> None:
    """There is nothing left to spend twice; but without being adopted its last release cannot be shown any more."""
    published = publish_on(tmp_path / "db", Uniform, "stop", N)
    (tmp_path / "db.head").unlink()
    assert penstock("ledger", "adopt", tmp_path / "db", "--stream", "s", "--until", N, "--yes")[0] == 0
    with ps.Store(tmp_path / "db") as store, opened(store, Uniform, "stop") as publisher:
        assert [each.link for each in publisher.releases()] == [each.link for each in published]


# ---- the command line -----------------------------------------------------------------------------------------------


@pytest.fixture
def told(tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """``penstock run`` on five weeks of a stream that was declared for three."""
    rows = "".join(f"2026-W{week:02},{SECRET},{SECRET + week}\n" for week in range(51, 54))
    rows += "".join(f"2027-W0{week},{SECRET},{SECRET - week}\n" for week in (1, 2))
    (tmp_path / "in.csv").write_text(f"week,a,b\n{rows}")
    paths = [
        f"--{name}={tmp_path / path}" for name, path in (("input", "in.csv"), ("store", "db"), ("output", "out.csv"))
    ]
    told = [*paths, "--stream=s", "--mechanism=dsft", "--model=user-level", f"--horizon={N}", "--epsilon=4"]
    return lambda *more: penstock("run", *told, *more)


def test_a_run_stops_at_its_horizon_and_can_be_told_to_go_on(
    told: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    for _ in range(2):
        code, message = told()
        assert (code, len(causes(tmp_path / "db"))) == (2, N)
        assert f"declared for a horizon of {N}" in message
        assert str(SECRET)[:3] not in message
    assert told("--on-horizon=republish")[0] == 0
    assert told("--on-horizon=stop")[0] == 0  # every row has its release
    rows = (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert [row.split(",")[0] for row in rows] == ["2026-W51", "2026-W52", "2026-W53", "2027-W01", "2027-W02"]
    assert [row.split(",")[2:4] for row in rows[N:]] == [rows[N - 1].split(",")[2:4]] * 2
    assert causes(tmp_path / "db") == [Cause.DECIDED] * N + [Cause.OVER] * 2
    assert penstock("ledger", "verify", tmp_path / "db", "--output", tmp_path / "out.csv")[0] == 0
    assert penstock("export", tmp_path / "db", "--stream", "s", "-o", tmp_path / "all.csv")[0] == 0
    assert (tmp_path / "all.csv").read_text() == (tmp_path / "out.csv").read_text()
    shown = json.loads(penstock("ledger", "show", tmp_path / "db", "--json")[1])[0]
    assert (shown["t"], shown["remaining"], shown["announced"]) == (N + 2, "0", None)
    assert "on_horizon" not in shown["model"]


def test_a_check_says_what_the_run_will_refuse(told: Callable[..., tuple[int, str]]) -> None:
    assert told("--check", "--on-horizon=republish")[0] == 0
    assert told("--check")[0] == told()[0] == 2


def test_user_level_can_be_simulated_past_the_horizon_or_says_how(tmp_path: Path) -> None:
    asked = ("simulate", "--model=user-level", "--mechanism=uniform", "--trials=1", "--json")
    assert penstock(*asked, "--horizon=20", "--length=20")[0] == 0
    code, message = penstock(*asked, "--horizon=20", "--length=21")
    assert code == 0 or "--length" in message  # nobody can give "simulate" an on_horizon


@pytest.mark.parametrize("rule", RULES)
def test_missing_units_and_dates_go_on_across_the_horizon(rule: OnHorizon, tmp_path: Path) -> None:
    days = [date(2026, 2, 27) + timedelta(days=i) for i in (0, 1, 5, 6)]
    source = ps.streams.FrameSource(polars.DataFrame({"day": days, "a": range(4), "b": range(4)}))
    releases = list[Published]()
    with ps.Store(tmp_path / "db") as store, opened(store, Uniform, rule) as publisher:
        with suppress(HorizonReached):
            releases.extend(publisher.run(source, gaps=True))
        assert publisher.t == (7 if rule == "republish" else N)
    expected = [Cause.DECIDED, Cause.DECIDED, Cause.MISSING, Cause.MISSING, Cause.MISSING, Cause.OVER, Cause.OVER]
    assert causes(tmp_path / "db") == expected[: 7 if rule == "republish" else N]
    labels = [unpack(record.body).label for record in kept(tmp_path / "db")]
    assert labels == [str(days[0] + timedelta(days=i)) for i in range(len(labels))]
    with ps.Store(tmp_path / "db") as store, opened(store, Uniform, "republish") as publisher:
        went_on = [release.label for release in publisher.run(source, gaps=True)]
    assert [*labels, *went_on][-1] == "2026-03-05"
    assert len(kept(tmp_path / "db")) == 7


# ---- the rule is no part of the promise -----------------------------------------------------------------------------


@given(horizon=st.integers(1, 50), neighbours=st.sampled_from(["add-remove", "replace"]), per_unit=st.integers(1, 3))
@few
def test_two_rules_are_one_promise(horizon: int, neighbours: Any, per_unit: int) -> None:
    stop, republish = (law(rule, horizon, neighbours=neighbours, per_unit=per_unit) for rule in RULES)
    assert stop == republish
    assert len({stop, republish}) == 1
    assert (repr(stop), described(stop)) == (repr(republish), described(republish))
    assert stop != law("stop", horizon + 1, neighbours=neighbours, per_unit=per_unit)
    assert json.loads(json.dumps(described(stop))) == described(stop)
    back = model_of(described(republish))
    assert isinstance(back, ps.UserLevel)
    assert (back, back.on_horizon) == (stop, "stop")
    assert model_of(described(stop) | {"on_horizon": "republish"}) == stop
    for same in (copy.deepcopy(republish), pickle.loads(pickle.dumps(republish)), replace(republish, epsilon=4)):
        assert (same, same.on_horizon) == (republish, "republish")
    assert replace(republish, on_horizon="stop").on_horizon == "stop"
    for t, over in ((1, False), (horizon, False), (horizon + 1, True), (horizon + 10**9, True)):
        assert (stop.is_over(t), republish.is_over(t)) == (over, over)


@pytest.mark.parametrize("rule", ["Stop", "", None, 1, ["stop"], "stop "])
def test_another_rule_is_refused(rule: Any) -> None:
    with pytest.raises(ps.BadInput, match='on_horizon must be "stop" or "republish"'):
        law(rule)


@pytest.mark.parametrize("model", [ps.EventLevel(epsilon=1), ps.WEvent(epsilon=1, w=3), ps.MContext(epsilon=1, m=2)])
def test_other_models_have_no_horizon(model: ps.PrivacyModel) -> None:
    assert not model.is_over(10**12)
    model.require_going_on(10**12)
    with pytest.raises(ps.BadInput, match="has no parameter 'on_horizon'"):
        model_of(described(model) | {"on_horizon": "stop"})


def test_streams_of_a_population_may_end_by_different_rules(tmp_path: Path) -> None:
    with ps.Store(tmp_path / "db") as store:
        for stream, rule in zip("xy", RULES, strict=True):
            options: dict[str, Any] = {"population": "people", "population_epsilon": 8, "bins": ("a", "b")}
            with ps.Publisher(Uniform(model=law(rule)), store, stream, **options) as publisher:
                publisher.publish(unit(1))
        with pytest.raises(ps.BudgetExceeded, match="0 of 8 left"):
            ps.Publisher(Uniform(model=law()), store, "z", **options)


# ---- what came with it ----------------------------------------------------------------------------------------------


@few
@given(asks=st.lists(st.tuples(st.lists(st.booleans(), min_size=3, max_size=3), st.integers(1, 9)), max_size=6))
def test_a_unit_costs_what_its_dearest_bin_was_published_for(asks: list[tuple[list[bool], int]]) -> None:
    """However often it publishes some of its bins."""

    @dataclass(kw_only=True)
    class Partly(Uniform):
        def decide(self, snapshot: ps.Snapshot) -> ps.Release:
            release = self.republish(snapshot)
            for bins, nano in asks:
                release = self.publish(snapshot, ps.Epsilon.of_nano(nano), np.array(bins))
            return release

    mechanism = Partly(model=ps.WEvent(epsilon="0.000001", w=2), allow_unproven=True)
    release = list(ps.publish(ps.streams.Stream([[5, 6, 7], [8, 9, 10]]), mechanism, noise=ps.ScriptedNoise()))[1]
    whole = sum(nano for bins, nano in asks if all(bins))
    by_bin = [sum(nano for bins, nano in asks if bins[j] and not all(bins)) for j in range(3)]
    assert release.charged.nano == whole + max(by_bin)
    fresh = asks[-1][0] if asks else [False] * 3
    assert (release.kind == ps.Kind.FRESH).tolist() == fresh
    assert release.values[fresh].tolist() == np.array([8, 9, 10])[fresh].tolist()
    assert (release.noise_sd > 0).sum() >= sum(fresh)


def with_first() -> type[ps.Mechanism]:
    class Between(Uniform):
        part = 1

    class Leaf(Between):
        proven_for: ClassVar = (ps.WEvent,)

    return Leaf


def with_second() -> type[ps.Mechanism]:
    class Between(Uniform):
        part = 2

    class Leaf(Between):
        proven_for: ClassVar = (ps.WEvent,)

    return Leaf


def test_a_proof_is_outdated_by_any_change_in_what_a_mechanism_is_built_on() -> None:
    """Whether or not the class between names the models again."""
    assert fingerprint(with_first()) != fingerprint(with_second())
