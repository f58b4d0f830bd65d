"""Auto: the mechanism that need not be chosen."""

from copy import deepcopy
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.allocation import pacing, rations, timetable, watch
from penstock.allocation.risk import Objective
from penstock.epsilon import Epsilon
from penstock.mechanisms.base import Mechanism, state
from penstock.models import DeltaNeighbourhood, EventLevel, UserLevel, WEvent
from penstock.parameters import from_one_to
from penstock.primitives.estimator import Estimate, Estimator
from penstock.primitives.segment import Verdict
from penstock.primitives.summing import Summing
from penstock.queries import LargestDistance
from penstock.types import Floats, Kind, Release, Snapshot

PUBLISHED = {"mae": "median", "rmse": "mean", "mre": "relative_median"}  # of what is known, by what is to be small
ROUNDING = 0.3  # the standard deviation that whole numbers have, however little their noise
LARGEST_WINDOW = 20_000  # units that can be planned for in seconds
MOST_NUMBERS = 100_000_000  # in a state: a store takes a billion bytes at once
LONGEST = 1000  # units to sum over


@dataclass(kw_only=True)
class Auto(Mechanism):
    """Publish at a pace that fits the stream, and estimate every unit from all that was published.

    ``objective``  which error is to be small: "mae" (absolute), "rmse" (squared) or "mre" (relative to the count)
    ``width``      publish the sums of so many last units instead of single ones, where each unit is protected by itself
    ``pace``       publish so many times in a window instead of finding out; 0 finds out
    ``pooling``    bins tell each other how they move
    ``seasons``    cycles of a day, a week, a year are found and used
    ``shrinking``  bins tell each other how large they are, and none is below zero
    ``watching``   while releases are seldom, ask at every unit whether some bin has jumped

    >>> from penstock import ScriptedNoise, publish
    >>> from penstock.streams import Stream
    >>> mechanism = Auto(model=WEvent(epsilon=1, w=20))
    >>> for release in publish(Stream([[200]] * 3), mechanism, noise=ScriptedNoise()):
    ...     print(release.t, release.values, release.low, release.high, release.charged)
    1 [200] [135] [259] 0.05
    2 [200] [190] [210] 0.35
    3 [200] [184] [216] 0
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, DeltaNeighbourhood)
    intervals: ClassVar = True
    rests_on: ClassVar = (timetable, pacing, rations, watch)

    objective: Objective = "mae"
    width: int = 1
    pace: int = 0
    pooling: bool = True
    seasons: bool = True
    shrinking: bool = True
    watching: bool = True

    plan: timetable.Timetable = state()
    estimator: Estimator | Summing = state()

    def validate(self) -> None:
        epsilon, window = self.model.epsilon, self.model.window
        from_one_to(f"{self.model.called} (with another mechanism it can be longer)", window, LARGEST_WINDOW)
        from_one_to("width (above 1 under EventLevel only)", self.width, 1 if window > 1 else LONGEST)
        from_one_to("pace, if it is not 0,", self.pace or 1, window)
        least = timetable.Timetable.least(self.model)
        self.require_spendable(least, epsilon.share(timetable.PROBE), epsilon.share(watch.THRESHOLD))

    def begin(self) -> None:
        window, bins = self.model.window, self.curator.bins
        always = window == 1  # measured anew at every unit
        each = Summing.numbers(self.width) if always else Estimator.numbers(window)
        from_one_to("the number of bins (with another mechanism there can be more)", bins, MOST_NUMBERS // each)
        self.plan = timetable.Timetable(self.model, bins, self.objective, self.pace, watching=self.watching)
        self.run, self.segment = self.plan.watch.plan, self.curator.segment()
        self.curator.noise_sd(self.run.u)  # refused now rather than in the middle of a stream
        self.curator.cap(decide=self.run.first * watch.YESES)
        parts = {"pooling": self.pooling, "seasons": self.seasons, "shrinking": self.shrinking}
        self.estimator = Summing(bins, self.width, **parts) if always else Estimator(bins, window, **parts)

    def decide(self, snapshot: Snapshot) -> Release:
        t, noise_sd, kind = snapshot.t, self.last.noise_sd, Kind.REPUBLISHED
        if t >= self.plan.due:
            self.plan.put_off(t, self.free(t))
        e = self.plan.affordable(t, self.free(t)) if t >= self.plan.due else timetable.NOTHING
        if not self.plan.tells(e):
            e = self.noticed(snapshot)
        if self.plan.tells(e) and self.curator.can(publish=e):
            noise_sd, kind = self.look(snapshot, e), Kind.ESTIMATED
        return self.estimate(snapshot, noise_sd, kind) if self.plan.releases else self.republish(snapshot)

    def free(self, t: int) -> Epsilon:
        """What remains, without what the watch may still cost; one that was not asked for a window has ended."""
        if self.segment.running and self.plan.idle(t):
            self.segment.retire()
        remaining, kept = self.curator.remaining(), self.run.v if self.segment.running else self.run.first
        if self.plan.keeps(t) and self.curator.remaining("decide") >= kept:
            return self.plan.beyond(t, remaining, kept)
        return remaining

    def noticed(self, snapshot: Snapshot) -> Epsilon:
        """What to spend on a look if some bin is far from where it is believed to be. To ask that is paid for, too."""
        look = self.plan.look(snapshot.t, self.curator.remaining()) if self.plan.at_rest else timetable.NOTHING
        if not self.segment.running:
            self.segment.renew(self.run)
        if not (self.plan.tells(look) and self.segment.can_ask(look)):
            return timetable.NOTHING
        found = self.known(snapshot.t)
        farthest, threshold = LargestDistance(found.mean), self.plan.watch.threshold(found.spread)
        yes = self.segment.above(snapshot, farthest, threshold, then=look) is Verdict.ABOVE
        self.plan.answered(snapshot.t, yes=yes)
        return look if yes else timetable.NOTHING

    def look(self, snapshot: Snapshot, e: Epsilon) -> Floats:
        """Measure; at first a small look may say that a good one is worth its price at once, which takes its place."""
        before = self.estimator if self.plan.settled else deepcopy(self.estimator)
        noise_sd, better = self.measure(snapshot, e), self.plan.better(self.free(snapshot.t))
        if self.plan.tells(better) and self.curator.can(publish=better):
            self.estimator = before
            noise_sd = self.measure(snapshot, better)
        return noise_sd

    def measure(self, snapshot: Snapshot, e: Epsilon) -> Floats:
        """Ask, learn, and plan the next release. The noise of the answer is returned."""
        t, plan = snapshot.t, self.plan
        values, _, spread = self.measured(snapshot, e)
        noise_sd: Floats = np.full(self.curator.bins, spread, np.float64)
        if plan.at_rest and watch.surprised(values, self.known(t), noise_sd):
            plan.stirred = t
        plan.begun = plan.begun or t
        scale = np.maximum(noise_sd, min(ROUNDING, plan.unit)) / np.sqrt(2)
        self.estimator.observe(plan.age(t), values / plan.unit, scale / plan.unit)
        if isinstance(self.estimator, Estimator):
            plan.learn(t, self.estimator.weights, self.estimator.levels)
        plan.spend(t, e)
        return noise_sd

    def known(self, t: int) -> Estimate:
        """What is known of a unit, in counts."""
        return self.estimator.at(self.plan.age(t)).times(self.plan.unit)

    def estimate(self, snapshot: Snapshot, noise_sd: Floats, kind: Kind) -> Release:
        """What is known of this unit, and between what its counts lie."""
        found = self.known(snapshot.t)
        values = np.maximum(getattr(found, PUBLISHED[self.objective]), 0)
        return self.released(snapshot, values, kind, noise_sd, found.interval)
