"""What a reading says to a filter: that counts moved as expected, or that something sudden happened."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.primitives.posterior import posterior
from penstock.types import Floats, Mask

NOISE = 2.0  # the variance of a reading, if it has all of epsilon
NEAR = 8.0  # noise scales from which a reading can be one of a spike or a jump
NOTHING_KNOWN = np.array([[-np.inf], [-np.inf], [0.0]])  # a first reading is a jump from nowhere


class Heard(NamedTuple):
    """Counts stayed by their level, left it once (spike), or took it along (jump).

    A spike or jump is taken to be of the last unit, and then the reading is all that is known of it.
    """

    evidence: Floats  # in logarithms: how likely the reading was
    surprise: Floats  # how far it is from what was expected
    stayed: Floats  # shares of the three
    spiked: Floats
    jumped: Floats
    slope: Floats  # what moves by its covariance with what was read moves so many times that, if counts stayed
    sure: Floats  # and loses so many times the square of it in variance
    noise: Floats  # its variance
    since: Floats  # what a jump adds to a level, in surprises: one that nobody noticed may be older than this unit

    def of(self, ways: slice) -> Heard:
        """What it says to some of the filters of every bin."""
        return Heard(*(np.broadcast_to(each, self.stayed.shape)[:, ways] for each in self))


def hear(surprise: Floats, variance: Floats, scale: Floats, rates: Floats, sudden: Mask, since: Floats) -> Heard:
    """Of a reading with noise of this scale, where counts were expected with this variance, by every filter.

    ``rates`` are the logs of how often each of the three happens; in bins where something ``sudden`` has happened for
    certain, nothing stayed.
    """
    found, wild = posterior(surprise, variance, scale), _wild(surprise)
    likely = np.stack([found.evidence, wild, wild]) + rates[:, np.newaxis]
    likely[0, sudden] = -np.inf
    most = likely.max(axis=0)
    shares = np.exp(likely - most)
    together = shares.sum(axis=0)
    stayed, spiked, jumped = shares / together
    slope, sure = found.mean / variance, (1 - found.variance / variance) / variance
    return Heard(most + np.log(together), surprise, stayed, spiked, jumped, slope, sure, NOISE * scale**2, since)


def _wild(surprise: Floats) -> Floats:
    """The log density of a surprise of any size: powers of ten are about equally likely, and small ones are not."""
    size, square = np.log1p(np.abs(surprise)), np.square(surprise)
    density: Floats = 2 * np.log(square / (square + NEAR**2) + 1e-12) - size - 2 * np.log1p(size) - np.log(2)
    return density
