"""Counting how often an event happens, in chunks, and what the counts under two neighbours prove."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from penstock.audit.bounds import loss_above
from penstock.types import Floats

ALPHA = 0.001  # bounds hold with 99.9%
CHUNK = 2**18  # trials at a time: their values stay in the cache

Event = Callable[[np.random.Generator, int], tuple[int, ...]]  # hits of one event or several, in so many trials


class Tally(NamedTuple):
    """Hits of an event among equally many trials with a stream and with its neighbour."""

    hits: int
    other_hits: int
    trials: int

    @property
    def loss_at_least(self) -> float:
        """The loss that is proved, with 99.9% confidence."""
        return loss_above(self.hits, self.trials, self.other_hits, self.trials, ALPHA)


@dataclass
class Trials:
    """So many trials of every event, from one seed; ``advance`` is called after each chunk."""

    number: int
    seed: int
    advance: Callable[[], None]
    _runs: int = 0

    @staticmethod
    def chunks(number: int) -> int:
        """How many chunks a run has."""
        return -(-number // CHUNK)

    def tallies(self, event: Event, other: Event) -> list[Tally]:
        """Hits with a stream and with its neighbour, of each event that is counted."""
        pairs = zip(self._hits(event), self._hits(other), strict=True)
        return [Tally(hits, other_hits, self.number) for hits, other_hits in pairs]

    def _hits(self, event: Event) -> list[int]:
        self._runs += 1  # each run has draws of its own
        rng, counted = np.random.default_rng([self.seed, self._runs]), []
        for begin in range(0, self.number, CHUNK):
            counted.append(event(rng, min(CHUNK, self.number - begin)))
            self.advance()
        return [sum(column) for column in zip(*counted, strict=True)]


def noes(rng: np.random.Generator, rho: Floats, scale: float, aparts: list[float]) -> Floats:
    """The rho of those trials in which one comparison after the other says no. The others are not followed further."""
    for apart in aparts:
        rho = rho[apart + rng.laplace(0.0, scale, len(rho)) <= rho]
    return rho


def yeses(rng: np.random.Generator, rho: Floats, scale: float, apart: float) -> int:
    """In how many trials a comparison says yes."""
    return int(np.count_nonzero(apart + rng.laplace(0.0, scale, len(rho)) > rho))


def higher(rng: np.random.Generator, trials: int, scale: float, by: float = 0.0) -> int:
    """How often Laplace noise is above ``by``."""
    return int(np.count_nonzero(rng.laplace(0.0, scale, trials) > by))
