"""Range counts: how many records lie in some bins, during some time, as far as releases tell.

A noise interval says how far the drawn noise alone may have moved a sum. It is no confidence interval for the count
unless every value is fresh: what a republished value has missed since, or how uneven a group is, no noise tells. So
only sums of fresh values get one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BadInput
from penstock.histograms import Histogram, Laplace
from penstock.histograms.base import Shape
from penstock.histograms.catalogue import histogram_of, measured_by, require_shape, shape_of
from penstock.parameters import within
from penstock.theory.sums import condensed, half_width
from penstock.types import Floats, Kind, Mask, Published, Release

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
    within("confidence", confidence, 0, 1)
    asked = [releases] if isinstance(releases, Release) else list(releases)
    if not asked:
        raise BadInput("there is no release of that time; ask about units that were published.")
    bins = len(asked[0].values)
    chosen = np.ones(bins, np.bool_) if where is None else np.asarray(where)
    if chosen.dtype != np.bool_ or {chosen.shape, *(release.values.shape for release in asked)} != {(bins,)}:
        raise BadInput(f"bins are chosen by a mask of all {bins} of them, as domain.where() makes it.")
    if histogram is not None and shape is not None:
        require_shape(shape_of(shape), bins)
    kinds = np.array([release.kind[chosen] for release in asked])
    total = sum(int(release.values[chosen].sum(dtype=object)) for release in asked) if chosen.any() else 0
    plain = _credible(Answer(total, kinds.size, int((kinds == Kind.FRESH).sum()), confidence), asked, chosen)
    if not kinds.size:
        return replace(plain, noise_sd=0.0, low=0, high=0)
    warning = _untold(kinds) or _missing([release.t for release in asked])
    if warning:
        return replace(plain, warning=warning)
    methods = {_method(release, histogram, shape) for release in asked}
    method = methods.pop()
    if methods or method is None:
        return replace(plain, warning=_unknown(asked))
    return _with_interval(plain, asked, chosen, *method)


def _credible(answer: Answer, asked: Sequence[Release], chosen: Mask) -> Answer:
    """The answer with the interval that its release gives, if it is about a single value."""
    low, high = asked[0].low, asked[0].high
    if answer.values != 1 or low is None or high is None:
        return answer
    return replace(answer, credible_low=int(low[chosen][0]), credible_high=int(high[chosen][0]))


def _untold(kinds: NDArray[np.int8]) -> str:
    """What is not known about values that are not fresh."""
    counted = {kind: int((kinds == kind).sum()) for kind in UNTOLD}
    parts = [f"{number} {'is' if number == 1 else 'are'} {UNTOLD[kind]}" for kind, number in counted.items() if number]
    if sum(counted.values()) == kinds.size and len(parts) == 1:
        return f"{'the value is' if kinds.size == 1 else 'all values are'} {parts[0].split(' ', 2)[2]}."
    return f"of {kinds.size} values {'; '.join(parts)}." if parts else ""


def _missing(units: Sequence[int]) -> str:
    """What is not known about the time between; noise that is the same again would not be of another unit."""
    if any(following <= unit for unit, following in pairwise(units)):
        raise BadInput("releases are asked in order of time, each once; put them in order.")
    missing = units[-1] - units[0] + 1 - len(units)
    several = "1 unit of that time is" if missing == 1 else f"{missing} units of that time are"
    return f"{several} not known, and not in the count." if missing else ""


def _method(release: Release, histogram: Histogram | None, shape: Shape | None) -> Method | None:
    """How a release was measured, in a domain of which shape."""
    if isinstance(release, Published):
        told = measured_by(release.mechanism)
        fits = told is not None and math.prod(told[1] or (len(release.values),)) == len(release.values)
        return (told[0], told[1] or (len(release.values),)) if told and fits else None
    return None if histogram is None else (histogram_of(histogram), shape_of(shape or (len(release.values),)))


def _unknown(asked: Sequence[Release]) -> str:
    origins = {release.mechanism for release in asked if isinstance(release, Published)}
    if len(origins) > 1:
        return f"these releases are of different origin: {', '.join(sorted(origins))}; ask about one at a time."
    if origins:
        return f"these releases are of {origins.pop()}; ask those of before for a noise interval."
    return "nobody has said how these releases were measured; pass histogram= for a noise interval."


def _with_interval(
    answer: Answer, asked: Sequence[Release], chosen: Mask, histogram: Histogram, shape: Shape
) -> Answer:
    """The answer with its noise interval. Different time units have noise of their own."""
    noises = [histogram.noises(shape, _measured_sd(release), chosen.astype(np.float64)) for release in asked]
    drawn = np.concatenate([each for each in noises if each is not None] or [np.empty(0)])
    if len(noises) > sum(each is not None for each in noises):
        return replace(answer, warning=f"{histogram} does not tell how far sums are off.")
    if isinstance(histogram, Laplace):
        reach = int(half_width(drawn, answer.confidence))
    else:  # parts of noises are not whole; their sum is
        reach = max(math.ceil(half_width(condensed(drawn), answer.confidence, discrete=False) - 0.5), 0)
    spread = float(np.sqrt((drawn**2).sum()))
    return replace(answer, noise_sd=spread, low=answer.value - reach, high=answer.value + reach)


def _measured_sd(release: Release) -> Floats:
    """The noise of every bin that was measured together with the others in this unit."""
    sds: Floats = np.where(release.kind == Kind.FRESH, release.noise_sd, np.nan)
    return sds
