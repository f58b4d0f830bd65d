"""What units must have booked whose step was cut short: all that it may have drawn is paid for.

A step that was lost, or has failed, may have drawn all that its unit could still afford, so after it the windows that
end there are full. A step that was refused has got the answers before that, and its record says what they cost.
"""

from __future__ import annotations

from penstock.charges import Fact, Point, Span
from penstock.errors import StoreDamaged
from penstock.ledger import LOST
from penstock.models import MContext, PrivacyModel
from penstock.store.record import BOOKED, Entry
from penstock.types import Cause

UNSEEN = (Cause.LOST, Cause.FAILED, Cause.ADOPTED)


class Owed:
    """Follows the records of a stream in order, and keeps the charges that the window of the latest unit meets."""

    def __init__(self, stream: str, model: PrivacyModel) -> None:
        self._stream, self._model, self._limit = stream, model, model.epsilon.nano
        self._points: list[tuple[int, int]] = []  # unit, nano-epsilon
        self._spans: dict[int, Span] = {}
        self._full_until = 0  # from an adopted copy on, every window that meets it is taken to be full

    def follow(self, entry: Entry) -> None:
        """Take in the next unit, and refuse one that has booked less than it owes."""
        self._keep(entry.t, entry.facts)
        if entry.cause is Cause.REFUSED:
            self._require(entry, _lost(entry) == sum(nano for verb, nano in entry.answers if verb == BOOKED))
        elif entry.cause in UNSEEN and isinstance(self._model, MContext):
            # who was present is sealed; a lost unit is taken to have cost everybody all of epsilon
            self._require(entry, entry.cause is Cause.FAILED or _lost(entry) == self._limit)
        elif entry.cause in UNSEEN and entry.t > self._full_until and not self._model.is_over(entry.t):
            self._require(entry, self._paid() >= self._limit)
        if entry.cause is Cause.ADOPTED:
            self._full_until = entry.t + self._model.window - 1

    def _keep(self, t: int, facts: list[Fact]) -> None:
        """Book what is charged at a unit, and forget what its window has left behind."""
        self._points += [(fact.t, fact.e.nano) for fact in facts if isinstance(fact, Point)]
        self._spans |= {fact.key: fact for fact in facts if isinstance(fact, Span)}  # a closing replaces its opening
        first = t - self._model.window + 1
        self._points = [(at, nano) for at, nano in self._points if at >= first]
        self._spans = {key: span for key, span in self._spans.items() if span.b is None or span.b >= first}

    def _paid(self) -> int:
        """What the window of the latest unit has paid, in nano-epsilon."""
        return sum(nano for _, nano in self._points) + sum(span.e.nano for span in self._spans.values())

    def _require(self, entry: Entry, paid: bool) -> None:
        if not paid:
            raise StoreDamaged(
                f'the stream "{self._stream}" has not booked what its step at t={entry.t} may have cost'
                f" ({entry.cause.value}); stop publishing it and restore the latest backup."
            )


def _lost(entry: Entry) -> int:
    """What a unit has booked for a step that was cut short, in nano-epsilon."""
    return sum(fact.e.nano for fact in entry.facts if isinstance(fact, Point) and fact.envelope == LOST)
