"""The durable store: one release a unit, one writer a stream, one law, and nothing raw on the disk."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import penstock as ps
from penstock.errors import HorizonReached, OtherStream, OutOfOrder, StoreError, StoreInUse
from penstock.queries import Counts
from penstock.store import Archive, schema
from penstock.store.verify import verify
from penstock.types import Cause

LAW, BINS = ps.WEvent(epsilon=1, w=4), ("a", "b")


def unit(t: int, *counts: int) -> ps.Snapshot:
    return ps.Snapshot(t, counts or (10 * t, 7))


def opened(store: ps.Store, name: str = "s", mechanism: ps.Mechanism | None = None, **options: Any) -> ps.Publisher:
    return ps.Publisher(mechanism or ps.Uniform(model=LAW), store, name, bins=options.pop("bins", BINS), **options)


def published(path: Path, units: int, mechanism: ps.Mechanism | None = None) -> list[ps.Published]:
    with ps.Store(path) as store, opened(store, mechanism=mechanism) as publisher:
        return [publisher.publish(unit(t)) for t in range(publisher.t + 1, units + 1)]


def announced(path: Path) -> list[int]:
    with Archive(path) as archive:
        found = [archive.intent(archive.account(name)) for name in archive.streams()]
    return [intent.t for intent in found if intent]


def test_no_unit_can_be_left_out(tmp_path: Path) -> None:
    """A release that was prepared and not committed leaves no hole when the unit after it has no input."""
    with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
        pending = publisher.prepare(unit(1))
        assert publisher.prepare(unit(1, 0, 0)) is pending
        with pytest.raises(OutOfOrder):
            publisher.prepare(unit(2))
        with pytest.raises(OutOfOrder):
            store.commit([publisher.prepare_missing()])
        store.commit([pending])
        store.commit([pending])
        assert [release.t for release in publisher.releases()] == [1]


@pytest.mark.parametrize("announce", [False, True])
def test_many_streams_share_one_commit(tmp_path: Path, announce: bool) -> None:
    with ps.Store(tmp_path / "db") as store:
        writers = [opened(store, f"s{i}") for i in range(5)]
        for t in range(1, 8):
            ahead = unit(t + 1) if announce else None
            store.commit([writer.prepare(unit(t), ahead=ahead) for writer in writers])
            assert announced(tmp_path / "db") == [t + 1] * (5 if announce else 0)
        for writer in writers:
            writer.close()
        assert announced(tmp_path / "db") == []
        assert [verify(store, f"s{i}").units for i in range(5)] == [7] * 5


@pytest.mark.parametrize("clean", [True, False])
def test_only_a_clean_close_takes_an_announced_unit_back(tmp_path: Path, clean: bool) -> None:
    with ps.Store(tmp_path / "db") as store:
        publisher = opened(store)
        publisher.publish(unit(1), ahead=unit(2))
        assert announced(tmp_path / "db") == [2]
        if clean:
            publisher.close()
            publisher.close()
    assert announced(tmp_path / "db") == [2] * (not clean)
    published(tmp_path / "db", 2)
    with Archive(tmp_path / "db") as archive:
        causes = [release.cause for release in archive.published(archive.account("s"))]
    assert causes == [Cause.DECIDED, Cause.DECIDED if clean else Cause.LOST]


def test_a_unit_announced_beyond_the_horizon_locks_nobody_out(tmp_path: Path) -> None:
    mechanism = ps.Uniform(model=ps.UserLevel(epsilon=1, horizon=2))
    with ps.Store(tmp_path / "db") as store:
        publisher = opened(store, mechanism=mechanism)
        publisher.publish(unit(1))
        publisher.publish(unit(2), ahead=unit(3))
    with ps.Store(tmp_path / "db") as store, opened(store, mechanism=mechanism) as publisher:
        assert len(list(publisher.releases())) == 2
        with pytest.raises(HorizonReached):
            publisher.publish(unit(3))


OTHER = """
import sys, penstock as ps
store = ps.Store(sys.argv[1])
publisher = ps.Publisher(ps.Uniform(model=ps.WEvent(epsilon=1, w=4)), store, sys.argv[2], bins=("a", "b"))
for t in range(publisher.t + 1, publisher.t + 31):
    publisher.publish(ps.Snapshot(t, [t, t]))
