"""DSAT: distance-based sampling with an adaptive threshold."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.epsilon import Epsilon
from penstock.mechanisms.base import state
from penstock.mechanisms.dsft import DSFT, FARTHEST
from penstock.models import DeltaNeighbourhood, EventLevel, UserLevel, WEvent
from penstock.parameters import above, not_negative
from penstock.primitives.pid import PID
from penstock.theory.dsft import decision_noise, release_noise
from penstock.types import Mask, Release, Snapshot

TWICE_MEAN, TWICE_SD = 1.5, math.sqrt(1.75)  # of the difference of two releases, over those of the noise of one
SURELY = 2  # standard deviations
SUNK = 0.2  # a threshold is lower than it started, by more than a controller that wavers


@dataclass(kw_only=True)
class DSAT(DSFT):
    """DSFT whose threshold follows the stream: a controller steers it so that the releases last until the end.

    (Li et al. 2015, repaired; its Algorithm 2 under user-level privacy, its Algorithm 3 under w-event privacy.) If
    releases fall behind an even pace, the threshold sinks; if they run ahead, it rises. It is counted from what noise
    alone adds to a distance. Best where it is not known which change matters.

    ``threshold``  T_1, where the threshold starts, as a part of all records
    ``margin``     but at so many standard deviations of a comparison's noise at least
    ``tolerance``  how far ahead of an even pace or behind it is near enough, as a part of all releases
    ``gain``       how far the threshold follows the controller, as a logarithm
    ``proportional``, ``integral``, ``derivative``, ``reach``  the controller's weights, and how many errors it sums
    ``burn_in``    how many units to wait before the first comparison

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> model = UserLevel(epsilon=40, horizon=10)
    >>> mechanism = DSAT(model=model, releases=3, total=100, decide_share=0.25, threshold=0.3, gain=10, margin=0)
    >>> for release in publish(Stream([[50], [50], [50], [50], [75], [75]]), mechanism, noise=ScriptedNoise()):
    ...     print(release.t, release.values, release.kind, round(mechanism.lead, 2), round(mechanism.at, 2))
    1 [50] [0] 0.33 0.3
    2 [50] [1] 0.33 0.3
    3 [50] [1] 0.03 0.3
    4 [50] [1] -0.07 0.3
    5 [75] [0] 0.17 0.25
    6 [75] [1] 0.07 0.3
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, DeltaNeighbourhood)
    paper: ClassVar = "Li et al. 2015"

    threshold: float = 0.001
    tolerance: float = 0.15
    gain: float = 20.0
    proportional: float = 1.0
    integral: float = 0.0
    derivative: float = 1.0
    reach: int = 5
    margin: float = 7.0
    burn_in: int = 2

    at: float = state(0.0)  # T_i
    height: float | None = state()  # of T_i over what noise alone adds: linear within the noise, logarithmic above
    lead: float = state(0.0)  # E_i: how many parts of C releases are ahead of an even pace
    patience: float = state(0.0)  # how many parts of C they may fall behind before the threshold sinks
    steered: int = state(0)  # the last unit at which it was
    pid: PID = state()

    def validate(self) -> None:
        super().validate()
        above("tolerance", self.tolerance, 0)
        for name in ("gain", "margin", "burn_in"):
            not_negative(name, getattr(self, name))
        self.controller()

    def begin(self) -> None:
        super().begin()
        plan = self.plan
        self.decision_sd = math.hypot(*decision_noise(plan.u, plan.v, self.model.sensitivity)) if plan else 0.0
        self.at, self.pid, self.patience = self.threshold, self.controller(), self.tolerance

    def controller(self) -> PID:
        """A controller that has seen nothing. Its slope is one over a window."""
        return PID(self.proportional, self.integral, self.derivative * self.model.window, self.reach)

    def moved_enough(self, snapshot: Snapshot) -> bool:
        return snapshot.t > self.burn_in and super().moved_enough(snapshot)  # line 2

    def publish(self, snapshot: Snapshot, e: Epsilon, bins: Mask | None = None) -> Release:
        before, release = self.last, super().publish(snapshot, e, bins)
        self.lead += 1 / self.most
        if self.height is not None and self.height < self.resting() - SUNK:
            self.learn(before, release)
        return release

    def learn(self, before: Release, release: Release) -> None:
        """Wait longer before the threshold sinks again, if the release that only this led to has found nothing."""
        mean, sd = release_noise(release.noise_sd)
        moved = float(np.abs(release.values - before.values).sum(dtype=np.float64))
        if moved > TWICE_MEAN * mean + SURELY * TWICE_SD * sd:
            self.patience = max(self.patience / 2, self.tolerance)
        else:
            self.patience, self.lead = min(self.patience * 2, 1.0), 0.0

    def level(self, t: int) -> float:
        """Lines 6 to 8. The threshold stays public: only what it is compared with carries the secret noise."""
        since, self.steered = (t - self.steered) / self.model.window, t
        self.lead = min(max(self.lead - since, -FARTHEST), FARTHEST)
        error = max(self.lead - self.tolerance, 0.0) + min(self.lead + self.patience, 0.0)
        step = self.gain * since * float(self.pid.update(t, np.array([error]))[0])
        mean, sd = self.ground()
        records = max(self.records, float(self.last.values.sum(dtype=np.float64)))
        top = max(math.asinh(FARTHEST * records / sd), self.resting())
        before = self.resting() if self.height is None else self.height
        self.height = min(max(before + step, 0.0), top)
        self.at = (mean + sd * math.sinh(self.height)) / self.records
        return self.at

    def resting(self) -> float:
        """The height of T_1: the declared change, but at least what noise alone hardly ever passes."""
        return math.asinh(max(self.threshold * self.records / self.ground()[1], self.margin))

    def ground(self) -> tuple[float, float]:
        """What noise adds to a comparison where nothing has moved: its mean, and its standard deviation."""
        mean, sd = release_noise(self.last.noise_sd, self.metric)
        return mean, max(math.hypot(sd, self.decision_sd), 1.0)
