"""Stand-ins for files that are not at hand: made-up streams of the same size and character.

Every bin has a level; a season, a growth and a slow sway of its own move it by factors. Around all that a count may
scatter as counts of independent people do. A stand-in is no copy: nothing but the figures below is taken from a file.
They were chosen so that mean, largest count, share of zeros and size of steps come near to those of the file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from penstock.streams import synthetic
from penstock.types import Floats, Ints

SEED = 8


@dataclass(frozen=True)
class Character:
    """What a stream is like, in a few figures. Most are of logarithms.

    ``mean`` is that of all cells. ``uneven`` is how far levels of bins spread above the middle one, ``thin`` how far
    below; the part ``bare`` of bins holds nothing. ``swing`` is how far a season of ``period`` units goes up and down,
    ``growth`` how far the last unit lies above the first. ``sway`` is the spread of what else moves a bin, and
    ``memory`` the units after which that is forgotten. ``scatter`` 1 is that of a Poisson count, 0 none. ``closed`` is
    the part of a season, when it is low, in which nothing is counted.
    """

    steps: int
    bins: int
    mean: float
    uneven: float = 0.0
    thin: float = 0.0
    bare: float = 0.0
    period: int = 1
    swing: float = 0.0
    growth: float = 0.0
    sway: float = 0.0
    memory: float = 1.0
    scatter: float = 0.0
    closed: float = 0.0

    def counts(self, rng: np.random.Generator) -> Ints:
        """A stream of this character."""
        time = np.arange(self.steps)[:, np.newaxis]
        season = -np.cos(2 * math.pi * time / self.period)  # begins when it is low
        moved = self.swing * season + self.growth * time / self.steps + self.sway * self._swaying(rng)
        level: Floats = np.exp(moved + rng.permutation(self._levels())) * (season >= -math.cos(math.pi * self.closed))
        level *= self.mean / level.mean()
        scattered = level + self.scatter * np.sqrt(level) * rng.normal(size=level.shape)
        return np.maximum(np.rint(scattered), 0).astype(np.int64)

    def _levels(self) -> Floats:
        """Levels of bins, which share a normal distribution evenly, stretched on both sides of its middle."""
        parts = (np.arange(self.bins) + 0.5) / self.bins
        places = np.array([NormalDist().inv_cdf(part) for part in parts])
        levels: Floats = np.where(places > 0, self.uneven, self.thin) * places
        return np.where(parts < self.bare, -math.inf, levels)

    def _swaying(self, rng: np.random.Generator) -> Floats:
        """A path for every bin, of mean 0 and spread 1, that forgets where it was."""
        kept = math.exp(-1 / self.memory)
        path: Floats = rng.normal(size=(self.steps, self.bins))
        path[1:] *= math.sqrt(1 - kept**2)
        for t in range(1, self.steps):
            path[t] += kept * path[t - 1]
        return path


WEEKS, MONTHS, HOURS, HALF_HOURS, MINUTES = 52, 12, 24, 48, 1440  # of a year, or of a day

CHARACTERS: Mapping[str, Character] = {
    "flu_outpatient.csv": Character(1212, 1, 14_632, period=WEEKS, swing=0.97, growth=3.0, sway=0.38, memory=18),
    "flu_outpatient_age.csv": Character(
        1364, 4, 3717, uneven=0.59, thin=0.06, period=WEEKS, swing=1.0, growth=5.6, sway=0.36, memory=18, closed=0.05
    ),
    "flu_death.csv": Character(407, 1, 130.3, period=WEEKS, swing=2.1, growth=0.19, sway=0.94, memory=44),
    "unemployment.csv": Character(622, 1, 275.1, period=MONTHS, swing=0.48, growth=-0.42, sway=0.28, memory=170),
    "state_flu.csv": Character(
        628, 55, 400.3, uneven=0.94, thin=1.7, bare=0.065, period=WEEKS, swing=0.93, growth=1.8, sway=0.67, memory=22
    ),
    "tdrive64.csv": Character(
        1778, 64, 130.8, uneven=1.5, thin=2.6, period=288, swing=0.43, growth=0.83, sway=0.26, memory=380
    ),
    "retail_100.csv": Character(
        143, 100, 21_435, uneven=0.98, thin=4.3, bare=0.058, period=WEEKS, swing=0.09, sway=0.17, memory=1.7
    ),
    "retail_1000.csv": Character(
        143, 1000, 16_609, uneven=1.2, thin=6.4, bare=0.094, period=WEEKS, swing=0.12, sway=0.16, memory=1.5
    ),
    "worldcup98_hour.csv": Character(2088, 1, 647_895, period=HOURS, swing=0.43, growth=2.9, sway=1.0, memory=25),
    "worldcup98_minute.csv": Character(
        125_310, 1, 10_796, period=MINUTES, swing=0.4, growth=4.0, sway=0.82, memory=2100, scatter=3.6
    ),
    "nyc_taxi_30min.csv": Character(
        10_320, 1, 15_138, period=HALF_HOURS, swing=0.54, growth=-0.1, sway=0.16, memory=5.4
    ),
    "geolife_dayfold.csv": Character(
        1440, 64, 10.6, uneven=1.8, thin=4.7, period=MINUTES, swing=0.34, sway=0.48, memory=56, scatter=0.15
    ),
    "geolife_hour_2009h1.csv": Character(
        4344, 64, 0.121, uneven=1.7, thin=0.26, period=HOURS, swing=1.6, sway=0.12, memory=2, scatter=1
    ),
    "tdrive_sample_1min.csv": Character(
        60, 100, 17.1, uneven=0.81, thin=4.0, growth=-0.21, sway=0.05, memory=0.2, scatter=0.8
    ),
    "tdrive_events.csv": Character(120, 100, 9.15, uneven=0.7, thin=11, growth=-6.1, sway=0.03, scatter=0.95),
    "geolife_events.csv": Character(
        1934, 64, 0.319, uneven=1.2, thin=2.8, period=1400, swing=1.6, sway=0.51, memory=11, scatter=0.63
    ),
}
DRAWN = {"synthetic1.csv": ("spas_1", 1), "synthetic2.csv": ("spas_2", 1), "synthetic3.csv": ("spas_3", 10)}


def stand_in(file: str) -> Ints:
    """Rows in place of those of a file; those that were drawn are drawn again."""
    if file in DRAWN:
        kind, bins = DRAWN[file]
        return synthetic(kind, bins=bins, steps=10_000, seed=SEED + 1).counts
    return CHARACTERS[file].counts(np.random.default_rng([SEED, *file.encode()]))
