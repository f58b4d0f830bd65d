"""Range counts: how many records lie in some bins, during some time, as far as releases tell.

A noise interval says how far the drawn noise alone may have moved a sum. It is no confidence interval for the count
unless every value is fresh: what a republished value has missed since, or how uneven a group is, no noise tells. So
only sums of fresh values get one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BadInput
from penstock.histograms import Histogram, Laplace
from penstock.histograms.base import Shape
from penstock.histograms.catalogue import histogram_of, measured_by, require_shape, shape_of
from penstock.parameters import within
from penstock.theory.sums import condensed, half_width
from penstock.types import Floats, Ints, Kind, Mask, Published, Release

USUAL_CONFIDENCE = 0.95
Method: TypeAlias = tuple[Histogram, Shape]
UNTOLD = {
    Kind.REPUBLISHED: "republished, and what has changed since is not known",
    Kind.GROUPED: "measured together with others, and how evenly they share is not known",
    Kind.ESTIMATED: "estimated from several units, and how they differ is not known",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """A count, and what is known about it.

    ``noise_sd`` is the standard deviation of the noise in it, ``low`` and ``high`` are the ends of its noise interval;
    all None where noise is not all that can be wrong with it, and then ``warning`` says what else. ``values`` is how
    many published values were added up, ``fresh`` how many of them are fresh.

    ``credible_low`` and ``credible_high`` are the ends of the interval that the release gives for a single value,
    by its mechanism's model of the stream; None for sums, and where it gives none.
    """

    value: int
    values: int
    fresh: int
    confidence: float
    noise_sd: float | None = None
    low: int | None = None
    high: int | None = None
    warning: str = ""
    credible_low: int | None = None
    credible_high: int | None = None


def count(
    releases: Release | Iterable[Release],
    where: Mask | None = None,
    *,
    histogram: Histogram | None = None,
    shape: Shape | None = None,
    confidence: float = USUAL_CONFIDENCE,
) -> Answer:
    """How many records the bins in ``where`` (all, if not told) hold, in all of the releases together.

    ``histogram`` and ``shape`` are those of the mechanism; releases that were stored tell by themselves. (In memory
    nobody can tell whether a release was processed since, and intervals are for those that were not.)

    >>> from penstock.epsilon import Epsilon
    >>> release = Release(1, np.array([120, 80, 7]), np.zeros(3, np.int8), np.full(3, 14.1), Epsilon("0.1"))
    >>> answer = count(release, np.array([True, True, False]), histogram=Laplace())
    >>> answer.value, answer.low, answer.high
    (200, 159, 241)
    """
    counting = Counting(where, histogram=histogram, shape=shape, confidence=confidence)
    for release in [releases] if isinstance(releases, Release) else releases:
        counting.add(release)
    return counting.answer()


class Counting:
    """A count that takes in one release after another, however many, and keeps none of them."""

    def __init__(
        self,
        where: Mask | None = None,
        *,
        histogram: Histogram | None = None,
        shape: Shape | None = None,
        confidence: float = USUAL_CONFIDENCE,
    ) -> None:
        within("confidence", confidence, 0, 1)
        self._where = where if where is None else _indices(np.asarray(where))
        self._told = (histogram, shape)
        self._confidence = confidence
        self._total = 0
        self._kinds = np.zeros(len(Kind), np.int64)
        self._times = _Times()
        self._methods: dict[str, Method | None] = {}  # by origin; releases in memory have none
        self._noises = Counter[float]()
        self._has_interval = True  # as far as it is known by now
        self._credible: tuple[int, int] | None = None  # of the first value, if its release gives an interval

    def add(self, release: Release) -> None:
        """The next release, in order of time."""
        if not self._times.number:
            self._begin(len(release.values))
        if release.values.shape != (self._bins,):
            raise _unlike(self._bins)
        kinds = release.kind[self._chosen]
        if not self._kinds.any() and kinds.size and release.low is not None and release.high is not None:
            self._credible = int(release.low[self._chosen[0]]), int(release.high[self._chosen[0]])
        self._times.add(release.t)
        self._kinds += np.bincount(kinds, minlength=len(self._kinds))
        self._total += int(release.values[self._chosen].sum(dtype=object)) if kinds.size else 0
        origin = release.mechanism if isinstance(release, Published) else ""
        if origin not in self._methods:
            self._methods[origin] = _method(release, *self._told)
            self._has_interval = self._has_interval and not self._is_unknown
        if self._has_interval and kinds.size:
            self._has_interval = not (kinds.any() or self._times.has_gaps) and self._measure(release)

    def _begin(self, bins: int) -> None:
        histogram, shape = self._told
        self._bins = bins
        size, self._chosen = (bins, np.arange(bins)) if self._where is None else self._where
        if size != bins:
            raise _unlike(bins)
        if histogram is not None and shape is not None:
            require_shape(shape_of(shape), bins)

    @property
    def _is_unknown(self) -> bool:
        """Whether releases were measured in more than one way, or in an unknown one."""
        methods = set(self._methods.values())
        return len(methods) > 1 or None in methods

    @property
    def _method(self) -> Method:
        return next(iter(self._methods.values())) or (Laplace(), ())

    def _measure(self, release: Release) -> bool:
        """Take in the noise of a release, if the method can tell it. Different time units have noise of their own."""
        histogram, shape = self._method
        weights = np.zeros(self._bins)
        weights[self._chosen] = 1
        noises = histogram.noises(shape, _measured_sd(release), weights)
        if noises is None:
            return False
        if (noises == noises[:1]).all():
            sds, often = noises[:1], np.full(len(noises[:1]), noises.size)
        else:
            sds, often = np.unique(noises, return_counts=True)
        for sd, number in zip(sds.tolist(), often.tolist(), strict=True):
            self._noises[sd] += number
        return True

    def answer(self) -> Answer:
        """The count of all releases that were taken in."""
        if not self._times.number:
            raise BadInput("there is no release of that time; ask about units that were published.")
        values = int(self._kinds.sum())
        plain = Answer(self._total, values, int(self._kinds[Kind.FRESH]), self._confidence)
        if values == 1 and self._credible:
            plain = replace(plain, credible_low=self._credible[0], credible_high=self._credible[1])
        if not values:
            return replace(plain, noise_sd=0.0, low=0, high=0)
        warning = _untold(self._kinds) or self._times.missing() or (_unknown(self._methods) if self._is_unknown else "")
        if not (warning or self._has_interval):
            warning = f"{self._method[0]} does not tell how far sums are off."
        return replace(plain, warning=warning) if warning else self._with_interval(plain)

    def _with_interval(self, answer: Answer) -> Answer:
        drawn, often = np.array(list(self._noises)), np.array(list(self._noises.values()), np.int64)
        if isinstance(self._method[0], Laplace):
            reach = int(half_width(drawn, answer.confidence, often=often))
        else:  # parts of noises are not whole; their sum is
            fewer = condensed(drawn, often=often)
            reach = max(math.ceil(half_width(fewer, answer.confidence, discrete=False) - 0.5), 0)
        spread = float(np.sqrt((often * drawn**2).sum()))
        return replace(answer, noise_sd=spread, low=answer.value - reach, high=answer.value + reach)


def _indices(mask: NDArray[Any]) -> tuple[int, Ints]:
    """How many bins a mask is of, and which of them it chooses: few of many, where there are many questions."""
    return (mask.size if mask.dtype == np.bool_ and mask.ndim == 1 else -1), np.flatnonzero(mask)


def _unlike(bins: int) -> BadInput:
    return BadInput(f"bins are chosen by a mask of all {bins} of them, as domain.where() makes it.")


@dataclass
class _Times:
    """The time units that were taken in."""

    number: int = 0
    first: int = 0
    last: int = 0
    in_order: bool = True

    def add(self, t: int) -> None:
        self.in_order = self.in_order and t > self.last
        self.first, self.last, self.number = self.first or t, t, self.number + 1

    @property
    def has_gaps(self) -> bool:
        """Whether units are missing, or not in order."""
        return not self.in_order or self.last - self.first + 1 > self.number

    def missing(self) -> str:
        """What is not known about the time between; noise that is the same again would not be of another unit."""
        if not self.in_order:
            raise BadInput("releases are asked in order of time, each once; put them in order.")
        missing = self.last - self.first + 1 - self.number
        several = "1 unit of that time is" if missing == 1 else f"{missing} units of that time are"
        return f"{several} not known, and not in the count." if missing else ""


def _untold(kinds: Ints) -> str:
    """What is not known about values that are not fresh."""
    total, others = kinds.sum(), {kind: kinds[kind] for kind in UNTOLD if kinds[kind]}
    parts = [f"{number} {'is' if number == 1 else 'are'} {UNTOLD[kind]}" for kind, number in others.items()]
    if sum(others.values()) == total and len(parts) == 1:
        return f"{'the value is' if total == 1 else 'all values are'} {parts[0].split(' ', 2)[2]}."
    return f"of {total} values {'; '.join(parts)}." if parts else ""


def _method(release: Release, histogram: Histogram | None, shape: Shape | None) -> Method | None:
    """How a release was measured, in a domain of which shape."""
    if isinstance(release, Published):
        told = measured_by(release.mechanism)
        fits = told is not None and math.prod(told[1] or (len(release.values),)) == len(release.values)
        return (told[0], told[1] or (len(release.values),)) if told and fits else None
    return None if histogram is None else (histogram_of(histogram), shape_of(shape or (len(release.values),)))


def _unknown(known: Iterable[str]) -> str:
    origins = sorted(filter(None, known))
    if len(origins) > 1:
        return f"these releases are of different origin: {', '.join(origins)}; ask about one at a time."
    if origins:
        return f"these releases are of {origins[0]}; ask those of before for a noise interval."
    return "nobody has said how these releases were measured; pass histogram= for a noise interval."


def _measured_sd(release: Release) -> Floats:
    """The noise of every bin that was measured together with the others in this unit."""
    if not release.kind.any():
        return release.noise_sd
    sds: Floats = np.where(release.kind == Kind.FRESH, release.noise_sd, np.nan)
    return sds
