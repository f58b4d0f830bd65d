"""Reading bins at once, or gathering them first and looking at each unit with a small part of what it may cost.

A bin pays all that a unit may cost when the unit comes: for a reading, or for a probe and a place in the pool.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from penstock.epsilon import Epsilon
from penstock.primitives.pool import Pool
from penstock.primitives.sums import Forecast
from penstock.types import Floats, Ints, Kind, Mask, Snapshot

ALARM, DOUBTED = 5.0, 2.0  # scales of a probe's noise, and deviations of what is expected, beyond which a bin is read


class Measure(Protocol):
    """How counts of some bins are asked for: values, whatever else, and their noise."""

    def __call__(self, snapshot: Snapshot, e: Epsilon, bins: Mask) -> tuple[Any, Any, Any]: ...


class Collected(NamedTuple):
    """Which bins were ``read``, what came out, and with what noise. Some were ``alarmed``, and read early."""

    values: Floats
    noise_sd: Floats
    read: Mask
    alarmed: Mask

    @property
    def kinds(self) -> Ints:
        """Of the estimates that are made of it."""
        return np.where(self.read, Kind.ESTIMATED.value, Kind.REPUBLISHED.value)


class Collector:
    """Groups of units, in a pool: of the ``lengths`` that they may have, ``probes`` are the parts of epsilon."""

    def __init__(
        self, pool: Pool, epsilon: Epsilon, noise_sd: Callable[[Epsilon], float], lengths: Ints, probes: Floats
    ) -> None:
        self.pool, self._epsilon = pool, epsilon
        parts = zip(lengths.tolist(), probes.tolist(), strict=True)
        self._probes = {length: epsilon.share(part) for length, part in parts if length > 1}
        # worked out now, so that noise that is too wide is refused before anything is asked
        self._scales = {length: noise_sd(probe) / np.sqrt(2) for length, probe in self._probes.items()}
        self._noise_sd = {length: noise_sd(epsilon - probe) for length, probe in self._probes.items()}

    def collect(self, snapshot: Snapshot, measure: Measure, lengths: Ints, expected: Forecast) -> Collected:
        """What a unit brings, in bins whose groups have these lengths, where this was expected of it."""
        values, noise_sd, surprise, scale = np.zeros((4, len(lengths)))
        waiting = lengths > 1
        if not waiting.all():
            values[~waiting], _, noise_sd[~waiting] = measure(snapshot, self._epsilon, ~waiting)
        for length in np.unique(lengths[waiting]).tolist():
            bins, probe = lengths == length, self._probes[length]
            probed, _, _ = measure(snapshot, probe, bins)
            self.pool.absorb(snapshot, self._epsilon - probe, bins)
            surprise[bins], scale[bins] = np.abs(probed - expected.mean[bins]), self._scales[length]
            noise_sd[bins] = self._noise_sd[length]
        alarmed = waiting & (surprise > ALARM * scale + DOUBTED * expected.deviation)
        full = waiting & (alarmed | (self.pool.size >= lengths))
        if full.any():
            values[full] = self.pool.settle(full)
        return Collected(values, noise_sd, full | ~waiting, alarmed)
