"""Points that are made up, between 0 and 1, and ranges to count them in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.types import Floats, Ints

CLOUDS = ("clustered", "exponential", "uniform")
SIZE = 10_000
RANGES = 300  # of each width
CLUSTERS, NARROWEST, BROADEST = 8, 0.001, 0.02  # standard deviations of the clusters
STRAY = 0.05  # the part of points that are in no cluster
NEAR = 0.1  # ranges are so much wider or narrower, as a part, than they should be, at most


class Asked(NamedTuple):
    """About how wide the ranges are that are asked for: they begin and end anywhere.

    With a ``grain`` they begin at multiples of it, and are exactly as wide. Else both ends of a range would cut their
    bins alike wherever the width is a multiple of the bins', and what is lost at one end would be won at the other.
    """

    widths: tuple[float, ...]
    grain: float = 0.0


class Scene(NamedTuple):
    """Points in order, ranges in which they are counted, a row for each width, and how many lie in each."""

    points: Floats
    begins: Floats
    ends: Floats
    true: Ints

    @classmethod
    def of(cls, kind: str, asked: Asked, seed: int) -> Scene:
        """The same for a seed: all kinds of points are asked for the same ranges."""
        points = np.sort(cloud(kind, SIZE, np.random.default_rng((seed, CLOUDS.index(kind)))))
        rng = np.random.default_rng((seed, len(CLOUDS)))
        place, off = rng.random((2, len(asked.widths), RANGES))
        widths = np.array(asked.widths)[:, np.newaxis] * (1 if asked.grain else 1 + NEAR * (2 * off - 1))
        begins = place * (1 - widths)
        if asked.grain:
            begins = np.rint(begins / asked.grain) * asked.grain
        ends = begins + widths
        return cls(points, begins, ends, np.searchsorted(points, ends) - np.searchsorted(points, begins))

    def squared_error(self, counted: Floats | Ints) -> Floats:
        """The mean over the ranges of each width."""
        errors: Floats = ((counted - self.true) ** 2).mean(axis=1)
        return errors


def cloud(kind: str, size: int, rng: np.random.Generator) -> Floats:
    """Points in a few dense clusters of different width, or as far as an exponential variable reaches, or anywhere."""
    if kind == "uniform":
        return rng.random(size)
    if kind == "exponential":
        drawn = rng.exponential(1.0, size)
        drawn /= drawn.max()
        return drawn
    centres = rng.uniform(0.05, 0.95, CLUSTERS)
    spreads = np.geomspace(NARROWEST, BROADEST, CLUSTERS)
    which = rng.integers(0, CLUSTERS, size)
    inside, anywhere = rng.normal(centres[which], spreads[which]), rng.random(size)
    points: Floats = np.where(rng.random(size) < STRAY, anywhere, np.clip(inside, 0, 1))
    return points
