"""A store that can be written to: its transactions, its locks, its key, and how a new one is made."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from penstock.errors import KeyMissing, StoreError, StoreInUse
from penstock.parameters import as_path, resolved
from penstock.sealing import open_sealed, seal
from penstock.store import schema
from penstock.store.account import Account, SavedState
from penstock.store.archive import Archive
from penstock.store.faults import plainly
from penstock.store.files import KeyFile, WriterLock, mark_of, require_one_name
from penstock.store.links import state_link
from penstock.store.migration import relink_intents
from penstock.store.soundness import require_intents, require_sound

PATIENCE = 120  # seconds to wait for readers with something drawn at hand


def pass_by(point: str) -> None:
    """What happens at the points where a crash would hurt: usually nothing."""


class Holding(Archive):
    """An archive, and the right to change it.

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
        self.path = resolved(path)
        self.key_file = KeyFile(as_path(key) if key else self.beside("key"))
        self.at = at
        self._process = os.getpid()
        self._held: dict[int, tuple[Account, WriterLock]] = {}
        super().__init__(path, head=head)
        try:
            require_intents(self)
        except BaseException:
            self.close()
            raise

    def _open(self) -> sqlite3.Connection:
        if self.path.exists():
            require_one_name(self.path)
        else:
            self.head_file.require_unused(self.path)  # before anything is made
        return schema.connect(self.path.as_uri(), mode="rwc")

    def _begin(self) -> None:
        """Bring the file up to date, or make it; nothing is written to one that is damaged."""
        if schema.version_of(self._connection) > 0:  # which refuses another program's file
            require_sound(self)
        schema.begin(self._connection)
        if schema.version_of(self._connection) < schema.LATEST:
            with self._transaction():
                self._upgrade()

    def _upgrade(self) -> None:
        """Bring the tables up to date, and the links that an earlier version made."""
        before = schema.version_of(self._connection)
        if before == 0:
            self._make()
        schema.upgrade(self._connection)
        if 0 < before < schema.NUMBERED_INTENTS:
            relink_intents(self._connection)

    def _make(self) -> None:
        """A new store: first the files beside it, so that whatever has tables has these too."""
        self.head_file.require_unused(self.path)
        identity, mark = os.urandom(16).hex(), mark_of(self.key_file.make())
        self.head_file.make(identity, self.path)
        schema.upgrade(self._connection, to=1)
        facts = {"identity": identity, "key": mark}
        self._connection.executemany("INSERT INTO facts VALUES (?, ?)", facts.items())

    def close(self) -> None:
        """Let go of the files and of the streams."""
        for _, lock in self._held.values():
            lock.release()
        self._held.clear()
        super().close()

    def hold(self, name: str) -> Account:
        """The account of a stream that exists, for its one writer."""
        number = self._stream(name).number
        with plainly(self.path):
            lock = WriterLock(self.beside("locks"), number, name)
        try:
            intent = self.intent(self.account(name))
            account = self.account(name, announced=intent.t if intent else 0)
            account.key = self._fact("key")
        except BaseException:
            lock.release()
            raise
        self._held[number] = (account, lock)
        return account

    def holds(self, account: Account) -> bool:
        """Whether this account gives the right to write."""
        held, _ = self._held.get(account.number, (None, None))
        return held is account

    def require_held(self, account: Account) -> None:
        """Refuse whoever has let go of the stream, never held it, or was forked from who does."""
        if os.getpid() != self._process:
            raise StoreError("this process was forked from the one that opened the store; open it anew.")
        if not self.holds(account):
            raise StoreError(f'the stream "{account.name}" was closed, or belongs to another store; open it again.')

    def _is_unchanged(self, account: Account) -> bool:
        """Whether the stream still is as this account left it. Runs inside a transaction, so that it stays so."""
        query = """SELECT coalesce(releases.t, 0), coalesce(releases.link, streams.link), coalesce(intents.t, 0), value
            FROM streams JOIN facts ON facts.name = 'key' LEFT JOIN intents ON intents.stream = number
            LEFT JOIN releases ON releases.stream = number
                AND releases.t = (SELECT max(t) FROM releases WHERE stream = number)
            WHERE number = ?"""
        return self._select(query, account.number) == (account.t, account.link, account.announced, account.key)

    def _require_unchanged(self, account: Account) -> None:
        """Refuse to write where another process has written, even if the lock that should prevent it is gone."""
        if not self._is_unchanged(account):
            raise StoreInUse(
                f'the stream "{account.name}" is not as this process has left it: another process has written to it, or'
                " a commit ended unseen; stop any other writer and open the stream again."
            )

    def leave(self, account: Account) -> None:
        """Let somebody else write to the stream."""
        _, lock = self._held.pop(account.number)
        lock.release()

    def _save(self, account: Account, state: SavedState, release: bytes) -> None:
        row = (account.number, state.t, state_link(account, state, release), state.public, state.sealed)
        query = "INSERT OR REPLACE INTO states (stream, t, link, public, sealed) VALUES (?, ?, ?, ?, ?)"
        self._connection.execute(query, row)

    # ---- the key ----------------------------------------------------------------------------------------------------

    @property
    def key(self) -> bytes:
        """The key of the sealed state."""
        key, mark = self.key_file.read(), self._fact("key")
        if mark_of(key) == mark:
            return key
        following = self.key_file.following()
        if following.path.exists() and mark_of(following.read()) == mark:  # a change of keys was cut short
            with plainly(self.path):
                following.take_place_of(self.key_file)
            return self.key_file.read()
        raise KeyMissing(f"the key in {self.key_file.path} is not the one this store was sealed with; put that back.")

    def has_key(self) -> bool:
        """Whether the key is there, and the right one."""
        try:
            return bool(self.key)
        except KeyMissing:
            return False

    def rotate_key(self) -> None:
        """Seal everything under a new key. Nobody may be publishing meanwhile."""
        old = self.key
        self._change_key(lambda sealed, public: open_sealed(sealed, old, beside=public))

    def replace_key(self) -> None:
        """The key is lost: make a new one, and give up what was sealed under the old one."""
        self._change_key(lambda sealed, public: None)

    def _change_key(self, reopen: Callable[[bytes, bytes], bytes | None]) -> None:
        accounts: list[Account] = []
        following = self.key_file.following()
        try:
            accounts += (self.hold(name) for name in self.streams())  # refused while one of them is being published
            with plainly(self.path):
                following.path.unlink(missing_ok=True)
                key = following.make()
            with self._transaction():
                if self.streams().keys() != {account.name for account in accounts}:
                    raise StoreInUse("a stream has begun meanwhile; stop publishing and change the key again.")
                for account in accounts:
                    self._require_unchanged(account)
                    self._reseal(account, key, reopen)
                self._connection.execute("UPDATE facts SET value = ? WHERE name = 'key'", (mark_of(key),))
            with plainly(self.path):
                following.take_place_of(self.key_file)
        finally:
            for account in accounts:
                self.leave(account)

    def _reseal(self, account: Account, key: bytes, reopen: Callable[[bytes, bytes], bytes | None]) -> None:
        state = self.state(account)
        if state is not None:
            plain = reopen(state.sealed, state.public) if state.sealed else None
            sealed = b"" if plain is None else seal(plain, key, beside=state.public)
            self._save(account, state._replace(sealed=sealed), self.link_at(account, state.t))

    # ---- transactions -----------------------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        if os.getpid() != self._process:
            raise StoreError("this process was forked from the one that opened the store; open it anew.")
        with plainly(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._commit()
            except BaseException:
                with suppress(sqlite3.Error):  # a full disk has rolled back already
                    self._connection.execute("ROLLBACK")
                raise

    def _commit(self) -> None:
        """Commit, and be patient with readers: what was drawn should not be lost because somebody makes a copy."""
        give_up = time.monotonic() + PATIENCE
        while True:
            try:
                self._connection.execute("COMMIT")
                return
            except sqlite3.OperationalError as fault:
                if not fault.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > give_up:
                    raise
