"""The curator: the only one who opens a snapshot.

The loop around a mechanism holds the curator: it turns the units, saves and loads. The mechanism holds the curator's
door, through which it can ask, and reaches neither the law, nor the ledger, nor what is saved.
"""

from __future__ import annotations

from typing import Any

from penstock.answering import Answering
from penstock.desk import Handle
from penstock.door import Door
from penstock.ledger import Ledger
from penstock.types import Snapshot


class Curator(Answering):
    """Answers paid questions, and keeps the units, the ledger and the state of one stream."""

    @property
    def door(self) -> Door:
        """What a mechanism gets to hold."""
        return Door(self)

    @property
    def ledger(self) -> Ledger:
        """The ledger, for whoever supervises the stream. Mechanisms do not touch it."""
        return self._ledger

    @property
    def handles(self) -> tuple[Handle, ...]:
        """The segments, volleys, pools and groupers that were made, in order, for the supervisor of the stream."""
        return tuple(self._handles)

    def begin_unit(self, snapshot: Snapshot) -> None:
        """Turn to the next time unit; refused if it is not the next one, or has other bins."""
        self._desk.begin_unit(snapshot)

    def check(self, snapshot: Snapshot) -> None:
        """Refuse a snapshot that is not of the next time unit, or has other bins, and change nothing."""
        self._desk.check(snapshot)

    def retire(self, last: int | None = None) -> None:
        """A step has failed: end all segments and volleys, empty all pools, close all groups. What was paid stays paid.

        ``last`` is given when nobody knows what the failed step has read: then it may have read up to that unit.
        """
        for handle in self._handles:
            handle._retire(last)

    def save(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The public and the sealed part of the state. Noise has no state to save."""
        public, sealed = self._ledger.save()
        held = [handle._save() for handle in self._handles]
        return (
            {"ledger": public, "handles": [part for part, _ in held]},
            {"ledger": sealed, "handles": [part for _, part in held]},
        )

    def load(self, public: dict[str, Any], sealed: dict[str, Any] | None, *, retire: bool = True) -> None:
        """Take up a saved state. Without the sealed part, what was sealed is retired, which is sound.

        With ``retire=False`` it is left blank instead, for a caller who plays back recorded answers first and calls
        ``retire`` then: nothing that is asked meanwhile looks at it.
        """
        self._ledger.load(public["ledger"], sealed and sealed["ledger"])
        for number, (handle, part) in enumerate(zip(self._handles, public["handles"], strict=True)):
            blank = None if retire else handle._save()[1]
            handle._load(part, blank if sealed is None else sealed["handles"][number])
