"""Complaints of SQLite and of the operating system, each as one sentence that says what to do."""

import sqlite3
from pathlib import Path

import pytest

from penstock.errors import BadInput, BadState, StoreDamaged, StoreError
from penstock.store.faults import SENTENCES, plainly

STORE = Path("people.db")


def complaint(name: str) -> sqlite3.Error:
    """What SQLite raises under this name."""
    fault = sqlite3.OperationalError("some text of its own")
    fault.sqlite_errorname = name
    return fault


@pytest.mark.parametrize("name", SENTENCES)
@pytest.mark.parametrize("ending", ["", "_SNAPSHOT"])
def test_what_sqlite_reports_becomes_a_sentence(name: str, ending: str) -> None:
    """So does a more detailed code of the same kind."""
    kind, sentence = SENTENCES[name]
    with pytest.raises(StoreError) as caught, plainly(STORE):
        raise complaint(name + ending)
    assert type(caught.value) is kind
    assert str(caught.value) == sentence.format(path=STORE)


def test_a_complaint_that_nobody_knows_is_named() -> None:
    with pytest.raises(StoreError, match=r"^the store people\.db failed: SQLITE_NOLFS$"), plainly(STORE):
        raise complaint("SQLITE_NOLFS")
    with pytest.raises(StoreDamaged, match=r"^the store people\.db is damaged"), plainly(STORE):
        raise sqlite3.DatabaseError("without a name")


def test_a_store_that_was_closed_says_so() -> None:
    connection = sqlite3.connect(":memory:")
    connection.close()
    with pytest.raises(StoreError, match=r"^the store people\.db was closed, or is used by another"), plainly(STORE):
        connection.execute("SELECT 1")


@pytest.mark.parametrize("fault", [TypeError("x"), ValueError("x"), KeyError("x")], ids=repr)
def test_bytes_that_cannot_be_read_are_damage(fault: Exception) -> None:
    with pytest.raises(StoreDamaged, match=r"^the store people\.db is damaged, or its disk failed"), plainly(STORE):
        raise fault


@pytest.mark.parametrize("fault", [BadInput("pass a number."), BadState("the state is damaged.")], ids=repr)
def test_a_sentence_of_our_own_stays_as_it_is(fault: Exception) -> None:
    with pytest.raises(type(fault)) as caught, plainly(STORE):
        raise fault
    assert caught.value is fault


@pytest.mark.parametrize(("path", "named"), [("people.db.head", "people.db.head"), (None, "people.db")])
def test_a_file_that_cannot_be_used_is_named(path: str | None, named: str) -> None:
    with pytest.raises(StoreError, match=f"^{named} cannot be used: no space; mend that and run"), plainly(STORE):
        raise OSError(28, "no space", path)
