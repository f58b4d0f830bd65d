"""The exact chance of a pattern of yeses and noes from a sparse vector, whose threshold noise all of them share.

Every comparison says yes if its value, less the threshold, plus noise of its own is above the shared noise rho. Given
rho the answers are independent, so the chance of a pattern is an integral over rho alone. Long patterns have chances
like 1e-300, so everything is a logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from penstock.types import Floats

NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)
STEP = 4.0  # the integrand changes by a factor of at most exp(STEP) within a panel
REACH = 50.0  # beyond so many scales of the narrowest kind nothing is left of the integral
POINTS = 2**15  # of the grid from which rho is drawn
LEFT_OUT = 40.0  # what is rarer by so many powers of e is never drawn

Draws = Callable[[np.random.Generator, int], Floats]


class Answers(NamedTuple):
    """The same answer, ``times`` over, to a value that lies ``apart`` above the threshold (below it, if negative)."""

    yes: bool
    times: int
    apart: float


Pattern = Sequence[Answers]


def log_below(x: Floats, scale: float) -> Floats:
    """The logarithm of the chance that Laplace noise stays below x, without loss in either tail."""
    half = 0.5 * np.exp(-np.abs(x) / scale)
    logarithm: Floats = np.where(x < 0, x / scale - math.log(2), np.log1p(-half))
    return logarithm


@dataclass(frozen=True)
class SparseVector:
    """Comparisons with noise of scale ``query`` against one shared noise of scale ``threshold``."""

    threshold: float
    query: float

    def log_chance(self, pattern: Pattern) -> float:
        """The logarithm of the chance of all these answers, by Gauss's rule on panels between the kinks."""
        edges = self._edges(pattern)
        centres, halves = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
        rho = centres[:, np.newaxis] + halves[:, np.newaxis] * NODES
        terms = self.log_density(rho, pattern)
        highest = float(terms.max())
        return highest + math.log(float((np.exp(terms - highest) @ WEIGHTS) @ halves))

    def log_density(self, rho: Floats, pattern: Pattern) -> Floats:
        """The logarithm of the density of rho together with all these answers."""
        total: Floats = -np.abs(rho) / self.threshold - math.log(2 * self.threshold)
        for yes, times, apart in pattern:
            free = rho - apart  # a no is noise below it
            total = total + times * log_below(-free if yes else free, self.query)
        return total

    @property
    def spread(self) -> float:
        """The standard deviation of both noises together, which is how far off a decision is."""
        return math.sqrt(2) * math.hypot(self.threshold, self.query)

    def loss(self, pattern: Pattern, other: Pattern) -> float:
        """How much likelier the first pattern is than the other, as a logarithm."""
        return self.log_chance(pattern) - self.log_chance(other)

    def known(self, pattern: Pattern) -> Draws:
        """Where rho is drawn from once these answers are known: a fine grid."""
        edges = self._edges(pattern)
        terms = self.log_density(edges, pattern)
        likely = edges[terms > terms.max() - LEFT_OUT]
        rho = np.linspace(likely[0], likely[-1], POINTS)
        density = np.exp(self.log_density(rho, pattern) - terms.max())
        sums = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
        chances = sums / sums[-1]
        return lambda rng, size: np.interp(rng.random(size), chances, rho)

    def unknown(self, rng: np.random.Generator, size: int) -> Floats:
        """Values of rho before anything is known."""
        return rng.laplace(0.0, self.threshold, size)

    def _edges(self, pattern: Pattern) -> Floats:
        """Ends of panels: the kinks, and between and around them so many that the integrand hardly moves in one."""
        kinks = np.unique([0.0, *(answers.apart for answers in pattern)])
        margin = REACH * self.threshold
        rate = 1 / self.threshold + sum(answers.times for answers in pattern) / self.query
        ends = np.concatenate([[kinks[0] - margin], kinks, [kinks[-1] + margin]])
        pieces = [
            np.linspace(a, b, max(math.ceil((b - a) * rate / STEP), 1), endpoint=False)
            for a, b in pairwise(ends.tolist())
        ]
        return np.concatenate([*pieces, ends[-1:]])
