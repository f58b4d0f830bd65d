"""What a store of an earlier version needs besides new tables: links are made anew where their formula has changed."""

from __future__ import annotations

import sqlite3

from penstock.store.links import intent_link


def relink_intents(connection: sqlite3.Connection) -> None:
    """Tie every intent to the number of its stream; a ValueError if an old link does not hold.

    Runs inside the caller's transaction.
    """
    query = """SELECT intents.stream, intents.t, label, nano, intents.link, coalesce(releases.link, streams.link)
        FROM intents JOIN streams ON streams.number = intents.stream
        LEFT JOIN releases ON releases.stream = intents.stream AND releases.t = intents.t - 1"""
    for number, t, label, nano, link, after in connection.execute(query).fetchall():
        if link != intent_link(after, None, t, label, nano):
            raise ValueError("the link of an intent does not hold")
        fresh = intent_link(after, number, t, label, nano)
        connection.execute("UPDATE intents SET link = ? WHERE stream = ?", (fresh, number))
