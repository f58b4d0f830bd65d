"""A ledger that never refuses and a curator who gives everything away: what broken mechanisms run on.

Algorithms that are wrong in print cannot even be written down for a Curator, who never shows a count and draws nothing
that is not paid for. Nothing but audits and benchmarks may import this.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.ledger import Ledger
from penstock.types import Floats, Ints, Kind, Mask, Release, Snapshot

FINEST = 10**6  # the largest denominator of a scale


@lru_cache(maxsize=64)
def _fraction(scale: float | Fraction) -> Fraction:
    return Fraction(scale).limit_denominator(FINEST)


class PermissiveLedger(Ledger):
    """Books whatever it is told to."""

    def _require(self, e: Epsilon, envelope: str, within: Epsilon) -> None:
        """Everything is fine."""

    def can(self, span: int | None = None, /, **envelopes: Epsilon) -> bool:
        """Anything goes."""
        return True


class PermissiveCurator(Curator):
    """Shows counts, and draws noise that nobody pays for."""

    ledger_type = PermissiveLedger

    @property
    def door(self) -> Any:
        """No door at all: the mechanism gets hold of everything."""
        return self

    def look(self, snapshot: Snapshot) -> Ints:
        """The counts themselves."""
        return self._desk.counts(snapshot)

    def draw(self, scale: float | Fraction, size: int = 1) -> Ints:
        """Discrete Laplace noise of any scale, for nothing; without a scale there is no noise."""
        if not scale:
            return np.zeros(size, np.int64)
        return self._desk.noise.laplace(_fraction(scale), size)

    def toss(self, chance: float, size: int) -> Mask:
        """So many coins, for nothing."""
        return self._desk.noise.bernoulli(_fraction(chance), (size,))


@dataclass(kw_only=True)
class Unbound(Planted):
    """A planted mechanism with such a curator."""

    kernel: ClassVar = Kernel(curator=PermissiveCurator)
    curator: Any = field(init=False, repr=False, compare=False)  # a PermissiveCurator

    def noisy(self, snapshot: Snapshot, scale: float | Fraction) -> Ints:
        """The counts with noise that nobody has paid for."""
        noisy: Ints = self.curator.look(snapshot) + self.curator.draw(scale, self.curator.bins)
        return noisy

    def say(self, snapshot: Snapshot, values: Ints | Floats, kind: ArrayLike = Kind.ESTIMATED) -> Release:
        """Publish any values, and nothing about their noise."""
        return self.released(snapshot, values, kind, 0.0)


@dataclass(kw_only=True)
class Printed(Unbound):
    """An algorithm as its paper prints it.

    ``claims_dp`` is False: whatever the paper says, this package does not say that it protects anybody. The mechanisms
    of this package carry no such mark, because they cannot be made without a proof.
    """

    claims_dp: ClassVar[bool] = False
