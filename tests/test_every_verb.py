"""A mechanism that uses every verb of the curator at once keeps all promises: the verbs are sound together."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import penstock as ps
from penstock.checks import CHECKS, Subject
from penstock.mechanisms.base import Mechanism, state
from penstock.models import EventLevel, MContext, PrivacyModel, UserLevel, WEvent
from penstock.primitives.segment import SegmentPlan, Verdict
from penstock.queries import Counts, Distance, GroupDistances, GroupSums
from penstock.types import Release, Snapshot

# its questions are about three bins, it has neither proof nor example, and its many small arrays keep filling numpy's
# cache of blocks for longer than bounded_memory watches (test_what_it_holds_stays_the_same looks at the state instead)
NOT_MEANT_FOR_IT = {"noise_is_as_claimed", "proof_is_current", "example_runs", "bounded_memory"}
MODELS: list[PrivacyModel] = [
    EventLevel(epsilon=2),
    WEvent(epsilon=3, w=4),
    UserLevel(epsilon=5, horizon=12),
    MContext(epsilon=3, m=3),
]


@dataclass(kw_only=True)
class EveryVerb(Mechanism):
    """Asks all there is to ask, as long as it can be afforded; what it publishes hangs on all the answers."""

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, MContext)
    heard: int = state(0)

    def begin(self) -> None:
        self.e = self.model.epsilon / self.model.window / 20
        self.pool = self.curator.pool(reads=2)
        self.grouper = self.curator.grouper(self.e)
        self.segment = self.curator.segment()

    def decide(self, snapshot: Snapshot) -> Release:
        if not self.curator.can(publish=self.e * 10, decide=self.e * 5, monitor=self.e * 3):
            return self.republish(snapshot)
        self.heard += self.questions(snapshot) + self.sums(snapshot)
        if not self.segment.running:
            self.segment.renew(SegmentPlan.windowed(2, self.e * 2))
        verdict = self.segment.above(snapshot, Distance(self.last.values), 50 + self.heard % 7, then=self.e)
        return self.publish(snapshot, self.e) if verdict is Verdict.ABOVE else self.republish(snapshot)

    def questions(self, snapshot: Snapshot) -> int:
        nearest = self.curator.nearest(snapshot, [Distance([0, 0, 0]), Distance(self.last.values)], self.e)
        groups = self.curator.ask(snapshot, GroupSums([0, 0, -1]), self.e)
        apart = self.curator.ask(snapshot, GroupDistances([1, 0, 1], self.last.values), self.e, envelope="decide")
        some = self.curator.ask(snapshot, Counts(), [self.e, self.e / 2], bins=[2, 0])
        thinned = 0
        if self.model.neighbours == "add-remove":
            thinned = int(self.curator.sampled(snapshot, 0.5, self.e, limit=9).sum())
        return nearest + thinned + int(groups.sum() + apart.sum() + some.sum())

    def sums(self, snapshot: Snapshot) -> int:
        joined = self.grouper.extend(snapshot, 40)
        self.pool.absorb(snapshot, self.e, bins=joined)
        full = np.flatnonzero(self.pool.size >= 3)
        self.pool.drop(np.flatnonzero(self.pool.size >= 5))
        full = full[self.pool.size[full] > 0]
        return int(self.pool.settle(full).sum()) if len(full) else 0


@pytest.mark.parametrize("check", [check for check in CHECKS if check not in NOT_MEANT_FOR_IT])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_promise(model: PrivacyModel, check: str) -> None:
    """Under m-context a span may meet people who cannot afford it; under user-level nothing ever comes back."""
    CHECKS[check](Subject(EveryVerb, model))


def test_what_it_holds_stays_the_same() -> None:
    """The saved state, public and sealed, is as large after 600 units as after 100."""
    model = WEvent(epsilon=3, w=4)
    stream = ps.streams.synthetic("walk", bins=3, steps=600, seed=1)
    mechanism = EveryVerb(model=model, allow_unproven=True).start(ps.Curator(model, 3, noise=ps.SimulationNoise(1)))
    sizes = []
    for snapshot in stream:
        mechanism.step(snapshot)
        if snapshot.t in (100, 600):
            sizes.append([len(part) for part in mechanism.save(ps.new_key())])
    early, late = sizes
    assert np.allclose(early, late, atol=200)
