"""Auto: the mechanism that need not be chosen."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from penstock.allocation import collecting, gathering, pacing, rations, reader, summing, timetable, volleys, watch
from penstock.allocation.reader import Reader
from penstock.allocation.risk import Objective
from penstock.mechanisms.base import Mechanism, state
from penstock.models import DeltaNeighbourhood, EventLevel, PrivacyModel, UserLevel, WEvent
from penstock.parameters import from_one_to
from penstock.primitives.estimator import Estimate, Estimator
from penstock.primitives.reading import Reading
from penstock.primitives.volley import VolleyPlan
from penstock.types import Floats, Ints, Kind, Release, Snapshot

MOST_NUMBERS = 100_000_000  # in a state: a store takes a billion bytes at once


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
    ``sharing``    of a single count, releases that follow each other share what they cost, and have less noise for it

    >>> from penstock import ScriptedNoise, publish
    >>> from penstock.streams import Stream
    >>> mechanism = Auto(model=WEvent(epsilon=1, w=20))
    >>> for release in publish(Stream([[200]] * 2), mechanism, noise=ScriptedNoise()):
    ...     print(release.t, release.values, release.low, release.high, release.charged)
    1 [200] [130] [262] 0.05
    2 [200] [191] [209] 0.4
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, DeltaNeighbourhood)
    intervals: ClassVar = True
    rests_on: ClassVar = (timetable, reader, pacing, rations, volleys, watch, gathering, summing, collecting)

    objective: Objective = "mae"
    width: int = 1
    pace: int = 0
    pooling: bool = True
    seasons: bool = True
    shrinking: bool = True
    watching: bool = True
    sharing: bool = True

    plan: timetable.Timetable = state()
    estimator: Estimator = state()
    sums: summing.Summing | None = state()  # instead of it, where every unit has all of epsilon

    @classmethod
    def variants(cls, model: PrivacyModel) -> tuple[dict[str, Any], ...]:
        """For sums of many units, bins that rest are gathered in a pool."""
        return ({"width": 12},) if model.window == 1 else ()

    @property
    def unasked(self) -> frozenset[str]:
        """In short windows a watch is not worth its price."""
        return frozenset() if self.sums or self.plan.can_rest else frozenset({"above"})

    def validate(self) -> None:
        epsilon, window = self.model.epsilon, self.model.window
        from_one_to(f"{self.model.called} (with another mechanism it can be longer)", window, timetable.LARGEST_WINDOW)
        from_one_to("width (above 1 under EventLevel only)", self.width, 1 if window > 1 else summing.LONGEST)
        from_one_to("pace, if it is not 0,", self.pace or 1, window)
        parts = gathering.LEAST if window == 1 else watch.THRESHOLD, timetable.PROBE
        self.require_spendable(timetable.Timetable.least(self.model), *map(epsilon.share, parts))

    def begin(self) -> None:
        window, bins, each_alone = self.model.window, self.curator.bins, self.each_alone
        each = summing.Summing.numbers(self.width) if window == 1 else Estimator.numbers(window)
        from_one_to("the number of bins (with another mechanism there can be more)", bins, MOST_NUMBERS // each)
        sharing = self.sharing and bins == 1 and each_alone and window > timetable.PROBES
        options = {"watching": self.watching, "sharing": sharing}
        self.plan = timetable.Timetable(self.model, bins, self.objective, self.pace, **options)
        parts = {"pooling": self.pooling, "seasons": self.seasons, "shrinking": self.shrinking}
        if window == 1:
            self.sums = summing.Summing(self.curator, self.width, self.plan.least_sd, gathering=each_alone, **parts)
            return
        self.estimator = Estimator(bins, window, **parts)
        self.reader = Reader(self.curator, self.plan, self.measured, sharing=sharing)
        self.curator.noise_sd(timetable.Timetable.least(self.model))  # refused now, not in the middle of a stream

    def decide(self, snapshot: Snapshot) -> Release:
        if self.sums:
            return self.summed(snapshot, self.sums)
        noise_sd, kind = self.last.noise_sd, Kind.REPUBLISHED
        offer = self.reader.due(snapshot.t) or self.reader.noticed(snapshot, self.known)
        if offer:
            noise_sd, kind = self.look(snapshot, offer), Kind.ESTIMATED
        if not self.plan.releases:
            return self.republish(snapshot)
        return self.estimate(snapshot, self.known(snapshot.t), noise_sd, kind)

    def summed(self, snapshot: Snapshot, sums: summing.Summing) -> Release:
        """Every unit has all of epsilon. Bins that hardly move are gathered for a while, and read together."""
        told = sums.follow(snapshot, self.measured)
        noise_sd = np.where(told.read, told.noise_sd, self.last.noise_sd)
        return self.estimate(snapshot, sums.known, noise_sd, told.kinds)

    def look(self, snapshot: Snapshot, offer: VolleyPlan) -> Floats:
        """Measure; at first a small look may say that a good one is worth its price at once: then that counts."""
        t, reader = snapshot.t, self.reader
        before = self.estimator if self.plan.settled else deepcopy(self.estimator)
        seen = self.read(snapshot, offer)
        better = reader.good(t)
        if better:
            self.estimator = before
            seen = self.read(snapshot, better, beside=seen)
        reader.follow(t)
        return seen.noise_sd

    def read(self, snapshot: Snapshot, offer: VolleyPlan, beside: Reading | None = None) -> Reading:
        """One reading, and what is learnt from it: one of a volley, or one alone, joined by another ``beside`` it."""
        volley = offer.size > 1
        if self.reader.opens(snapshot.t, offer):
            self.estimator.expect(offer.size, self.model.epsilon.nano / offer.e.nano)
        seen = self.reader.read(snapshot, offer)
        if beside and not volley:
            seen = beside.joined(seen)
        self.learn(snapshot.t, seen, volley=volley)
        return seen

    def learn(self, t: int, seen: Reading, *, volley: bool = False) -> None:
        """Take in what was seen of a unit, alone or as one of a volley, and plan the next release."""
        if self.plan.at_rest and watch.surprised(seen, self.known(t)):
            self.plan.stirred = t
        self.plan.begun = self.plan.begun or t
        self.estimator.observe(self.plan.age(t), *seen.scaled(self.plan.unit, self.plan.least_sd), volley=volley)
        self.plan.learn(t, self.estimator.weights, self.estimator.levels)
        self.plan.released(t)

    def known(self, t: int) -> Estimate:
        """What is known of a unit, in counts."""
        return self.estimator.at(self.plan.age(t)).times(self.plan.unit)

    def estimate(self, snapshot: Snapshot, found: Estimate, noise_sd: Floats, kind: Kind | Ints) -> Release:
        """What is known of this unit, and between what its counts lie."""
        return self.released(snapshot, np.maximum(found.made_for(self.objective), 0), kind, noise_sd, found.interval)
