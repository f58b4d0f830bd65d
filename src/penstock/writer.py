"""One stream of a store, and the right to draw its next unit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any, Self

from penstock.epsilon import Epsilon, Number
from penstock.errors import BadInput, BudgetExceeded, OutOfOrder
from penstock.ledger import Population
from penstock.mechanisms.base import Mechanism
from penstock.models import MContext, described, model_of
from penstock.noise import Noise
from penstock.proofs import fingerprint
from penstock.session import Session
from penstock.store import Intent, Pending, Store
from penstock.store.record import linked, pack
from penstock.types import Cause, Published, Release, Snapshot

log = logging.getLogger(__name__)

Declaration = dict[str, Any]


class Writer:
    """Draws the units of one stream, one after another, from wherever it was cut short.

    ``bins`` are the names of the bins. Streams about the same people name one ``population``, and the first of them
    says how much all may spend together. ``adopt`` accepts a store that is older than what was published from it, and
    counts what it does not know as spent; its value is the last unit that was published, or 0 to trust the head file.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        store: Store,
        stream: str,
        *,
        bins: Sequence[str],
        population: str | None = None,
        population_epsilon: Epsilon | Number | None = None,
        noise: Noise | None = None,
        adopt: int | None = None,
    ) -> None:
        if noise is not None and not noise.secure:
            raise BadInput("a store takes secure noise only; simulation and scripted noise protect nobody.")
        self.store = store
        self.bins = tuple(bins)
        self._mechanism = mechanism
        self._noise = noise
        self._key: bytes = store.key  # a missing one is refused before anything happens
        self._version = f"{version('penstock')}+{fingerprint(type(mechanism))}"
        admit = self._admission(population, population_epsilon)
        self._account = store.enter(stream, self._declaration(), population, admit)
        self._pending: Pending | None = None
        try:
            self._begin(adopt)
        except BaseException:
            store.leave(self._account)
            raise

    def _declaration(self) -> Declaration:
        return {
            "mechanism": type(self._mechanism).__name__,
            "parameters": self._mechanism.parameters,
            "model": described(self._mechanism.model),
            "bins": list(self.bins),
        }

    def _admission(
        self, population: str | None, epsilon: Epsilon | Number | None
    ) -> Callable[[list[Declaration]], None]:
        """Whether a new stream fits into its population."""
        if population is None:
            return lambda members: None
        budget = self.store.population(population, None if epsilon is None else Epsilon(epsilon))

        def admit(members: list[Declaration]) -> None:
            people = Population(population, budget, [model_of(member["model"]) for member in members])
            people.join(self._mechanism.model)

        return admit

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop cleanly: a unit that was announced, and for which nothing was drawn, is taken back."""
        if self._account.announced and self._session.ledger.t == self._account.t:
            self.store.withdraw(self._account)
        self.store.leave(self._account)

    @property
    def t(self) -> int:
        """The last unit that is stored."""
        return self._account.t

    def releases(self, after: int = 0) -> Iterator[Published]:
        """The stored releases, in order of time, without the adopted units, whose release is not known here."""
        stored = self.store.published(self._account, after)
        return (release for release in stored if release.cause is not Cause.ADOPTED)

    # ---- one unit ---------------------------------------------------------------------------------------------------

    def prepare(self, snapshot: Snapshot, *, ahead: Snapshot | None = None) -> Pending:
        """Draw the release of a unit, to be stored with ``store.commit`` before anybody sees it.

        A unit that is stored already gets the very same release again. ``ahead`` is the next snapshot, if it is at
        hand: then its unit is announced in the same transaction.
        """
        if snapshot.t <= self.t:
            return self._stored(snapshot.t)
        if self._pending and self._pending.release.t > self.t:
            if snapshot.t == self._pending.release.t:
                return self._pending
            raise OutOfOrder(f"the release of t={self._pending.release.t} was not committed; commit it first.")
        self._session.check(snapshot)
        intent = self._intent(snapshot.label, self._account.link)
        if self._account.announced != intent.t:
            self.store.intend([intent])
        try:
            release, cause = self._session.step(snapshot), Cause.DECIDED
        except Exception as fault:
            release, cause = self._passed_over(snapshot, fault, intent.most)
        self.store.at("draw")
        return self._packed(release, cause, snapshot.label, ahead)

    def prepare_missing(self, label: str = "") -> Pending:
        """The next unit has no input: its release is the one before, for nothing."""
        blank = self._session.blank(self._session.ledger.t + 1, label)
        return self._packed(self._session.pass_over(blank), Cause.MISSING, blank.label)

    def _stored(self, t: int) -> Pending:
        found = next(self.releases(after=t - 1), None)
        if found is None or found.t != t:
            raise OutOfOrder(f"the release of t={t} was made from a store that is gone, and is not known here.")
        return Pending(self._account, found, b"", b"")

    def _passed_over(self, snapshot: Snapshot, fault: Exception, most: Epsilon) -> tuple[Release, Cause]:
        """A step that failed: start again from what is stored, count its charge as spent, and republish."""
        refused = isinstance(fault, BudgetExceeded)  # then nothing was drawn besides what is booked
        booked = Epsilon.of_nano(self._session.ledger.charged)
        if not refused:
            log.warning("t=%d: the step failed (%s); its charge is spent.", snapshot.t, type(fault).__name__)
        self._resume(self._key)
        lost = (booked or None) if refused else most
        return self._session.pass_over(snapshot, lost), Cause.REFUSED if refused else Cause.FAILED

    def _intent(self, label: str, after: bytes) -> Intent:
        ledger = self._session.ledger
        return Intent(self._account, ledger.t + 1, label, ledger.remaining_next(), after)

    def _packed(self, release: Release, cause: Cause, label: str, ahead: Snapshot | None = None) -> Pending:
        session, account = self._session, self._account
        content = (release.t, release.values, release.kind, release.noise_sd, release.charged)
        budget = (session.ledger.remaining(), session.ledger.sequence)
        drawn = Published(*content, account.name, label, cause, *budget, account.mechanism, self._version, "")
        body, session.source = pack(drawn, session.facts, session.answers(), session.source)
        waiting = self._pending is not None and self._pending.release.t > account.t
        link = linked(self._pending.link if self._pending and waiting else account.link, body)
        next_is_known = ahead is not None and ahead.t == release.t + 1
        following = self._intent(ahead.label, link) if ahead and next_is_known else None
        state = session.due_state(cause, self._key)
        self._pending = Pending(account, replace(drawn, link=link.hex()), body, link, state, following)
        return self._pending

    # ---- taking up work ---------------------------------------------------------------------------------------------

    def _begin(self, adopt: int | None) -> None:
        if adopt is None:
            self.store.require_latest(self._account)
        intent = self._resume(self._key)
        forgets = isinstance(self._mechanism.model, MContext)  # who was present in a unit that is lost is not known
        if forgets and (intent or adopt is not None):
            self._resume(None)
        if adopt is not None:
            self._adopt(self.store.adoptable(self._account, adopt))
        elif intent:
            lost = self._session.pass_over(self._session.blank(intent.t, intent.label), intent.most)
            self.store.commit([self._packed(lost, Cause.LOST, intent.label)])

    def _resume(self, key: bytes | None) -> Intent | None:
        """A session that stands where the store ends. Returns a unit that was announced and never stored."""
        saved = self.store.resume(self._account)
        self._session = Session(self._mechanism, len(self.bins), self._noise)
        self._session.take_up(saved.state, saved.source, saved.entries, key)
        return saved.intent

    def _adopt(self, until: int) -> None:
        """Units up to ``until`` were published from a store that is gone. Whatever they may have cost is spent.

        The law held there too, so they cost at most what is left at the last of them; counted at the last one, it stays
        in every window that any of them is in.
        """
        pending = []
        for t in range(self.t + 1, until + 1):
            blank = self._session.blank(t)
            most = self._mechanism.model.epsilon if t == until else None
            pending.append(self._packed(self._session.pass_over(blank, most), Cause.ADOPTED, blank.label))
        self.store.adopt(self._account, pending)
