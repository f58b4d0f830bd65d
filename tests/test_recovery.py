"""Stopped, killed, failed, without its key: whatever happens, a stream goes on and no budget is spent twice."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import penstock as ps
from in_process import Crash, crash_at
from penstock.charges import Fact, Span, Touch, recount
from penstock.checks.subject import example_models
from penstock.primitives.segment import SegmentPlan, Verdict
from penstock.queries import Counts, Distance, GroupDistances, GroupSums
from penstock.store import Archive
from penstock.store.record import unpack
from penstock.store.verify import verify, verify_file
from penstock.types import Cause, Published

POINTS = ("intent", "draw", "state", "write", "commit", "head", "emit")
UNITS, RNG = 14, np.random.default_rng(5)
COUNTS = np.cumsum(RNG.integers(0, 40, (UNITS, 3)), axis=0)
PRESENCE = [[f"u{user}" for user in np.flatnonzero(RNG.random(4) < 0.6)] for _ in range(UNITS)]


class Planned(ps.SimulationNoise):
    """Calls itself secure, and draws again what it drew before, so that a test can be repeated."""

    secure: ClassVar[bool] = True

    def rekey(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        self.seed += 1


class Subject(NamedTuple):
    make: Callable[..., ps.Mechanism]
    model: ps.PrivacyModel

    def __str__(self) -> str:
        return f"{self.make.__name__}-{type(self.model).__name__}"

    @property
    def units(self) -> int:
        return min(self.model.window, UNITS) if self.model.horizon_bound else UNITS

    def snapshot(self, t: int) -> ps.Snapshot:
        if not isinstance(self.model, ps.MContext):
            return ps.Snapshot(t, COUNTS[t - 1])
        present = PRESENCE[t - 1]
        return ps.Snapshot(t, np.bincount([(t + i) % 3 for i in range(len(present))], minlength=3), present)

    def opened(self, store: ps.Store, **options: Any) -> ps.Publisher:
        mechanism = self.make(model=self.model, allow_unproven=True)
        return ps.Publisher(mechanism, store, "s", bins=("a", "b", "c"), **{"noise": Planned(7)} | options)

    def publish_on(self, path: Path, until: int, at: Callable[[str], None] = lambda point: None) -> list[Published]:
        """Publish up to a unit, in a store that is opened for it, and leave like a process that is killed."""
        with ps.Store(path, at=at) as store:
            publisher, seen = self.opened(store), list[Published]()
            for t in range(publisher.t + 1, until + 1):
                seen.append(publisher.publish(self.snapshot(t)))
                store.at("emit")
            return seen

    def checked(self, path: Path, presence: Sequence[Sequence[str]] = PRESENCE) -> list[Published]:
        """The stored releases, if they are whole and within the law, counted by brute force."""
        with Archive(path) as archive:
            verify_file(archive)
            verify(archive, "s")
            account, facts = archive.account("s"), list[Fact]()
            for record in archive.records(account):
                facts += unpack(record.body).facts
            found = list(archive.published(account))
        assert [release.t for release in found] == list(range(1, len(found) + 1))
        lost = [release.t for release in found if release.cause is Cause.LOST]
        assert spent(self.model, facts, presence, lost) <= self.model.epsilon
        return found


def spent(model: ps.PrivacyModel, facts: list[Fact], presence: Sequence[Sequence[str]], lost: list[int]) -> ps.Epsilon:
    """Under m-context a lost unit is booked as the whole of epsilon: it is counted with what came later only."""
    if not isinstance(model, ps.MContext):
        return recount(facts, model)
    totals = []
    for start in (1, *lost):
        kept = [f for f in facts if isinstance(f, Span) or f.t == start or (f.t > start and f.t not in lost)]
        totals.append(recount(kept, model, [[]] * (start - 1) + list(presence[start - 1 :])))
    return max(totals)


@dataclass(kw_only=True)
class EveryVerb(ps.Mechanism):
    proven_for: ClassVar = (ps.EventLevel, ps.WEvent, ps.UserLevel, ps.MContext)
    heard: int = ps.state(0)

    def begin(self) -> None:
        self.e = self.model.epsilon / self.model.window / 20
        self.pool, self.grouper = self.curator.pool(reads=2), self.curator.grouper(self.e)
        self.segment = self.curator.segment()

    def decide(self, snapshot: ps.Snapshot) -> ps.Release:
        if not self.curator.can(publish=self.e * 10, decide=self.e * 5, monitor=self.e * 3):
            return self.republish(snapshot)
        ask, last = self.curator.ask, self.last.values
        self.heard += self.curator.nearest(snapshot, [Distance([0, 0, 0]), Distance(last)], self.e)
        self.heard += int(ask(snapshot, GroupSums([0, 0, -1]), self.e).sum())
        self.heard += int(ask(snapshot, GroupDistances([1, 0, 1], last), self.e, envelope="decide").sum())
        self.heard += int(ask(snapshot, Counts(), [self.e, self.e / 2], bins=[2, 0]).sum())
        if self.model.neighbours == "add-remove":
            self.heard += int(self.curator.sampled(snapshot, 0.5, self.e, limit=9).sum())
        self.pool.absorb(snapshot, self.e, bins=self.grouper.extend(snapshot, 40))
        full = np.flatnonzero(self.pool.size >= 3)
        self.heard += int(self.pool.settle(full).sum()) if len(full) else 0
        if not self.segment.running:
            self.segment.renew(SegmentPlan.windowed(2, self.e * 2))
        verdict = self.segment.above(snapshot, Distance(last), 50 + self.heard % 7, then=self.e)
        return self.publish(snapshot, self.e) if verdict is Verdict.ABOVE else self.republish(snapshot)


def spas(**options: Any) -> Any:
    return ps.SPAS(warm_up=1, direct=False, **options)


W, M = ps.WEvent(epsilon=1, w=3), ps.MContext(epsilon=1, m=3)
USER = ps.UserLevel(epsilon=4, horizon=14)
EVERY_VERB = [Subject(EveryVerb, model) for model in (ps.EventLevel(epsilon=2), W, USER, M)]
FEW = [Subject(spas, W), Subject(spas, USER), Subject(ps.BD, W), Subject(ps.Uniform, M)]
FEW += EVERY_VERB[1::2]
PROVEN = [(make, kind) for make in ps.mechanisms().values() for kind in make.proven_for]
ALL = [Subject(make, model) for make, kind in PROVEN for model in example_models(kind)[:1]] + EVERY_VERB


@pytest.mark.parametrize("subject", ALL, ids=str)
def test_a_stream_that_is_stopped_after_every_unit_goes_on(subject: Subject, tmp_path: Path) -> None:
    path, peaks, seen = tmp_path / "db", [ps.Epsilon(0)], list[Published]()
    for t in range(1, subject.units + 1):
        with ps.Store(path) as store, subject.opened(store) as publisher:
            seen.append(publisher.publish(subject.snapshot(t), ahead=subject.snapshot(t % UNITS + 1)))
        with Archive(path) as archive:
            peaks.append(verify(archive, "s").peak or peaks[-1])
    assert peaks == sorted(peaks)
    assert all(release.same_as(stored) for release, stored in zip(seen, subject.checked(path), strict=True))


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("subject", FEW, ids=str)
def test_a_crash_loses_one_unit_at_most(subject: Subject, point: str, tmp_path: Path) -> None:
    for unit in (1, 6):
        path, crashed = tmp_path / str(unit), True
        seen = subject.publish_on(path, unit - 1)
        with suppress(Crash):
            subject.publish_on(path, unit, crash_at(point))
            crashed = False  # no state was due
        lost = crashed and point in POINTS[: POINTS.index("commit")]
        seen += subject.publish_on(path, 9)
        stored = subject.checked(path)
        assert (len(stored), stored[unit - 1].cause is Cause.LOST) == (9, lost)
        if lost and not isinstance(subject.model, ps.MContext):
            assert not stored[unit - 1].remaining
        assert {(each.t, each.link) for each in seen} <= {(each.t, each.link) for each in stored}


@pytest.mark.parametrize("point", POINTS)
def test_crashes_in_a_row_lock_nobody_out(point: str, tmp_path: Path) -> None:
    for until in (1, 2, 3):
        with suppress(Crash):
            FEW[0].publish_on(tmp_path / "db", until, crash_at(point))
    FEW[0].publish_on(tmp_path / "db", 5)
    assert len(FEW[0].checked(tmp_path / "db")) == 5


@dataclass(kw_only=True)
class Faulty(ps.Mechanism):
    """Publishes with an eighth; at unit 4 it pays that, and then does what it must not."""

    proven_for: ClassVar = (ps.WEvent, ps.MContext)
    fault: str = "fail"

    def decide(self, snapshot: ps.Snapshot) -> ps.Release:
        release = self.publish(snapshot, self.model.epsilon / 8)
        if snapshot.t == 4 and self.fault == "fail":
            raise ValueError("a bug")
        return self.publish(snapshot, self.model.epsilon) if snapshot.t == 4 else release


@pytest.mark.parametrize("model", [W, M], ids=["w", "m"])
@pytest.mark.parametrize(("fault", "cause"), [("fail", Cause.FAILED), ("ask", Cause.REFUSED)])
def test_a_step_that_goes_wrong_is_paid_for(fault: str, cause: Cause, model: ps.PrivacyModel, tmp_path: Path) -> None:
    def made(**options: Any) -> ps.Mechanism:
        return Faulty(fault=fault, **options)

    subject = Subject(made, model)
    subject.publish_on(tmp_path / "db", 10)
    stored = subject.checked(tmp_path / "db")
    assert [release.cause for release in stored[:4]] == [Cause.DECIDED] * 3 + [cause]
    assert (stored[3].values == stored[2].values).all()
    assert stored[3].charged == model.epsilon / 8 if fault == "ask" else stored[3].charged > model.epsilon / 2
    assert (stored[9].cause, stored[9].charged) == (Cause.DECIDED, model.epsilon / 8)


@dataclass(kw_only=True)
class Telltale(ps.Mechanism):
    """Asks for too much when a comparison said no, so that everybody learns what it said."""

    proven_for: ClassVar = (ps.MContext,)

    def begin(self) -> None:
        self.segment = self.curator.segment(SegmentPlan(9, self.model.epsilon / 20, self.model.epsilon / 40))

    def decide(self, snapshot: ps.Snapshot) -> ps.Release:
        above = self.segment.above(snapshot, Distance([0, 0, 0]), 10**6, then=self.model.epsilon / 8)
        too_much = snapshot.t > 1 and above is Verdict.BELOW
        return self.publish(snapshot, self.model.epsilon * 2) if too_much else self.republish(snapshot)


def test_an_answer_that_a_refusal_gives_away_is_paid_for(tmp_path: Path) -> None:
    """Who is present only when the span reads and the step is refused has been read all the same."""
    subject = Subject(Telltale, M)
    stored = subject.publish_on(tmp_path / "db", 2)
    assert stored[1].cause is Cause.REFUSED
    with Archive(tmp_path / "db") as archive:
        facts = [unpack(record.body).facts for record in archive.records(archive.account("s"))]
    assert stored[1].charged or any(isinstance(fact, (Touch, Span)) for fact in facts[1])


@pytest.mark.parametrize("subject", FEW, ids=str)
@pytest.mark.parametrize("every", [1, 3])
def test_a_stream_goes_on_without_its_key(subject: Subject, every: int, tmp_path: Path) -> None:
    """The second restart after the loss plays back what was done after the first."""
    for seed in (0, 40):
        path, noise = tmp_path / str(seed), Planned(seed)
        for t in range(1, subject.units + 1):
            with ps.Store(path) as store, subject.opened(store, noise=noise) as publisher:
                publisher.publish(subject.snapshot(t))
            if t % every == 0:
                path.with_name(f"{seed}.key").unlink()
                with ps.Store(path) as store:
                    store.replace_key()
        assert len(subject.checked(path)) == subject.units


@pytest.mark.parametrize("subject", FEW, ids=str)
def test_a_restart_plays_back_exactly(subject: Subject, tmp_path: Path) -> None:
    outcomes, noise, rng = [], Planned(0), np.random.default_rng(9)
    for name, stops in (("whole", 0.0), ("cut", 0.4)):
        with ps.Store(tmp_path / name) as store:
            publisher = subject.opened(store, noise=noise)
            for t in range(1, subject.units + 1):
                noise.seed = t
                publisher.publish(subject.snapshot(t))
                if rng.random() < stops:
                    publisher.close()
                    store.rotate_key()
                    publisher = subject.opened(store, noise=noise)
            account = store.account("s")
            bodies, state = [record.body for record in store.records(account)], store.state(account)
            outcomes.append((bodies, state and (state.t, state.public)))
    assert outcomes[0] == outcomes[1]


DEEDS = st.sampled_from(["publish", "ahead", "ahead", "restart", "rotate", "lose", "miss", *POINTS])


@pytest.mark.parametrize("subject", FEW, ids=str)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(deeds=st.lists(DEEDS, min_size=8, max_size=14))
def test_whatever_happens_the_law_holds(subject: Subject, deeds: list[str], tmp_path_factory: Any) -> None:
    path, seen, presence = tmp_path_factory.mktemp("deeds") / "db", dict[int, str](), list(PRESENCE)
    for deed in deeds:
        with ps.Store(path) as store, suppress(Crash):
            if deed in ("rotate", "lose"):
                store.rotate_key() if deed == "rotate" else store.replace_key()
            publisher = subject.opened(store)
            t, store.at = publisher.t + 1, crash_at(deed)
            if t >= subject.units:
                break
            if deed == "miss":
                presence[t - 1] = []
                seen[t] = publisher.miss().link
            else:
                ahead = subject.snapshot(t + 1) if deed == "ahead" else None
                seen[t] = publisher.publish(subject.snapshot(t), ahead=ahead).link
            if deed == "restart":
                publisher.close()
    stored = subject.checked(path, presence)
    assert seen.items() <= {release.t: release.link for release in stored}.items()