print(publisher.t)
"""


def other(path: Path, stream: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", OTHER, str(path), stream]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("free", [0, 2**20, 2 * 2**20 + 127])
def test_nothing_is_drawn_without_room_for_it(tmp_path: Path, free: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two MiB, and 64 bytes for each bin; with room for it the unit is announced ahead as well."""
    with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
        usage = shutil.disk_usage(tmp_path)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=free))
        with pytest.raises(StoreError, match=r"the disk that holds .* is full"):
            publisher.publish(unit(1))
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=2 * 2**20 + 128))
        assert publisher.publish(unit(1), ahead=unit(2)).t == 1
        assert announced(tmp_path / "db") == [2]
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=free))
        assert publisher.publish(unit(2), ahead=unit(3)).t == 2
        assert announced(tmp_path / "db") == []


def test_a_population_has_the_budget_that_it_was_declared_with(tmp_path: Path) -> None:
    """Until a stream has joined it, that can still be changed."""
    people, half = ps.Epsilon(1), ps.Epsilon("0.5")
    with ps.Store(tmp_path / "db") as store:
        with pytest.raises(ps.BudgetExceeded, match='the population "p" is new here; say how much'):
            store.budget("p", None)
        assert store.budget("p", half) == half
        assert store.budget("p", people) == people
        assert store.populations() == {}
        opened(store, population="p", population_epsilon=1).close()
        assert store.budget("p", people) == store.budget("p", None) == people
        with pytest.raises(OtherStream, match='the population "p" has a budget of 1, which cannot change afterwards'):
            store.budget("p", half)
        assert store.populations() == {"p": people}


def test_to_commit_a_release_again_changes_nothing(tmp_path: Path) -> None:
    with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
        pending = publisher.prepare(unit(1))
        for _ in range(2):
            store.commit([pending])
        assert [release.t for release in publisher.releases()] == [1]


def test_who_has_published_nothing_is_not_in_the_head(tmp_path: Path) -> None:
    """So the stream can still be begun differently."""
    with ps.Store(tmp_path / "db") as store:
        opened(store).close()
        assert store.known_head(store.account("s")) is None


def test_the_first_unit_is_announced_after_the_beginning_of_its_stream(tmp_path: Path) -> None:
    with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
        pending = publisher.prepare(ps.Snapshot(1, [1, 2], label="monday"))
        intent = store.intent(pending.account)
        assert intent is not None
        assert (intent.t, intent.label, intent.most, intent.after) == (1, "monday", LAW.epsilon, pending.account.link)
        store.commit([pending])
        assert store.intent(pending.account) is None
        publisher.prepare(unit(2))
        assert announced(tmp_path / "db") == [2]


def test_once_a_release_is_stored_its_unit_is_no_longer_announced(tmp_path: Path) -> None:
    with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
        pending = publisher.prepare(unit(1))
        assert pending.account.announced == 1
        store.commit([pending])
        assert (pending.account.t, pending.account.headed, pending.account.announced) == (1, 1, 0)
        ahead = publisher.prepare(unit(2), ahead=unit(3))
        store.commit([ahead])
        assert (pending.account.t, pending.account.announced) == (2, 3)


@pytest.mark.parametrize("bins", [("a", ""), ("a", " "), ("a", "b\x00"), ("a", "b\nc")])
def test_a_bin_without_a_printable_name_is_refused(tmp_path: Path, bins: tuple[str, ...]) -> None:
    with ps.Store(tmp_path / "db") as store, pytest.raises(ps.BadInput, match="bins are named by printable text"):
        opened(store, bins=bins)


@pytest.mark.parametrize("bins", [(), ("a", "a")])
def test_every_bin_has_a_name_of_its_own(tmp_path: Path, bins: tuple[str, ...]) -> None:
    with ps.Store(tmp_path / "db") as store, pytest.raises(ps.BadInput, match="every bin needs a name of its own"):
        opened(store, bins=bins)


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with ps.Store(tmp_path / "db") as store, ps.Store(tmp_path / "db") as second, opened(store) as publisher:
        publisher.publish(unit(1))
        for held in (store, second):
            with pytest.raises(StoreInUse, match='"s"'):
                opened(held)
        process = other(tmp_path / "db", "s")
        assert "StoreInUse" in process.communicate()[1]
        publisher.publish(unit(2))
    assert len(published(tmp_path / "db", 3)) == 1


