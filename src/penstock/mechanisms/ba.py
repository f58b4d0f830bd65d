"""BA: budget absorption."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.mechanisms.base import state
from penstock.mechanisms.bd import BD
from penstock.models import DeltaNeighbourhood, EventLevel, UserLevel, WEvent
from penstock.types import Release, Snapshot


@dataclass(kw_only=True)
class BA(BD):
    """Publish when the counts have moved further than fresh noise would, with the budget that skipped units left over.

    (Kellaris et al. 2014.) Every unit has the same share; a release absorbs the shares of the units skipped before it,
    and as many units after it are nullified in return. Best on streams that move seldom. ``groups`` and ``shift`` are
    those of BD.

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = BA(model=WEvent(epsilon=8, w=4))
    >>> for release in publish(Stream([[0], [0], [90], [10], [10], [10]]), mechanism, noise=ScriptedNoise()):
    ...     print(release.t, release.values, release.charged)
    1 [0] 1
    2 [0] 1
    3 [90] 4
    4 [90] 0
    5 [90] 0
    6 [10] 2
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, DeltaNeighbourhood)
    paper: ClassVar = "Kellaris et al. 2014"

    published: int = state(0)  # l: when the last fresh release was made
    absorbed: int = state(0)  # how many shares it took

    def begin(self) -> None:
        super().begin()
        self.share = self.publish_budget / self.model.window

    def decide(self, snapshot: Snapshot) -> Release:
        resumes = self.published + max(self.absorbed - 1, 0)  # the last nullified unit
        if snapshot.t <= resumes:
            return self.republish(snapshot)
        left = int(self.curator.remaining("publish") / self.share)  # enough, unless a crash has taken some
        shares = min(snapshot.t - resumes, self.model.window, left)
        e = self.share * shares
        if not shares or not self.curator.can(decide=self.asking, publish=e):
            return self.republish(snapshot)
        columns = self.columns()
        moved = self.moved(snapshot, self.asking, columns)  # line 1
        due = self.worth_publishing(moved, e)
        if not due.any():
            return self.republish(snapshot)
        self.published, self.absorbed = snapshot.t, shares
        return self.publish(snapshot, e, due[columns])
