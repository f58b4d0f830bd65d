"""What a store of an earlier version needs besides new tables: links are made anew where their formula has changed."""

from __future__ import annotations

import sqlite3

from penstock.codec import encode
from penstock.store.links import linked

# The first version whose intents have the number of their stream in their link.
NUMBERED_INTENTS = 3


def relink_intents(connection: sqlite3.Connection) -> None:
    """Tie every intent to the number of its stream; a ValueError if an old link does not hold.

    Runs inside the caller's transaction.
    """
    query = """SELECT intents.stream, intents.t, label, nano, intents.link, coalesce(releases.link, streams.link)
        FROM intents JOIN streams ON streams.number = intents.stream
        LEFT JOIN releases ON releases.stream = intents.stream AND releases.t = intents.t - 1"""
    for number, t, label, nano, link, after in connection.execute(query).fetchall():
        if link != linked(after, encode([t, label, nano])):
            raise ValueError("the link of an intent does not hold")
        fresh = linked(after, encode([number, t, label, nano]))
        connection.execute("UPDATE intents SET link = ? WHERE stream = ?", (fresh, number))
