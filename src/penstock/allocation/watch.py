"""When to look although nothing is due: a watch over streams that are published seldom.

A sparse vector is asked at every unit whether some bin is far from where it is believed to be, and pays for a yes
alone: for a few hundredths of epsilon it sees jumps of some hundred times the noise that epsilon buys, which would go
unseen until the next release. Only what it costs, when it says yes and how often that is to be expected is settled
here; public numbers, all of it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from penstock.epsilon import NANO, Epsilon
from penstock.models import PrivacyModel
from penstock.primitives.dynamics import Dynamics
from penstock.primitives.estimator import Estimate
from penstock.primitives.reading import Reading
from penstock.primitives.segment import Segment, SegmentPlan, Verdict
from penstock.queries import LargestDistance
from penstock.types import Floats, Snapshot

THRESHOLD, COMPARISON, LOOKS = 0.01, 0.012, 0.045  # parts of epsilon: of a run, twice of a yes, of releases after it
SURE = 8.0  # scales of a comparison's noise: a false alarm in some 16 windows of 120 units, in 4 of 1,000
DOUBTED = 2.0  # deviations of what is believed that the farthest bin may be away by itself
SURPRISE = 6.0  # deviations that a release is away from what was expected, on average over bins, if a stream stirs
YESES = 5  # in a window, at most
SELDOM, LONG = 12, 8  # releases in a window at most, and units between two at least, for a watch to be worth its price
SEEN, FOUND = SURE / COMPARISON, 2 / LOOKS  # the jumps that are seen and how well, in units of what epsilon buys
TOGETHER = 0.25  # bins to this power count for the yeses of a stream: many jump together
BELIEVED, REMEMBERED = 0.5, 4  # windows: what models say counts as much as so many, and those that were, for so long


class Watch(NamedTuple):
    """One run after another, over with its first yes."""

    plan: SegmentPlan
    looks: Epsilon  # what is kept for them until there is a yes
    margin: float  # how far a bin must be away

    @classmethod
    def of(cls, model: PrivacyModel) -> Watch:
        """The watch that fits a promise."""
        plan = SegmentPlan(1, model.epsilon.share(THRESHOLD), model.epsilon.share(COMPARISON))
        return cls(plan, model.epsilon.share(LOOKS), SURE * model.sensitivity * NANO / plan.v.nano)

    def threshold(self, spread: Floats) -> int:
        """The distance from which a bin cannot be where it is believed to be, give or take its ``spread``."""
        return math.ceil(self.margin + DOUBTED * float(spread.max()))

    def look(self, remaining: Epsilon) -> Epsilon:
        """The least for a release after a yes: half of what is kept, or of what is left of it."""
        return min(self.looks, remaining) / 2


class Lookout:
    """Who asks: one run of a watch after another."""

    def __init__(self, segment: Segment, watch: Watch) -> None:
        self._segment, self._watch = segment, watch

    @property
    def running(self) -> bool:
        """Whether there is a run that has not ended."""
        return self._segment.running

    @property
    def kept(self) -> Epsilon:
        """What its next yes costs, with a run before it if there is none."""
        plan = self._watch.plan
        return plan.v if self.running else plan.first

    def rest(self) -> None:
        """End a run, if there is one."""
        if self.running:
            self._segment.retire()

    def can_ask(self, then: Epsilon) -> bool:
        """Whether a yes, and what follows it, can be paid for."""
        if not self.running:
            self._segment.renew(self._watch.plan)
        return self._segment.can_ask(then)

    def sees(self, snapshot: Snapshot, believed: Estimate, then: Epsilon) -> bool:
        """Whether some bin is far from where it is believed to be."""
        farthest, threshold = LargestDistance(believed.mean), self._watch.threshold(believed.spread)
        return self._segment.above(snapshot, farthest, threshold, then=then) is Verdict.ABOVE


def pays(pace: int, every: int) -> bool:
    """Whether releases are so seldom, and so good, that a jump between them costs more than a watch."""
    return pace <= SELDOM and every >= LONG


def alarms(models: Dynamics, window: int) -> Floats:
    """How many yeses each model leads to in a window: by its jumps and bursts that are large enough to be seen."""
    sizes = np.sqrt(2 * (models.jump + models.burst))
    large = [math.erfc(SEEN / size) if size else 0.0 for size in sizes.tolist()]
    yeses: Floats = window * models.rate * np.array(large)
    return yeses


def in_time(yeses: Floats) -> Floats:
    """How often a watch can still say yes, if it wants to so many times in a window, on average."""
    few: Floats = np.exp(-yeses) * sum(yeses**number / math.factorial(number) for number in range(YESES))
    return few


class Experience:
    """How many yeses a window has: at first as models say, then as it turns out."""

    def __init__(self, window: int) -> None:
        self._window = window
        self.yeses, self.windows = 0.0, 0.0  # that were watched

    def add(self, *, yes: bool) -> None:
        """One more unit was watched."""
        self.yeses += yes
        self.windows += 1 / self._window

    def fade(self, units: int) -> None:
        """So much time has passed."""
        kept = math.exp(-units / (REMEMBERED * self._window))
        self.yeses, self.windows = self.yeses * kept, self.windows * kept

    def expected(self, alone: Floats) -> float:
        """How many are to be expected of bins that have so many each when they are ``alone``."""
        believed = float(alone.mean() * len(alone) ** TOGETHER)
        return (self.yeses + BELIEVED * believed) / (self.windows + BELIEVED)

    def save(self) -> dict[str, Any]:
        return {"yeses": self.yeses, "windows": self.windows}

    def load(self, saved: dict[str, Any]) -> None:
        self.yeses, self.windows = saved["yeses"], saved["windows"]


def surprised(seen: Reading, believed: Estimate) -> bool:
    """Whether a release is away from what was believed by far more than its noise and doubts account for."""
    expected = np.hypot(believed.spread, seen.noise_sd)
    return bool(np.abs(seen.values - believed.mean).mean() > SURPRISE * expected.mean())
