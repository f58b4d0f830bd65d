"""What ties the rows of a store to each other: hashes, each of which takes in the one before."""

from __future__ import annotations

import hashlib

from penstock.codec import encode
from penstock.store.account import Account, SavedState


def linked(before: bytes, body: bytes) -> bytes:
    """The link of a record after the one with link ``before``."""
    return hashlib.sha256(before + body).digest()


def first_link(identity: str, name: str, declaration: str, population: str | None) -> bytes:
    """What ties a stream to its store."""
    return linked(identity.encode(), encode([name, declaration, population]))


def state_link(account: Account, state: SavedState, release: bytes) -> bytes:
    """What ties a state to the release it followed."""
    return linked(release, encode([account.number, state.t, len(state.public)]) + state.public + state.sealed)


def intent_link(after: bytes, number: int | None, t: int, label: str, nano: int) -> bytes:
    """What ties an intent to the number of its stream, which early stores leave out, and to the release before it."""
    return linked(after, encode([*([] if number is None else [number]), t, label, nano]))


def population_link(identity: str, name: str, nano: int) -> bytes:
    """What ties the budget of a population to its store."""
    return linked(identity.encode(), encode([name, nano]))
