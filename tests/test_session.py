"""Sessions: when a state is saved with a unit, and what a stream is taken up from."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.codec import decode, encode
from penstock.errors import BadState, OutOfOrder
from penstock.sealing import new_key
from penstock.session import STATE_EVERY, Session
from penstock.store import Archive, Entry, Saved, SavedState
from penstock.store.record import Source, unpack
from penstock.types import Cause

LAW, KEY = ps.WEvent(epsilon=1, w=4), new_key()


def session(mechanism: ps.Mechanism | None = None) -> Session:
    return Session(mechanism or ps.Uniform(model=LAW), 2, None)


def unit(t: int, *counts: int) -> ps.Snapshot:
    return ps.Snapshot(t, counts or (t, 7))


def taken_up(*entries: Entry, source: Source | None = None, state: SavedState | None = None) -> Session:
    again = session()
    again.take_up(Saved(state, source, list(entries), None), KEY)
    return again


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> list[Entry]:
    """The records of a stream of four units."""
    path = tmp_path_factory.mktemp("store") / "db"
    with ps.Store(path) as store, ps.Publisher(ps.Uniform(model=LAW), store, "s", bins=("a", "b")) as publisher:
        for t in range(1, 5):
            publisher.publish(unit(t))
    with Archive(path) as archive:
        return [unpack(record.body) for record in archive.records(archive.account("s"))]


def test_a_state_that_hides_nothing_is_saved_every_hundred_units() -> None:
    running = session()
    saved = []
    for t in range(1, 2 * STATE_EVERY + 1):
        running.step(unit(t))
        if running.due_state(Cause.DECIDED, KEY) is not None:
            saved.append(t)
    assert saved == [100, 200]


@pytest.mark.parametrize("cause", list(Cause))
def test_what_was_not_decided_is_saved_at_once(cause: Cause) -> None:
    """It cannot be played back."""
    running = session()
    running.step(unit(1))
    state = running.due_state(cause, KEY)
    assert (state is None) == (cause in (Cause.DECIDED, Cause.OVER))


@pytest.mark.parametrize(
    ("mechanism", "present"),
    [(ps.SPAS(model=LAW, warm_up=1, direct=False), None), (ps.Uniform(model=ps.MContext(epsilon=1, m=2)), ("ann",))],
    ids=["a threshold", "presence"],
)
def test_what_hides_something_is_saved_at_once(mechanism: ps.Mechanism, present: tuple[str, ...] | None) -> None:
    running, saved = session(mechanism), []
    for t in range(1, 9):
        running.step(ps.Snapshot(t, [0, 1], present))
        saved.append(running.due_state(Cause.DECIDED, KEY) is not None)
    assert any(saved)
    assert present is None or all(saved)


def test_a_stream_is_taken_up_by_playing_back_what_followed(entries: list[Entry]) -> None:
    again = taken_up(*entries)
    assert again.ledger.t == 4
    assert (again.facts, again.answers()) == ([], [])
    assert again.source is not None
    assert (again.source.t, again.source.values.tolist()) == (4, entries[3].whole(None).values.tolist())
    again.check(unit(5))
    again.step(unit(5))
    assert again.ledger.charged == ps.Epsilon("0.25").nano
    assert [verb for verb, _ in again.answers()] == ["ask"]


def changed(entry: Entry, **values: Any) -> Entry:
    return entry._replace(**values)


@pytest.mark.parametrize(
    "change",
    [
        {"charged": ps.Epsilon("0.1")},
        {"facts": []},
        {"answers": []},
        {"answers": [("nearest", 1)]},
        {"answers": [("ask", np.array([1, 2, 3]))]},
        {"values": np.array([1, 2])},
    ],
    ids=str,
)
def test_a_mechanism_that_does_otherwise_than_before_is_refused(entries: list[Entry], change: dict[str, Any]) -> None:
    with pytest.raises(BadState, match=r"of Uniform does not do again what it did at t=2; go on with version"):
        taken_up(entries[0], changed(entries[1], **change), entries[2])


def test_more_answers_than_the_mechanism_asks_for_are_refused(entries: list[Entry]) -> None:
    with pytest.raises(BadState, match="does not do again what it did at t=1"):
        taken_up(changed(entries[0], answers=entries[0].answers * 2))


def test_a_state_of_other_parts_is_refused() -> None:
    running = session()
    running.step(unit(1))
    public, sealed = running.mechanism.save(None)
    whole = decode(public)
    taken_up(state=SavedState(1, public, sealed))
    for missing in ("curator", "last", "own"):
        less = {name: part for name, part in whole.items() if name != missing}
        with pytest.raises(BadState, match="of Uniform cannot take up what another one has saved at t=1; go on with"):
            taken_up(state=SavedState(1, encode(less), b""))
    with pytest.raises(BadState, match="the state belongs to"):
        taken_up(state=SavedState(1, encode(whole | {"mechanism": "another"}), b""))


def test_what_cannot_be_next_is_refused_before_anything_happens() -> None:
    running = session()
    for wrong in (unit(2), unit(1, 1, 2, 3)):
        with pytest.raises((OutOfOrder, ps.BadInput)):
            running.check(wrong)
    running.check(unit(1))
    assert running.ledger.t == 0


@pytest.mark.parametrize("lost", [None, ps.Epsilon("0.25")])
def test_a_unit_that_is_passed_over_costs_what_is_counted_as_lost(lost: ps.Epsilon | None) -> None:
    running = session()
    release = running.pass_over(running.blank(1, "monday"), lost)
    assert release.charged == (lost or ps.Epsilon(0))
    assert [fact.e for fact in running.facts if hasattr(fact, "e")] == ([lost] if lost else [])
    assert (running.ledger.t, running.answers()) == (1, [])
    assert running.ledger.remaining() == ps.Epsilon(1) - (lost or ps.Epsilon(0))


def test_a_blank_is_empty_and_nobody_is_there() -> None:
    blank = session().blank(3, "monday")
    assert (blank.t, blank.label, blank.bins, blank.present) == (3, "monday", 2, None)
    assert session(replace(ps.Uniform(model=ps.MContext(epsilon=1, m=2)))).blank(1).present == ()
