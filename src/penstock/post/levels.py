"""Bins of several levels in one histogram: a nation, its regions, their towns; each the sum of its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BadInput
from penstock.parameters import nearest
from penstock.post.constraints import Total
from penstock.post.step import R, Step, addable, variances_of
from penstock.primitives.projection import fitted, scaled
from penstock.types import Floats, Ints, Kind, Release


class Level(NamedTuple):
    """The bins at one depth below the tops: those of one parent lie beside each other, from ``starts`` on."""

    bins: Ints
    parents: Ints  # each once
    groups: Ints  # the number of its parent, for each bin
    starts: Ints


class Levels(Step):
    """Every bin that has parts becomes their sum, by what is measured on all levels together.

    ``parents`` tells the parts of each bin that has any, by name; ``bins`` are the names of all. A bin is part of one
    other at most; those that are part of none are the tops. The result is the histogram nearest to what was measured
    that adds up (generalised least squares, variances ``noise_sd**2``), in whole numbers: at every level what is
    missing to the bin above is shared out in proportion to variances. With ``total`` the tops add up to that.

    With ``non_negative`` nothing is below 0: from the tops down, each bin's parts are the nearest ones that are not
    and add up; the tops keep their sum. A ``kind`` stays where all bins that hang together have the same, else it is
    estimated. ``noise_sd`` is exact where the noise of the bins was as stated and independent, up to rounding; if
    negative values were cut, it is that of the values before the cut.

    >>> import penstock as ps
    >>> release = ps.Release(1, np.array([10, 4, 3]), np.zeros(3, np.int8), np.ones(3), ps.Epsilon(1))
    >>> adding_up = Levels(["nation", "north", "south"], {"nation": ["north", "south"]})
    >>> adding_up(release).values, adding_up(release).noise_sd.round(2)
    (array([9, 5, 4]), array([0.82, 0.82, 0.82]))
    """

    def __init__(
        self,
        bins: Sequence[str],
        parents: Mapping[str, Sequence[str]],
        *,
        non_negative: bool = False,
        total: int | Mapping[str, int] | None = None,
    ) -> None:
        above = _above(list(bins), parents)
        self._levels = _levels(above)
        self._tops = np.flatnonzero(above < 0)
        self._tree = _tops_of(above)
        self._total = None if total is None else Total(total, non_negative=non_negative)
        self.non_negative = non_negative
        besides = self._total.says if self._total else "non-negative" if non_negative else ""
        self.says = "levels adding up" + (f", {besides}" if besides else "")

    def __call__(self, release: R) -> R:
        """The release, adding up."""
        if len(release.values) != len(self._tree):
            raise BadInput(f"this release has {len(release.values)} bins, not {len(self._tree)}; name all of them.")
        variances = variances_of(release)
        whole, part, weights = self._upwards(addable(release.values), scaled(variances))
        values = self._downwards(release, whole, part, weights)
        noise_sd = np.sqrt(self._remaining(weights) * variances.max())
        return self._changed(release, values=values, kind=self._kinds(release), noise_sd=noise_sd)

    def _upwards(self, values: Ints, weights: Floats) -> tuple[Ints, Floats, Floats]:
        """What each bin and all below it say about it, as a whole number and a part of one, and its variance."""
        whole, part, variance = values.copy(), np.zeros(len(values)), weights.copy()
        for level in reversed(self._levels):
            above, below = level.parents, [level.bins, level.starts]
            variance_of_sum = _sums(variance, *below)
            share = variance[above] / (variance[above] + variance_of_sum)
            shift = (_sums(whole, *below) - whole[above] + _sums(part, *below)) * share
            whole[above] += np.floor(shift).astype(np.int64)
            part[above] = shift - np.floor(shift)
            variance[above] = variance_of_sum * share
        return whole, part, variance

    def _downwards(self, release: Release, whole: Ints, part: Floats, variance: Floats) -> Ints:
        """Whole numbers that add up: the tops first, then below each bin its parts."""
        values = np.empty_like(whole)
        tops = Level(self._tops, self._tops[:1], np.zeros(len(self._tops), np.int64), np.zeros(1, np.int64))
        totals = np.array([self._sum_of_tops(release, whole[self._tops], part[self._tops])])
        for level in (tops, *self._levels):
            totals = totals if level is tops else values[level.parents]
            values[level.bins] = fitted(
                whole[level.bins],
                level.groups,
                totals,
                variances=variance[level.bins],
                parts=part[level.bins],
                non_negative=self.non_negative,
            )
        return values

    def _sum_of_tops(self, release: Release, whole: Ints, part: Floats) -> int:
        if self._total:
            return self._total.of(release)
        found = int(whole.sum()) + round(float(part.sum()))
        return max(found, 0) if self.non_negative else found

    def _remaining(self, variance: Floats) -> Floats:
        """The variances of the results: of each bin's own deviation from the parts beside it, and of the bin above."""
        tops = variance[self._tops]
        remaining = variance.copy()
        if self._total:
            remaining[self._tops] = tops - tops**2 / tops.sum()
        for level in self._levels:
            own = variance[level.bins]
            share = own / _sums(variance, level.bins, level.starts)[level.groups]
            remaining[level.bins] = own * (1 - share) + share**2 * remaining[level.parents][level.groups]
        return np.maximum(remaining, 0.0)

    def _kinds(self, release: Release) -> NDArray[np.int8]:
        mixed = np.zeros(len(self._tree), np.bool_)
        mixed[self._tree[release.kind != release.kind[self._tree]]] = True
        return np.where(mixed[self._tree], np.int8(Kind.ESTIMATED), release.kind)


def _sums(x: Ints | Floats, bins: Ints, starts: Ints) -> Ints | Floats:
    sums: Ints | Floats = np.add.reduceat(x[bins], starts)
    return sums


def _above(bins: list[str], parents: Mapping[str, Sequence[str]]) -> Ints:
    """The number of the bin above each, or -1."""
    numbers = {name: number for number, name in enumerate(bins)}
    above = np.full(len(bins), -1)
    for name, parts in parents.items():
        if isinstance(parts, str) or not parts:
            raise BadInput(f'the parts of "{name}" must be a list of at least one bin; list them, or leave it out.')
        if name not in numbers:
            raise _unknown(name, bins)
        for part in parts:
            if part not in numbers:
                raise _unknown(part, bins)
            if above[numbers[part]] >= 0:
                raise BadInput(f'"{part}" is listed twice; every bin is part of one other at most.')
            above[numbers[part]] = numbers[name]
    return above


def _unknown(name: str, bins: list[str]) -> BadInput:
    return BadInput(f"there is no bin {name!r} among those released.{nearest(str(name), bins)}")


def _levels(above: Ints) -> list[Level]:
    """The bins below the tops, level by level; a bin that no level reaches would be part of itself."""
    levels, reached = [], np.flatnonzero(above < 0)
    while len(reached):
        bins = np.flatnonzero(np.isin(above, reached))
        bins = bins[np.argsort(above[bins], kind="stable")]
        if len(bins):
            parents, starts, groups = np.unique(above[bins], return_index=True, return_inverse=True)
            levels.append(Level(bins, parents, groups, starts))
        reached = bins
    if sum(len(level.bins) for level in levels) < np.count_nonzero(above >= 0):
        raise BadInput("some bins are parts of themselves, by way of others; list the parts of each bin once.")
    return levels


def _tops_of(above: Ints) -> Ints:
    """The top above each bin, which is its own if it has none above."""
    top = np.where(above < 0, np.arange(len(above)), above)
    while not np.array_equal(top, top[top]):
        top = top[top]
    return top
