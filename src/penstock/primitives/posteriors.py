"""Many posteriors at once, in memory that is used again: for simulations that need millions of them.

The formulas, and what they find, are those of ``posterior``; only the order of the work is another. The arrays are so
small that making new ones at every step would take longer than the arithmetic.
"""

from __future__ import annotations

import math

import numpy as np

from penstock.primitives.posterior import ERFCX, HALF_NORMAL, WIDE
from penstock.types import Floats, Mask

# Beyond it exp(-x**2) is nothing beside 1. What is smaller still is slow to compute, as it is no usual number.
FARTHEST = 24.0


class Posteriors:
    """Means and variances of x ~ N(0, variance), given x + Laplace noise of one ``scale``, in arrays of this shape.

    >>> found = Posteriors((1, 1), scale=1.0)
    >>> found.find(np.array([[3.0]]), np.array([[4.0]]))
    >>> found.mean.round(3), found.variance.round(3)
    (array([[2.134]]), array([[1.446]]))
    """

    def __init__(self, shape: tuple[int, int], scale: float) -> None:
        self._scale = scale
        self.mean, self.variance, self.spare = (np.empty(shape) for _ in range(3))
        self._apart, self._moved, self._scaled, self._half, self._sign = (np.empty(shape) for _ in range(5))
        # both sides of the measurement, near and far
        self._sides, self._erfcx, self._work = (np.empty((2, *shape)) for _ in range(3))
        self._wide: Mask = np.zeros(shape, np.bool_)

    def find(self, measured: Floats, variance: Floats) -> None:
        """Fill ``mean`` and ``variance``; what is given is kept for ``evidence``, and not changed."""
        self._measured, self._prior = measured, variance
        self._weigh_sides()
        near, far = self._erfcx
        whole = np.add(near, far, out=self._sides[0])
        share = np.divide(self._moved, whole, out=self._sides[1])
        spread = np.multiply(near, far, out=self.variance)
        spread *= share
        spread *= 4
        edge = np.multiply(self._half, self._scaled, out=self._half)
        edge *= math.sqrt(2) * HALF_NORMAL
        spread -= edge
        spread *= share
        spread += variance
        mean = np.subtract(near, far, out=self.spare)
        mean *= share
        np.copysign(mean, measured, out=self.mean)
        self._replace_wide()

    def _weigh_sides(self) -> None:
        """How likely x is below the measurement, and how likely above it, up to a common factor, in ``_erfcx``."""
        apart, half = np.abs(self._measured, out=self._apart), np.sqrt(self._prior, out=self._half)
        half *= math.sqrt(2)
        moved = np.divide(self._prior, self._scale, out=self._moved)
        near, far = self._sides
        np.subtract(moved, apart, out=near)
        np.add(moved, apart, out=far)
        self._sides /= half
        scaled = np.minimum(near, 0, out=self._scaled)
        np.maximum(scaled, -FARTHEST, out=scaled)
        np.multiply(scaled, scaled, out=scaled)
        np.negative(scaled, out=scaled)
        np.exp(scaled, out=scaled)
        sign = np.copysign(1.0, near, out=self._sign)
        near *= sign
        self._compute_erfcx()
        self._erfcx *= scaled
        # the near side is erfcx(near), or 2 - scaled erfcx(-near) where the measurement lies beyond the moved prior
        self._erfcx[0] *= sign
        np.subtract(1, sign, out=sign)
        self._erfcx[0] += sign

    def _compute_erfcx(self) -> None:
        """``erfcx`` of both sides."""
        self._sides += 2
        s, power = np.divide(2, self._sides, out=self._work), self._erfcx
        np.multiply(s, ERFCX[-1], out=power)
        power += ERFCX[-2]
        for coefficient in ERFCX[-3::-1]:
            power *= s
            power += coefficient
        np.exp(power, out=power)
        power *= s

    def _replace_wide(self) -> None:
        """Where the prior is wide the exact form is a small difference of large numbers: take Gaussian noise there."""
        noise = 2 * self._scale**2
        wide = np.greater(self._prior, WIDE / 2 * noise, out=self._wide)
        gain = np.add(self._prior, noise, out=self._work[0])
        np.divide(self._prior, gain, out=gain)
        np.multiply(gain, self._measured, out=self.spare)
        np.copyto(self.mean, self.spare, where=wide)
        gain *= noise
        np.copyto(self.variance, gain, where=wide)

    def evidence(self, first: int = 0) -> Floats:
        """The log of how likely measurements were that were found last, from this column on; to be used at once."""
        part = slice(first, None)
        measured, prior, noise = self._measured[:, part], self._prior[:, part], 2 * self._scale**2
        below, above = self._work[:, :, part]
        np.divide(prior, noise, out=below)
        np.divide(self._apart[:, part], self._scale, out=above)
        below -= above
        np.multiply(measured, measured, out=above)
        above /= prior
        above *= -0.5
        # the sign was left as 2 where the measurement lies beyond the moved prior, else as 0
        np.copyto(above, below, where=self._sign[:, part] > 1)
        whole = np.log(self._sides[0][:, part], out=below)
        above += whole
        above -= math.log(4 * self._scale)
        wide = self._wide[:, part]
        if wide.any():
            total = prior + noise
            normal = np.log(2 * np.pi * total, out=below)
            normal += np.square(measured) / total
            normal *= -0.5
            np.copyto(above, normal, where=wide)
        found: Floats = above
        return found
