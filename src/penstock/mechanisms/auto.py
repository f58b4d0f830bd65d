"""Auto: the mechanism that need not be chosen."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.allocation.pacing import Pacing
from penstock.allocation.rations import Rations
from penstock.allocation.risk import Objective
from penstock.epsilon import NANO, Epsilon
from penstock.mechanisms.base import Mechanism, state
from penstock.models import DeltaNeighbourhood, EventLevel, UserLevel, WEvent
from penstock.parameters import from_one_to
from penstock.primitives.estimator import Estimator
from penstock.primitives.summing import Summing
from penstock.types import Floats, Kind, Release, Snapshot

PUBLISHED = {"mae": "median", "rmse": "mean", "mre": "relative_median"}  # of what is known, by what is to be small
PROBES, PROBE = 2, 0.03  # releases at first, one a unit, and what each takes of epsilon: what moves fast shows at once
ANCHOR = 0.3  # of epsilon for the release after them, where nothing moves fast: one good look to start from
FAST = 0.2  # of all units, to publish at: a good look does not last
ROUNDING = 0.3  # the standard deviation that whole numbers have, however little their noise
LARGEST_WINDOW = 20_000  # units that can be planned for in seconds
MOST_NUMBERS = 100_000_000  # in a state: a store takes a billion bytes at once
LONGEST = 1000  # units to sum over
WASTED = 50  # a release that has not even so small a part of the even share of a unit tells nothing


@dataclass(kw_only=True)
class Auto(Mechanism):
    """Publish at a pace that fits the stream, and estimate every unit from all that was published.

    ``objective``  which error is to be small: "mae" (absolute), "rmse" (squared) or "mre" (relative to the count)
    ``width``      publish the sums of so many last units instead of single ones, where each unit is protected by itself
    ``pace``       publish so many times in a window instead of finding out; 0 finds out
    ``pooling``    bins tell each other how they move
    ``seasons``    cycles of a day, a week, a year are found and used
    ``shrinking``  bins tell each other how large they are, and none is below zero

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = Auto(model=WEvent(epsilon=1, w=20))
    >>> for release in publish(Stream([[500]] * 6), mechanism, noise=ScriptedNoise()):
    ...     print(release.t, release.values, release.low, release.high, release.charged)
    1 [500] [417] [581] 0.05
    2 [500] [459] [541] 0.05
    3 [500] [491] [509] 0.3
    4 [500] [490] [510] 0
    5 [500] [490] [510] 0
    6 [500] [493] [507] 0.2
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, DeltaNeighbourhood)
    intervals: ClassVar = True

    objective: Objective = "mae"
    width: int = 1
    pace: int = 0
    pooling: bool = True
    seasons: bool = True
    shrinking: bool = True

    releases: int = state(0)
    due: int = state(1)  # the unit of the next release
    begun: int = state(0)  # the unit of the first one
    rations: Rations = state()
    pacing: Pacing = state()
    estimator: Estimator | Summing = state()

    def validate(self) -> None:
        epsilon, window = self.model.epsilon, self.model.window
        from_one_to(f"{self.model.called} (with another mechanism it can be longer)", window, LARGEST_WINDOW)
        from_one_to("width (above 1 under EventLevel only)", self.width, 1 if window > 1 else LONGEST)
        if self.pace:
            from_one_to("pace, if it is not 0,", self.pace, window)
        self.require_spendable(epsilon / (WASTED * window), epsilon.share(PROBE))

    def begin(self) -> None:
        window, bins, endless = self.model.window, self.curator.bins, not self.model.horizon_bound
        always = window == 1  # measured anew at every unit
        each = Summing.numbers(self.width) if always else Estimator.numbers(window)
        from_one_to("the number of bins (with another mechanism there can be more)", bins, MOST_NUMBERS // each)
        self.unit = float(self.model.sensitivity * NANO / self.model.epsilon.nano)  # the noise that epsilon buys
        self.rations = Rations(window, comes_back=endless)
        self.pacing = Pacing(bins, window, self.objective, endless=endless, fixed=self.pace)
        parts = {"pooling": self.pooling, "seasons": self.seasons, "shrinking": self.shrinking}
        self.estimator = Summing(bins, self.width, **parts) if always else Estimator(bins, window, **parts)

    def decide(self, snapshot: Snapshot) -> Release:
        noise_sd, kind = self.last.noise_sd, Kind.REPUBLISHED
        if snapshot.t >= self.due:
            e = self.affordable(snapshot.t)
            if e > self.model.epsilon / (WASTED * self.model.window) and self.curator.can(publish=e):
                noise_sd, kind = self.measure(snapshot, e), Kind.ESTIMATED
        return self.estimate(snapshot, noise_sd, kind) if self.releases else self.republish(snapshot)

    @property
    def exploring(self) -> bool:
        """Whether it is too early for a plan, or for all of one."""
        return not self.pace and self.releases <= PROBES < self.model.window

    def affordable(self, t: int) -> Epsilon:
        """What a release takes: little at first, then a good look, then what leaves as much for each that follows."""
        epsilon, remaining = self.model.epsilon, self.curator.remaining()
        if self.exploring and self.releases < PROBES:
            return min(max(epsilon.share(PROBE), epsilon / self.model.window), remaining)
        fair = Epsilon.of_nano(self.rations.fair(t, self.every(t), remaining.nano))
        if self.exploring and self.pacing.best <= FAST * self.model.window:
            return min(max(fair, epsilon.share(ANCHOR)), remaining)
        return fair

    def every(self, t: int) -> int:
        """Units until the next release: as planned, but never more than the stream has been seen for."""
        return self.pacing.every if self.pace else min(self.pacing.every, self.age(t))

    def age(self, t: int) -> int:
        """The number of unit ``t`` if the first that was measured is 1: earlier ones are not known here."""
        return t - max(self.begun - 1, 0)

    def measure(self, snapshot: Snapshot, e: Epsilon) -> Floats:
        """Ask, learn, and plan the next release. The noise of the answer is returned."""
        t = snapshot.t
        self.begun = self.begun or t
        values, _, spread = self.measured(snapshot, e)
        noise_sd: Floats = np.full(self.curator.bins, spread, np.float64)
        scale = np.maximum(noise_sd, min(ROUNDING, self.unit)) / np.sqrt(2)
        self.estimator.observe(self.age(t), values / self.unit, scale / self.unit)
        if isinstance(self.estimator, Estimator):
            self.pacing.update(self.age(t), self.estimator.weights, self.importance(self.estimator.levels * self.unit))
        self.rations.spend(t, e.nano)
        self.releases += 1
        self.due = t + (1 if self.exploring else self.every(t))
        return noise_sd

    def importance(self, levels: Floats) -> Floats:
        """How much the error of each bin counts: where it is relative, that of large counts less."""
        return 1 / np.sqrt(np.maximum(levels, 1)) if self.objective == "mre" else np.ones_like(levels)

    def estimate(self, snapshot: Snapshot, noise_sd: Floats, kind: Kind) -> Release:
        """What is known of this unit, and between what its counts lie."""
        found = self.estimator.at(self.age(snapshot.t)).times(self.unit)
        values = getattr(found, PUBLISHED[self.objective])
        return self.released(snapshot, np.maximum(values, 0), kind, noise_sd, found.interval)