@pytest.mark.parametrize("epsilon", [1, 9])
@pytest.mark.parametrize("later", [False, True])
def test_a_second_writer_cannot_touch_what_has_not_drawn_yet(tmp_path: Path, epsilon: int, later: bool) -> None:
    with ps.Store(tmp_path / "db") as store, ps.Store(tmp_path / "db") as second, opened(store) as publisher:
        if later:
            opened(store, "later").publish(unit(1))
        with pytest.raises(StoreInUse):
            opened(second, mechanism=ps.Uniform(model=ps.WEvent(epsilon=epsilon, w=4)))
        publisher.publish(unit(1))
        assert verify(store, "s").model == LAW


def test_two_processes_write_two_streams_at_once(tmp_path: Path) -> None:
    ps.Store(tmp_path / "db").close()
    processes = [other(tmp_path / "db", name) for name in ("x", "y")]
    for process in processes:
        out, err = process.communicate()
        assert (out.strip(), err) == ("30", "")
    with Archive(tmp_path / "db") as archive:
        assert [verify(archive, name).units for name in ("x", "y")] == [30, 30]


def test_a_forked_process_is_refused(tmp_path: Path) -> None:
    with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
        publisher.publish(unit(1), ahead=unit(2))
        child = os.fork()
        if child == 0:
            try:
                publisher.publish(unit(2))
            except ps.StoreError as fault:
                os._exit("forked" in str(fault))
            os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
        assert publisher.publish(unit(2)).cause is Cause.DECIDED


def test_verifying_while_somebody_publishes_is_no_damage(tmp_path: Path) -> None:
    class Slow(Archive):
        def require_latest(self, account: Any) -> None:
            publisher.publish(unit(publisher.t + 1), ahead=unit(publisher.t + 2))
            super().require_latest(account)

    with ps.Store(tmp_path / "db") as store, opened(store) as publisher, Slow(tmp_path / "db") as archive:
        publisher.publish(unit(1), ahead=unit(2))
        assert verify(archive, "s").units >= 1


OTHERWISE = [
    ({"mechanism": ps.Sample(model=LAW)}, "mechanism"),
    ({"mechanism": ps.Uniform(model=ps.WEvent(epsilon=2, w=4))}, "epsilon"),
    ({"mechanism": ps.Uniform(model=ps.WEvent(epsilon=1, w=5))}, "w = 4"),
    ({"bins": ("a", "c")}, "bins"),
    ({"population": "p", "population_epsilon": 5}, "population"),
]


@pytest.mark.parametrize(("options", "word"), OTHERWISE, ids=[word for _, word in OTHERWISE])
def test_other_parameters_are_refused_once_something_was_drawn(
    tmp_path: Path, options: dict[str, Any], word: str
) -> None:
    with ps.Store(tmp_path / "db") as store:
        opened(store).close()
        opened(store, **options).close()
        opened(store).close()  # nothing was drawn, so all of it may change
    published(tmp_path / "db", 1)
    with ps.Store(tmp_path / "db") as store:
        with pytest.raises(OtherStream, match=word):
            opened(store, **options)
        assert opened(store).publish(unit(2)).t == 2


def test_noise_that_protects_nobody_is_refused_and_numbers_of_numpy_are_not(tmp_path: Path) -> None:
    with ps.Store(tmp_path / "db") as store:
        for noise in (ps.SimulationNoise(1), ps.ScriptedNoise([1])):
            with pytest.raises(ps.BadInput, match="secure noise only"):
                opened(store, noise=noise)
        model = ps.WEvent(epsilon=1, w=np.int64(4))  # type: ignore[arg-type]
        opened(store, mechanism=ps.Uniform(model=model)).publish(unit(1))


