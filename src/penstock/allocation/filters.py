"""Filters that follow made-up counts, each of which moves as its filter takes it to: for the table of errors.

They are those of ``Bank``, one for every model, without what a bank does besides: no model is weighed against another.
"""

from __future__ import annotations

import numpy as np

from penstock.primitives.bank import FIRST_VELOCITY, passage
from penstock.primitives.dynamics import DAMPING, Dynamics
from penstock.primitives.posteriors import Posteriors
from penstock.types import Floats


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

    def begin(self, measured: Floats) -> None:
        """Take a first measurement as it is."""
        self.level[:] = measured
        self._variance[:] = 2 * self._scale**2 + self._models.around
        self._velocity_variance[:] = FIRST_VELOCITY * self._models.velocity[self._models.trends]

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

    def foresee(self, after: int, units: int) -> Floats:
        """What is expected of so many units, the first of which is so many ``after`` the last measurement."""
        expected = np.repeat(self.level[np.newaxis], units, axis=0)
        reach = self._reach[after - 1 : after - 1 + units, np.newaxis, np.newaxis]
        expected[:, :, self._models.trends] += reach * self.velocity
        return expected

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
        usual, happened = (self._posteriors.evidence(columns) for columns in (sudden, twice))
        share = np.exp(-np.logaddexp(0.0, usual + self._nothing - happened - self._something))
        apart = moved[:, twice] - moved[:, sudden]
        left[:, sudden] += share * (left[:, twice] - left[:, sudden] + (1 - share) * np.square(apart))
        moved[:, sudden] += share * apart
        mean[:, sudden] += share * (mean[:, twice] - mean[:, sudden])

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
