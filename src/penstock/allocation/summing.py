"""Sums of the last units, where every unit has all of epsilon: which bins are read when, and what is known of sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.allocation.collecting import Collected, Collector, Measure
from penstock.allocation.gathering import FIRST, LENGTHS, Gathering, probes
from penstock.door import Door
from penstock.primitives.estimator import Estimate
from penstock.primitives.pool import LARGEST_MEMBER
from penstock.primitives.sums import Forecast, SlidingSums, Sums
from penstock.primitives.trust import dominant
from penstock.types import Floats, Ints, Snapshot

LONGEST = 1000  # units to sum over


class Summing:
    """Follows the sums of ``width`` units; with ``gathering``, bins that hardly move are read less often.

    ``least`` is the least deviation that noise is taken to have. Of what is collected it keeps published values only.
    """

    def __init__(
        self,
        curator: Door,
        width: int,
        least: float,
        *,
        gathering: bool,
        pooling: bool,
        seasons: bool,
        shrinking: bool,
    ) -> None:
        bins = curator.bins
        self._sums = SlidingSums(bins, width, pooling=pooling, seasons=seasons, shrinking=shrinking)
        self._plan, self._gathers, self._least = Gathering(bins, width), gathering, least
        self._collector = Collector(curator.pool(), curator.model.epsilon, curator.noise_sd, LENGTHS, probes(bins))
        self._found = Sums(np.zeros(bins), np.zeros(bins))
        self._scale = 1.0  # of the noise of a reading, in counts: levels and sums are kept in it
        self._t = 0

    @staticmethod
    def numbers(width: int) -> int:
        """How many are kept of every bin, about."""
        return 200 * (width + 1) + 1000

    @property
    def lengths(self) -> Ints:
        """For how many units each bin is gathered."""
        return self._plan.lengths

    def follow(self, snapshot: Snapshot, measure: Measure) -> Collected:
        """Read what is to be read of this unit, learn from it, and plan for the next one."""
        held = self._held(snapshot.t)
        expected = self._sums.advance()
        expected = Forecast(expected.mean * self._scale, expected.deviation * self._scale)
        # a pool would cut what is larger
        lengths = np.where((held == 0) & (expected.mean > LARGEST_MEMBER / 2), 1, self.lengths)
        told = self._collector.collect(snapshot, measure, lengths, expected)
        self._hear(told, np.maximum(told.noise_sd, self._least) / np.sqrt(2))
        self._t = snapshot.t
        return told

    def _held(self, t: int) -> Ints:
        """How many units are held in every bin before unit ``t``.

        Units that nobody measured are as they were expected to be, and what was gathered before them is lost. Bins that
        have lost something are read at once: gaps may come again before a group is full.
        """
        held, gap = self._collector.pool.size, 0 < self._t < t - 1
        if gap and held.any():
            self._collector.pool.drop(held > 0)
        self._plan.give_up((self._sums.gathered > 0) & (gap | (held == 0)))
        self._sums.lose(held == 0)
        while gap and self._t < t - 1:
            self._t += 1
            self._sums.advance()
            self._found = self._sums.miss()
            self._sums.lose()
        return self._collector.pool.size

    def _hear(self, told: Collected, scale: Floats) -> None:
        """Take in what was read, with noise of these scales."""
        sums, units = self._sums, self._sums.gathered + 1
        if not sums.units:
            self._scale = float(np.median(scale))
        self._found = sums.read(told.values / self._scale, scale / self._scale, told.read, told.alarmed)
        self._plan.learn(told.read & (sums.units > 1), sums.missed, sums.stated, units)
        if self._gathers and sums.units >= FIRST:
            self._plan.plan(dominant(sums.weights), sums.gathered == 0)

    @property
    def known(self) -> Estimate:
        """What is known of the sum that ends with the last unit."""
        mean, deviation = self._found.mean * self._scale, self._found.deviation * self._scale
        spread = deviation * np.where(self.lengths > 1, self._plan.worse, 1.0)
        return Estimate(mean, mean, deviation, spread)

    def save(self) -> dict[str, Any]:
        kept = {"found": list(self._found), "scale": self._scale, "t": self._t}
        return kept | {"sums": self._sums.save(), "plan": self._plan.save()}

    def load(self, saved: dict[str, Any]) -> None:
        self._sums.load(saved["sums"])
        self._plan.load(saved["plan"])
        self._found = Sums(*(np.array(each) for each in saved["found"]))
        self._scale, self._t = saved["scale"], saved["t"]
