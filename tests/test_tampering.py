"""Bytes that change, files that vanish, old copies that come back: refused in a sentence, or of no consequence."""

import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

import penstock as ps
from penstock.charges import Fact, Point, Span, recount
from penstock.errors import BadState, PenstockError, StoreDamaged, StoreRolledBack
from penstock.store import Archive
from penstock.store.copying import copy
from penstock.store.record import unpack
from penstock.store.verify import verify, verify_file
from penstock.types import Published

NAME, BINS = "counted-people", ("a", "b")


class Crash(BaseException): ...


@dataclass(kw_only=True)
class Greedy(ps.Mechanism):
    """Spends all that is left at every third unit, and a half at the others."""

    proven_for: ClassVar = (ps.WEvent, ps.MContext)

    def decide(self, snapshot: ps.Snapshot) -> ps.Release:
        e = self.curator.remaining() / (1 if snapshot.t % 3 == 0 else 2)
        return self.publish(snapshot, e) if e else self.republish(snapshot)


W, M = ps.WEvent(epsilon=1, w=5), ps.MContext(epsilon=1, m=4, per_unit=50)
SPAS = ps.SPAS(model=W, warm_up=1, direct=False)


def greedy(model: ps.PrivacyModel) -> ps.Mechanism:
    return Greedy(model=model, allow_unproven=True)


def unit(t: int, model: ps.PrivacyModel = W) -> ps.Snapshot:
    return ps.Snapshot(t, (7 * t % 40, 50), ("u1", "u2") if isinstance(model, ps.MContext) else None)


def publish(path: Path, until: int = 0, mechanism: Any = SPAS, name: str = NAME, **options: Any) -> list[Published]:
    """Publish up to a unit; returns all stored releases."""
    with ps.Store(path) as store:
        publisher = ps.Publisher(mechanism, store, name, bins=BINS, **options)
        for t in range(publisher.t + 1, until + 1):
            publisher.publish(unit(t, mechanism.model))
        return list(publisher.releases())


def facts(path: Path, after: int = 0) -> list[Fact]:
    with Archive(path) as archive:
        return [fact for record in archive.records(archive.account(NAME), after) for fact in unpack(record.body).facts]


def points(path: Path, after: int = 0) -> list[tuple[int, int]]:
    return [(f.t, f.e.nano) for f in facts(path, after) if isinstance(f, Point) and f.envelope != "lost"]


def links(releases: Sequence[Published]) -> list[tuple[Any, ...]]:
    return [(each.t, each.values.tolist(), each.charged, each.remaining, each.label, each.link) for each in releases]