def test_a_population_is_never_exceeded_and_never_changes(tmp_path: Path) -> None:
    def joined(store: ps.Store, name: str, epsilon: str, whole: str | None = None) -> ps.Publisher:
        mechanism = ps.Uniform(model=ps.WEvent(epsilon=epsilon, w=4))
        return opened(store, name, mechanism, population="p", population_epsilon=whole)

    with ps.Store(tmp_path / "db") as store:
        with pytest.raises(ps.BudgetExceeded, match="new here"):
            joined(store, "x", "0.4")
        joined(store, "x", "0.4", "1").publish(unit(1))
        joined(store, "y", "0.6").publish(unit(1))
    with ps.Store(tmp_path / "db") as store:
        with pytest.raises(ps.BudgetExceeded):
            joined(store, "z", "0.000000004")
        with pytest.raises(OtherStream, match="cannot change"):
            joined(store, "x", "0.4", "2")
        assert joined(store, "x", "0.4").publish(unit(2)).t == 2


@dataclass(kw_only=True)
class Mixed(ps.Mechanism):
    """Asks for one bin only, and says so; every third unit repeats the one before."""

    proven_for: ClassVar = (ps.WEvent,)

    def decide(self, snapshot: ps.Snapshot) -> ps.Release:
        if snapshot.t % 3 == 0:
            return self.republish(snapshot)
        e = self.model.epsilon / 8
        values = self.last.values.copy()
        values[1:2] = self.curator.ask(snapshot, Counts(), [e], bins=[1])
        kind = np.array([ps.Kind.REPUBLISHED, ps.Kind.FRESH], np.int8)
        return ps.Release(snapshot.t, values, kind, np.array([0.0, self.curator.noise_sd(e)]), self.curator.charged())


def test_everything_about_a_release_survives(tmp_path: Path) -> None:
    mechanism = Mixed(model=LAW, allow_unproven=True)
    counts = [2**31 + 5, 2**40, 2**53, 3, 2**31, 2**15, 9]
    with ps.Store(tmp_path / "db") as store, opened(store, mechanism=mechanism) as publisher:
        written = [publisher.publish(unit(t, 1, count)) for t, count in enumerate(counts, start=1)]
    with ps.Store(tmp_path / "db") as store, opened(store, mechanism=mechanism) as publisher:
        read, again = list(publisher.releases()), [publisher.publish(unit(t, 8, 8)) for t in range(1, 8)]
    assert written[2].values[1] == written[1].values[1] > 2**39
    for release, *same in zip(written, read, again, strict=True):
        assert all(release.same_as(each) and release.link == each.link for each in same)


def test_a_repeated_release_is_stored_as_a_reference(tmp_path: Path) -> None:
    bins = [str(i) for i in range(5000)]
    mechanism = ps.Sample(model=LAW)
    with ps.Store(tmp_path / "db") as store, opened(store, mechanism=mechanism, bins=bins) as publisher:
        written = [publisher.publish(ps.Snapshot(t, np.arange(5000))) for t in range(1, 9)]
        sizes = [len(record.body) for record in store.records(store.account("s"))]
        assert max(sizes[1:4] + sizes[5:]) < 400 < 5000 < min(sizes[0], sizes[4])
        for release, same in zip(written[6:], publisher.releases(after=6), strict=True):
            assert release.same_as(same)


def test_no_count_is_in_any_file(tmp_path: Path) -> None:
    count, law = 987_654_321, ps.WEvent(epsilon="0.001", w=3)
    with ps.Store(tmp_path / "db") as store, opened(store, mechanism=ps.SPAS(model=law, warm_up=1)) as publisher:
        for t in range(1, 40):
            publisher.publish(unit(t, count, count))
            held = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
            for secret in (str(count).encode(), count.to_bytes(4, "little"), count.to_bytes(8, "little")):
                assert secret not in held
            assert count.to_bytes(4, "big") not in held


def test_files_are_made_with_care(tmp_path: Path) -> None:
    published(tmp_path / "db", 1)
    assert (tmp_path / "db.key").stat().st_mode & 0o777 == 0o600
    connection = schema.connect((tmp_path / "db").as_uri(), mode="rw")
    assert [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "secure_delete")] == [2, 1]
    connection.close()
    modes = {(3, 40, 1): "TRUNCATE", (3, 51, 2): "TRUNCATE", (3, 51, 3): "WAL", (3, 52, 0): "WAL", (4, 0, 0): "WAL"}
    assert {version: schema.journal_mode(version) for version in modes} == modes
