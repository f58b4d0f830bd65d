"""What a histogram method is: given a purse, it says what the cells of a histogram hold.

Methods are not part of the kernel. A purse answers sums over groups of cells until it is empty, so a method can be
inaccurate, but it cannot see a count or spend more than it was given.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

from penstock.epsilon import Epsilon
from penstock.errors import BadInput
from penstock.parameters import hold_kinds
from penstock.primitives.purse import Purse
from penstock.types import Floats, Ints, Kind

Shape = tuple[int, ...]

SMALLEST_VARIANCE = 1e-100
MOST_PARTS = 1024  # of a node, along each dimension


class Measured(NamedTuple):
    """What a method says of every cell: a value, of which kind it is, and how wide its noise is."""

    values: Ints
    kind: Kind
    noise_sd: Floats


@dataclass(frozen=True)
class Histogram(ABC):
    """A way to measure a histogram. Fields are its parameters.

    ``shape`` is that of the whole domain, bins in the order of their numbers, the last dimension running fastest;
    ``ask.cells`` says which of them are asked about.
    """

    def __post_init__(self) -> None:
        hold_kinds(self)
        self.validate()

    def validate(self) -> None:
        """Refuse parameters that cannot work."""

    @abstractmethod
    def measure(self, ask: Purse, shape: Shape, e: Epsilon) -> Measured:
        """Spend ``e`` on the cells that can be asked about."""

    def noises(self, shape: Shape, noise_sd: Floats, weights: Floats) -> Floats | None:
        """The independent noises in a weighted sum of bins that were measured together, as standard deviations.

        None if the method cannot tell. ``noise_sd`` and ``weights`` are given for all bins of the domain; where
        ``noise_sd`` is not a number, a bin was not measured with the others, and has no weight.
        """
        return None

    def __str__(self) -> str:
        told = {each.name: getattr(self, each.name) for each in fields(self)}
        usual = {each.name: each.default for each in fields(self)}
        differing = ", ".join(f"{name}={value}" for name, value in told.items() if value != usual[name])
        return f"{self.name}({differing})" if differing else self.name

    @property
    def name(self) -> str:
        """What the method is called in commands and files."""
        return type(self).__name__.lower()


def levelled(e: Epsilon, nodes: Sequence[float]) -> list[Epsilon]:
    """The budget of each level, in proportion to the cube root of a number of nodes, which is where the variance of
    a sum over so many nodes of each level is least. Every level has something; what rounding leaves the first one has.
    """
    roots = [math.cbrt(number) for number in nodes]
    spare, every = e.nano - len(roots), sum(roots)
    nano = [1 + int(spare * (root / every)) for root in roots]
    nano[0] += e.nano - sum(nano)
    return [Epsilon.of_nano(each) for each in nano]


def require_split(split: int) -> None:
    """Refuse to divide nodes into one part, or into very many."""
    if not 2 <= split <= MOST_PARTS:
        raise BadInput(f"split must be a whole number from 2 to {MOST_PARTS}; got {split}.")


def variance(ask: Purse, e: Epsilon) -> float:
    """The variance of an answer that is bought by ``e``; never quite 0, so that one can divide by it."""
    return max(ask.noise_sd(e) ** 2, SMALLEST_VARIANCE)
