"""The store, to read: streams, releases, states, and whether they are what was written."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

from penstock.epsilon import Epsilon
from penstock.errors import BadInput, StoreDamaged, StoreError, StoreRolledBack
from penstock.parameters import as_path, resolved
from penstock.store import schema
from penstock.store.account import Account, Intent, Record, Saved, SavedState
from penstock.store.faults import DAMAGED, plainly
from penstock.store.files import Head, HeadFile, name_mark, require_one_name
from penstock.store.links import first_link, intent_link, linked, population_link, state_link
from penstock.store.record import Source, unpack
from penstock.types import Cause, Published

Declaration = dict[str, Any]
READ_AT_ONCE = 64  # records


class Archive:
    """Everything in a store that can be looked at without changing it."""

    def __init__(self, path: str | Path, *, head: str | Path | None = None) -> None:
        self.path = resolved(path)
        self.head_file = HeadFile(as_path(head) if head else self.beside("head"))
        with plainly(self.path):
            self._connection = self._open()
            try:
                self._begin()
                self.identity = self._fact("identity")
            except BaseException:
                self._connection.close()
                raise

    def _open(self) -> sqlite3.Connection:
        if not self.path.is_file():
            raise StoreError(f"there is no store {self.path}; give the path of one that exists.")
        require_one_name(self.path)
        return schema.connect(self.path.as_uri(), mode="rw")  # a crashed writer's journal has to be rolled back

    def _begin(self) -> None:
        """Refuse a file that is not a store of this version."""
        version = schema.version_of(self._connection)
        if version == 0:
            raise StoreError(f"the file {self.path} is empty, and not a store; give the path of one.")
        if version < schema.READABLE:
            raise StoreError(f'the store {self.path} has an older version; "penstock run" brings it up to date.')

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files."""
        self._connection.close()

    def beside(self, ending: str) -> Path:
        """A file beside the database."""
        return self.path.with_name(f"{self.path.name}.{ending}")

    # ---- streams ----------------------------------------------------------------------------------------------------

    def account(self, name: str, *, announced: int = 0) -> Account:
        """The account of a stream, to look at."""
        row = self._stream(name)
        last = self._select("SELECT t, link FROM releases WHERE stream = ? ORDER BY t DESC LIMIT 1", row.number)
        with plainly(self.path):
            t, link = last or (0, row.link)
            return Account.declared(row.number, name, row.declaration(), t, bytes(link), announced)

    def streams(self) -> dict[str, Declaration]:
        """The declaration of every stream."""
        rows = self.query("SELECT number, name, declaration, population, link FROM streams ORDER BY number")
        return {row[1]: self._checked(StreamRow(*row)).declaration() for row in rows}

    def _stream(self, name: str) -> StreamRow:
        row = self._select("SELECT number, name, declaration, population, link FROM streams WHERE name = ?", name)
        if row is None:
            known = ", ".join(self.streams()) or "none"
            raise StoreError(f'the store {self.path} has no stream "{name}"; it has {known}.')
        return self._checked(StreamRow(*row))

    def _checked(self, row: StreamRow) -> StreamRow:
        with plainly(self.path):
            if row.link != first_link(self.identity, row.name, row.text, row.population):
                raise self.damaged()
        return row

    def visible(self, name: str) -> Account:
        """The account of a stream as far as the head file knows it: nothing more may be shown."""
        account = self.account(name)
        if self.head_file.exists():
            self.require_latest(account)
            head = self.known_head(account)
            account.t = head.t if head else 0
        else:
            account.t = max(account.t - 1, 0)  # whether the last one was shown is not known
        account.link = self.link_at(account, account.t) or self._stream(name).link
        return account

    def populations(self) -> dict[str, Epsilon]:
        """What the streams of every population may spend together."""
        found = {}
        for name, nano, link in self.query("SELECT name, nano, link FROM populations"):
            if link != population_link(self.identity, name, nano):
                raise self.damaged()
            found[name] = Epsilon.of_nano(nano)
        return found

    # ---- taking up work ---------------------------------------------------------------------------------------------

    def resume(self, account: Account) -> Saved:
        """What is needed to go on."""
        state = self.state(account)
        source = self._source(account, state.t) if state else None
        entries = [unpack(record.body) for record in self.records(account, after=state.t if state else 0)]
        return Saved(state, source, entries, self.intent(account))

    def require_latest(self, account: Account) -> None:
        """Refuse to go on if this store is an old copy, or may be one, or if two processes have written the stream."""
        self._require_one_history(account)
        head = self.known_head(account)
        if head is None and account.t > 1:  # a process may die before it has written it once
            raise StoreRolledBack(
                f'the head file {self.head_file.path} does not know the stream "{account.name}", so nobody knows'
                ' whether this store is the latest; put the right one back, or run "penstock ledger adopt".'
            )
        if head is not None and self.link_at(account, head.t) != head.link:
            raise StoreRolledBack(
                f'the store {self.path} is not the latest: the stream "{account.name}" was published up to t={head.t},'
                f" and here it ends at t={account.t} or differs; put the newer store back, or run"
                ' "penstock ledger adopt", which counts what is missing as spent.'
            )

    def _require_one_history(self, account: Account) -> None:
        """Refuse an intent for a unit that has a release: a second process may have drawn that unit too."""
        query = """SELECT t FROM intents WHERE stream = ?
            AND t <= (SELECT max(t) FROM releases WHERE releases.stream = intents.stream)"""
        row = self._select(query, account.number)  # one statement, so that no other process writes in between
        if row is not None:
            raise StoreRolledBack(
                f'the stream "{account.name}" was written by two processes at once: t={row[0]} has a release and is'
                ' announced too; run "penstock ledger adopt", which counts what both may have spent as spent.'
            )

    def known_head(self, account: Account) -> Head | None:
        """How far the head file says that the stream was published."""
        if not self.head_file.exists():
            raise StoreRolledBack(
                f"the head file {self.head_file.path} is missing, so nobody knows whether this store is the latest; put"
                ' it back, name it with --head if it lies elsewhere, or run "penstock ledger adopt".'
            )
        with plainly(self.path):
            heads = self.head_file.read(self.identity)
        mine = heads.get(name_mark(account.name))
        if any(head.number == account.number and head != mine for head in heads.values()) or (
            mine is not None and mine.number != account.number
        ):
            raise StoreRolledBack(
                f"the store {self.path} is not the latest: in the head file another stream has the place of"
                f' "{account.name}"; put the newer store back.'
            )
        return mine

    def state(self, account: Account) -> SavedState | None:
        """The latest saved state."""
        row = self._select("SELECT t, public, sealed, link FROM states WHERE stream = ?", account.number)
        if row is None:
            return None
        with plainly(self.path):
            state = SavedState(int(row[0]), bytes(row[1]), bytes(row[2]))
            if state_link(account, state, self.link_at(account, state.t)) != row[3]:
                raise self.damaged()
        return state

    def link_at(self, account: Account, t: int) -> bytes:
        """The link of the release of unit ``t``; empty if there is none."""
        row = self._select("SELECT link FROM releases WHERE stream = ? AND t = ?", account.number, t)
        return bytes(row[0]) if row else b""

    def intent(self, account: Account) -> Intent | None:
        """A unit that was announced and has no release."""
        query = """SELECT intents.t, label, nano, intents.link, releases.link, user_version
            FROM intents JOIN pragma_user_version
            LEFT JOIN releases ON releases.stream = intents.stream AND releases.t = intents.t - 1
            WHERE intents.stream = ?"""
        row = self._select(query, account.number)  # one statement, so that no other process writes in between
        if row is None:
            return None
        t, label, nano, link, after, version = row
        number = account.number if version >= schema.NUMBERED_INTENTS else None
        before = self._stream(account.name).link if t == 1 else bytes(after or b"")
        with plainly(self.path):
            intent = Intent(account, t, label, Epsilon.of_nano(nano), before)
            if link != intent_link(before, number, t, label, nano):
                raise self.damaged()
        return intent

    def records(self, account: Account, after: int = 0) -> Iterator[Record]:
        """The stored records of a stream up to the account's last, in order of time, their links checked.

        They are read a few at a time, because a reader that lingers keeps writers waiting.
        """
        after = max(after, 0)
        link = self.link_at(account, after) if after else self._stream(account.name).link
        query = "SELECT t, link, body FROM releases WHERE stream = ? AND t > ? AND t <= ? ORDER BY t LIMIT ?"
        while after < account.t:
            found = [Record(*row) for row in self.query(query, account.number, after, account.t, READ_AT_ONCE)]
            if not found:
                raise self.damaged(account.name, after + 1)
            for record in found:
                with plainly(self.path):
                    whole = record.t == after + 1 and linked(link, record.body) == record.link
                if not whole:
                    raise self.damaged(account.name, after + 1)
                after, link = record.t, record.link
                yield record

    def published(self, account: Account, after: int = 0) -> Iterator[Published]:
        """The stored releases of a stream, in order of time."""
        source: Source | None = None
        for record in self.records(account, after):
            entry = unpack(record.body)
            source = entry.whole(source or self._source(account, entry.t))
            yield entry.published(source, account.name, account.mechanism, record.link)

    def _source(self, account: Account, t: int) -> Source:
        """The values of unit ``t``, from where they are stored whole."""
        row = self._select("SELECT body FROM releases WHERE stream = ? AND t = ?", account.number, t)
        if row is None:
            raise self.damaged()
        entry = unpack(row[0])
        return self._source(account, entry.values) if isinstance(entry.values, int) else entry.whole(None)

    def require_output(self, account: Account, last: int, link: str) -> None:
        """Refuse an output whose last release is not one of this stream's."""
        known = self.link_at(account, last).hex()
        if last > account.t or (link not in ("", known) and not self._was_adopted(account, last)):
            raise BadInput(
                f"the output holds a release of t={last} that is not in the store, which ends at t={account.t}; name"
                " another output, or put the newer store back if this is an old copy."
            )

    def _was_adopted(self, account: Account, t: int) -> bool:
        """Whether a unit was released from a copy that is gone, so that the output knows its release and we do not."""
        found = next(self.records(account, after=t - 1), None)
        return found is not None and unpack(found.body).cause is Cause.ADOPTED

    # ---- pieces -----------------------------------------------------------------------------------------------------

    def damaged(self, stream: str = "", t: int = 0) -> StoreDamaged:
        """What to raise when something is not what was written."""
        where = f'{self.path} (stream "{stream}", t={t})' if stream else self.path
        return StoreDamaged(DAMAGED.format(path=where))

    def _fact(self, name: str) -> str:
        row = self._select("SELECT value FROM facts WHERE name = ?", name)
        if row is None:
            raise self.damaged()
        return str(row[0])

    def _select(self, query: str, *values: Any) -> tuple[Any, ...] | None:
        with plainly(self.path):
            row: tuple[Any, ...] | None = self._connection.execute(query, values).fetchone()
            return row

    def has_its_tables(self) -> bool:
        """Whether the tables are declared as they should be."""
        with plainly(self.path):
            return schema.has_its_tables(self._connection)

    def query(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Read all rows that a statement finds."""
        with plainly(self.path):
            return self._connection.execute(statement, values).fetchall()


class StreamRow(NamedTuple):
    """A row of the streams: who a stream is. Its ``link`` is what its chain begins with."""

    number: int
    name: str
    text: str
    population: str | None
    link: bytes

    def declaration(self) -> Declaration:
        """What was declared."""
        declared: Declaration = json.loads(self.text)
        return declared | {"population": self.population}
