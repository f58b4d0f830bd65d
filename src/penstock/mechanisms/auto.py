"""Auto: the mechanism that need not be chosen."""

from copy import deepcopy
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.allocation import collecting, gathering, pacing, rations, summing, timetable, watch
from penstock.allocation.risk import Objective
from penstock.epsilon import Epsilon
from penstock.mechanisms.base import Mechanism, state
from penstock.models import DeltaNeighbourhood, EventLevel, UserLevel, WEvent
from penstock.parameters import from_one_to
from penstock.primitives.estimator import Estimate, Estimator
from penstock.primitives.reach import Reach
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

    >>> from penstock import ScriptedNoise, publish
    >>> from penstock.streams import Stream
    >>> mechanism = Auto(model=WEvent(epsilon=1, w=20))
    >>> for release in publish(Stream([[200]] * 2), mechanism, noise=ScriptedNoise()):
    ...     print(release.t, release.values, release.low, release.high, release.charged)
    1 [200] [130] [262] 0.05
    2 [200] [187] [213] 0.286536812
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, DeltaNeighbourhood)
    intervals: ClassVar = True
    rests_on: ClassVar = (timetable, pacing, rations, watch, gathering, summing, collecting)

    objective: Objective = "mae"
    width: int = 1
    pace: int = 0
    pooling: bool = True
    seasons: bool = True
    shrinking: bool = True
    watching: bool = True
    volleys: bool = True

    plan: timetable.Timetable = state()
    estimator: Estimator = state()
    sums: summing.Summing | None = state()  # instead of it, where every unit has all of epsilon

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
        self.sharing = self.volleys and bins == 1 and each_alone and window > timetable.PROBES
        self.plan = timetable.Timetable(
            self.model, bins, self.objective, self.pace, watching=self.watching, sharing=self.sharing
        )
        parts = {"pooling": self.pooling, "seasons": self.seasons, "shrinking": self.shrinking}
        if window == 1:
            self.sums = summing.Summing(self.curator, self.width, self.plan.least_sd, gathering=each_alone, **parts)
            return
        self.estimator, run = Estimator(bins, window, **parts), self.plan.watch.plan
        if self.sharing:
            self.volley = self.curator.volley()
        self.lookout = watch.Lookout(self.curator.segment(), self.plan.watch)
        self.curator.noise_sd(timetable.Timetable.least(self.model))  # refused now, not in the middle of a stream
        self.curator.cap(decide=run.first * watch.YESES)

    def decide(self, snapshot: Snapshot) -> Release:
        if self.sums:
            return self.summed(snapshot, self.sums)
        t, noise_sd, kind = snapshot.t, self.last.noise_sd, Kind.REPUBLISHED
        paid = self.sharing and self.volley.running
        if t >= self.plan.due and not paid:
            self.plan.put_off(t, self.free(t))
        offer = None
        if t >= self.plan.due and not paid:
            offer = self.plan.offer(t, self.free(t))
            if offer.size > 1 and not self.volley.fits(offer):
                offer = VolleyPlan(1, max(self.plan.affordable(t, self.free(t)), Epsilon.of_nano(1)))
        if t >= self.plan.due and paid:
            noise_sd, kind = self.look(snapshot, timetable.NOTHING), Kind.ESTIMATED
        else:
            if offer is None or not self.plan.tells(offer.e):
                e = self.noticed(snapshot)
                offer = VolleyPlan(1, e) if self.plan.tells(e) else None
            if offer is not None and (paid or self.curator.can(publish=offer.e)):
                if offer.size > 1:
                    self.volley.renew(offer)
                    noise_sd, kind = self.look(snapshot, timetable.NOTHING), Kind.ESTIMATED
                elif paid:
                    noise_sd, kind = self.look(snapshot, timetable.NOTHING), Kind.ESTIMATED
                else:
                    noise_sd, kind = self.look(snapshot, offer.e), Kind.ESTIMATED
        if not self.plan.releases:
            return self.republish(snapshot)
        return self.estimate(snapshot, self.known(t), noise_sd, kind)

    def summed(self, snapshot: Snapshot, sums: summing.Summing) -> Release:
        """Every unit has all of epsilon. Bins that hardly move are gathered for a while, and read together."""
        told = sums.follow(snapshot, self.measured)
        noise_sd = np.where(told.read, told.noise_sd, self.last.noise_sd)
        return self.estimate(snapshot, sums.known, noise_sd, told.kinds)

    def free(self, t: int) -> Epsilon:
        """What remains, without what the watch may still cost; one that was not asked for a window has ended."""
        if self.plan.idle(t):
            self.lookout.rest()
        remaining, kept = self.curator.remaining(), self.lookout.kept
        keeps = self.plan.keeps(t) and self.curator.remaining("decide") >= kept
        return self.plan.beyond(t, remaining, kept) if keeps else remaining

    def noticed(self, snapshot: Snapshot) -> Epsilon:
        """What to spend on a look if some bin is far from where it is believed to be. To ask that is paid for, too."""
        look = self.plan.look(snapshot.t, self.curator.remaining()) if self.plan.at_rest else timetable.NOTHING
        if not (self.plan.tells(look) and self.lookout.can_ask(look)):
            return timetable.NOTHING
        yes = self.lookout.sees(snapshot, self.known(snapshot.t), look)
        self.plan.answered(snapshot.t, yes=yes)
        return look if yes else timetable.NOTHING

    def look(self, snapshot: Snapshot, e: Epsilon) -> Floats:
        """Measure; at first a small look may say that a good one is worth its price at once: then both count as one."""
        before = self.estimator if self.plan.settled else deepcopy(self.estimator)
        seen = self.measure(snapshot, e)
        self.learn(snapshot.t, seen, e)
        better = self.plan.better(self.free(snapshot.t))
        if self.plan.tells(better) and self.curator.can(publish=better):
            self.estimator, seen = before, seen.joined(self.measure(snapshot, better))
            self.learn(snapshot.t, seen, better)
        if self.sharing and self.plan.held:
            if self.plan.outlived(snapshot.t):
                self.volley.retire()
            self.plan.shared(snapshot.t, self.volley.left)
            if not self.volley.running:
                self.plan.held = 0
        return seen.noise_sd

    def measure(self, snapshot: Snapshot, e: Epsilon) -> Reading:
        """Ask for all counts."""
        if not e:
            if not self.volley.running:
                self.plan.share(snapshot.t, self.volley.plan.e)
                self.reach = Reach(1.0 if self.volley.plan.e == 0 else self.model.epsilon.nano / self.volley.plan.e.nano, self.volley.plan.size)
            return Reading.of(self.volley.read(snapshot), self.volley.noise_sd)
        measured = self.measured(snapshot, e)
        return Reading.of(measured.values, measured.noise_sd)

    def learn(self, t: int, seen: Reading, e: Epsilon) -> None:
        """Take in what was seen of a unit for so much, and plan the next release."""
        if self.plan.at_rest and watch.surprised(seen, self.known(t)):
            self.plan.stirred = t
        self.plan.begun = self.plan.begun or t
        self.estimator.observe(self.plan.age(t), *seen.scaled(self.plan.unit, self.plan.least_sd), None if e else self.reach)
        self.plan.learn(t, self.estimator.weights, self.estimator.levels)
        self.plan.spend(t, e)

    def known(self, t: int) -> Estimate:
        """What is known of a unit, in counts."""
        return self.estimator.at(self.plan.age(t)).times(self.plan.unit)

    def estimate(self, snapshot: Snapshot, found: Estimate, noise_sd: Floats, kind: Kind | Ints) -> Release:
        """What is known of this unit, and between what its counts lie."""
        return self.released(snapshot, np.maximum(found.made_for(self.objective), 0), kind, noise_sd, found.interval)
