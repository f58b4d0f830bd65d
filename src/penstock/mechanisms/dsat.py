"""DSAT: distance-based sampling with an adaptive threshold."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.epsilon import Epsilon
from penstock.mechanisms.base import state
from penstock.mechanisms.dsft import DSFT, FARTHEST
from penstock.models import DeltaNeighbourhood, EventLevel, UserLevel, WEvent
from penstock.parameters import above, not_negative
from penstock.primitives.pid import PID
from penstock.types import Mask, Release, Snapshot


@dataclass(kw_only=True)
class DSAT(DSFT):
    """DSFT whose threshold follows the stream: a controller steers it so that the releases last until the end.

    (Li et al. 2015, repaired; its Algorithm 2 under user-level privacy, its Algorithm 3 under w-event privacy.) Falls
    behind its target rate: the threshold sinks; runs ahead: it rises. Best where it is not known which change matters.

    ``tolerance``  how far from the target rate of releases is near enough
    ``gain``       how far the threshold follows the controller
    ``proportional``, ``integral``, ``derivative``, ``reach``  the controller's weights, and how many errors it sums
    ``burn_in``    how many units to wait before the first comparison

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> model = UserLevel(epsilon=4, horizon=10)
    >>> mechanism = DSAT(model=model, releases=3, total=100, decide_share=0.25, threshold=0.3, tolerance=0.1, gain=0.1)
    >>> for release in publish(Stream([[50], [50], [80], [85], [85]]), mechanism, noise=ScriptedNoise()):
    ...     print(release.t, release.values, release.kind, round(mechanism.at, 3))
    1 [50] [0] 0.3
    2 [50] [1] 0.3
    3 [50] [1] 0.367
    4 [85] [0] 0.317
    5 [85] [1] 0.317
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, DeltaNeighbourhood)
    paper: ClassVar = "Li et al. 2015"

    tolerance: float = 0.05
    gain: float = 0.5
    proportional: float = 1.0
    integral: float = 0.0
    derivative: float = 0.0
    reach: int = 5
    burn_in: int = 2

    at: float = state(0.0)  # T_i
    times: list[int] = state(factory=list)  # of the releases that the window still holds
    pid: PID = state()

    def validate(self) -> None:
        super().validate()
        above("tolerance", self.tolerance, 0)
        not_negative("gain", self.gain)
        not_negative("burn_in", self.burn_in)
        self.controller()

    def begin(self) -> None:
        super().begin()
        self.at, self.pid = self.threshold, self.controller()

    def controller(self) -> PID:
        """A controller that has seen nothing."""
        return PID(self.proportional, self.integral, self.derivative, self.reach)

    def moved_enough(self, snapshot: Snapshot) -> bool:
        return snapshot.t > self.burn_in and super().moved_enough(snapshot)  # line 2

    def publish(self, snapshot: Snapshot, e: Epsilon, bins: Mask | None = None) -> Release:
        self.times = [*self.recent(snapshot.t), snapshot.t]
        return super().publish(snapshot, e, bins)

    def level(self, t: int) -> float:
        """Lines 6 to 8. The threshold stays public: only what it is compared with carries the secret noise."""
        window = self.model.window
        ahead = len(self.recent(t)) / min(t, window) - self.most / window
        error = abs(abs(ahead) - self.tolerance) / self.tolerance
        step = self.gain * float(self.pid.update(t, np.array([error]))[0])
        self.at = min(max(self.at + (step if ahead > 0 else -step), 0.0), FARTHEST)
        return self.at

    def recent(self, t: int) -> list[int]:
        """The times of the releases in the window that ends at ``t``."""
        return [then for then in self.times if then > t - self.model.window]
