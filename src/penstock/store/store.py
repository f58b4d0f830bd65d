"""The durable store: one SQLite file, with a key file, a head file and locks beside it.

Commit the intent, then draw; commit the release, then emit. A transaction holds a release, its charges, the answers it
was made from and, where one is due, the state after it. So there is no moment at which a budget is spent and forgotten,
and a release that was stored is never drawn again.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from penstock.epsilon import Epsilon
from penstock.errors import BadInput, BudgetExceeded, KeyMissing, OtherStream, StoreError, StoreRolledBack
from penstock.sealing import open_sealed, seal
from penstock.store import schema
from penstock.store.account import Account, Intent, Pending, SavedState
from penstock.store.archive import NOWHERE, Archive, Declaration, intent_link, state_link
from penstock.store.faults import plainly
from penstock.store.files import KeyFile, WriterLock, mark_of

ROOM = 2 * 2**20  # free bytes on the disk without which nothing is drawn; besides ROOM_PER_BIN for every bin
ROOM_PER_BIN = 64


def pass_by(point: str) -> None:
    """What happens at the points where a crash would hurt: usually nothing."""


class Store(Archive):
    """Streams, their releases and their budgets in a file. Use it as a context manager, or ``close`` it.

    The key of the sealed state and the head of every chain lie in files of their own, beside the database unless told
    otherwise; keep them apart from its backups. ``at`` is called at every point where a crash would hurt.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        key: str | Path | None = None,
        head: str | Path | None = None,
        at: Callable[[str], None] = pass_by,
    ) -> None:
        self.path = Path(path).absolute()
        self.key_file = KeyFile(Path(key) if key else self.beside("key"))
        self.at = at
        self._process = os.getpid()
        self._locks: dict[int, WriterLock] = {}
        super().__init__(path, head=head)
        if not self.head_file.exists() and self._select("SELECT 1 FROM releases LIMIT 1") is None:
            with plainly(self.path):
                self.head_file.make(self.identity)

    def _connect(self) -> sqlite3.Connection:
        self._connection = schema.connect(self.path.as_uri(), mode="rwc")
        schema.begin(self._connection)
        version = schema.version_of(self._connection)
        if version == 0:
            mark = mark_of(self.key_file.make())
        if version < schema.LATEST:
            with self._transaction():
                schema.migrate(self._connection)
                if version == 0:
                    made = {"identity": os.urandom(16).hex(), "key": mark}
                    self._connection.executemany("INSERT OR IGNORE INTO facts VALUES (?, ?)", made.items())
        return self._connection

    def close(self) -> None:
        """Let go of the files and of the streams."""
        for lock in self._locks.values():
            lock.release()
        self._locks.clear()
        super().close()

    # ---- streams ----------------------------------------------------------------------------------------------------

    def enter(
        self, name: str, declaration: Declaration, population: str | None, admit: Callable[[list[Declaration]], None]
    ) -> Account:
        """The account of a stream, begun if there is none, for its one writer.

        ``admit`` sees the declarations of the streams that already are in the population, and may refuse a new one. As
        long as nothing was drawn, a stream can be begun differently.
        """
        with self._transaction():
            known = self.streams()
            if name in known and not self._drawn(name):
                self._connection.execute("DELETE FROM streams WHERE name = ?", (name,))
                del known[name]
            if name in known:
                require_same(name, known[name], declaration | {"population": population})
            else:
                admit(self.members(population))
                row = (name, json.dumps(declaration, sort_keys=True), population)
                self._connection.execute("INSERT INTO streams (name, declaration, population) VALUES (?, ?, ?)", row)
        return self.hold(name)

    def _drawn(self, name: str) -> bool:
        """Whether anything was announced or released for a stream."""
        query = """SELECT 1 FROM streams WHERE name = ? AND (number IN (SELECT stream FROM intents)
            OR EXISTS (SELECT 1 FROM releases WHERE stream = number))"""
        return self._select(query, name) is not None

    def hold(self, name: str) -> Account:
        """The account of a stream that exists, for its one writer."""
        number, *_ = self._stream(name)
        with plainly(self.path):
            self._locks[number] = WriterLock(self.beside("locks"), number, name)
        return self.account(name)

    def leave(self, account: Account) -> None:
        """Let somebody else write to the stream."""
        self._locks.pop(account.number).release()

    def adoptable(self, account: Account, until: int) -> int:
        """Up to which unit a stream was published from a copy that is gone: as the head file says, or as told."""
        head = self.known_head(account)
        if head != NOWHERE and self.link_at(account, head.t) == head.link:
            raise BadInput(f'the stream "{account.name}" is the latest there is; there is nothing to adopt.')
        if head != NOWHERE and head.t <= account.t:
            raise StoreRolledBack(
                f'two copies of the stream "{account.name}" were both continued, so its budget was spent twice; it cannot'
                " be adopted: let a window pass and begin a new stream."
            )
        if head == NOWHERE and not until:
            raise BadInput(
                f'nobody knows how far the stream "{account.name}" was published; look up the unit of its last release'
                " and pass it as --until."
            )
        return max(head.t, until, account.t)

    def adopt(self, account: Account, pending: Sequence[Pending]) -> None:
        """Store what stands for a vanished stretch, and begin a head file anew if that is gone too."""
        if not self.head_file.exists():
            with plainly(self.path):
                self.head_file.make(self.identity)
        self.commit(pending)
        with plainly(self.path):
            self.head_file.write([(account.number, account.t, account.link)])

    def population(self, name: str, epsilon: Epsilon | None) -> Epsilon:
        """The budget of a population: what it was declared with, once and for all."""
        with self._transaction():
            row = self._select("SELECT nano FROM populations WHERE name = ?", name)
            if row is None and epsilon is not None:
                self._connection.execute("INSERT INTO populations VALUES (?, ?)", (name, epsilon.nano))
                return epsilon
        if row is None:
            raise BudgetExceeded(
                f'the population "{name}" is new here; say how much all its streams may spend together.'
            )
        declared = Epsilon.of_nano(row[0])
        if epsilon not in (None, declared):
            raise OtherStream(f'the population "{name}" has a budget of {declared}, which cannot change afterwards.')
        return declared

    # ---- intent, release --------------------------------------------------------------------------------------------

    def intend(self, intents: Sequence[Intent]) -> None:
        """Announce time units that are about to be drawn. After this nothing is drawn twice for them."""
        if not all(self._has_room(intent.account) for intent in intents):
            raise StoreError(f"the disk that holds {self.path} is full; free some space and run again.")
        with self._transaction():
            self._announce(intents)
        for intent in intents:
            intent.account.announced = intent.t
        self.at("intent")

    def withdraw(self, account: Account) -> None:
        """Take back an intent for which nothing was drawn."""
        with self._transaction():
            self._connection.execute("DELETE FROM intents WHERE stream = ?", (account.number,))
        account.announced = 0

    def commit(self, pending: Sequence[Pending]) -> None:
        """Store releases, all of them or none; then they may be seen."""
        fresh = [each for each in pending if each.release.t > each.account.t]
        following = [each.ahead for each in fresh if each.ahead and self._has_room(each.account)]
        with self._transaction():
            for each in fresh:
                row = (each.account.number, each.release.t, each.link, each.body)
                self._connection.execute("INSERT INTO releases (stream, t, link, body) VALUES (?, ?, ?, ?)", row)
                self._connection.execute("DELETE FROM intents WHERE stream = ?", (each.account.number,))
                if each.state is not None:
                    self.at("state")
                    self._save(each.account, each.state, each.link)
            self._announce(following)
            self.at("write")
        for each in fresh:
            each.account.t, each.account.link, each.account.announced = each.release.t, each.link, 0
        for intent in following:
            intent.account.announced = intent.t
        self.at("commit")
        with plainly(self.path):
            self.head_file.write((each.account.number, each.release.t, each.link) for each in fresh)
        self.at("head")

    def _announce(self, intents: Sequence[Intent]) -> None:
        rows = [(each.account.number, each.t, each.label, each.most.nano, intent_link(each)) for each in intents]
        query = "INSERT INTO intents (stream, t, label, nano, link) VALUES (?, ?, ?, ?, ?)"
        self._connection.executemany(query, rows)

    def _save(self, account: Account, state: SavedState, release: bytes) -> None:
        row = (account.number, state.t, state_link(account, state, release), state.public, state.sealed)
        query = "INSERT OR REPLACE INTO states (stream, t, link, public, sealed) VALUES (?, ?, ?, ?, ?)"
        self._connection.execute(query, row)

    def _has_room(self, account: Account) -> bool:
        return shutil.disk_usage(self.path.parent).free >= ROOM + ROOM_PER_BIN * account.bins

    # ---- the key ----------------------------------------------------------------------------------------------------

    @property
    def key(self) -> bytes:
        """The key of the sealed state."""
        key, mark = self.key_file.read(), self._fact("key")
        if mark_of(key) == mark:
            return key
        following = self.key_file.following()
        if following.path.exists() and mark_of(following.read()) == mark:  # a change of keys was cut short
            following.path.replace(self.key_file.path)
            return self.key_file.read()
        raise KeyMissing(f"the key in {self.key_file.path} is not the one this store was sealed with; put that back.")

    def rotate_key(self) -> None:
        """Seal everything under a new key. Nobody may be publishing meanwhile."""
        old = self.key
        self._change_key(lambda sealed, public: open_sealed(sealed, old, beside=public))

    def replace_key(self) -> None:
        """The key is lost: make a new one, and give up what was sealed under the old one."""
        self._change_key(lambda sealed, public: None)

    def _change_key(self, reopen: Callable[[bytes, bytes], bytes | None]) -> None:
        accounts = [self.hold(name) for name in self.streams()]  # refused while one of them is being published
        following = self.key_file.following()
        with plainly(self.path):
            following.path.unlink(missing_ok=True)
            key = following.make()
        with self._transaction():
            for account in accounts:
                state = self.state(account)
                if state is not None:
                    plain = reopen(state.sealed, state.public) if state.sealed else None
                    sealed = b"" if plain is None else seal(plain, key, beside=state.public)
                    self._save(account, state._replace(sealed=sealed), self.link_at(account, state.t))
            self._connection.execute("UPDATE facts SET value = ? WHERE name = 'key'", (mark_of(key),))
        following.path.replace(self.key_file.path)
        for account in accounts:
            self.leave(account)

    # ---- transactions -----------------------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        if os.getpid() != self._process:
            raise StoreError("this process was forked from the one that opened the store; open it anew.")
        with plainly(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a full disk has rolled back already
                    self._connection.execute("ROLLBACK")
                raise


def require_same(name: str, known: Declaration, now: Declaration) -> None:
    """Refuse to go on with a stream under another law, another mechanism or other bins."""
    for field in sorted(known.keys() | now.keys()):
        before, after = known.get(field), now.get(field)
        if before != after and isinstance(before, dict) and isinstance(after, dict):
            require_same(name, before, after)
        elif field == "bins" and before != after:
            raise OtherStream(
                f'the stream "{name}" was begun with other bins; {_other_bins(before or [], after or [])}.'
            )
        elif before != after:
            raise OtherStream(
                f'the stream "{name}" was begun with {field} = {before} and is opened with {field} = {after}; go on as'
                " it was begun, or choose another name for a new stream."
            )


def _other_bins(before: list[str], after: list[str]) -> str:
    new = [name for name in after if name not in before]
    gone = [name for name in before if name not in after]
    if new:
        return (
            f'"{new[0]}" was not among them: declare all bins from the start, or choose another name for a new stream'
        )
    return f'"{gone[0]}" is missing: pass all bins, always' if gone else "pass them in the same order"
