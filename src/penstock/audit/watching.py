"""What the faults of a sparse vector are planted in: a mechanism that compares, and publishes nothing but verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.audit.attack import Attack, Event
from penstock.audit.planted import Planted
from penstock.epsilon import Epsilon
from penstock.models import PrivacyModel
from penstock.primitives.segment import SegmentPlan, Verdict
from penstock.queries import Distance
from penstock.types import Kind, Release, Snapshot

LEVEL = 100  # records
BELOW, ABOVE, SKIPPED = 0, 1, 2
VALUES = {Verdict.BELOW: BELOW, Verdict.ABOVE: ABOVE, Verdict.SKIPPED: SKIPPED}


@dataclass(kw_only=True)
class Watching(Planted):
    """Asks at every unit whether there are as many records as a public level."""

    plan: ClassVar[SegmentPlan] = SegmentPlan(1, Epsilon("0.4"), Epsilon("0.3"))

    def begin(self) -> None:
        self.segment = self.curator.segment()
        self.nothing = np.zeros(self.curator.bins, np.int64)

    def decide(self, snapshot: Snapshot) -> Release:
        if not self.segment.running:
            self.segment.renew(self.plan)
        verdict = self.segment.above(snapshot, Distance(self.nothing), LEVEL, then=Epsilon(0))
        return self.released(snapshot, np.full(self.curator.bins, VALUES[verdict]), Kind.ESTIMATED, 0.0)


def attacked(model: PrivacyModel, noes: int, yeses: int = 0, before: int = 0) -> Attack:
    """An attack on the verdicts: in the last window so many times no, then yes.

    The one stream has a record too few for a yes and then enough; the other one has enough and then too few. In each of
    ``before`` earlier windows, which are the same, a yes costs all there is.
    """
    few, enough = [LEVEL - 1], [LEVEL]
    earlier = enough * (before * model.window)
    one, other = few * noes + enough * yeses, enough * noes + few * yeses
    return Attack(
        model=model,
        one=earlier + one,
        other=earlier + other,
        given=_told([ABOVE, *[SKIPPED] * (model.window - 1)] * before) if before else None,
        event=_told([BELOW] * noes + [ABOVE] * yeses),
    )


def _told(verdicts: list[int]) -> Event:
    """That these are the latest verdicts."""
    return lambda outcome: bool(outcome.values[-len(verdicts) :, 0].tolist() == verdicts)
