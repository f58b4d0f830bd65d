"""Sums over the last units of every bin, from readings of one unit, or of several together. It sees published values.

What is asked for is the sum of the last units, not each of them. Filters for every bin and way to move keep, of all
sums of up to ``width`` last units, mean, variance and covariance with the level now, and a reading corrects all of
them: a fixed-lag smoother. A bin that hardly moves need not be read at every unit: a reading of all that was gathered
since the last one has the noise of a single one. Everything is in units of the noise, whose scale is 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.primitives.bank import FIRST_VELOCITY
from penstock.primitives.covariances import Covariances, blend, mean_over_ways
from penstock.primitives.doubt import Doubt
from penstock.primitives.dynamics import DAMPING, STILL
from penstock.primitives.hearing import NOISE, NOTHING_KNOWN, Heard, hear
from penstock.primitives.season import Season
from penstock.primitives.shrinkage import Shrinkage
from penstock.primitives.trust import Trusting, dominant
from penstock.primitives.ways import Ways, all_ways
from penstock.types import Floats, Mask

SWITCHING = 0.01  # of what is known about ways, with every reading: bins begin to move in other ways
CERTAIN = 12.0  # noise scales from which an alarm was none of noise
SEASON_MEMORY = 300  # units a season remembers besides its own: it must not follow the noise of single readings
MANY = 8  # bins from which they are taken for a population
HELPS, REMEMBERED, LENT = 1.0, 0.99, 0.5  # log odds that shrinkage helps: at first; kept at a reading; of others
TELLING = 2.0  # the most that one reading changes them by
KEPT = ("level", "velocity", "sums", "total", "gathered", "weights", "lent", "pull", "odds")
PARTS = ("known", "season", "shrinkage", "doubt")


class Forecast(NamedTuple):
    """What is expected of counts, or of what was gathered of them."""

    mean: Floats
    deviation: Floats


class Sums(NamedTuple):
    """The sum of the last units in every bin, never below 0, and how far it may be off."""

    mean: Floats
    deviation: Floats


class SlidingSums(Trusting):
    """Estimates of the sums of the last ``width`` units of ``bins`` (of all units, while there are fewer)."""

    def __init__(
        self,
        bins: int,
        width: int,
        *,
        pooling: bool = True,
        seasons: bool = True,
        shrinking: bool = True,
        ways: Ways | None = None,
    ) -> None:
        self.ways = ways or all_ways()
        super().__init__(bins, self.ways.prior, pooling=pooling, forgetting=SWITCHING)
        self._seasons, self._shrinking = seasons, shrinking and bins >= MANY
        shape = bins, len(self.ways.prior)
        self.units = 0
        self.level, self.total = np.zeros((2, *shape))  # the latter: of what is gathered
        self.velocity = np.zeros((bins, len(self.ways.velocity[self.ways.trends])))
        self.sums = np.zeros((width + 1, *shape))  # of the last 0, 1, ... units
        self.known = Covariances(bins, width, self.ways)
        self.gathered = np.zeros(bins, np.int64)  # of how many units
        self.missed, self.stated = np.zeros((2, bins))  # the last reading of a bin: how far off, and by what is known
        self.pull, self.odds = np.zeros((2, bins))  # what shrinkage adds to levels; how much better it foretells
        self.season, self.shrinkage = Season(bins, SEASON_MEMORY, doubted=False), Shrinkage(bins)
        self.doubt = Doubt(bins, width)

    def advance(self) -> Forecast:
        """A unit goes by. What is expected of its counts?"""
        if self.units:
            self._switch()
            self.known.advance()
            self.level[:, self.ways.trends] += DAMPING * self.velocity
            self.velocity *= DAMPING
            season = self.season.at(self.units) - self.season.at(self.units - 1)
            self.level += self.ways.seasonal * season[:, np.newaxis]
        likely = dominant(self.weights)
        mean = mean_over_ways(self.level, likely)
        variance = self.known.level + self.ways.around + np.square(self.level - mean)
        return Forecast(mean[:, 0], np.sqrt(mean_over_ways(variance, likely)[:, 0]))

    def read(self, values: Floats, scale: Floats, read: Mask, alarmed: Mask) -> Sums:
        """Take in readings of all that was gathered, this unit included, in bins that were ``read``.

        Bins that were ``alarmed`` are read because this unit is far from what was expected of it.
        """
        self.known.join()
        self.sums[1:] = self.sums[:-1] + self.level
        self.total += self.level
        self.gathered += 1
        each = np.where(read, values / self.gathered, mean_over_ways(self.level, dominant(self.weights))[:, 0])
        self.doubt.add(each, read & (self.gathered == 1))
        if read.any():
            self._take_in(slice(None) if read.all() else read, values, scale, alarmed)
        if self._seasons:
            self.season.update(self.units, each, 1.0)
        self.units += 1
        found, spread = self.doubt.checked(*self._estimate(), self.units)
        return Sums(np.maximum(found, 0.0), np.sqrt(spread))

    def miss(self) -> Sums:
        """Nothing was read of this unit."""
        nowhere = np.zeros(len(self.level), np.bool_)
        return self.read(np.zeros(len(nowhere)), np.ones(len(nowhere)), nowhere, nowhere)

    def lose(self, bins: Mask | slice = slice(None)) -> None:
        """What was gathered in these bins will not be read."""
        self.known.begin_anew(bins)
        self.total[bins] = 0
        self.gathered[bins] = 0

    def _take_in(self, of: Mask | slice, values: Floats, scale: Floats, alarmed: Mask) -> None:
        heard = self._hear(of, values[of, np.newaxis], scale[of, np.newaxis], alarmed[of, np.newaxis])
        moved = self._correct_sums(of, heard)
        self._turn(of, heard, moved)
        self._correct_levels(of, heard)
        self.lose(of)
        self.trust(heard.evidence, of)

    def _hear(self, of: Mask | slice, values: Floats, scale: Floats, alarmed: Mask) -> Heard:
        surprise, variance, units = values - self.total[of], self.known.gathered[of], self.gathered[of, np.newaxis]
        missed = self._compare(of, surprise, variance, NOISE * scale[:, 0] ** 2)
        sudden = alarmed[:, 0] & (units[:, 0] > 1) & (np.abs(missed) > CERTAIN * scale[:, 0])  # all was calm before it
        since = np.where(alarmed, 1.0, 2 / (units + 1))
        return hear(surprise, variance, scale, self.ways.rates if self.units else NOTHING_KNOWN, sudden, since)

    def _compare(self, of: Mask | slice, surprise: Floats, variance: Floats, noise: Floats) -> Floats:
        """How far off the forecast was, and what was to be expected of that; and whether shrinkage would help it."""
        likely = dominant(self.weights[of])
        mean = mean_over_ways(surprise, likely)
        stated = mean_over_ways(variance + np.square(surprise - mean), likely)[:, 0] + noise
        missed: Floats = mean[:, 0]
        self.missed[of], self.stated[of] = missed, stated
        better = np.square(missed) - np.square(missed - self.gathered[of] * self.pull[of])
        self.odds[of] = REMEMBERED * self.odds[of] + np.clip(better / (2 * stated), -TELLING, TELLING)
        return missed

    def _correct_sums(self, of: Mask | slice, heard: Heard) -> Floats:
        """Mean, variance and covariance with levels over all three that may have happened."""
        known, wild = self.known, heard.spiked + heard.jumped
        shared, crossed, leaning = known.shared[1:, of], known.crossed[1:, of], known.leaning[of]
        stay, stayed, jump = leaning * heard.slope, heard.stayed, heard.surprise * heard.since
        level = stayed * stay + heard.jumped * jump
        moved = stayed * heard.slope * shared + wild * heard.surprise
        stays, leaves = heard.slope * shared - moved, heard.surprise - moved  # of each, from the mean of all
        apart = known.sums[1:, of] - 2 * shared + known.gathered[of] + heard.noise
        spread = stayed * (known.sums[1:, of] - heard.sure * np.square(shared) + np.square(stays))
        known.sums[1:, of] = np.maximum(spread + wild * (apart + np.square(leaves)), 0)
        together = stayed * (crossed - shared * leaning * heard.sure + stays * (stay - level))
        together += heard.spiked * (crossed - leaning - leaves * level)
        known.crossed[1:, of] = together + heard.jumped * (heard.noise * heard.since + leaves * (jump - level))
        self.sums[1:, of] += moved
        return moved

    def _turn(self, of: Mask | slice, heard: Heard, moved: Floats) -> None:
        """What the reading says of velocities. Neither spikes nor jumps say anything."""
        known, trends = self.known, self.ways.trends
        told, moved, turning = heard.of(trends), moved[..., trends], known.turning[of]
        wild, leaning, shared = (
            told.spiked + told.jumped,
            known.leaning[of][:, trends],
            known.shared[1:, of][..., trends],
        )
        turn, stay, jump = turning * told.slope, leaning * told.slope, told.surprise * told.since
        velocity, level = told.stayed * turn, told.stayed * stay + told.jumped * jump
        drifting, mixed, variance = known.drifting[1:, of], known.mixed[of], known.velocity[of]
        stays, leaves = told.slope * shared - moved, told.surprise - moved
        along = told.stayed * (drifting - shared * turning * told.sure + stays * (turn - velocity))
        known.drifting[1:, of] = along + wild * (drifting - turning - leaves * velocity)
        together = told.stayed * (mixed - leaning * turning * told.sure + (stay - level) * (turn - velocity))
        together += told.spiked * (mixed + level * velocity)
        known.mixed[of] = together - told.jumped * (jump - level) * velocity
        left = told.stayed * (variance - np.square(turning) * told.sure + np.square(turn - velocity))
        known.velocity[of] = np.maximum(left + wild * (variance + np.square(velocity)), 0)
        self.velocity[of] += velocity

    def _correct_levels(self, of: Mask | slice, heard: Heard) -> None:
        known, variance, leaning = self.known, self.known.level[of], self.known.leaning[of]
        stay, jump = leaning * heard.slope, heard.surprise * heard.since
        level = heard.stayed * stay + heard.jumped * jump
        left = heard.stayed * (variance - heard.sure * np.square(leaning) + np.square(stay - level))
        left += heard.spiked * (variance + np.square(level))
        anew = heard.noise * heard.since**2 + self.ways.around + known.earlier[of] + (1 - heard.since) * np.square(jump)
        known.level[of] = np.maximum(left + heard.jumped * (anew + np.square(jump - level)), 0)
        self.level[of] += level

    def _switch(self) -> None:
        """A bin may begin to move in another way with any reading: a way begins from what all others know."""
        idle = self.gathered == 0
        of: Mask | slice = slice(None) if idle.all() else idle
        known, trends, likely = self.known, self.ways.trends, dominant(self.weights[of])
        again = SWITCHING * self.lent[of]
        new = again / ((1 - SWITCHING) * self.weights[of] + again)
        off = self.level[of] - mean_over_ways(self.level[of], likely)
        apart = self.sums[:-1, of] - mean_over_ways(self.sums[:-1, of], likely)
        self._switch_velocities(of, likely[:, trends], new[:, trends], off[:, trends], apart[..., trends])
        known.level[of] = blend(known.level[of], new, likely, off, off)
        known.crossed[:-1, of] = blend(known.crossed[:-1, of], new, likely, apart, off)
        known.sums[:-1, of] = blend(known.sums[:-1, of], new, likely, apart, apart)
        self.level[of] -= new * off
        self.sums[:-1, of] -= new * apart

    def _switch_velocities(self, of: Mask | slice, likely: Floats, new: Floats, off: Floats, apart: Floats) -> None:
        """A way without velocity lends one of 0, as uncertain as a first one."""
        known, velocity = self.known, mean_over_ways(self.velocity[of], likely)
        turned, without = self.velocity[of] - velocity, 1 - likely.sum(axis=1, keepdims=True)
        first = without * (velocity**2 + FIRST_VELOCITY * self.ways.velocity[self.ways.trends])
        beside, along = velocity * mean_over_ways(off, likely), velocity * mean_over_ways(apart, likely)
        known.velocity[of] = blend(known.velocity[of], new, likely, turned, turned, first)
        known.mixed[of] = blend(known.mixed[of], new, likely, off, turned, beside)
        known.drifting[:-1, of] = blend(known.drifting[:-1, of], new, likely, apart, turned, along)
        self.velocity[of] -= new * turned

    def _estimate(self) -> tuple[Floats, Floats]:
        """Of all ways. What bins have in common says something about levels, and so about sums that go with them.

        A bin goes by that as far as it would have foretold its readings, and those of others.
        """
        likely, sums, known = dominant(self.weights), self.sums[-1], self.known
        mean = mean_over_ways(sums, likely)
        apart = sums - mean
        found, spread = mean[:, 0], mean_over_ways(known.sums[-1] + apart**2, likely)[:, 0]
        if self._shrinking:
            level = mean_over_ways(self.level, likely)
            off = self.level - level
            variance = mean_over_ways(known.level + off**2, likely)[:, 0]
            along = mean_over_ways(known.crossed[-1] + off * apart, likely)[:, 0] / variance
            believed, doubts = level[:, 0], np.sqrt(variance)
            self.shrinkage.fit(believed, doubts)
            better, deviation = self.shrinkage.improved(believed, doubts)
            self.pull = better - believed
            helps = 1 / (1 + np.exp(-(HELPS + self.odds + LENT * self.odds.mean())))
            found = found + helps * along * self.pull
            spread = spread - helps * along**2 * (variance - deviation**2)
        return found, np.maximum(spread, STILL)

    def save(self) -> dict[str, Any]:
        """All that a restart must find again."""
        kept = {name: getattr(self, name) for name in KEPT}
        return kept | {name: getattr(self, name).save() for name in PARTS} | {"units": self.units}

    def load(self, saved: dict[str, Any]) -> None:
        """Go on from there."""
        for name in KEPT:
            setattr(self, name, np.array(saved[name]))
        for name in PARTS:
            getattr(self, name).load(saved[name])
        self.units = saved["units"]
