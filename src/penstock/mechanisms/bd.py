"""BD: budget distribution."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.mechanisms.base import Mechanism
from penstock.models import DeltaNeighbourhood, EventLevel, UserLevel, WEvent
from penstock.parameters import at_least_one
from penstock.primitives.grouping import equal_parts
from penstock.types import Ints, Release, Snapshot


@dataclass(kw_only=True)
class BD(Mechanism):
    """Publish when the counts have moved further than fresh noise would; spend half of what is left each time.

    (Kellaris et al. 2014.) Best on streams that rest and then jump: the first releases of a window are accurate, later
    ones get exponentially less.

    ``groups``  columns: bins of like size are watched together, and only groups that have moved are published
    ``shift``   with at least twice as many bins as units in a window, decide for epsilon / bins a unit

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = BD(model=WEvent(epsilon=4, w=2))
    >>> for release in publish(Stream([[50], [50], [90]]), mechanism, noise=ScriptedNoise()):
    ...     print(release.t, release.values, release.charged)
    1 [50] 2
    2 [50] 1
    3 [90] 2

    With two groups the bin that rests keeps its first, accurate release:

    >>> mechanism = BD(model=WEvent(epsilon=4, w=2), groups=2)
    >>> for release in publish(Stream([[50, 9], [80, 9]]), mechanism, noise=ScriptedNoise()):
    ...     print(release.t, release.values, release.kind, release.charged)
    1 [50  9] [0 0] 2
    2 [80  9] [0 1] 1.5
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, DeltaNeighbourhood)
    paper: ClassVar = "Kellaris et al. 2014"

    groups: int = 1
    shift: bool = False

    def validate(self) -> None:
        at_least_one("groups", self.groups)
        self.require_spendable(self.model.epsilon / 2 / self.model.window)

    def begin(self) -> None:
        epsilon, window = self.model.epsilon, self.model.window
        if self.shift and 2 * window <= self.curator.bins:
            self.asking = epsilon / self.curator.bins
            self.publish_budget = epsilon - self.asking * window
        else:
            self.asking = epsilon / 2 / window
            self.publish_budget = epsilon / 2
        self.require_spendable(self.asking)  # once more, because only now the number of bins is known
        self.curator.cap(decide=epsilon - self.publish_budget, publish=self.publish_budget)

    def decide(self, snapshot: Snapshot) -> Release:
        if not self.curator.can(decide=self.asking):  # it can, unless a crash has taken it
            return self.republish(snapshot)
        columns = self.columns()
        moved = self.moved(snapshot, self.asking, columns)  # line 1
        e = self.curator.remaining("publish") / 2  # line 2
        due = self.worth_publishing(moved, e)  # line 3
        return self.publish(snapshot, e, due[columns]) if due.any() else self.republish(snapshot)

    def columns(self) -> Ints:
        """The group of every bin, by what was last published of it."""
        return equal_parts(self.last.values, self.groups)
