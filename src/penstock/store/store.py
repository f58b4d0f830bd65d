"""The durable store: one SQLite file, with a key file, a head file and locks beside it.

Commit the intent, then draw; commit the release, then emit. A transaction holds a release, its charges, the answers it
was made from and, where one is due, the state after it. So there is no moment at which a budget is spent and forgotten,
and a release that was stored is never drawn again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Sequence

from penstock.epsilon import Epsilon
from penstock.errors import BadInput, BudgetExceeded, OtherStream, StoreError, StoreRolledBack
from penstock.store.account import Account, Intent, Pending
from penstock.store.archive import Declaration
from penstock.store.faults import plainly
from penstock.store.files import Head, name_mark
from penstock.store.holding import Holding
from penstock.store.links import first_link, intent_link, population_link
from penstock.store.populations import agree_on

ROOM = 2 * 2**20  # free bytes on the disk without which nothing is drawn; besides ROOM_PER_BIN for every bin
ROOM_PER_BIN = 64
UNKNOWN = bytes(32)  # a link that no record has
SOME_GONE = "0" * 16  # the mark of streams that may be missing from a store that was adopted without its head file

ORDER = {"mechanism": 0, "bins": 2}  # of what is compared: the rest follows from the first, the last from the rest

Admission = Callable[[list[Declaration]], None]


class Store(Holding):
    """Streams, their releases and their budgets in a file. Use it as a context manager, or ``close`` it."""

    # ---- streams ----------------------------------------------------------------------------------------------------

    def enter(self, name: str, declaration: Declaration, population: str | None, admit: Admission) -> Account:
        """The account of a stream, begun if there is none, for its one writer.

        ``admit`` sees the declarations of the other streams in the population, and may refuse a new one. As long as
        nothing was drawn, a stream can be begun differently.
        """
        with self._transaction():
            if name not in self.streams():
                self._declare(name, declaration, population, admit)
        account = self.hold(name)
        try:
            with self._transaction():
                self._require_unchanged(account)
                if account.t or account.announced or self.is_published(account):
                    require_same(name, self.streams()[name], declaration | {"population": population})
                else:
                    account.link = self._declare(name, declaration, population, admit)
            return account
        except BaseException:
            self.leave(account)
            raise

    def is_published(self, account: Account) -> bool:
        """Whether the head file knows the stream; if there is none, nobody can tell."""
        return not self.head_file.exists() or self.known_head(account) is not None

    def _require_none_gone(self) -> None:
        """Refuse to declare anything in a store that has lost streams: what they have set aside is not known."""
        known = {name_mark(each) for each in self.streams()}
        if not self.head_file.exists() or self.head_file.read(self.identity).keys() - known:
            raise StoreRolledBack(
                f"the store {self.path} is not the latest, or its head file is gone: streams that were published from"
                " it may be missing; put the newer store and its head file back."
            )

    def _declare(self, name: str, declaration: Declaration, population: str | None, admit: Admission) -> bytes:
        """Put down who a stream is. Returns what its chain begins with."""
        self._require_none_gone()
        others = {other: each for other, each in self.streams().items() if other != name}
        admit([each for each in others.values() if population and each["population"] == population])
        text = json.dumps(declaration, sort_keys=True)
        link = first_link(self.identity, name, text, population)
        query = """INSERT INTO streams (name, declaration, population, link) VALUES (?, ?, ?, ?) ON CONFLICT (name)
            DO UPDATE SET declaration = excluded.declaration, population = excluded.population, link = excluded.link"""
        self._connection.execute(query, (name, text, population, link))
        return link

    def adoptable(self, account: Account, until: int) -> int:
        """Up to which unit a stream may have been published from a copy that is gone: by the head file, or as told."""
        try:
            self.require_latest(account)
        except StoreRolledBack:
            head = self.known_head(account) if self.head_file.exists() else None
        else:
            raise BadInput(f'the stream "{account.name}" is the latest there is; there is nothing to adopt.')
        known = head.t if head else 0
        if not known and not until:
            raise BadInput(
                f'nobody knows how far the stream "{account.name}" was published; look up the unit of its last release'
                " and pass it as --until."
            )
        return max(known, until, account.t + 1)

    def adopt(self, account: Account, pending: Sequence[Pending]) -> None:
        """Store what stands for a vanished stretch. If the head file is gone, the new one trusts no other stream."""
        self._store(pending)
        if not self.head_file.exists():
            rows = [self._stream(name) for name in self.streams()]
            others = [Head(0, UNKNOWN, row.number, name_mark(row.name)) for row in rows if row.name != account.name]
            others.append(Head(0, UNKNOWN, max(row.number for row in rows) + 1, SOME_GONE))
            with plainly(self.path):
                self.head_file.make(self.identity, self.path, others)
        self._note([account], lambda known: True)

    def note_head(self, accounts: Iterable[Account]) -> None:
        """Note in the head file how far streams are published, where it does not know yet.

        What it knows has to be part of this store, or another store has noted it.
        """
        behind = [account for account in accounts if account.headed < account.t]
        numbers = {account.number: account for account in behind}
        self._note(behind, lambda known: self.link_at(numbers[known.number], known.t) == known.link)

    def _note(self, accounts: Sequence[Account], is_ours: Callable[[Head], bool]) -> None:
        heads = [Head(each.t, each.link, each.number, name_mark(each.name)) for each in accounts]
        if heads:
            with plainly(self.path):
                self.head_file.write(self.identity, heads, is_ours)
        for account in accounts:
            account.headed = account.t

    def budget(self, population: str, asked: Epsilon | None) -> Epsilon:
        """What the streams of a population may spend together. The first of them says it, in ``asked``."""
        is_used = self._select("SELECT 1 FROM streams WHERE population = ?", population) is not None
        return agree_on(population, asked, self.populations().get(population), is_used=is_used)

    def put_down(self, population: str, budget: Epsilon) -> None:
        """Note the budget of a population, in the transaction that declares its first stream."""
        if self.populations().get(population) != budget:
            row = (population, budget.nano, population_link(self.identity, population, budget.nano))
            self._connection.execute("INSERT OR REPLACE INTO populations VALUES (?, ?, ?)", row)

    def drop(self, name: str) -> None:
        """Forget a stream that was declared and never used, and with it what it holds of its population."""
        account = self.hold(name)
        try:
            with self._transaction():
                self._require_unused(account)
                population = self.streams()[name]["population"]
                self._connection.execute("DELETE FROM streams WHERE number = ?", (account.number,))
                if population not in {each["population"] for each in self.streams().values()}:
                    self._connection.execute("DELETE FROM populations WHERE name = ?", (population,))
        finally:
            self.leave(account)

    def _require_unused(self, account: Account) -> None:
        """Refuse to give back what may be spent: nothing was announced or released, here or in a newer store."""
        self._require_none_gone()
        for name in self.streams():
            self.require_latest(self.account(name))
        if account.t or account.announced or self.is_published(account):
            raise BudgetExceeded(
                f'the stream "{account.name}" has drawn something, or may have, so what it holds stays spent; only'
                " an unused stream can be dropped."
            )

    # ---- intent, release --------------------------------------------------------------------------------------------

    def intend(self, intents: Sequence[Intent]) -> None:
        """Announce time units that are about to be drawn. After this nothing is drawn twice for them."""
        for intent in intents:
            self.require_held(intent.account)
        if not all(self._has_room(intent.account) for intent in intents):
            raise StoreError(f"the disk that holds {self.path} is full; free some space and run again.")
        with self._transaction():
            for intent in intents:
                self._require_unchanged(intent.account)
            self._announce(intents)
        for intent in intents:
            intent.account.announced = intent.t
        self.at("intent")

    def withdraw(self, account: Account) -> None:
        """Take back an intent for which nothing was drawn."""
        self.require_held(account)
        with self._transaction():
            if self._is_unchanged(account):
                self._connection.execute("DELETE FROM intents WHERE stream = ?", (account.number,))
        account.announced = 0

    def commit(self, pending: Sequence[Pending]) -> None:
        """Store releases, all of them or none; then they may be seen."""
        self._store(pending)
        self.note_head(each.account for each in pending)
        self.at("head")

    def _store(self, pending: Sequence[Pending]) -> None:
        for each in pending:
            self.require_held(each.account)
        fresh = [each for each in pending if each.release.t > each.account.t]
        following = [each.ahead for each in fresh if each.ahead and self._has_room(each.account)]
        with self._transaction():
            for account in {each.account.number: each.account for each in fresh}.values():
                self._require_unchanged(account)
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

    def _announce(self, intents: Sequence[Intent]) -> None:
        facts = [(each.after, each.account.number, each.t, each.label, each.most.nano) for each in intents]
        rows = [(*fact[1:], intent_link(*fact)) for fact in facts]
        query = "INSERT INTO intents (stream, t, label, nano, link) VALUES (?, ?, ?, ?, ?)"
        self._connection.executemany(query, rows)

    def _has_room(self, account: Account) -> bool:
        return shutil.disk_usage(self.path.parent).free >= ROOM + ROOM_PER_BIN * account.bins


def require_same(name: str, known: Declaration, now: Declaration) -> None:
    """Refuse to go on with a stream under another law, another mechanism or other bins.

    Of a mechanism's parameters only those are declared that are not as usual. What differs because something else does
    is not what is told.
    """
    for field in sorted(known.keys() | now.keys(), key=lambda field: (ORDER.get(field, 1), field)):
        before, after = known.get(field), now.get(field)
        if before != after and isinstance(before, dict) and isinstance(after, dict):
            require_same(name, before, after)
        elif field == "bins" and before != after:
            raise OtherStream(
                f'the stream "{name}" was begun with other bins; {_other_bins(before or [], after or [])}.'
            )
        elif before != after:
            raise OtherStream(
                f'the stream "{name}" was begun with {_told(field, before)} and is opened with {_told(field, after)};'
                " go on as it was begun; another stream needs another name, and has a budget of its own."
            )


def _told(field: str, value: object) -> str:
    return f"the usual {field}" if value is None else f"{field} = {value}"


def _other_bins(before: list[str], after: list[str]) -> str:
    new = [name for name in after if name not in before]
    gone = [name for name in before if name not in after]
    if new:
        return (
            f'"{new[0]}" was not among them: declare all bins from the start, or choose another name for a new stream'
        )
    return f'"{gone[0]}" is missing: pass all bins, always' if gone else "pass them in the same order"
