"""What streams hold of a population: put down with the first of them, and given back while nothing was drawn."""

import json
from contextlib import suppress
from pathlib import Path

import pytest

import penstock as ps
from in_process import Crash, command, crash_at
from penstock.errors import BudgetExceeded, OtherStream, StoreError, StoreInUse, StoreRolledBack

LAW = ps.WEvent(epsilon=1, w=3)
HALF = ps.WEvent(epsilon="0.5", w=3)


def begun(store: ps.Store, name: str, law: ps.PrivacyModel = LAW, whole: str | None = "1.5") -> ps.Publisher:
    mechanism = ps.Uniform(model=law)
    return ps.Publisher(mechanism, store, name, bins=["a"], population="people", population_epsilon=whole)


def declare(path: Path, *names: str) -> None:
    """Declare streams, and draw nothing."""
    with ps.Store(path) as store:
        for name in names:
            begun(store, name, HALF).close()


def held(path: Path) -> dict[str, str]:
    """What each stream holds."""
    with ps.Store(path) as store:
        return {name: each["model"]["epsilon"] for name, each in store.streams().items()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.mark.parametrize(
    ("law", "whole", "sentence"),
    [
        (LAW, "0.5", "has 0.5 of 0.5 left"),
        (LAW, None, "is new here"),
    ],
)
def test_a_refused_stream_declares_no_population(
    path: Path, law: ps.PrivacyModel, whole: str | None, sentence: str
) -> None:
    with ps.Store(path) as store:
        with pytest.raises(BudgetExceeded, match=sentence):
            begun(store, "one", law, whole)
        assert (store.populations(), store.streams()) == ({}, {})
        begun(store, "one", law, "3").close()
        with pytest.raises(OtherStream, match="cannot change"):
            begun(store, "two", law, "4")
        assert store.populations() == {"people": ps.Epsilon(3)}


def test_what_an_unused_stream_holds_is_given_back(path: Path) -> None:
    declare(path, "one", "two", "three")
    with ps.Store(path) as store:
        with pytest.raises(BudgetExceeded):
            begun(store, "four", HALF)
        store.drop("two")
        assert store.populations() == {"people": ps.Epsilon("1.5")}
        with begun(store, "four", HALF) as publisher:
            publisher.publish(ps.Snapshot(1, [5]))
        with pytest.raises(BudgetExceeded, match=r"has 0 of 1\.5 left"):
            begun(store, "two", HALF)
    assert list(held(path)) == ["one", "three", "four"]
    assert command("ledger", "verify", path)[0] == 0


def test_the_last_one_takes_the_population_with_it(path: Path) -> None:
    declare(path, "one")
    with ps.Store(path) as store:
        store.drop("one")
        assert store.populations() == {}
        begun(store, "one", LAW, "2").close()
        assert store.populations() == {"people": ps.Epsilon(2)}


def use(path: Path, how: str) -> None:
    """Make a stream one that has drawn something, or may have."""
    with ps.Store(path, at=crash_at(how)) as store, suppress(Crash):
        begun(store, "one", HALF).publish(ps.Snapshot(1, [5]))  # and not closed, which would take back what it can


@pytest.mark.parametrize("how", ["nothing", "intent", "draw", "write", "commit", "head"])
def test_a_stream_that_may_have_drawn_something_keeps_what_it_holds(path: Path, how: str) -> None:
    use(path, how)
    with ps.Store(path) as store:
        with pytest.raises(BudgetExceeded, match="only an unused stream can be dropped"):
            store.drop("one")
        assert list(store.streams()) == ["one"]
        with begun(store, "one", HALF):  # a unit that was announced is lost now
            pass
        with pytest.raises(BudgetExceeded, match="only an unused stream"):
            store.drop("one")


def test_an_old_copy_gives_nothing_back(path: Path) -> None:
    """In the newer store the stream may have drawn something."""
    declare(path, "one", "two")
    old = path.read_bytes()
    use(path, "nothing")
    path.write_bytes(old)
    with ps.Store(path) as store:
        for name in ("one", "two"):
            with pytest.raises(StoreRolledBack):
                store.drop(name)
    declare(path.with_name("other.db"), "one")
    path.with_name("other.db.head").unlink()
    with ps.Store(path.with_name("other.db")) as store, pytest.raises(StoreRolledBack, match="head file is gone"):
        store.drop("one")


def test_a_stream_that_is_being_written_is_not_dropped(path: Path) -> None:
    with ps.Store(path) as store, begun(store, "one"), ps.Store(path) as other:
        with pytest.raises(StoreInUse):
            other.drop("one")
        with pytest.raises(StoreError, match='has no stream "none"'):
            other.drop("none")


def test_a_command_drops_it(path: Path) -> None:
    declare(path, "one", "two")
    code, out, err = command("ledger", "drop", path, "--stream", "one")
    assert (code, out, err) == (
        0,
        "",
        'dropped: stream "one" was not used, and gives 0.5 back to population "people".\n',
    )
    assert [row["stream"] for row in json.loads(command("ledger", "show", path, "--json")[1])] == ["two"]
    use(path, "nothing")
    code, out, err = command("ledger", "drop", path, "--stream", "one")
    assert (code, "stays spent; only an unused stream can be dropped" in err) == (2, True)
    assert command("ledger", "drop", path.with_name("none.db"), "--stream", "one")[0] == 2
    with ps.Store(path) as store:
        ps.Publisher(ps.Uniform(model=LAW), store, "alone", bins=["a"]).close()
    assert "held nothing of a population" in command("ledger", "drop", path, "--stream", "alone")[2]
