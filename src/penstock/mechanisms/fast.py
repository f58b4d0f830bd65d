"""FAST: filtering and adaptive sampling."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.epsilon import as_fraction
from penstock.mechanisms.base import Mechanism, state
from penstock.models import DeltaNeighbourhood, EventLevel, UserLevel, WEvent
from penstock.parameters import above, within
from penstock.primitives.kalman import Kalman
from penstock.primitives.pid import PID
from penstock.types import Kind, Release, Snapshot

FIRST_UNCERTAINTY = 100.0  # P_0: after the first sample


@dataclass(kw_only=True)
class FAST(Mechanism):
    """Sample now and then, filter the samples, and sample more often when the filter is surprised (Fan, Xiong 2012).

    All bins are sampled at the same times: one schedule for the histogram. Best on smooth streams.

    ``rate``     the part of the units of a horizon or window that can be sampled
    ``blocks``   start afresh every window with half of epsilon, instead of sampling whenever the window can pay
    ``process``, ``measurement``  Q and R of the Kalman filter: how much counts drift, how little samples are trusted
    ``proportional``, ``integral``, ``derivative``, ``reach``  the controller of the sampling interval
    ``setpoint``, ``gain``  which surprise is right, and how far the interval follows

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = FAST(model=UserLevel(epsilon=1, horizon=4), rate=0.5, process=100, measurement=300)
    >>> for release in publish(Stream([[50], [70], [70], [70]]), mechanism, noise=ScriptedNoise()):
    ...     print(release.t, release.values, release.kind, release.charged)
    1 [50] [3] 0.5
    2 [58] [3] 0.5
    3 [58] [1] 0
    4 [58] [1] 0
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, DeltaNeighbourhood)
    paper: ClassVar = "Fan, Xiong 2012"

    rate: float = 0.15
    blocks: bool = False
    process: float = 1e5
    measurement: float = 1e6
    proportional: float = 0.9
    integral: float = 0.1
    derivative: float = 0.0
    reach: int = 5
    setpoint: float = 0.1
    gain: float = 5.0

    filter: Kalman = state()
    pid: PID = state()
    block: int = state(0)
    samples: int = state(0)  # since the start, or that of the block
    interval: float = state(1.0)
    due: int = state(0)  # when the next sample is

    def validate(self) -> None:
        if self.rate != 1:
            within("rate", self.rate, 0, 1)
        for name in ("process", "measurement", "setpoint", "gain"):
            above(name, getattr(self, name), 0)
        self.controller()
        self.require_spendable(self.model.epsilon / 2 / self.model.window)

    def begin(self) -> None:
        self.most = math.ceil(as_fraction(self.rate) * self.model.window)
        meets = 2 if self.blocks and not self.model.horizon_bound else 1  # blocks that a protected set meets
        self.part = self.model.epsilon / meets / self.most
        self.restart()

    def controller(self) -> PID:
        """A controller that has seen nothing."""
        return PID(self.proportional, self.integral, self.derivative, self.reach)

    def restart(self) -> None:
        """A filter and a controller that have seen nothing."""
        self.filter, self.pid = Kalman(self.curator.bins, self.process), self.controller()
        self.samples, self.interval, self.due = 0, 1.0, 0

    def decide(self, snapshot: Snapshot) -> Release:
        if self.blocks and self.block < (block := (snapshot.t - 1) // self.model.window):
            self.block = block
            self.restart()
        self.filter.predict_to(snapshot.t)
        over = self.blocks and self.samples == self.most
        if snapshot.t < self.due or over or not self.curator.can(publish=self.part):
            return self.republish(snapshot)
        return self.sample(snapshot)

    def sample(self, snapshot: Snapshot) -> Release:
        """Ask, correct the filter, and see how far it was off."""
        expected = self.filter.values.copy()
        sampled = self.measured(snapshot, self.part)
        self.filter.correct(sampled.values, self.measurement, sampled.noise_sd)
        self.samples += 1
        if self.samples == 1:
            self.filter.set_uncertainty(FIRST_UNCERTAINTY)
        else:
            surprise = np.abs(self.filter.values - expected) / np.maximum(self.filter.values, 1)
            self.plan(snapshot.t, float(surprise.mean()))
        return self.released(snapshot, self.filter.values, Kind.ESTIMATED, self.filter.noise_sd)

    def plan(self, t: int, surprise: float) -> None:
        """When to sample next: later if the surprise is below the set point, sooner if it is above."""
        control = float(self.pid.update(t, np.array([surprise]))[0])
        if self.samples >= self.reach:
            off = min((control - self.setpoint) / self.setpoint, 100.0)  # exp of more is as good as endless
            self.interval = max(1.0, self.interval + self.gain * (1 - math.exp(off)))
        self.due = t + round(self.interval)
