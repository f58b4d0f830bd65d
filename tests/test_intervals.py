"""Intervals from a mechanism's own model: kept wherever a release goes, and dropped where they would not be true."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from in_process import command as penstock
from penstock.checks import CHECKS, Subject
from penstock.codec import decode, encode
from penstock.errors import BadInput, BadRow, CheckFailed, StoreError
from penstock.mechanisms.base import State
from penstock.post import Chain, Levels, NonNegative, Rounded, SlidingSum, Smoothed, Step, Total
from penstock.store import Archive
from penstock.store.copying import copy
from penstock.store.record import Source, pack, unpack
from penstock.store.verify import verify
from penstock.types import Cause, Kind, Published

LAW, BINS = ps.WEvent(epsilon=1, w=4), ("north", "south")
ALL = ["out.csv", "out.jsonl", "out.parquet"]
STORED = Path(__file__).parent / "stores" / "version-1.db"
AFTER = ["kind", "noise_sd", "charged", "remaining", "cause", "mechanism", "version", "sequence", "link"]

quick = settings(derandomize=True, deadline=None, max_examples=60)


@dataclass(kw_only=True)
class Bounded(ps.Mechanism):
    """Publishes always, and says that counts lie within two standard deviations; ``fails_at`` is a unit it cannot do.

    At every third unit it repeats its values, but knows that they are farther from the counts by now.
    """

    intervals: ClassVar[bool] = True
    proven_for: ClassVar = (ps.WEvent, ps.UserLevel)
    fails_at: int = 0

    def decide(self, snapshot: ps.Snapshot) -> ps.Release:
        if snapshot.t % 3 == 0:
            kinds, around = Kind.REPUBLISHED, 10.0 * self.last.noise_sd
            return self.released(snapshot, self.last.values, kinds, self.last.noise_sd, self.within(around))
        measured = self.measured(snapshot, self.model.epsilon / self.model.window)
        if snapshot.t == self.fails_at:
            raise RuntimeError
        around = 2.0 * measured.noise_sd
        ends = (measured.values - around, measured.values + around)
        return self.released(snapshot, measured.values, Kind.ESTIMATED, measured.noise_sd, ends)

    def within(self, around: Any) -> Any:
        return self.last.values - around, self.last.values + around


def bounded(model: Any = LAW, **parameters: Any) -> Bounded:
    return Bounded(model=model, allow_unproven=True, **parameters)


def opened(store: ps.Store, **parameters: Any) -> ps.Publisher:
    return ps.Publisher(bounded(**parameters), store, "people", bins=BINS, every="row")


def unit(t: int) -> ps.Snapshot:
    return ps.Snapshot(t, (10 * t, 7))


def same(one: ps.Published, other: ps.Published) -> bool:
    arrays = ("values", "kind", "noise_sd", "low", "high")
    others = [each.name for each in fields(Published) if each.name not in arrays]
    return one.same_as(other) and all(getattr(one, name) == getattr(other, name) for name in others)


def simple(t: int, values: list[int], **other: Any) -> Published:
    known: Any = (np.array(values), np.zeros(len(values), np.int8), np.full(len(values), 1.5), ps.Epsilon("0.1"))
    origin: Any = ("", f"2026-W{t:02d}", Cause.DECIDED, ps.Epsilon(1), t, "Bounded", "1", f"{t:064x}")
    return Published(t, *known, *origin, **other)


@st.composite
def histories(draw: st.DrawFn) -> tuple[tuple[str, ...], list[Published]]:
    """Releases of which some have intervals, wide or narrow, the same for all bins or not."""
    bins = tuple(f"bin {i}" for i in range(draw(st.integers(1, 4))))
    numbers = st.integers(-(2**63), 2**63 - 1)
    triples = st.lists(numbers, min_size=3, max_size=3).map(sorted)
    releases = []
    for t in range(1, draw(st.integers(2, 5))):
        same_for_all = triples.map(lambda each: [each] * len(bins))
        ends = np.array(draw(same_for_all | st.lists(triples, min_size=len(bins), max_size=len(bins))), np.int64)
        known = {"low": ends[:, 0], "high": ends[:, 2]} if draw(st.booleans()) else {}
        releases.append(simple(t, ends[:, 1].tolist(), **known))
    return bins, releases


def write(path: Path, releases: list[Published], bins: tuple[str, ...] = BINS, *, intervals: bool = True) -> None:
    with ps.streams.write(path, bins, intervals=intervals) as sink:
        for release in releases:
            sink.write(release)


# ---- a release ------------------------------------------------------------------------------------------------------


def test_an_interval_has_two_ends_which_nobody_changes() -> None:
    release = simple(1, [5], low=np.array([3]), high=np.array([9]))
    assert not any(end.flags.writeable for end in (release.low, release.high) if end is not None)
    with pytest.raises(BadInput, match="two ends"):
        replace(release, low=None)
    with pytest.raises(BadInput, match="two ends"):
        replace(release, high=None)


def test_releases_whose_intervals_differ_do_not_say_the_same() -> None:
    release = simple(1, [5], low=np.array([3]), high=np.array([9]))
    assert release.same_as(replace(release, low=np.array([3]), high=np.array([9])))
    others: list[dict[str, Any]] = [{"low": np.array([4])}, {"high": np.array([8])}, {"low": None, "high": None}]
    for ends in others:
        other = replace(release, **ends)
        assert not release.same_as(other)
        assert not other.same_as(release)


ANYTHING = st.lists(st.floats(width=64), min_size=3, max_size=3).map(np.array)


@quick
@given(values=ANYTHING.filter(lambda each: not np.isnan(each).any()), low=ANYTHING, high=ANYTHING)
def test_intervals_are_rounded_outwards_and_hold_the_value(values: Any, low: Any, high: Any) -> None:
    mechanism = bounded().start(ps.Curator(LAW, 3))
    mechanism._curator.begin_unit(ps.Snapshot(1, (1, 2, 3)))
    release = mechanism.released(ps.Snapshot(1, (1, 2, 3)), values, Kind.ESTIMATED, 1.0, (low, high))
    assert release.low is not None
    assert release.high is not None
    assert release.low.dtype == release.high.dtype == np.int64
    assert ((release.low <= release.values) & (release.values <= release.high)).all()
    usual = np.abs(np.stack([low, high, values])).max(axis=0) < 2**50  # not NaN either
    assert (release.low[usual] == np.minimum(np.floor(low), release.values)[usual]).all()
    assert (release.high[usual] == np.maximum(np.ceil(high), release.values)[usual]).all()
    assert (release.low[np.isnan(low) | (low == -np.inf)] == -(2**60)).all()
    assert (release.high[np.isnan(high) | (high == np.inf)] == 2**60).all()


# ---- a mechanism at rest, and what it repeats -----------------------------------------------------------------------


def test_a_saved_state_keeps_them() -> None:
    mechanism = bounded().start(ps.Curator(LAW, 2, noise=ps.SimulationNoise(1)))
    released = mechanism.step(unit(1))
    twin = bounded().start(ps.Curator(LAW, 2))
    twin.load(mechanism.save())
    assert twin.last.same_as(released)
    assert twin.last.low is not None


def test_a_state_from_before_there_were_any_is_taken_up() -> None:
    """Its last release has five parts; a release without intervals is still saved so."""
    mechanism = bounded().start(ps.Curator(LAW, 2, noise=ps.SimulationNoise(1)))
    mechanism.step(unit(1))
    state = decode(mechanism.save().public)
    state["last"] = state["last"][:5]
    twin = bounded().start(ps.Curator(LAW, 2))
    twin.load(State(encode(state), b""))
    assert (twin.last.low, twin.last.high) == (None, None)
    assert twin.last.values.tolist() == mechanism.last.values.tolist()
    plain = ps.Uniform(model=LAW).start(ps.Curator(LAW, 2, noise=ps.SimulationNoise(1)))
    plain.step(unit(1))
    assert len(decode(plain.save().public)["last"]) == 5


def test_a_release_that_is_only_repeated_has_none(tmp_path: Path) -> None:
    """What held for the counts of one unit need not hold for those of the next."""
    horizon = ps.UserLevel(epsilon=1, horizon=4, on_horizon="republish")
    with ps.Store(tmp_path / "db") as store, opened(store, model=horizon, fails_at=4) as publisher:
        releases = [publisher.publish(unit(1)), publisher.miss(), *(publisher.publish(unit(t)) for t in (3, 4, 5))]
    causes = [Cause.DECIDED, Cause.MISSING, Cause.DECIDED, Cause.FAILED, Cause.OVER]
    assert [release.cause for release in releases] == causes
    assert [release.low is None for release in releases] == [cause is not Cause.DECIDED for cause in causes]
    assert [release.high is None for release in releases] == [cause is not Cause.DECIDED for cause in causes]


# ---- the store ------------------------------------------------------------------------------------------------------


def test_the_store_gives_them_back(tmp_path: Path) -> None:
    with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
        released = [publisher.publish(unit(t)) for t in range(1, 6)]
    with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
        released.append(publisher.publish(unit(6)))  # after the releases before were worked out again from answers
        assert all(same(publisher.publish(unit(each.t)), each) for each in released)
    with Archive(tmp_path / "db") as archive:
        assert verify(archive, "people").units == 6
        copy(archive, tmp_path / "copy")
    with Archive(tmp_path / "copy") as copied:
        found = list(copied.published(copied.account("people")))
    assert all(same(one, other) for one, other in zip(found, released, strict=True))
    repeated = found[2]
    assert (repeated.kind == Kind.REPUBLISHED).all()
    assert repeated.values.tolist() == found[1].values.tolist()
    assert repeated.low is not None
    assert found[1].low is not None
    assert (repeated.low < found[1].low).all()  # its values are stored once, its intervals are its own


@quick
@given(history=histories())
def test_a_record_says_what_was_packed(history: tuple[tuple[str, ...], list[Published]]) -> None:
    source: Source | None = None
    for release in history[1]:
        body, after = pack(release, [], [], source)
        entry = unpack(body)
        source = entry.whole(source)
        assert source.t == after.t
        found = entry.published(source, release.stream, release.mechanism, bytes.fromhex(release.link))
        assert same(found, release)
        without, _ = pack(replace(release, low=None, high=None), [], [], None)
        assert len(decode(without)) == 12


def test_what_has_no_intervals_is_stored_byte_by_byte_as_before(tmp_path: Path) -> None:
    """The records of a store of the first version, put together anew."""
    for file in STORED.parent.glob("version-1.db*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    with ps.Store(tmp_path / STORED.name) as store:
        for name in ("uniform", "spas"):
            account, before, source = store.account(name), None, None
            for record in store.records(account):
                entry = unpack(record.body)
                source = entry.whole(source)
                release = entry.published(source, name, account.mechanism, record.link)
                body, before = pack(release, entry.facts, entry.answers, before)
                assert body == record.body
            assert account.t == 30


def test_a_record_of_a_later_version_is_refused_in_a_sentence() -> None:
    body, _ = pack(simple(1, [5], low=np.array([3]), high=np.array([9])), [], [], None)
    with pytest.raises(StoreError, match="which this one does not understand"):
        unpack(encode([*decode(body), "something else"]))


# ---- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
@quick
@given(history=histories())
def test_files_give_them_back(name: str, history: tuple[tuple[str, ...], list[Published]]) -> None:
    bins, releases = history
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path, releases, bins)
        with ps.streams.read_releases(path) as read:
            assert (read.bins, read.intervals) == (bins, True)
            assert all(same(one, other) for one, other in zip(read, releases, strict=True))


def test_there_are_two_more_columns() -> None:
    known = simple(1, [5, 6], low=np.array([3, 4]), high=np.array([9, 9]))
    form = ps.streams.text_format("out.csv", BINS, intervals=True)
    assert form.header() == ",".join(["t", "unit", *BINS, *AFTER[:2], "low", "high", *AFTER[2:]]) + "\n"
    assert ",1.5,3;4,9,0.1," in form.line(known)
    assert ",1.5,,,0.1," in form.line(simple(2, [5, 6]))
    lines = ps.streams.text_format("out.jsonl", BINS, intervals=True)
    assert '"noise_sd": 1.5, "low": [3, 4], "high": 9, "charged"' in lines.line(known)
    assert '"noise_sd": 1.5, "low": null, "high": null, "charged"' in lines.line(simple(2, [5, 6]))


@pytest.mark.parametrize("name", ALL)
def test_where_nobody_has_intervals_bins_may_be_called_like_their_ends(tmp_path: Path, name: str) -> None:
    bins = ("low", "high")
    write(tmp_path / name, [simple(1, [5, 6])], bins, intervals=False)
    with ps.streams.read_releases(tmp_path / name) as read:
        assert (read.bins, read.intervals) == (bins, False)
        assert [release.low for release in read] == [None]
    if name != "out.jsonl":
        with pytest.raises(BadInput, match='"high" would clash'):
            ps.streams.write(tmp_path / f"other-{name}", ("a", "high"), intervals=True)


@pytest.mark.parametrize("ends", [("6", "9"), ("3", "4"), ("", "9"), ("3", ""), ("3;3;3", "9"), ("3", "x")])
def test_what_cannot_be_an_interval_is_no_release(tmp_path: Path, ends: tuple[str, str]) -> None:
    path = tmp_path / "out.csv"
    write(path, [simple(1, [5, 5], low=np.array([3, 3]), high=np.array([9, 9]))])
    path.write_text(path.read_text().replace(",1.5,3,9,", f",1.5,{ends[0]},{ends[1]},"))
    with ps.streams.read_releases(path) as read, pytest.raises(BadRow, match="line 2 is not a release"):
        list(read)


# ---- afterwards -----------------------------------------------------------------------------------------------------

KNOWN = simple(1, [5, -4], low=np.array([-3, -8]), high=np.array([9, -2]))


@pytest.mark.parametrize(
    "step",
    [
        NonNegative(),
        Total(9),
        Rounded(5),
        Rounded(1),
        SlidingSum(2),
        Smoothed(2),
        Levels(BINS, {"north": ["south"]}),
        Chain([NonNegative(keep_total=False), Rounded(2)]),
    ],
    ids=lambda step: str(step.says),
)
def test_a_step_that_makes_other_numbers_drops_them(step: Step) -> None:
    made = step(KNOWN)
    assert (made.low, made.high, step.keeps_intervals) == (None, None, False)


@pytest.mark.parametrize("step", [SlidingSum(1), Smoothed(1), Chain([SlidingSum(1)])])
def test_a_step_that_does_nothing_keeps_them(step: Step) -> None:
    assert step(KNOWN).same_as(KNOWN)
    assert step.keeps_intervals


def test_no_count_is_below_0_so_intervals_may_be_cut_there() -> None:
    step = Chain([NonNegative(keep_total=False)])
    made = step(KNOWN)
    assert made.low is not None
    assert made.high is not None
    assert (made.values.tolist(), made.low.tolist(), made.high.tolist()) == ([5, 0], [0, 0], [9, 0])
    assert step.keeps_intervals
    assert step(simple(1, [-3])).low is None


# ---- the command line -----------------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """``penstock run`` with a Uniform that has intervals, of all units but the second."""

    def decide(self: ps.Mechanism, snapshot: ps.Snapshot) -> ps.Release:
        release = self.publish(snapshot, self.model.epsilon / self.model.window)
        around = 3.0 * release.noise_sd
        ends = (release.values - around, release.values + around)
        return self.released(snapshot, release.values, Kind.ESTIMATED, release.noise_sd, ends)

    monkeypatch.setattr(ps.Uniform, "intervals", True)
    monkeypatch.setattr(ps.Uniform, "decide", decide)
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("t,north,south\n2026-01-01,5,6\n2026-01-03,7,8\n2026-01-04,9,9\n")

    def told(command: str) -> str:
        code, out, err = penstock(*command.split())
        assert code == 0, err
        return out

    law = "--store s.db --mechanism uniform --model w-event --epsilon 1 --w 3 --gaps"
    return lambda command: told(f"{command} {law}" if command.startswith("run") else command)


def read(path: str) -> list[Published]:
    with ps.streams.read_releases(path) as found:
        return list(found)


@pytest.mark.parametrize("name", ALL)
def test_a_run_writes_them_and_an_export_writes_the_same(run: Callable[[str], str], name: str) -> None:
    run(f"run --input in.csv --output {name}")
    found = read(name)
    assert [release.low is None for release in found] == [False, True, False, False]
    run(f"export s.db --stream in --output again-{name}")
    assert Path(f"again-{name}").read_bytes() == Path(name).read_bytes()
    before = Path(name).read_bytes()
    run(f"run --input in.csv --output {name}")
    assert Path(name).read_bytes() == before
    if name != "out.parquet":
        assert '"low"' in before.decode() or ",low,high," in before.decode()
        run(f"ledger verify s.db --stream in --output {name}")


def test_sums_and_means_have_no_columns_for_them(run: Callable[[str], str]) -> None:
    run("run --input in.csv --output sums.csv --width 2")
    run("export s.db --stream in --output same.csv --width 2")
    run("export s.db --stream in --output whole.jsonl")
    run("post whole.jsonl --smooth 2 --output means.csv")
    for name in ("sums.csv", "same.csv", "means.csv"):
        assert Path(name).read_text().splitlines()[0] == ",".join(["t", "unit", *BINS, *AFTER])
    assert Path("sums.csv").read_bytes() == Path("same.csv").read_bytes()
    run("ledger verify s.db --stream in --output sums.csv --width 2")


@pytest.mark.parametrize("source", ["s.db", "out.csv", "out.jsonl"])
def test_what_is_not_changed_keeps_them_through_post_processing(run: Callable[[str], str], source: str) -> None:
    run(f"run --input in.csv --output {source if source != 's.db' else 'out.csv'}")
    run(f"post {source} --smooth 1 --output post.csv")
    kept = read("post.csv")
    assert [release.low is None for release in kept] == [False, True, False, False]


# ---- the checks -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", ["one_release_a_step", "resumes_exactly", "nothing_changes_afterwards"])
def test_the_checks_pass_honest_intervals(check: str) -> None:
    CHECKS[check](Subject(Bounded, LAW))


class Shy(Bounded):
    """Does not say that it has intervals."""

    intervals: ClassVar[bool] = False


class Curt(Bounded):
    """Has an interval for the first bin only."""

    def decide(self, snapshot: ps.Snapshot) -> ps.Release:
        release = super().decide(snapshot)
        return replace(release, low=release.values[:1], high=release.values[:1])


class Broken(Bounded):
    """Has ends that are not whole numbers."""

    def decide(self, snapshot: ps.Snapshot) -> ps.Release:
        release = super().decide(snapshot)
        ends: Any = release.values.astype(np.float64)
        return replace(release, low=ends, high=ends)


class Restless(Bounded):
    """Writes to an interval after it was handed out."""

    def begin(self) -> None:
        self.ends = np.zeros(self.curator.bins, np.int64)

    def decide(self, snapshot: ps.Snapshot) -> ps.Release:
        release = super().decide(snapshot)
        self.ends[:] = release.values
        return replace(release, low=self.ends.view(), high=self.ends.view())


@pytest.mark.parametrize(
    ("mechanism", "check", "verdict"),
    [
        (Shy, "one_release_a_step", "intervals = True"),
        (Curt, "one_release_a_step", "every bin has an interval"),
        (Broken, "one_release_a_step", "whole ends"),
        (Restless, "nothing_changes_afterwards", "never changes after"),
    ],
)
def test_the_checks_refuse_others(mechanism: type[ps.Mechanism], check: str, verdict: str) -> None:
    with pytest.raises(CheckFailed, match=verdict):
        CHECKS[check](Subject(mechanism, LAW))
