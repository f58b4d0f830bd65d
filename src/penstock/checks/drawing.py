"""Whether noise has the width that is asked for: what a mechanism was seen to draw is drawn again, many times."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.checks.subject import Subject
from penstock.noise import Noise, SimulationNoise
from penstock.types import Floats, Ints, Mask

# How often each is drawn again: a reach of 12 numbers that lacks a thirteenth part is then off by 8 deviations.
DRAWS = 1000
# Deviations of the mean that are put down to chance; honest noise goes beyond it once in 500 million tests.
CHANCE = 6.0
# How many kinds of each draw are tried, of those that a mechanism was seen to ask for.
KINDS = 4
# From this scale on, whole numbers are as good as any.
FINE = 1000.0


@dataclass
class Width:
    """How far out draws lie on average, and how much that varies from draw to draw."""

    mean: float
    deviation: float

    def fits(self, drawn: Floats) -> bool:
        """Whether the mean of the draws is as far out as it should be, but for chance."""
        return abs(float(drawn.mean()) - self.mean) <= CHANCE * self.deviation / math.sqrt(len(drawn))


@dataclass
class Asked:
    """Noise that takes down how it is asked: scales, numbers that share a reach, and coins."""

    noise: Noise
    secure: ClassVar[bool] = False
    scales: dict[Fraction, None] = field(default_factory=dict)
    cubes: dict[int, Fraction] = field(default_factory=dict)  # scale by the number of readings
    coins: dict[Fraction, None] = field(default_factory=dict)
    rates: dict[Fraction, None] = field(default_factory=dict)

    def rekey(self) -> None:
        self.noise.rekey()

    def laplace(self, scale: Fraction, size: int) -> Ints:
        self.scales.setdefault(scale)
        return self.noise.laplace(scale, size)

    def laplace_each(self, scales: Sequence[Fraction], which: NDArray[np.intp]) -> Ints:
        self.scales.update(dict.fromkeys(scales))
        return self.noise.laplace_each(scales, which)

    def cube(self, scale: Fraction, size: int) -> Ints:
        self.cubes.setdefault(size, scale)
        return self.noise.cube(scale, size)

    def bernoulli(self, chance: Fraction, shape: tuple[int, ...]) -> Mask:
        self.coins.setdefault(chance)
        return self.noise.bernoulli(chance, shape)

    def bernoulli_exp(self, rate: Fraction, steps: Ints) -> Mask:
        self.rates.setdefault(rate)
        return self.noise.bernoulli_exp(rate, steps)

    def order(self, size: int) -> NDArray[np.intp]:
        return self.noise.order(size)


def draws_are_as_wide_as_asked(subject: Subject) -> None:
    """What the mechanism draws, its kernel's noise draws as wide as was asked, and coins fall as often."""
    asked = Asked(SimulationNoise(1))
    for stream in subject.streams():
        subject.run(stream, asked)
    for what, width, drawn in _again(asked, subject.kernel.noise()):
        subject.require(width.fits(drawn), f"{what} is as asked")


def _again(asked: Asked, noise: Noise) -> Iterator[tuple[str, Width, Floats]]:
    """Everything that was asked for, drawn again: what it is, what its width should be, and the draws."""
    for scale in [*asked.scales][:KINDS]:
        alike = np.zeros(DRAWS, np.intp)
        yield "the width of noise", laplace_width(scale), np.abs(noise.laplace(scale, DRAWS)).astype(np.float64)
        each = np.abs(noise.laplace_each([scale], alike)).astype(np.float64)
        yield "the width of noise bought bin by bin", laplace_width(scale), each
    for size, scale in [*asked.cubes.items()][:KINDS]:
        farthest = np.array([np.abs(noise.cube(scale, size)).max() for _ in range(DRAWS)], np.float64)
        yield f"the largest of {size} numbers that share a reach", cube_width(scale, size), farthest
    for chance in [*asked.coins][:KINDS]:
        yield "the chance of a coin", coin_width(float(chance)), noise.bernoulli(chance, (DRAWS,)).astype(np.float64)
    for rate in [*asked.rates][:KINDS]:
        steps = np.full(DRAWS, math.ceil(1 / rate))
        expected = coin_width(math.exp(-float(rate) * math.ceil(1 / rate)))
        yield "the chance of a coin that falls by steps", expected, noise.bernoulli_exp(rate, steps).astype(np.float64)


def laplace_width(scale: Fraction) -> Width:
    """Of discrete Laplace noise, without its sign.

    >>> round(laplace_width(Fraction(10)).mean, 3)
    9.983
    """
    q = math.exp(-1 / scale)
    mean = 2 * q / (1 - q * q)
    return Width(mean, math.sqrt(2 * q / (1 - q) ** 2 - mean * mean))


def cube_width(scale: Fraction, size: int) -> Width:
    """Of the largest of ``size`` numbers that share a reach: (2 m + 1)^size - (2 m - 1)^size places lie m far out."""
    if scale >= FINE:
        return Width(size * float(scale), math.sqrt(size) * float(scale))
    far = np.arange(1, math.ceil((size + CHANCE * CHANCE) * float(scale)) + 2, dtype=np.float64)
    inner = (2 * far - 1) / (2 * far + 1)
    logs = size * np.log(2 * far + 1) + np.log1p(-(inner**size)) - far / float(scale)
    weights = np.exp(np.append(0.0, logs) - max(logs.max(), 0.0))
    weights /= weights.sum()
    places = np.append(0.0, far)
    mean = float((weights * places).sum())
    return Width(mean, math.sqrt(float((weights * np.square(places - mean)).sum())))


def coin_width(chance: float) -> Width:
    """Of coins that count 1 with this chance."""
    return Width(chance, math.sqrt(chance * (1 - chance)))
