"""Verification: what a stream's records amount to, to the last one."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

import penstock as ps
from penstock.codec import decode, encode
from penstock.epsilon import Epsilon
from penstock.errors import StoreDamaged
from penstock.queries import Distance
from penstock.store import Archive
from penstock.store.verify import Verified, verify, verify_file

BINS = ("a", "b")


@dataclass(kw_only=True)
class Halves(ps.Mechanism):
    """Publishes at odd units, for half of epsilon in two parts, and fails at unit 4."""

    proven_for: ClassVar = (ps.WEvent, ps.MContext)

    def decide(self, snapshot: ps.Snapshot) -> ps.Release:
        if snapshot.t == 4:
            raise ValueError
        if snapshot.t % 2 == 0:
            return self.republish(snapshot)
        self.curator.nearest(snapshot, [Distance([0, 0])], Epsilon("0.2"))
        return self.publish(snapshot, Epsilon("0.3"))


def verified(path: Path, model: ps.PrivacyModel, units: int, **present: Any) -> tuple[Verified, list[int]]:
    shown: list[int] = []
    with ps.Store(path) as store:
        mechanism = Halves(model=model, allow_unproven=True)
        with ps.Publisher(mechanism, store, "s", bins=BINS, population="p", population_epsilon=1) as publisher:
            for t in range(1, units + 1):
                publisher.publish(ps.Snapshot(t, [0, 0], **present))
    with Archive(path) as archive:
        verify_file(archive)
        return verify(archive, "s", shown.append), shown


def test_a_stream_is_counted_afresh(tmp_path: Path) -> None:
    """Two charges at each of three odd units, and all that the failed unit might have cost."""
    model = ps.WEvent(epsilon=1, w=3)
    found, shown = verified(tmp_path / "db", model, 5)
    assert found == Verified("s", model, units=5, fresh=2, lost=1, charges=5, peak=Epsilon(1))
    assert shown == [1, 2, 3, 4, 5]


def test_a_stream_that_has_not_begun_amounts_to_nothing(tmp_path: Path) -> None:
    model = ps.WEvent(epsilon=1, w=3)
    assert verified(tmp_path / "db", model, 0) == (Verified("s", model, peak=Epsilon(0)), [])


def test_where_presence_is_sealed_nobody_can_tell_the_peak(tmp_path: Path) -> None:
    model = ps.MContext(epsilon=1, m=2)
    found, _ = verified(tmp_path / "db", model, 3, present=["ann"])
    assert found == Verified("s", model, units=3, fresh=2, charges=4, peak=None)


@pytest.mark.parametrize(("epsilon", "spent"), [("0.9", "1"), ("0.4", "0.5")])
def test_a_stream_that_has_spent_more_than_its_law_allows_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, epsilon: str, spent: str
) -> None:
    """On a window, or on a unit already."""
    verified(tmp_path / "db", ps.WEvent(epsilon=1, w=3), 3)
    with Archive(tmp_path / "db") as archive:
        streams = archive.streams()
        streams["s"]["model"]["epsilon"] = epsilon
        monkeypatch.setattr(archive, "streams", lambda: streams)
        words = rf'"s" has spent {spent} on one protected set and its law allows {epsilon}; stop publishing it'
        with pytest.raises(ps.BudgetExceeded, match=words):
            verify(archive, "s")


@pytest.mark.parametrize(("place", "value"), [(6, 400_000_000), (8, 3), (10, [])], ids=["charged", "sequence", "facts"])
def test_a_record_that_does_not_add_up_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int, value: Any
) -> None:
    verified(tmp_path / "db", ps.WEvent(epsilon=1, w=3), 1)
    with Archive(tmp_path / "db") as archive:
        (record,) = archive.records(archive.account("s"))
        fields = decode(record.body)
        assert (fields[6], fields[8], len(fields[10])) == (500_000_000, 2, 2)
        fields[place] = value
        monkeypatch.setattr(archive, "records", lambda account: [record._replace(body=encode(fields))])
        with pytest.raises(StoreDamaged, match='the stream "s" does not add up at t=1'):
            verify(archive, "s")


def test_a_failed_step_that_has_not_paid_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its record adds up, but a step that has failed may have drawn all that its window had left."""
    verified(tmp_path / "db", ps.WEvent(epsilon=1, w=3), 4)
    with Archive(tmp_path / "db") as archive:
        *before, failed = archive.records(archive.account("s"))
        fields = decode(failed.body)
        assert (fields[6], fields[8], len(fields[10])) == (500_000_000, 5, 1)
        fields[6], fields[8], fields[10] = 0, 4, []
        forged = [*before, failed._replace(body=encode(fields))]
        monkeypatch.setattr(archive, "records", lambda account: forged)
        with pytest.raises(StoreDamaged, match='"s" has not booked what its step at t=4 may have cost'):
            verify(archive, "s")


def test_a_file_that_sqlite_finds_damaged_is_refused(tmp_path: Path) -> None:
    """Its header counts more free pages than there are, which no row shows."""
    verified(tmp_path / "db", ps.WEvent(epsilon=1, w=3), 1)
    with Archive(tmp_path / "db") as archive:
        verify_file(archive)
    data = bytearray((tmp_path / "db").read_bytes())
    data[39] ^= 4
    (tmp_path / "db").write_bytes(data)
    with Archive(tmp_path / "db") as archive, pytest.raises(StoreDamaged, match="is damaged"):
        verify_file(archive)


def test_a_population_that_has_set_aside_too_much_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verified(tmp_path / "db", ps.WEvent(epsilon=1, w=3), 1)
    with Archive(tmp_path / "db") as archive:
        monkeypatch.setattr(archive, "populations", lambda: {"p": Epsilon("0.999999999"), "empty": Epsilon(0)})
        with pytest.raises(ps.BudgetExceeded, match=r'population "p" have set aside more than 0\.999999999'):
            verify_file(archive)
