"""The door of a curator: what a mechanism holds, so that a slip of its author cannot overspend.

Through it the questions of the curator can be asked. The ledger, the turn of the units and what is saved stay behind
it. docs/guarantees.md says where the promise ends: at names that begin with an underscore, reflection and patches.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from penstock.answering import Answering
from penstock.models import PrivacyModel
from penstock.uncopied import Uncopied

P = ParamSpec("P")
R = TypeVar("R")


def _passed_on(question: Callable[Concatenate[Answering, P], R]) -> Callable[Concatenate[Door, P], R]:
    """The same question, asked of the curator behind the door."""
    name = question.__name__

    @wraps(question)
    def ask(door: Door, /, *arguments: P.args, **options: P.kwargs) -> R:
        answer: R = getattr(door._curator, name)(*arguments, **options)
        return answer

    return ask


class Door(Uncopied):
    """The questions that may be asked of a curator, and the public facts about it."""

    __slots__ = ("_curator",)

    def __init__(self, curator: Answering) -> None:
        self._curator = curator

    @property
    def model(self) -> PrivacyModel:
        """The law of the stream."""
        return self._curator.model

    @property
    def bins(self) -> int:
        """How many bins the stream has."""
        return self._curator.bins

    # paid answers
    ask = _passed_on(Answering.ask)
    purse = _passed_on(Answering.purse)
    nearest = _passed_on(Answering.nearest)
    cells = _passed_on(Answering.cells)
    median = _passed_on(Answering.median)
    sampled = _passed_on(Answering.sampled)

    # handles, made in ``begin``
    segment = _passed_on(Answering.segment)
    pool = _passed_on(Answering.pool)
    volley = _passed_on(Answering.volley)
    grouper = _passed_on(Answering.grouper)

    # the budget
    cap = _passed_on(Answering.cap)
    can = _passed_on(Answering.can)
    remaining = _passed_on(Answering.remaining)
    charged = _passed_on(Answering.charged)
    noise_sd = _passed_on(Answering.noise_sd)
