"""What was seen of a unit, and two looks at the same unit as one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.types import Floats, Ints

TINY = np.finfo(np.float64).tiny  # a variance, where epsilon is so large that there is no noise


class Reading(NamedTuple):
    """The values of all bins, and the deviation of the noise in each.

    >>> small, good = Reading.of(np.array([90]), np.array(40.0)), Reading.of(np.array([115]), np.array(20.0))
    >>> small.joined(good)
    Reading(values=array([110.]), noise_sd=array([17.88854382]))
    """

    values: Floats
    noise_sd: Floats

    @classmethod
    def of(cls, values: Ints, noise_sd: Floats | float) -> Reading:
        """What was measured with noise of one deviation for all bins, or one for each."""
        return cls(values.astype(np.float64), np.broadcast_to(np.asarray(noise_sd, np.float64), values.shape))

    def joined(self, other: Reading) -> Reading:
        """The mean of both, in which each weighs by how sure it is: it has less noise than the better one."""
        both = np.maximum(np.square(self.noise_sd) + np.square(other.noise_sd), TINY)
        values = other.values + np.square(other.noise_sd) / both * (self.values - other.values)
        return Reading(values, self.noise_sd * other.noise_sd / np.sqrt(both))

    def scaled(self, unit: float, least_sd: float) -> tuple[Floats, Floats]:
        """Values, and the scales of their noise, in this unit; noise has at least so large a deviation."""
        scale = np.maximum(self.noise_sd, least_sd) / np.sqrt(2)
        return self.values / unit, scale / unit
