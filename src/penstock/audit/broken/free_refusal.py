"""A publisher for whom a refused step costs nothing, however many answers it had before."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.planted import Planted
from penstock.epsilon import Epsilon
from penstock.errors import BudgetExceeded
from penstock.publisher import Publisher
from penstock.types import Cause, Release, Snapshot


class ForgivingPublisher(Publisher):
    """Passes over a refused unit for nothing."""

    def _passed_over(self, snapshot: Snapshot, fault: Exception, most: Epsilon) -> tuple[Release, Cause]:
        if not isinstance(fault, BudgetExceeded):
            return super()._passed_over(snapshot, fault, most)
        cost = self._session.cost()
        self._resume()
        release = self._session.pass_over(self._session.blank(snapshot.t, snapshot.label, snapshot.present))
        self._session.note_refused(cost)
        return release, Cause.REFUSED


@dataclass(kw_only=True)
class FreeRefusal(Planted):
    """Found in what is stored: the record says that its answers cost more than was booked."""

    caught_by: ClassVar = "verify"
    saying: ClassVar = r"has not booked what its step at t=23 may have cost \(refused\)"
    publisher: ClassVar = ForgivingPublisher
