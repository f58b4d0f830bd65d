"""Filters that follow made-up counts, each of which moves as its filter takes it to: for the table of errors.

They are those of ``Bank``, one for every model, without what a bank does besides: no model is weighed against another.
"""

from __future__ import annotations

import numpy as np

from penstock.primitives.bank import FIRST_VELOCITY, passage
from penstock.primitives.dynamics import DAMPING, Dynamics
from penstock.primitives.posteriors import Posteriors
from penstock.types import Floats

# Of e, so that the result is a usual number, which is quicker to compute; beyond it a share is 0 or 1.
LARGEST_POWER = 600.0


class Filters:
    """Filters for ``streams`` x models; measurements are ``every`` units apart, with Laplace noise of this ``scale``.

    Those of models that jump or burst stand there ``twice``: as they are, and once more after a jump.
    """

    def __init__(self, models: Dynamics, streams: int, every: int, scale: float) -> None:
        self._models, self._scale, self._passage = models, scale, passage(every)
        sudden, trends = models.sudden, models.trends
        self._twice = slice(models.size, models.size + sudden.stop - sudden.start)
        shape = streams, self._twice.stop
        self.level, self._variance = np.zeros((2, streams, models.size))
        self.velocity, self._crossed, self._velocity_variance = np.zeros((3, streams, trends.stop - trends.start))
        self._gained = every * models.level
        self._gained[trends] += self._passage.level * models.velocity[trends]
        self._around = np.concatenate([models.around, (models.around + models.burst)[sudden]])
        # a burst before this one is over
        units = np.where(models.burst[sudden] > 0, 1, every)
        self._nothing = units * np.log1p(-models.rate[sudden])
        self._something = np.log(-np.expm1(self._nothing))
        self._reach = np.cumsum(DAMPING ** np.arange(1, every))
        self._surprise, self._before, self._whole, self._gain = np.empty((4, *shape))
        self._posteriors = Posteriors(shape, scale)

    def begin(self, measured: Floats) -> Floats:
        """Take a first measurement as it is."""
        self.level[:] = measured
        self._variance[:] = 2 * self._scale**2 + self._models.around
        self._velocity_variance[:] = FIRST_VELOCITY * self._models.velocity[self._models.trends]
        return self.level

    def follow(self, measured: Floats) -> Floats:
        """What the counts are taken for, given a measurement; to be used before the next one."""
        models, sudden, twice, found = self._models, self._models.sudden, self._twice, self._posteriors
        before = self._before
        self._advance(before[:, : models.size])
        np.add(before[:, sudden], models.jump[sudden], out=before[:, twice])
        np.subtract(measured, self.level, out=self._surprise[:, : models.size])
        self._surprise[:, twice] = self._surprise[:, sudden]
        whole = np.add(before, self._around, out=self._whole)
        found.find(self._surprise, whole)
        gain = np.divide(before, whole, out=self._gain)
        left = np.divide(found.variance, whole, out=found.variance)  # before * (1 - gain * (1 - variance / whole))
        left -= 1
        left *= gain
        left += 1
        left *= before
        moved = np.multiply(gain, found.mean, out=gain)
        self._merge(moved, left)
        return self._take(moved[:, : models.size], left[:, : models.size])

    def miss(self, counts: Floats, after: int) -> Floats:
        """How far ``counts`` of units are from what is expected of them; the first is ``after`` units after the last.

        They are told as seeds x units x repeats x models.
        """
        seeds, units, repeats, _ = counts.shape
        off: Floats = self.level.reshape(seeds, 1, repeats, -1) - counts
        reach = self._reach[after - 1 : after - 1 + units, np.newaxis, np.newaxis]
        off[..., self._models.trends] += reach * self.velocity.reshape(seeds, 1, repeats, -1)
        return off

    def _advance(self, variance: Floats) -> None:
        """Units go by: levels become less certain, and those with a velocity move."""
        over, trends = self._passage, self._models.trends
        np.add(self._variance, self._gained, out=variance)
        self.level[:, trends] += over.reach * self.velocity
        variance[:, trends] += 2 * over.reach * self._crossed + over.reach**2 * self._velocity_variance
        gained = self._models.velocity[trends]
        self._crossed = over.kept * (self._crossed + over.reach * self._velocity_variance) + over.mixed * gained
        self._velocity_variance = over.kept**2 * self._velocity_variance + over.velocity * gained
        self.velocity *= over.kept

    def _merge(self, moved: Floats, left: Floats) -> None:
        """Something may have happened or not, by the evidence: mean and variance of both."""
        sudden, twice, mean = self._models.sudden, self._twice, self._posteriors.mean
        evidence = self._posteriors.evidence(sudden.start)
        share = evidence[:, : sudden.stop - sudden.start] - evidence[:, twice.start - sudden.start :]
        share += self._nothing - self._something
        np.minimum(share, LARGEST_POWER, out=share)
        np.exp(np.maximum(share, -LARGEST_POWER, out=share), out=share)
        share += 1
        np.divide(1, share, out=share)
        apart = moved[:, twice] - moved[:, sudden]
        mixed = (1 - share) * apart
        mixed *= apart
        mixed += left[:, twice]
        mixed -= left[:, sudden]
        mixed *= share
        left[:, sudden] += mixed
        apart *= share
        moved[:, sudden] += apart
        np.subtract(mean[:, twice], mean[:, sudden], out=apart)
        apart *= share
        mean[:, sudden] += apart

    def _take(self, moved: Floats, left: Floats) -> Floats:
        """Move levels and velocities by what was found."""
        trends = self._models.trends
        before = self._before[:, trends]
        coupling, kept = self._crossed / before, left[:, trends] / before
        self.velocity += coupling * moved[:, trends]
        self._velocity_variance -= coupling * self._crossed * (1 - kept)
        self._crossed *= kept
        counts = self._posteriors.mean[:, : self._models.size]
        counts += self.level
        self.level += moved
        self._variance[:] = left
        return counts