def sql(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "db"


def through_archive(path: Path) -> list[Published]:
    with Archive(path) as archive:
        return list(archive.published(archive.visible(NAME)))


def through_verify(path: Path) -> list[Published]:
    with Archive(path) as archive:
        verify_file(archive)
        verify(archive, NAME)
    return through_archive(path)


@pytest.mark.parametrize("door", [publish, through_archive, through_verify])
@pytest.mark.parametrize("ending", ["", ".head", ".key"])
def test_a_byte_that_changed_is_noticed_or_means_nothing(
    path: Path, ending: str, door: Callable[[Path], list[Published]]
) -> None:
    expected, file = links(publish(path, 12)), path.with_name(path.name + ending)
    good, rng = {each: each.read_bytes() for each in path.parent.iterdir() if each.is_file()}, random.Random(4)
    data = good[file]
    places = [at for at, byte in enumerate(data) if byte]
    named = [at + 2 for at in range(len(data)) if data[at : at + len(NAME)] == NAME.encode()]
    for place in named + rng.sample(places, min(len(places), 60)):
        for each, content in good.items():
            each.write_bytes(content)
        changed = bytearray(data)
        changed[place] ^= rng.choice((1, 2, 8, 32, 128))
        file.write_bytes(changed)
        with suppress(PenstockError):
            shown = links(door(path))
            unknown = ending == ".head" and shown == expected[:-1]  # what the head does not know is not shown
            assert shown == expected or unknown, f"byte {place}"


@pytest.mark.parametrize("damage", [0, 1, 100, 4096, 10_000, -4096, "t = 12", "t = 6", "t = 1", "t > 1", "t > 0"])
def test_a_store_that_was_cut_short_is_refused(path: Path, damage: int | str) -> None:
    publish(path, 12)
    if isinstance(damage, str):
        sql(path, f"DELETE FROM releases WHERE {damage}")
    else:
        path.write_bytes(path.read_bytes()[:damage])
    with pytest.raises((ps.StoreError, BadState)):
        publish(path, 13)


def test_without_its_state_no_run_goes_on(path: Path) -> None:
    """The threshold noise of a run lies in the state; whoever compares again has to open, and pay for, a new run."""
    until, running = 5, False
    while not running:
        publish(path, until := until + 1)
        runs = [fact for fact in facts(path) if isinstance(fact, Span)]
        running = sum(run.b is None for run in runs) > sum(run.b is not None for run in runs)
    sql(path, "DELETE FROM states")
    with suppress(ps.StoreError, BadState):
        publish(path, until + 8)
    with Archive(path) as archive:
        entries = [unpack(record.body) for record in archive.records(archive.account(NAME), after=until)]
    compared = [entry.facts for entry in entries if "above" in [verb for verb, _ in entry.answers]]
    assert not compared or any(isinstance(fact, Span) and fact.b is None for fact in compared[0])


def test_the_budget_of_a_population_cannot_be_raised_behind_its_back(path: Path) -> None:
    publish(path, 3, SPAS, population="people", population_epsilon=1)
    sql(path, "UPDATE populations SET nano = 5000000000")
    with pytest.raises(PenstockError):
        publish(path, 1, SPAS, "another", population="people")


@pytest.mark.parametrize("backup_at", [0, 1, 2, 7])
@pytest.mark.parametrize("head", ["kept", "deleted"])
def test_an_old_copy_is_refused(path: Path, backup_at: int, head: str) -> None:
    publish(path, backup_at)
    old = path.read_bytes()
    publish(path, 9)
    path.write_bytes(old)
    if head == "deleted":
        path.with_name("db.head").unlink()
    with pytest.raises(ps.StoreError):
        publish(path, backup_at + 1)
    with Archive(path) as archive:
        assert archive.account(NAME).t == backup_at


def test_an_old_copy_is_refused_whatever_else_is_in_the_store(path: Path) -> None:
    """A stream that had not begun when the copy was made, beside one that had."""
    with ps.Store(path) as store:
        publisher, other = (ps.Publisher(SPAS, store, name, bins=BINS) for name in (NAME, "other"))
        other.publish(unit(1))
        copy(store, path.with_name("old"))
        publisher.publish(unit(1))
    path.with_name("old").rename(path)
    with pytest.raises(StoreRolledBack):
        publish(path, 1)


def test_an_old_copy_is_refused_after_a_new_stream_took_its_place(path: Path) -> None:
    publish(path, 3, SPAS, "other")
    old = path.read_bytes()
    publish(path, 9)
    path.write_bytes(old)
    with suppress(ps.StoreError):
        publish(path, 0, SPAS, "a third")
    with pytest.raises(StoreRolledBack):
        publish(path, 1)


@pytest.mark.parametrize("again", ["restart", "retry"])
def test_a_release_is_not_shown_before_the_head_knows_it(path: Path, again: str) -> None:
    """A process that dies between commit and head shows the release when it starts again."""
    publish(path, 3)
    old, crashes = path.read_bytes(), ["commit"]

    def at(point: str) -> None:
        if point in crashes:
            crashes.clear()
            raise Crash

    with ps.Store(path, at=at) as store:
        publisher = ps.Publisher(SPAS, store, NAME, bins=BINS)
        with pytest.raises(Crash):
            publisher.publish(unit(4))
        assert again == "restart" or publisher.publish(unit(4)).t == 4
    assert again == "retry" or len(publish(path, 4)) == 4
    path.write_bytes(old)
    with pytest.raises(StoreRolledBack):
        publish(path, 4)


def test_a_head_of_another_store_is_refused_and_a_torn_one_is_not(path: Path) -> None:
    publish(path, 9)
    publish(path.with_name("two"), 9)
    head, good = path.with_name("db.head"), path.with_name("db.head").read_bytes()
    for slot in (1, 2):
        head.write_bytes(good[: 128 * slot + 40] + b"\0" * 88 + good[128 * (slot + 1) :])
        assert len(publish(path, 9)) == 9
    head.write_bytes(path.with_name("two.head").read_bytes())
    with pytest.raises(StoreDamaged, match="not the head file"):
        publish(path, 10)


ADOPTED = {"spas": SPAS, "greedy": greedy(W), "bd": ps.BD(model=W), "uniform": ps.Uniform(model=W)}
ADOPTED |= {"uniform-m": ps.Uniform(model=M), "greedy-m": greedy(M)}


@pytest.mark.parametrize("head", ["kept", "deleted"])
@pytest.mark.parametrize(("backup_at", "gone_at"), [(0, 7), (2, 3), (7, 11), (7, 20)])
@pytest.mark.parametrize("name", ADOPTED)
def test_what_an_old_copy_does_not_know_counts_as_spent(
    path: Path, name: str, backup_at: int, gone_at: int, head: str
) -> None:
    """Both histories happened. What the lost one spent and what is spent after it stay within the law together."""
    mechanism, model = ADOPTED[name], ADOPTED[name].model
    publish(path, backup_at, mechanism)
    old = path.read_bytes()
    publish(path, gone_at, mechanism)
    gone = facts(path)
    path.write_bytes(old)
    if head == "deleted":
        path.with_name("db.head").unlink()
        with pytest.raises(PenstockError):  # nobody can know how much is missing
            publish(path, gone_at + 12, mechanism, adopt=0)
    publish(path, gone_at + 12, mechanism, adopt=gone_at if head == "deleted" else 0)
    ends = {fact.key: fact for fact in gone if isinstance(fact, Span)}
    cut = [Span(each.a, gone_at, each.e, each.envelope, key) for key, each in ends.items() if each.b is None]
    new = [fact for fact in facts(path, after=backup_at) if not (isinstance(fact, Point) and fact.envelope == "lost")]
    later = [Span(f.a, f.b, f.e, f.envelope, f.key + 10**6) if isinstance(f, Span) else f for f in new]
    true = gone + cut + [f for f in later if not isinstance(f, Span) or f.a > gone_at]
    assert recount(true, model, [("u1", "u2")] * (gone_at + 12)) <= model.epsilon


@pytest.mark.parametrize(("there", "here"), [(9, 10), (12, 10)])
def test_adopting_a_fork_spends_nothing_that_either_copy_has_spent(path: Path, there: int, here: int) -> None:
    model, other = ps.WEvent(epsilon=1, w=6), path.with_name("fork")
    publish(path, 3, greedy(model))
    for ending in ("", ".key", ".head"):
        shutil.copy(path.with_name(f"db{ending}"), path.with_name(f"fork{ending}"))
    publish(path, there, greedy(model))
    publish(other, here, greedy(model))
    before = points(path) + points(other, after=3)
    shutil.copy(path.with_name("db.head"), path.with_name("fork.head"))
    with pytest.raises(StoreRolledBack):
        publish(other, 13, greedy(model))
    with suppress(ps.StoreError):  # which may be refused
        publish(other, 24, greedy(model), adopt=0)
    new = points(other, after=here)
    for start in range(1, 24):
        spent = [sum(nano for t, nano in part if start <= t < start + model.w) for part in (before, new)]
        assert not spent[1] or sum(spent) <= 10**9, f"window from {start}"


def penstock(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).parent / "penstock", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command_line_refuses_in_one_sentence_and_adopts(path: Path) -> None:
    publish(path, 2)
    old = path.read_bytes()
    publish(path, 9)
    path.write_bytes(old)
    refused = penstock("ledger", "verify", path)
    assert (refused.returncode, refused.stdout, len(refused.stderr.strip().splitlines())) == (2, "", 1)
    adopted = penstock("ledger", "adopt", path, "--stream", NAME, "--yes")
    assert (adopted.returncode, "goes on after t=9" in adopted.stderr) == (0, True)
    assert [release.t for release in publish(path, 10)] == [1, 2, 10]


@pytest.mark.parametrize("command", ["ledger show", "export"])
@pytest.mark.parametrize("damage", ["cause", "declaration"])
def test_the_command_line_says_what_is_damaged(path: Path, command: str, damage: str) -> None:
    publish(path, 3)
    old, new = (b'"decided"', b'"dEcided"') if damage == "cause" else (b'"mechanism": ', b'"mechanism"# ')
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new))
    result = penstock(*command.split(), path, "--stream", NAME)
    assert (result.returncode, len(result.stderr.strip().splitlines())) == (2, 1)
