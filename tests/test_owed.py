"""What units owe whose step nobody saw the end of, recounted from what is stored."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.audit.finding import FAILED_AT, LOST_AT, REFUSED_AT, stumble
from penstock.audit.planted import Planted
from penstock.charges import Fact, Point, Span
from penstock.epsilon import Epsilon
from penstock.errors import StoreDamaged
from penstock.ledger import LOST
from penstock.store import Archive
from penstock.store.owed import Owed
from penstock.store.record import BOOKED, Entry, unpack
from penstock.types import Cause, Kind

W = ps.WEvent(epsilon=1, w=3)
BLANK = Entry(1, "1", Cause.DECIDED, 0, Kind.REPUBLISHED, 0.0, Epsilon(0), Epsilon(0), 0, "1", [], [])


def spent(t: int, e: Any, envelope: str = "publish") -> Fact:
    return Point(t, Epsilon(e), envelope)


def follow(*entries: tuple[Cause, list[Fact]], model: ps.PrivacyModel = W, answers: Any = ()) -> None:
    """The entries of units 1, 2, ...; the last one has these answers."""
    owed = Owed("people", model)
    for t, (cause, facts) in enumerate(entries, start=1):
        owed.follow(replace_entry(t, cause, facts, list(answers) if t == len(entries) else []))


def replace_entry(t: int, cause: Cause, facts: list[Fact], answers: list[Any]) -> Entry:
    return BLANK._replace(t=t, cause=cause, facts=facts, answers=answers)


@pytest.mark.parametrize("cause", [Cause.LOST, Cause.FAILED, Cause.ADOPTED])
@given(st.integers(0, 10), st.integers(0, 10), st.integers(0, 10))
def test_the_window_of_a_lost_unit_is_full(cause: Cause, before: int, long_before: int, lost: int) -> None:
    """Charges that the window has left do not count."""
    units = [(Cause.DECIDED, [spent(1, long_before / 10)]), (Cause.DECIDED, [spent(2, before / 10)])]
    units += [(Cause.MISSING, list[Fact]()), (cause, [spent(4, lost / 10, LOST)])]
    if before + lost >= 10:
        follow(*units)
    else:
        with pytest.raises(StoreDamaged, match=rf"t=4 may have cost \({cause.value}\)"):
            follow(*units)


def test_a_span_counts_in_the_window_that_it_meets() -> None:
    opened, closed = Span(1, None, Epsilon(1), "decide", 0), Span(1, 2, Epsilon(1), "decide", 0)
    quiet: list[Fact] = []
    follow((Cause.DECIDED, [opened]), (Cause.DECIDED, [closed]), (Cause.MISSING, quiet), (Cause.LOST, quiet))
    with pytest.raises(StoreDamaged):
        follow((Cause.DECIDED, [opened]), (Cause.DECIDED, [closed]), *[(Cause.MISSING, quiet)] * 2, (Cause.LOST, quiet))


def test_after_an_adopted_copy_nothing_was_left_to_lose() -> None:
    quiet: list[Fact] = []
    follow((Cause.DECIDED, [spent(1, 1)]), (Cause.ADOPTED, quiet), (Cause.LOST, quiet), (Cause.LOST, quiet))
    with pytest.raises(StoreDamaged):
        follow(
            (Cause.DECIDED, [spent(1, 1)]), (Cause.ADOPTED, quiet), *[(Cause.MISSING, quiet)] * 2, (Cause.LOST, quiet)
        )


@given(st.integers(0, 10), st.integers(0, 10))
def test_a_refused_unit_has_booked_exactly_what_it_was_told(told: int, booked: int) -> None:
    units: tuple[Cause, list[Fact]] = (Cause.REFUSED, [spent(1, booked / 10, LOST)])
    answers = [(BOOKED, told * 10**8)]
    if told == booked:
        follow(units, answers=answers)
    else:
        with pytest.raises(StoreDamaged, match=r"\(refused\)"):
            follow(units, answers=answers)


def test_under_m_context_a_lost_unit_books_all_of_epsilon() -> None:
    crowd = ps.MContext(epsilon=1, m=2)
    follow((Cause.LOST, [spent(1, 1, LOST)]), model=crowd)
    with pytest.raises(StoreDamaged):
        follow((Cause.LOST, [spent(1, "0.9", LOST)]), model=crowd)


def test_a_stream_of_steps_cut_short_verifies_and_says_what_it_was_told(caplog: pytest.LogCaptureFixture) -> None:
    """Which is the stream that planted failures of a store are found in."""
    stumble(Planted)
    assert f"t={FAILED_AT}" in caplog.text
    assert LOST_AT < FAILED_AT < REFUSED_AT


def test_what_a_refused_step_was_told_stands_in_its_record(tmp_path: Path) -> None:
    class Greedy(Planted):
        """Asks for what it has, and for more."""

        def decide(self, snapshot: ps.Snapshot) -> ps.Release:
            release = super().decide(snapshot)
            return self.publish(snapshot, self.model.epsilon * 2) if snapshot.t == 2 else release

    with (
        ps.Store(tmp_path / "db") as store,
        ps.Publisher(Greedy(model=W, allow_unproven=True), store, "people", bins=("a",)) as publisher,
    ):
        for t in (1, 2):
            publisher.publish(ps.Snapshot(t, np.array([5])))
    with Archive(tmp_path / "db") as archive:
        records = [unpack(record.body) for record in archive.records(archive.account("people"))]
    assert [entry.cause for entry in records] == [Cause.DECIDED, Cause.REFUSED]
    assert records[1].answers == [(BOOKED, (Epsilon(1) / 3).nano)]
