"""Copies of a whole run in the middle of a stream, kernel and all, which the kernel itself refuses to make."""

from __future__ import annotations

import copy
import copyreg
from collections.abc import Mapping
from typing import Any, TypeVar

from penstock.curator import Curator
from penstock.uncopied import Uncopied

T = TypeVar("T")


def copied(original: T, curator: Curator, shared: Mapping[int, Any]) -> T:
    """A deep copy of what holds a curator, that shares nothing but ``shared``, by ``id``.

    The kinds that the kernel is made of are told to ``copyreg`` while the copy is made and not a moment longer, so
    that no mechanism under attack can do the same.
    """
    kinds = {type(part) for part in (curator, curator._desk, curator.ledger, curator.door, *curator._handles)}
    for kind in kinds:
        copyreg.pickle(kind, _taken_apart)
    try:
        return copy.deepcopy(original, dict(shared))
    finally:
        for kind in kinds:
            del copyreg.dispatch_table[kind]


def _taken_apart(held: Uncopied) -> tuple[Any, ...]:
    """How to make the object anew: its class, and what is in its dictionary and in its slots."""
    names = [name for kind in type(held).__mro__ for name in getattr(kind, "__slots__", ())]
    slots = {name: getattr(held, name) for name in names if hasattr(held, name)}
    return copyreg.__newobj__, (type(held),), (getattr(held, "__dict__", None), slots)  # type: ignore[attr-defined]
