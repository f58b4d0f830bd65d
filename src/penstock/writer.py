"""One stream of a store, and the right to draw its next unit."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from penstock.epsilon import Epsilon, Number
from penstock.errors import BadInput, BudgetExceeded, OutOfOrder
from penstock.mechanisms.base import Mechanism
from penstock.noise import Noise
from penstock.session import Session
from penstock.store import Intent, Pending, Store
from penstock.store.links import linked
from penstock.store.record import pack
from penstock.store.scribe import Scribe, declared
from penstock.types import Cause, Release, Snapshot

log = logging.getLogger(__name__)


class Writer(Scribe):
    """Draws the units of one stream, one after another, from wherever it was cut short.

    ``bins`` are the names of the bins, ``every`` is the length of a time unit (see ``Calendar``). ``Scribe`` tells of
    the other parameters.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        store: Store,
        stream: str,
        *,
        bins: Sequence[str],
        every: str = "auto",
        population: str | None = None,
        population_epsilon: Epsilon | Number | None = None,
        noise: Noise | None = None,
        adopt: int | None = None,
    ) -> None:
        self.bins = _named(bins)
        self.every = every
        self._mechanism = mechanism
        self._pending: Pending | None = None
        super().__init__(
            store,
            stream,
            declared(type(mechanism), mechanism.parameters, mechanism.model, self.bins, every)
            | ({"intervals": True} if mechanism.intervals else {}),
            type(mechanism),
            population=population,
            population_epsilon=population_epsilon,
            noise=noise,
            adopt=adopt,
        )

    # ---- one unit ---------------------------------------------------------------------------------------------------

    def prepare(self, snapshot: Snapshot, *, ahead: Snapshot | None = None) -> Pending:
        """Draw the release of a unit, to be stored with ``store.commit`` before anybody sees it.

        A unit that is stored already gets the very same release again. ``ahead`` is the next snapshot, if it is at
        hand: then its unit is announced in the same transaction.
        """
        if snapshot.t <= self.t:
            return self._stored(snapshot.t)
        waiting = self._waiting()
        if waiting is not None and waiting.release.t == snapshot.t:
            return waiting
        self._require_ready()
        self._session.check(snapshot)
        if self._mechanism.model.is_over(snapshot.t):  # nothing can be drawn, so nothing is announced
            return self._packed(self._session.pass_over(snapshot), Cause.OVER, snapshot.label)
        self._session.mechanism.admit(snapshot.t, snapshot.label)
        intent = self._intent(snapshot.label, self._account.link)
        if self._account.announced != intent.t:
            self.store.intend([intent])
        self._drawn = intent.t
        try:
            release, cause = self._session.step(snapshot), Cause.DECIDED
        except Exception as fault:
            release, cause = self._passed_over(snapshot, fault, intent.most)
        self.store.at("draw")
        return self._packed(release, cause, snapshot.label, ahead)

    def prepare_missing(self, label: str = "") -> Pending:
        """The next unit has no input: its release is the one before, for nothing."""
        self._require_ready()
        blank = self._session.blank(self._session.ledger.t + 1, label)
        self._session.check(blank)
        return self._packed(self._session.pass_over(blank), Cause.MISSING, blank.label)

    def _waiting(self) -> Pending | None:
        """What is drawn and not stored."""
        return self._pending if self._pending is not None and self._pending.release.t > self.t else None

    def _require_ready(self) -> None:
        """Refuse to draw without the right to, or before the unit before is stored."""
        self.store.require_held(self._account)
        waiting = self._waiting()
        if waiting is not None:
            raise OutOfOrder(f"the release of t={waiting.release.t} was not committed; commit it first.")
        if self._session.ledger.t != self.t or self._drawn > self.t:
            raise OutOfOrder("a step was interrupted; close this publisher and open the stream again.")

    def _stored(self, t: int) -> Pending:
        found = self.stored(t)
        if found is None:
            raise OutOfOrder(f"the release of t={t} was made from a store that is gone, and is not known here.")
        return Pending(self._account, found, b"", b"")

    def _passed_over(self, snapshot: Snapshot, fault: Exception, most: Epsilon) -> tuple[Release, Cause]:
        """A step that failed: start again from what is stored, count its charge as spent, and republish.

        A charge that does not fit is refused before anything is drawn for it, so then only what was answered counts.
        """
        refused = isinstance(fault, BudgetExceeded)
        if not refused:
            log.warning("t=%d: the step failed (%s); its charge is spent.", snapshot.t, type(fault).__name__)
        booked, told = Epsilon.of_nano(self._session.ledger.charged), bool(self._session.answers())
        cost = self._session.cost()
        self._resume()
        blank = self._session.blank(snapshot.t, snapshot.label, snapshot.present)  # the snapshot has been opened
        if not refused:
            return self._session.pass_over(blank, most), Cause.FAILED
        release = self._session.pass_over(blank, booked if told else None)
        if told:
            self._session.note_refused(cost)  # so that a verification of the store can see what was due
        return release, Cause.REFUSED

    def _intent(self, label: str, after: bytes) -> Intent:
        ledger = self._session.ledger
        return Intent(self._account, ledger.t + 1, label, ledger.remaining_next(), after)

    def _packed(self, release: Release, cause: Cause, label: str, ahead: Snapshot | None = None) -> Pending:
        session, account = self._session, self._account
        drawn = self._unlinked(release, cause, label, session.ledger)
        body, session.source = pack(drawn, session.facts, session.answers(), session.source)
        waiting = self._waiting()
        link = linked(waiting.link if waiting else account.link, body)
        following = self._intent(ahead.label, link) if ahead is not None and self._is_next(ahead) else None
        state = session.due_state(cause, self._key)
        self._pending = Pending(account, replace(drawn, link=link.hex()), body, link, state, following)
        return self._pending

    def _is_next(self, ahead: Snapshot) -> bool:
        """Whether a snapshot can be drawn next; what would be refused, or not be looked at, is not announced."""
        try:
            self._session.check(ahead)
            if self._mechanism.model.is_over(ahead.t):
                return False
            self._session.mechanism.admit(ahead.t, ahead.label)
        except (BadInput, BudgetExceeded):  # the latter past the horizon
            return False
        return True

    # ---- taking up work ---------------------------------------------------------------------------------------------

    def _resume(self) -> Intent | None:
        """A session that stands where the store ends. Returns a unit that was announced and never stored."""
        saved = self.store.resume(self._account)
        self._session = Session(self._mechanism, len(self.bins), self._noise)
        self._session.take_up(saved, self._key)
        return saved.intent

    def _lost(self, intent: Intent) -> Pending:
        lost = self._session.pass_over(self._session.blank(intent.t, intent.label), intent.most)
        return self._packed(lost, Cause.LOST, intent.label)

    def _adopted(self, until: int) -> list[Pending]:
        """Nothing is spent while a window holds one of them."""
        pending = []
        for t in range(self.t + 1, until + 1):
            blank = self._session.blank(t)
            release = self._session.pass_over(blank, self._mechanism.model.epsilon, forget=t == until)
            pending.append(self._packed(release, Cause.ADOPTED, blank.label))
        return pending


def _named(bins: Sequence[str]) -> tuple[str, ...]:
    names = tuple(bins)
    if not all(name.strip() and name.isprintable() for name in names):
        raise BadInput("bins are named by printable text; give every bin a name.")
    if not names or len(set(names)) < len(names):
        raise BadInput("every bin needs a name of its own, and there must be one at least.")
    return names
