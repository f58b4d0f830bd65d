"""How often a true count lies within the interval that is published with it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from penstock.bench.code import code_version
from penstock.bench.metrics import Outcome
from penstock.bench.running import APART
from penstock.bench.scenario import Counted, Promise
from penstock.catalogue import made, mechanism
from penstock.curator import Curator
from penstock.noise.simulation import SimulationNoise
from penstock.streams.memory import Stream
from penstock.types import Ints, Release


class Covered(NamedTuple):
    """A mechanism whose intervals are held against the truth.

    What is published here are intervals, so what is wrong with them is how many counts lie outside: the outcome's mean
    absolute error is that part of all counts, and there are no other figures.
    """

    stream: str
    promise: Promise
    mechanism: str

    @property
    def name(self) -> str:
        """The mechanism, and that its intervals are meant."""
        return f"{self.mechanism}, counts outside its intervals"

    def told(self) -> dict[str, Any]:
        """All that determines the outcome but the stream's counts and the seed, as plain data."""
        code = [code_version(each) for each in (mechanism(self.mechanism).__module__, __name__)]
        return self._asdict() | {"code": code}

    def run(self, seed: int, stream: Counted) -> Outcome:
        """Publish the stream once. Units that have no interval do not count; if none has, there is no figure."""
        publishing = made(self.mechanism, {}, self.promise.model)
        publishing.start(Curator(publishing.model, stream.counts.shape[1], noise=SimulationNoise(APART + seed)))
        steps = (publishing.step(snapshot) for snapshot in Stream(stream.counts))
        found = (_outside(release, row) for release, row in zip(steps, stream.counts, strict=True))
        parts = [part for part in found if part is not None]
        nothing = [math.nan] * (len(Outcome._fields) - 1)
        return Outcome(float(np.mean(parts)) if parts else math.nan, *nothing).rounded()


def _outside(release: Release, truth: Ints) -> float | None:
    """The part of the bins whose counts lie outside of what was published with them."""
    if release.low is None or release.high is None:
        return None
    return float(((truth < release.low) | (truth > release.high)).mean())
