"""BA: budget absorption."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.mechanisms.base import Mechanism, state
from penstock.models import DeltaNeighbourhood, EventLevel, UserLevel, WEvent
from penstock.types import Release, Snapshot


@dataclass(kw_only=True)
class BA(Mechanism):
    """Publish when the counts have moved further than fresh noise would, with the budget that skipped units left over.

    (Kellaris et al. 2014.) Every unit has the same share; a release absorbs the shares of the units skipped before it,
    and as many units after it are nullified in return. Best on streams that move seldom.

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

    def validate(self) -> None:
        self.require_spendable(self.model.epsilon / 2 / self.model.window)

    def begin(self) -> None:
        half = self.model.epsilon / 2
        self.share = half / self.model.window
        self.curator.cap(decide=half, publish=half)

    def decide(self, snapshot: Snapshot) -> Release:
        resumes = self.published + max(self.absorbed - 1, 0)  # the last nullified unit
        if snapshot.t <= resumes:
            return self.republish(snapshot)
        moved = self.distance(snapshot, self.share)  # line 1
        shares = min(snapshot.t - resumes, self.model.window)
        if self.worth_publishing(moved, self.share * shares):
            self.published, self.absorbed = snapshot.t, shares
            return self.publish(snapshot, self.share * shares)
        return self.republish(snapshot)
