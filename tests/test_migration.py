"""A store that an earlier version wrote is brought up to date, and goes on."""

import dataclasses
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

import penstock as ps
from penstock.errors import BadState, StoreDamaged, StoreError
from penstock.store import Archive, schema
from penstock.store.verify import verify, verify_file
from penstock.streams import synthetic
from penstock.types import Cause

STORED = Path(__file__).parent / "stores"
MODEL = ps.WEvent(epsilon=1, w=5)
BINS = ["a", "b", "c"]


def copied(name: str, folder: Path) -> Path:
    for file in STORED.glob(f"{name}*"):
        shutil.copy(file, folder)
    return folder / name


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A copy of a store of the first version: 30 units of two made-up streams, and no populations."""
    return copied("version-1.db", tmp_path)


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A copy of a store of the second version: both streams were killed when they had drawn unit 13."""
    return copied("version-2.db", tmp_path)


def version_of(path: Path) -> int:
    connection = sqlite3.connect(path)
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.close()
    return version


@pytest.mark.parametrize("mechanism", [ps.Uniform, ps.SPAS])
def test_an_old_store_goes_on_where_it_was(old: Path, mechanism: type[ps.Mechanism]) -> None:
    assert version_of(old) == 1
    name = mechanism.__name__.lower()
    with ps.Store(old) as store:
        before = list(store.published(store.account(name)))
        with ps.Publisher(mechanism(model=MODEL), store, name, bins=BINS) as publisher:
            assert [release.t for release in before] == list(range(1, 31))
            list(publisher.run(synthetic("jumps", bins=3, steps=40, seed=2)))
            after = list(publisher.releases())
    assert version_of(old) == schema.LATEST
    assert [release.t for release in after] == list(range(1, 41))
    assert all(
        release.same_as(other) and release.link == other.link for release, other in zip(before, after, strict=False)
    )
    with Archive(old) as archive:
        verified = verify(archive, name)
    assert verified.peak is not None
    assert verified.peak <= ps.Epsilon(1)


def test_a_unit_that_an_earlier_version_announced_is_lost_and_not_forgotten(killed: Path) -> None:
    with ps.Store(killed) as store:
        for made in (ps.Uniform(model=MODEL), ps.SPAS(model=MODEL)):
            name = type(made).__name__.lower()
            most = store.intent(store.account(name))
            with ps.Publisher(made, store, name, bins=BINS) as publisher:
                lost = publisher.stored(13)
                list(publisher.run(synthetic("jumps", bins=3, steps=20, seed=2)))
            assert lost is not None
            assert most is not None
            assert (lost.cause, lost.charged) == (Cause.LOST, most.most)
    with Archive(killed) as archive:
        verify_file(archive)
        assert [verify(archive, name).lost for name in ("uniform", "spas")] == [1, 1]


def test_who_only_reads_a_store_of_version_2_need_not_change_it(killed: Path) -> None:
    with Archive(killed) as archive:
        verify_file(archive)
        assert [verify(archive, name).units for name in archive.streams()] == [12, 12]
        assert [intent.t for name in archive.streams() if (intent := archive.intent(archive.account(name)))] == [13, 13]
        ps.Store(killed).close()  # another process brings it up to date
        verify_file(archive)
    assert version_of(killed) == schema.LATEST


@pytest.mark.parametrize("change", ["nano = 1", "t = 14", "label = 'x'", "stream = stream + 2"])
def test_an_intent_of_an_earlier_version_that_has_changed_is_refused(killed: Path, change: str) -> None:
    with closing(sqlite3.connect(killed)) as connection, connection:
        connection.execute(f"UPDATE intents SET {change} WHERE stream = 1")
    with pytest.raises(StoreDamaged):
        ps.Store(killed)
    assert version_of(killed) == 2


def test_an_old_store_can_take_a_population(old: Path) -> None:
    with ps.Store(old) as store:
        uniform = ps.Uniform(model=MODEL)
        ps.Publisher(uniform, store, "new", bins=BINS, population="people", population_epsilon=1).close()
        assert store.streams()["new"]["population"] == "people"


def test_who_only_reads_is_told_to_bring_it_up_to_date(old: Path) -> None:
    with pytest.raises(StoreError, match="older version"):
        Archive(old)
    assert version_of(old) == 1


def test_a_store_from_the_future_is_refused(old: Path) -> None:
    connection = sqlite3.connect(old)
    connection.execute(f"PRAGMA user_version = {schema.LATEST + 1}")
    connection.close()
    with pytest.raises(StoreError, match="install a newer Penstock"):
        ps.Store(old)


def test_another_program_s_database_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "other.db")
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(StoreError, match="another program"):
        ps.Store(tmp_path / "other.db")
    assert not list(tmp_path.glob("*.key"))


def test_a_state_of_other_parts_is_refused_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An earlier version kept the times of releases, for which this one has no place."""
    usual, times = ps.DSAT._state_fields, SimpleNamespace(name="times", default=[], default_factory=dataclasses.MISSING)
    with monkeypatch.context() as earlier, ps.Store(tmp_path / "db") as store:
        earlier.setattr(ps.DSAT, "_state_fields", lambda self: [*usual(self), times])
        with ps.Publisher(ps.DSAT(model=MODEL), store, "s", bins=BINS) as publisher:
            list(publisher.run(synthetic("jumps", bins=3, steps=10, seed=2)))
    with ps.Store(tmp_path / "db") as store, pytest.raises(BadState, match="cannot take up what another one has saved"):
        ps.Publisher(ps.DSAT(model=MODEL), store, "s", bins=BINS)
