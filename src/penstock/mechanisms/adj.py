"""Adj: dynamic allocation of budgets, with the adjacent release to repeat."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.mechanisms.base import Mechanism, state
from penstock.models import DeltaNeighbourhood, EventLevel, MContext, UserLevel, WEvent
from penstock.queries import Distance, Distances
from penstock.types import Floats, Ints, Kind, Release, Snapshot

LONGEST = 10_000  # releases to choose from


@dataclass(kw_only=True)
class Adj(Mechanism):
    """Repeat the last release while it is near enough, or publish with half of what is left (Cao, Yoshikawa 2015).

    Made for m-context. Half of epsilon is shared by any m presences of a user, for deciding (DA, the dynamic
    allocation); of the other half a release takes half of what those present have left. Under other models it is much
    like BD. Best where users seldom move.

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = Adj(model=MContext(epsilon=8, m=2))
    >>> stream = Stream([[2, 0], [2, 0], [0, 2], [1, 0]], presence=[["ann", "bob"]] * 3 + [["cyd"]])
    >>> for release in publish(stream, mechanism, noise=ScriptedNoise()):
    ...     print(release.t, release.values, release.kind, release.charged)
    1 [2 0] [0 0] 2
    2 [2 0] [1 1] 2
    3 [0 2] [0 0] 4
    4 [1 0] [0 0] 4
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, MContext, DeltaNeighbourhood)
    paper: ClassVar = "Cao, Yoshikawa 2015"

    past: Ints = state()  # the last releases, the latest one first
    past_sd: Floats = state()  # and how wide their noise is

    @property
    def reach(self) -> int:
        """How many of the last releases there are to choose from."""
        return 1

    @property
    def unasked(self) -> frozenset[str]:
        """With one candidate there is nothing to choose from."""
        return frozenset({"nearest"}) if self.reach == 1 else frozenset()

    def validate(self) -> None:
        self.require_spendable(self.model.epsilon / 2 / self.model.window / min(self.reach, 2))

    def begin(self) -> None:
        half = self.model.epsilon / 2
        self.deciding = half / self.model.window  # DA, line 1: epsilon 1
        self.curator.cap(decide=half, publish=half)
        self.past, self.past_sd = np.zeros((0, self.curator.bins), np.int64), np.zeros(0)

    def decide(self, snapshot: Snapshot) -> Release:
        release = self.near_or_new(snapshot) if len(self.past) else self.new_or_last(snapshot)
        if len(self.past) or release.is_new:
            self.past = np.concatenate((release.values[np.newaxis], self.past))[: self.reach]
            self.past_sd = np.concatenate((release.noise_sd.max(keepdims=True), self.past_sd))[: self.reach]
        return release

    def near_or_new(self, snapshot: Snapshot) -> Release:
        """Repeat a candidate that is as near as a new release would be, or publish."""
        if not self.curator.can(decide=self.deciding):  # it can, unless a crash has taken it
            return self.republish(snapshot)
        candidates, noise_sd = self.candidates()
        chosen, testing = 0, self.deciding
        if len(candidates) > 1:
            testing = self.deciding / 2
            chosen = self.curator.nearest(snapshot, Distances(candidates), testing)
        distance = self.curator.ask(snapshot, Distance(candidates[chosen]), testing, envelope="decide")
        if self.worth_publishing(distance / self.curator.bins, self.curator.remaining("publish") / 2).any():
            return self.new_or_last(snapshot)
        return self.released(snapshot, candidates[chosen], Kind.REPUBLISHED, noise_sd[chosen])

    def new_or_last(self, snapshot: Snapshot) -> Release:
        """Publish with half of what those present have left, if there is anything left."""
        e = self.curator.remaining("publish") / 2  # DA, lines 2 to 5: epsilon 2
        return self.publish(snapshot, e) if e else self.republish(snapshot)

    def candidates(self) -> tuple[Ints, Floats]:
        """Everything different that could be repeated, the latest first, and how wide its noise is at most."""
        rows, noise_sd = self.repeatable()
        whole = rows.view(np.dtype((np.void, rows[0].nbytes)))[:, 0].tolist()
        chosen = sorted({row: i for i, row in reversed(list(enumerate(whole)))}.values())  # the latest of equal ones
        return rows[chosen], noise_sd[chosen]

    def repeatable(self) -> tuple[Ints, Floats]:
        """What could be repeated."""
        return self.past, self.past_sd
