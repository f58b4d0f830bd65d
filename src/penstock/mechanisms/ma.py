"""MA(k): dynamic allocation of budgets, and moving averages of releases to repeat."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from penstock.mechanisms.base import Mechanism, state
from penstock.models import DeltaNeighbourhood, EventLevel, MContext, UserLevel, WEvent
from penstock.parameters import from_one_to
from penstock.queries import Distance
from penstock.types import Floats, Ints, Kind, Release, Snapshot

LONGEST = 10_000  # releases to remember


@dataclass(kw_only=True)
class MA(Mechanism):
    """Repeat the moving average of earlier releases that is nearest to the counts, or publish anew (Li, Quan, Yu).

    Made for m-context. Half of epsilon is shared by any m presences of a user, for deciding (DA, the dynamic
    allocation). Of the other half a release takes half of what those present have left. Best where counts return to
    where they were. The nearest average is chosen privately, which as printed it is not.

    ``k``     how many averages to choose from: of the last release, of the last two, ..., of the last k
    ``mode``  "mean", or "single" to choose from the last k releases themselves

    Adj is MA(1), and MMD is MA(k) in single mode with a long memory.

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = MA(model=MContext(epsilon=16, m=2), k=2)
    >>> stream = Stream([[9, 0], [0, 9], [4, 5]], presence=[[f"user {i}" for i in range(9)]] * 3)
    >>> for release in publish(stream, mechanism, noise=ScriptedNoise()):
    ...     print(release.t, release.values, release.kind, release.charged)
    1 [9 0] [0 0] 4
    2 [0 9] [0 0] 6
    3 [4 4] [1 1] 4
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, MContext, DeltaNeighbourhood)
    paper: ClassVar = "Li, Quan, Yu"

    k: int = 3
    mode: Literal["mean", "single"] = "mean"

    past: Ints = state()  # the last releases, the latest one first
    past_sd: Floats = state()  # and how wide their noise is

    def validate(self) -> None:
        from_one_to("k", self.k, LONGEST)
        self.require_spendable(self.model.epsilon / 2 / self.model.window / min(self.k, 2))

    def begin(self) -> None:
        half = self.model.epsilon / 2
        self.deciding = half / self.model.window  # DA, line 1: epsilon 1
        self.curator.cap(decide=half, publish=half)
        self.past, self.past_sd = np.zeros((0, self.curator.bins), np.int64), np.zeros(0)

    def decide(self, snapshot: Snapshot) -> Release:
        release = self.near_or_new(snapshot) if len(self.past) else self.new_or_last(snapshot)
        if release.is_new or len(self.past):
            self.past = np.vstack([release.values, self.past])[: self.k]
            self.past_sd = np.append(release.noise_sd[0], self.past_sd)[: self.k]
        return release

    def near_or_new(self, snapshot: Snapshot) -> Release:
        """Algorithm 2: repeat a candidate that is as near as a new release would be, or publish."""
        if not self.curator.can(decide=self.deciding):  # it can, unless a crash has taken it
            return self.republish(snapshot)
        candidates, noise_sd = self.candidates()
        chosen, testing = 0, self.deciding
        if len(candidates) > 1:  # line 1, for half of it
            testing = self.deciding / 2
            chosen = self.curator.nearest(snapshot, [Distance(each) for each in candidates], testing)
        distance = self.curator.ask(snapshot, Distance(candidates[chosen]), testing, envelope="decide")  # line 2
        if self.worth_publishing(distance / self.curator.bins, self.curator.remaining("publish") / 2).any():  # line 3
            return self.new_or_last(snapshot)
        return self.released(snapshot, candidates[chosen], Kind.REPUBLISHED, noise_sd[chosen])

    def new_or_last(self, snapshot: Snapshot) -> Release:
        """Publish with half of what those present have left, if there is anything left."""
        e = self.curator.remaining("publish") / 2  # DA, lines 2 to 5: epsilon 2
        return self.publish(snapshot, e) if e else self.republish(snapshot)

    def candidates(self) -> tuple[list[Ints], list[float]]:
        """Every different release or average that could be repeated, the latest one first, and the noise of each."""
        rows, noise_sd = self.past, self.past_sd
        if self.mode == "mean":
            counted = np.arange(1, len(self.past) + 1)
            rows = np.rint(np.add.accumulate(self.past) / counted[:, np.newaxis]).astype(np.int64)
            noise_sd = np.add.accumulate(self.past_sd) / counted  # at most that, as some of them share their noise
        different = {row.tobytes(): i for i, row in reversed(list(enumerate(rows)))}  # the latest of equal ones
        chosen = sorted(different.values())
        return [rows[i] for i in chosen], [float(noise_sd[i]) for i in chosen]
