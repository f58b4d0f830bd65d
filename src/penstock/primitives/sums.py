"""Sums over the last units of every bin, from a measurement of each unit. It sees published values only.

Measurements cost nothing here: all of epsilon comes back at every unit. So there is nothing to plan, only to estimate,
and what is asked for is the sum of the last units, not each of them. Filters for every bin and way to move keep, of all
sums of up to ``width`` last units, mean, variance and covariance with the level now, and a new measurement corrects all
of them: a fixed-lag smoother. Everything is in units of the noise, whose scale is 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.primitives.bank import FIRST_VELOCITY
from penstock.primitives.dynamics import DAMPING, STILL
from penstock.primitives.posterior import posterior
from penstock.primitives.season import Season
from penstock.primitives.shrinkage import Shrinkage
from penstock.primitives.trust import FORGETTING, Trusting, dominant
from penstock.primitives.ways import Ways, all_ways
from penstock.types import Floats

NOISE = 2.0  # the variance of a measurement
NEAR = 8.0  # noise scales from which a measurement can be one of a spike or a jump
SEASON_MEMORY = 300  # units a season remembers besides its own: it must not follow the noise of single measurements
PROOF = 600.0  # units over which estimates are compared with sums of measurements
FEW = 4  # sums that do not overlap are too few to doubt by
DOUBT = 2.0  # deviations that the two must differ by more than they should before estimates are doubted
MANY = 8  # bins from which they are taken for a population
KEPT = ("level", "variance", "velocity", "mixed", "velocity_variance", "sums", "spread", "crossed", "drifting")
KEPT_OF_BINS = ("weights", "lent", "raw", "differed", "foretold")


class Heard(NamedTuple):
    """What a measurement says to a filter. A count stayed by its level, left it once (spike), or took it along (jump).

    In a spike or jump the measurement is all that is known of the count.
    """

    evidence: Floats
    surprise: Floats  # how far the measurement is from the level
    stayed: Floats  # shares of the three
    spiked: Floats
    jumped: Floats
    slope: Floats  # what moves by its covariance with the count moves so many times that, if the count stayed
    sure: Floats  # and loses so many times the square of it in variance
    inner: Floats  # where the count is, from the level, if it stayed
    left: Floats  # the variance of that
    part: Floats  # of the count's variance that is left


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
        super().__init__(bins, self.ways.prior, pooling=pooling)
        self._seasons, self._shrinking = seasons, shrinking and bins >= MANY
        moves = self.ways.velocity[self.ways.trends]
        shape, moving = (bins, len(self.ways.prior)), (bins, len(moves))
        self.units = 0
        self.level, self.variance = np.zeros((2, *shape))
        self.velocity, self.mixed = np.zeros((2, *moving))  # the latter: its covariance with the level
        self.velocity_variance = np.tile(FIRST_VELOCITY * moves, (bins, 1))
        # of the sums of the last 0, 1, ... units: mean, variance, covariance with level and velocity
        self.sums, self.spread, self.crossed = np.zeros((3, width + 1, *shape))
        self.drifting = np.zeros((width + 1, *moving))
        self.raw = np.zeros((width + 1, bins))  # the sums of the measurements themselves
        self.differed, self.foretold = np.zeros((2, bins))  # squares: how far estimates are off these, and should be
        self.season, self.shrinkage = Season(bins, SEASON_MEMORY), Shrinkage(bins)

    def update(self, measured: Floats) -> Sums:
        """Take in the measurement of another unit."""
        if self.units:
            self._switch()
            self._advance()
        heard = self._hear(measured[:, np.newaxis])
        self._turn(Heard(*(each[:, self.ways.trends] for each in heard)))
        self._correct(heard)
        self.trust(heard.evidence)
        if self._seasons:
            self.season.update(self.units, measured, 1.0)
        self.units += 1
        _join(self.raw, np.broadcast_to(measured, self.raw[1:].shape).copy())
        return self._doubted(*self._estimate())

    @property
    def expected(self) -> Floats:
        """Where the levels of all bins are."""
        levels: Floats = _mean(self.level, dominant(self.weights))[:, 0]
        return levels

    def _switch(self) -> None:
        """A bin may begin to move in another way at any unit: what is new to a way begins from what all others know."""
        likely, again = dominant(self.weights), FORGETTING * self.lent
        new = again / ((1 - FORGETTING) * self.weights + again)
        past, trends = self.sums[:-1], self.ways.trends
        off, apart = self.level - _mean(self.level, likely), past - _mean(past, likely)
        self._switch_velocities(likely[:, trends], new[:, trends], off[:, trends], apart[..., trends])
        _blend(self.variance, new, likely, off, off)
        _blend(self.crossed[:-1], new, likely, apart, off)
        _blend(self.spread[:-1], new, likely, apart, apart)
        self.level -= new * off
        apart *= new
        past -= apart

    def _switch_velocities(self, likely: Floats, new: Floats, off: Floats, apart: Floats) -> None:
        """A way without velocity lends one of 0, as uncertain as a first one."""
        velocity, gained = _mean(self.velocity, likely), self.ways.velocity[self.ways.trends]
        turned, without = self.velocity - velocity, 1 - likely.sum(axis=1, keepdims=True)
        first = without * (velocity**2 + FIRST_VELOCITY * gained)
        _blend(self.velocity_variance, new, likely, turned, turned, first)
        _blend(self.mixed, new, likely, off, turned, velocity * _mean(off, likely))
        _blend(self.drifting[:-1], new, likely, apart, turned, velocity * _mean(apart, likely))
        self.velocity -= new * turned

    def _advance(self) -> None:
        """A unit goes by: levels become less certain, and those with a velocity or a season move."""
        ways, trends = self.ways, self.ways.trends
        self.variance += ways.level
        self.variance[:, trends] += DAMPING * (2 * self.mixed + DAMPING * self.velocity_variance)
        self.crossed[..., trends] += DAMPING * self.drifting
        self.level[:, trends] += DAMPING * self.velocity
        self.mixed = DAMPING * (self.mixed + DAMPING * self.velocity_variance)
        self.velocity_variance = DAMPING**2 * self.velocity_variance + ways.velocity[trends]
        self.velocity *= DAMPING
        self.drifting *= DAMPING
        season = self.season.at(self.units) - self.season.at(self.units - 1)
        self.level += ways.seasonal * season[:, np.newaxis]

    def _hear(self, measured: Floats) -> Heard:
        surprise, whole = measured - self.level, self.variance + self.ways.around
        found = posterior(surprise, whole, 1.0)
        wild = _wild(surprise)
        # nothing is known before the first measurement: it is a jump from nowhere
        rates = self.ways.rates if self.units else np.array([[-np.inf], [-np.inf], [0.0]])
        likely = np.stack([found.evidence, wild, wild]) + rates[:, np.newaxis]
        most = likely.max(axis=0)
        shares = np.exp(likely - most)
        total = shares.sum(axis=0)
        stayed, spiked, jumped = shares / total
        part = found.variance / whole
        slope, sure = found.mean / whole, (1 - part) / whole
        evidence = most + np.log(total)
        return Heard(evidence, surprise, stayed, spiked, jumped, slope, sure, found.mean, found.variance, part)

    def _correct(self, heard: Heard) -> None:
        """Mean, variance and covariance over all three that may have happened; the new unit joins every sum."""
        _, surprise, stayed, spiked, jumped, slope, sure, inner, left, part = heard
        variance, wild, apart, past = self.variance, spiked + jumped, surprise - inner, self.crossed[:-1]
        level = stayed * variance * slope + jumped * surprise
        stay, spike, jump = variance * slope - level, -level, surprise - level  # of each, from the mean of all
        moved = past * (stayed * slope)
        moved += self.level + inner + wild * apart
        _join(self.sums, moved)
        np.multiply(past, stayed * (wild * slope**2 - sure), out=moved)
        moved += 2 * stayed * (part - wild * slope * apart)
        moved *= past
        moved += stayed * (wild * apart**2 + left) + NOISE * wild
        _join(self.spread, moved)
        np.multiply(past, stayed * (1 - variance * sure + slope * stay) + spiked, out=moved)
        shared = apart * (spiked * spike + jumped * jump - wild * stay)
        np.add(moved, stayed * (variance * part + shared) + NOISE * jumped, out=self.crossed[1:])
        self.variance = stayed * (variance * (1 - variance * sure) + stay**2) + spiked * (variance + spike**2)
        self.variance += jumped * (NOISE + self.ways.around + jump**2)
        self.level += level

    def _turn(self, heard: Heard) -> None:
        """What the measurement says of velocities. Neither spikes nor jumps say anything."""
        _, surprise, stayed, spiked, jumped, slope, sure, inner, _, part = heard
        variance, wild = self.variance[:, self.ways.trends], spiked + jumped
        turned = self.mixed * slope
        level = variance * slope * (1 - stayed) - jumped * surprise
        past = self.crossed[:-1, :, self.ways.trends]
        new = stayed * (self.mixed * part - wild * (surprise - inner) * turned)
        self.drifting[1:] = self.drifting[:-1] + past * (stayed * (wild * slope * turned - self.mixed * sure)) + new
        self.velocity_variance += stayed * (wild * turned**2 - self.mixed**2 * sure)
        self.velocity += stayed * turned
        self.mixed = self.mixed * (stayed * (1 - variance * sure) + spiked) + stayed * level * turned

    def _estimate(self) -> tuple[Floats, Floats]:
        """Of all ways. What bins have in common says something about levels, and so about sums that go with them."""
        likely, sums = dominant(self.weights), self.sums[-1]
        mean = _mean(sums, likely)
        apart = sums - mean
        found, spread = mean[:, 0], _mean(self.spread[-1] + apart**2, likely)[:, 0]
        if self._shrinking:
            level = _mean(self.level, likely)
            off = self.level - level
            variance = _mean(self.variance + off**2, likely)[:, 0]
            along = _mean(self.crossed[-1] + off * apart, likely)[:, 0] / variance
            self.shrinkage.fit(level[:, 0], np.sqrt(variance))
            better, deviation = self.shrinkage.improved(level[:, 0], np.sqrt(variance))
            found = found + along * (better - level[:, 0])
            spread = spread - along**2 * (variance - deviation**2)
        return found, np.maximum(spread, STILL)

    def _doubted(self, found: Floats, spread: Floats) -> Sums:
        """Lean on measurements where estimates are further from them than they would be, were they as good as they say.

        An estimate that knows its variance is off its measurements by that of the noise, less its own.
        """
        noise, kept, apart = NOISE * min(self.units, len(self.raw) - 1), 1 - 1 / PROOF, self.raw[-1] - found
        self.differed = kept * self.differed + apart**2
        self.foretold = kept * self.foretold + np.maximum(noise - spread, STILL)
        number = PROOF * (1 - kept**self.units)
        allowed = 1 + DOUBT * np.sqrt(2 * (len(self.raw) - 1) / number)
        share = np.maximum(1 - allowed * self.foretold / np.maximum(self.differed, STILL), 0.0)
        share *= self.units > FEW * (len(self.raw) - 1)
        error = np.maximum(spread, self.differed / number - noise + 2 * spread)
        doubted = (1 - share) ** 2 * error + share**2 * noise + 2 * share * (1 - share) * spread
        return Sums(np.maximum(found + share * apart, 0.0), np.sqrt(np.where(share > 0, doubted, spread)))

    def save(self) -> dict[str, Any]:
        """All that a restart must find again."""
        kept = {name: getattr(self, name) for name in (*KEPT, *KEPT_OF_BINS)}
        return kept | {"units": self.units, "season": self.season.save(), "shrinkage": self.shrinkage.save()}

    def load(self, saved: dict[str, Any]) -> None:
        """Go on from there."""
        for name in (*KEPT, *KEPT_OF_BINS):
            setattr(self, name, np.array(saved[name]))
        self.units = saved["units"]
        self.season.load(saved["season"])
        self.shrinkage.load(saved["shrinkage"])


def _wild(surprise: Floats) -> Floats:
    """The log density of a surprise of any size: powers of ten are about equally likely, and small ones are not."""
    size, square = np.log1p(np.abs(surprise)), np.square(surprise)
    density: Floats = 2 * np.log(square / (square + NEAR**2) + 1e-12) - size - 2 * np.log1p(size) - np.log(2)
    return density


def _join(sums: Floats, new: Floats) -> None:
    """Every sum gets one unit longer, and the longest is forgotten."""
    sums[1:] = np.add(sums[:-1], new, out=new)


def _blend(kept: Floats, new: Floats, likely: Floats, one: Floats, other: Floats, rest: Floats | float = 0.0) -> None:
    """A part of every covariance becomes that of all ways together, whose means are ``one`` and ``other`` apart."""
    by = one * other
    whole = _mean(kept, likely) + _mean(by, likely) + rest
    by *= new
    kept += by
    kept *= 1 - new
    np.multiply(new, whole, out=by)
    kept += by


def _mean(values: Floats, shares: Floats) -> Floats:
    """Over ways, in every bin, as something that can be taken from each."""
    mean: Floats = np.einsum("...bw,bw->...b", values, shares)[..., np.newaxis]
    return mean
