"""How counts may move: a bank of small models, all of them public, from standing still to jumping at every unit.

A count is a level, and what comes and goes around it within a unit. Everything is in units of the noise that all of
epsilon buys (s1 / epsilon), in which a release at every unit of a window of ``w`` carries noise of variance 2 w**2.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

from penstock.types import Floats, Mask

DAMPING = 0.97  # of a velocity, per unit
STILL = 0.02  # the variance around a level that does next to nothing
KINDS = {"walk": 0.5, "seasonal": 0.15, "jump": 0.06, "burst": 0.06, "trend": 0.1}  # how likely each is, up to a factor
SUDDEN = ("jump", "burst")
TILT = 0.3  # ten times as much movement is so much less likely, except for what is sudden
RATES = (1 / 800, 1 / 160, 1 / 32)  # of jumps, and but for the first of bursts, per unit
JUMPS = (0.003, 0.03, 0.3, 3.0, 30.0, 300.0)  # their variances, in those of a release at every unit
BURSTS = (0.03, 0.3, 3.0, 30.0)  # likewise


class Model(NamedTuple):
    """One way to move. ``level`` and ``around`` are variances per unit; the rest is 0 where it does not apply.

    Now and then, at a ``rate``, a level takes a ``jump`` and stays there, or a count a ``burst`` and comes back. Models
    that stand closer together than others of their kind are one by one less likely: they have but a ``share``.
    """

    kind: str
    level: float = 0.0
    around: float = STILL
    rate: float = 0.0
    jump: float = 0.0
    burst: float = 0.0
    velocity: float = 0.0
    share: float = 1.0


class Dynamics(NamedTuple):
    """All models, one entry each: those that walk, with or without a season, jumps and bursts, trends."""

    level: Floats
    around: Floats
    rate: Floats
    jump: Floats
    burst: Floats
    velocity: Floats
    seasonal: Mask
    prior: Floats  # for estimates: what moves little is more likely
    flat: Floats  # for plans: no size is more likely than another
    sudden: slice  # jumps and bursts
    trends: slice

    @property
    def size(self) -> int:
        return len(self.level)


@lru_cache(maxsize=8)
def dynamics(window: int) -> Dynamics:
    """The models for a window of so many units.

    >>> bank = dynamics(120)
    >>> bank.size, bank.sudden, bank.trends, int(bank.seasonal.sum())
    (221, slice(130, 197, None), slice(197, 221, None), 52)
    """
    models = [*_walks(window, 10), *_walks(window, 100), *_jumps(window), *_bursts(window), *_trends(window)]
    kinds = np.array([model.kind for model in models])
    columns = (np.array([getattr(model, name) for model in models]) for name in Model._fields[1:])
    level, around, rate, jump, burst, velocity, share = columns
    flat, prior = np.zeros(len(models)), np.zeros(len(models))
    for kind, mass in KINDS.items():
        of = kinds == kind
        flat[of] = mass * share[of] / share[of].sum()
        tilted = share[of] * (1.0 if kind in SUDDEN else TILT ** np.log10((level + around + velocity)[of]))
        prior[of] = mass * tilted / tilted.sum()
    sudden, trends = _stretch(np.isin(kinds, SUDDEN)), _stretch(kinds == "trend")
    total = sum(KINDS.values())
    return Dynamics(
        level, around, rate, jump, burst, velocity, kinds == "seasonal", prior / total, flat / total, sudden, trends
    )


def _stretch(of: Mask) -> slice:
    """Where the models stand that these are; they stand together."""
    first = int(np.argmax(of))
    return slice(first, first + int(of.sum()))


def _walks(window: int, step: int) -> list[Model]:
    """Random walks, pure ones in half the steps of those with noise around them; that in coarser steps for seasons."""
    kind = "walk" if step == 10 else "seasonal"
    most = math.ceil(math.log(1e5 * window**3, 100))
    pure = [2 / window * 10.0**power for power in range(-4, 2 * most + 1)]
    largest = math.floor(math.log(1e4 * window**2, step))
    noisy = product(pure[::2], [2.0 * step**power for power in range(largest + 1)])
    return [
        *(Model(kind, level, share=0.5) for level in pure),
        *(Model(kind, level, around) for level, around in noisy if around > level / 100),
    ]


def _arounds(window: int) -> tuple[float, ...]:
    """Of levels that may jump, or counts that may burst."""
    return STILL, 2.0 * window**0.5, 2.0 * window


def _jumps(window: int) -> list[Model]:
    """Levels that stand still for long, and then do not."""
    sizes = [2 * window**2 * size for size in JUMPS]
    known = product(RATES, sizes, _arounds(window))
    return [Model("jump", 0.0, around, rate, jump) for rate, jump, around in known if jump > 10 * around]


def _bursts(window: int) -> list[Model]:
    """Counts that are far off their levels for a unit, and then are not."""
    sizes = [2 * window**2 * size for size in BURSTS]
    known = product(RATES[1:], sizes, _arounds(window))
    return [Model("burst", 0.0, around, rate, burst=burst) for rate, burst, around in known if burst > 10 * around]


def _trends(window: int) -> list[Model]:
    """Velocities that wander, and are damped."""
    unit = 2.0 * window**2
    found = product([unit * 10.0**power for power in range(-8, 4)], (STILL, unit / 100))
    return [Model("trend", 0.0, around, velocity=velocity) for velocity, around in found]
