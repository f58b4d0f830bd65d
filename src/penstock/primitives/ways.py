"""How counts may move that are measured at every unit: a bank of small models, as public as those of ``dynamics``.

A count is a level, and what comes and goes around it within a unit; in a spike or a jump it is anywhere. Few will do,
because a bin may pass from one to another at any unit. Everything is in units of the noise, whose scale is 1.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

from penstock.primitives.dynamics import STILL
from penstock.types import Floats

KINDS = {"walk": 0.5, "seasonal": 0.15, "jump": 0.25, "trend": 0.25}  # how likely each is, up to a factor
TILT = 0.5  # ten times as much movement is so much less likely
RARE = 1e-4  # spikes, and jumps, per unit, of what has few of them
SPIKY, JUMPY = (0.02, 0.002), (0.001, 0.02)  # spikes and jumps per unit of what has many


class Way(NamedTuple):
    """One way to move. ``level``, ``around`` and ``velocity`` are variances per unit, and the next two are rates."""

    kind: str
    level: float
    around: float
    spikes: float = RARE
    jumps: float = RARE
    velocity: float = 0.0


class Ways(NamedTuple):
    """All ways, one entry each; those with a velocity come last."""

    level: Floats
    around: Floats
    velocity: Floats
    seasonal: Floats  # 1 for those that follow the season, 0 for others
    rates: Floats  # the logs of how likely a count is to stay by its level, to leave it once, and to take it along
    prior: Floats
    trends: slice

    @classmethod
    def of(cls, ways: list[Way]) -> Ways:
        """Those in a list; what moves ten times as much is less likely, among those of its kind."""
        prior = np.array([TILT ** np.log10(way.level + way.around + way.velocity) for way in ways])
        kinds = np.array([way.kind for way in ways])
        for kind in set(kinds):
            prior[kinds == kind] *= KINDS[kind] / prior[kinds == kind].sum()
        level, around, spikes, jumps, velocity = (np.array(each) for each in list(zip(*ways, strict=True))[1:])
        with np.errstate(divide="ignore"):  # a rate of 0 is one, too
            rates = np.log([1 - spikes - jumps, spikes, jumps])
        trends = slice(len(ways) - int((velocity > 0).sum()), len(ways))
        return cls(level, around, velocity, np.where(kinds == "seasonal", 1.0, 0.0), rates, prior / prior.sum(), trends)


@lru_cache(maxsize=1)
def all_ways() -> Ways:
    """From standing still to what no estimate can follow, so that measurements are taken as they are.

    >>> len(all_ways().prior), all_ways().trends
    (45, slice(37, 45, None))
    """
    slow = list(product((1e-5, 1e-3, 0.1), (STILL, 0.5, 5.0)))
    other = [*product((1.0,), (STILL, 0.5, 5.0)), *product((0.01, 3.0, 10.0, 30.0, 100.0, 1e3, 1e4), (STILL,))]
    scattered = [(around / 10, around) for around in (50.0, 500.0, 5000.0)]
    walks = [Way("walk", *each) for each in (*slow, *other, *scattered)]
    seasons = [
        Way("seasonal", *each)
        for each in (*slow[3:], *product((1.0, 10.0, 100.0), (STILL,)), (0.1, 50.0), (50.0, 500.0))
    ]
    jumps = [Way("jump", 1e-5, around, *rates) for rates, around in product((SPIKY, JUMPY), (STILL, 0.5))]
    trends = [Way("trend", 0.0, STILL, velocity=10.0**power) for power in range(-5, 3)]
    return Ways.of([*walks, *seasons, *jumps, *trends])
