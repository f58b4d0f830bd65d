"""Who asks for counts when it is time for it: by themselves, or one after another as readings of a volley.

A reading that has been paid for is used whenever one is wanted, whether it is due or something was noticed. All that is
decided here follows from published answers and from what was spent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from penstock.allocation.timetable import NOTHING, Timetable
from penstock.allocation.watch import YESES, Lookout
from penstock.door import Door
from penstock.epsilon import Epsilon
from penstock.primitives.estimator import Estimate
from penstock.primitives.reading import Reading
from penstock.primitives.volley import VolleyPlan
from penstock.types import Floats, Ints, Snapshot


class Measure(Protocol):
    """How all counts are asked for: values, whatever else, and their noise."""

    def __call__(self, snapshot: Snapshot, e: Epsilon) -> tuple[Ints, Any, Floats]: ...


class Reader:
    """Follows a timetable, and pays. With ``sharing``, of a single count, several readings may be paid for together."""

    def __init__(self, curator: Door, plan: Timetable, measure: Measure, *, sharing: bool) -> None:
        self._curator, self._plan, self._measure = curator, plan, measure
        self._volley = curator.volley() if sharing else None
        self._lookout = Lookout(curator.segment(), plan.watch)
        curator.cap(decide=plan.watch.plan.first * YESES)

    @property
    def watching(self) -> bool:
        """Whether there is a run of the watch that has not ended."""
        return self._lookout.running

    @property
    def sharing(self) -> bool:
        """Whether there are readings that have been paid for."""
        return self._volley is not None and self._volley.running

    def free(self, t: int) -> Epsilon:
        """What remains, without what the watch may still cost; one that was not asked for a window has ended."""
        if self._plan.idle(t):
            self._lookout.rest()
        remaining, kept = self._curator.remaining(), self._lookout.kept
        keeps = self._plan.keeps(t) and self._curator.remaining("decide") >= kept
        return self._plan.beyond(t, remaining, kept) if keeps else remaining

    def payable(self, e: Epsilon) -> bool:
        """Whether a reading for so much tells anything, and can be paid for now."""
        return self._plan.tells(e) and self._curator.can(publish=e)

    def due(self, t: int) -> VolleyPlan | None:
        """What is to be read because it is time for it: the next of a volley, or what can be paid for now."""
        if self._volley and self.sharing:
            return self._volley.plan if t >= self._plan.due else None
        if t >= self._plan.due:
            self._plan.put_off(t, self.free(t))
        offer = self._plan.offer(t, self.free(t)) if t >= self._plan.due else None
        if offer and self._volley and not self._volley.fits(offer):
            offer = VolleyPlan(1, self._plan.affordable(t, self.free(t)))
        return offer if offer and self.payable(offer.e) else None

    def good(self, t: int) -> VolleyPlan | None:
        """A good look that is to follow a small one at once, if there is one and it can be paid for now."""
        plan = self._plan.better(self.free(t), self._volley.fits if self._volley else None)
        return plan if plan and self.payable(plan.e) else None

    def noticed(self, snapshot: Snapshot, known: Callable[[int], Estimate]) -> VolleyPlan | None:
        """A look, if some bin is far from where it is believed to be. To ask that is paid for, too."""
        look = self._plan.look(snapshot.t, self._curator.remaining()) if self._plan.at_rest else NOTHING
        if not (self._plan.tells(look) and self._lookout.can_ask(look)):
            return None
        yes = self._lookout.sees(snapshot, known(snapshot.t), look)
        self._plan.answered(snapshot.t, yes=yes)
        if not yes:
            return None
        return self._volley.plan if self._volley and self.sharing else VolleyPlan(1, look)

    def opens(self, t: int, offer: VolleyPlan) -> bool:
        """Begin a volley, if this is one and is not running yet."""
        if self._volley is None or offer.size == 1 or self.sharing:
            return False
        self._volley.renew(offer)
        self._plan.open(t, offer.e)
        return True

    def read(self, snapshot: Snapshot, offer: VolleyPlan) -> Reading:
        """The next reading of the volley that is running, or one alone."""
        if self._volley and offer.size > 1:
            return Reading.of(self._volley.read(snapshot), self._volley.noise_sd)
        return self.ask(snapshot, offer.e)

    def ask(self, snapshot: Snapshot, e: Epsilon) -> Reading:
        """All counts by themselves, for so much."""
        self._plan.spend(snapshot.t, e)
        values, _, noise_sd = self._measure(snapshot, e)
        return Reading.of(values, noise_sd)

    def follow(self, t: int) -> None:
        """Unit ``t`` was read: see what becomes of a volley."""
        volley = self._volley
        if volley is None:
            return
        if volley.running and volley.plan and self._plan.gives_up(t, self.free(t), volley.plan):
            volley.retire()
        self._plan.follow(t, volley.left)
