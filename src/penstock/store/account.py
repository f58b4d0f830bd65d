"""What a publisher and the store hand each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.epsilon import Epsilon
from penstock.histograms.catalogue import titled
from penstock.store.record import Entry, Source
from penstock.types import Published


@dataclass
class Account:
    """A stream in the store, held by its one writer.

    ``t`` and ``link`` are those of the last stored release, ``headed`` is the last one that the head file knows,
    ``announced`` is the unit of a standing intent, or 0. ``intervals`` says that its releases may have some.
    ``key`` is the mark of the key under which its states are sealed.
    """

    number: int
    name: str
    mechanism: str
    bins: int
    t: int
    link: bytes
    headed: int = 0
    announced: int = 0
    intervals: bool = False
    key: str = ""

    @classmethod
    def declared(cls, number: int, name: str, said: Mapping[str, Any], t: int, link: bytes, announced: int) -> Account:
        """The account of a stream that was begun with this declaration."""
        origin = titled(said["mechanism"], said["parameters"])
        intervals = bool(said.get("intervals"))
        return cls(number, name, origin, len(said["bins"]), t, link, announced=announced, intervals=intervals)


class Intent(NamedTuple):
    """The announcement that a unit is about to be drawn, the most it may cost, and the link of the release before."""

    account: Account
    t: int
    label: str
    most: Epsilon
    after: bytes


class SavedState(NamedTuple):
    """A mechanism at rest after unit ``t``."""

    t: int
    public: bytes
    sealed: bytes


@dataclass(frozen=True)
class Pending:
    """A release that is drawn and not yet stored. Nobody may see it before ``Store.commit``.

    ``state`` is the mechanism after it, where a state is due; ``ahead`` announces the next unit in the same breath.
    """

    account: Account
    release: Published
    body: bytes
    link: bytes
    state: SavedState | None = None
    ahead: Intent | None = None


class Saved(NamedTuple):
    """What a publisher takes up its work from: a state, what followed, and a unit whose end nobody saw."""

    state: SavedState | None
    source: Source | None
    entries: list[Entry]
    intent: Intent | None


class Record(NamedTuple):
    """A row of the chain."""

    t: int
    link: bytes
    body: bytes
