"""What is known of a public original."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import BinaryIO


def as_it_is(body: BinaryIO) -> bytes:
    """A body that is small enough to be kept."""
    return body.read()


@dataclass(frozen=True)
class Original:
    """Where an original comes from, on which terms, and what it becomes.

    ``files`` are written into a folder of streams. A body at one of the ``addresses`` has at most ``largest`` bytes;
    ``condense`` says what is kept of each while others are on their way, ``made`` what the files hold in the end.
    """

    name: str
    files: tuple[str, ...]
    about: str
    licence: str
    credit: str
    addresses: tuple[str, ...]
    largest: int
    made: Callable[[Iterable[bytes]], dict[str, bytes]] = field(repr=False)
    condense: Callable[[BinaryIO], bytes] = field(default=as_it_is, repr=False)
