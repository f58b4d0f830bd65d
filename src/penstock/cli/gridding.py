"""The grid points are snapped to, as a command is told it; if no step is told, one that follows from what is public."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from penstock.epsilon import Number
from penstock.errors import BadInput
from penstock.grid import BESIDES, MOST_CELLS, UP_TO, Axis, Grid, exactly, plainly
from penstock.spatial import WHOLE_DOMAIN
from penstock.static import CumulativeHistogram, PlainHistogram, Publication

FINE = 1000  # cells in a radius, at least: snapping then moves a point by less than noise does
MOST_UNEVEN = 1000 * FINE  # cells in a radius that does not go into its domain well
USUAL_BINS = 20

Ends = tuple[Fraction, Fraction]


def ends_of(domain: str) -> list[Ends]:
    """Where each axis begins and ends: ``0..100``, or ``0..10,0..20`` for two."""
    ends = []
    for part in domain.split(BESIDES):
        low, between, high = part.partition(UP_TO)
        if not between:
            raise BadInput(f"a domain is written low..high, 0..100, or 0..10,0..20 in a plane; got {domain!r}.")
        ends.append((exactly(low.strip()), exactly(high.strip())))
    return ends


def gridded(ends: Sequence[Ends], step: str | None, publication: Publication, radius: Number) -> Grid:
    """The grid with these steps, one for all axes or one for each; without any, with those that are usual."""
    if step is None:
        steps = [_usual(high - low, publication, radius) for low, high in ends]
    else:
        told = [exactly(part.strip()) for part in step.split(BESIDES)]
        steps = told * len(ends) if len(told) == 1 else told
    if len(steps) != len(ends):
        raise BadInput(f"a step is told for all axes or for each of them, as in 0.5,2; got {step!r}.")
    return Grid(tuple(Axis(*both, width) for both, width in zip(ends, steps, strict=True)))


def _usual(length: Fraction, publication: Publication, radius: Number) -> Fraction:
    """A width of cells that suits what is published. Refused where none is as good as any other."""
    if length <= 0:
        return Fraction(1)  # which the grid refuses
    reach = length if radius == WHOLE_DOMAIN else exactly(radius)
    if isinstance(publication, PlainHistogram) or (isinstance(publication, CumulativeHistogram) and reach == length):
        return length / USUAL_BINS
    if isinstance(publication, CumulativeHistogram):
        return _as_wide_as(length, reach)
    common = Fraction(math.gcd(length.numerator * reach.denominator, reach.numerator * length.denominator))
    step = _rounded(common / (length.denominator * reach.denominator), reach / FINE)
    if reach / step > MOST_UNEVEN or length / step > MOST_CELLS:
        raise BadInput(f"the radius {radius} does not go into the domain well; say with --step how wide cells are.")
    return step


def _rounded(common: Fraction, widest: Fraction) -> Fraction:
    """A part of what divides domain and radius alike, as wide as told at most, that is written in few digits."""
    parts = 1
    while True:
        for part in (parts, 2 * parts, 5 * parts):
            if common / part <= widest:
                return common / part
        parts *= 10


def _as_wide_as(length: Fraction, reach: Fraction) -> Fraction:
    """Bins as wide as the radius: a point crosses one boundary at most, and narrower ones would have more noise."""
    if length % reach or length < 2 * reach:
        raise BadInput(
            f"the domain cannot be divided evenly into bins of the radius, {plainly(reach)}; say with --step how wide"
            " bins are."
        )
    return reach
