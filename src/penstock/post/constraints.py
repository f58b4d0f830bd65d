"""What is known about a histogram besides: that counts are not negative, and how many there are in all."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.errors import BadInput
from penstock.parameters import from_one_to
from penstock.post.step import LARGEST_SUM, R, Step, addable, divided, variances_of
from penstock.primitives.projection import fitted
from penstock.types import Ints, Published, Release

LARGEST_TOTAL = 2**60
COARSEST = 2**53


class NonNegative(Step):
    """Without negative values: the nearest histogram that has none, and the same total.

    What is below 0 becomes 0, which alone would make the total larger; so the rest gives way, the noisiest most. A
    total below 0 becomes 0. With ``keep_total=False`` values below 0 become 0 and all others stay, and so do the ends
    of intervals, which hold as before: no count is below 0. ``noise_sd`` is that of the value before.

    >>> import penstock as ps
    >>> release = ps.Release(1, np.array([9, 4, -4]), np.zeros(3, np.int8), np.ones(3), ps.Epsilon(1))
    >>> NonNegative()(release).values, NonNegative(keep_total=False)(release).values
    (array([7, 2, 0]), array([9, 4, 0]))
    """

    def __init__(self, *, keep_total: bool = True) -> None:
        self.keep_total = keep_total
        self.keeps_intervals = not keep_total
        self.says = "non-negative" if keep_total else "negative values cut"

    def __call__(self, release: R) -> R:
        """The release without negative values."""
        if not self.keep_total:
            said = {"values": release.values, "low": release.low, "high": release.high}
            cut = {name: np.maximum(each, 0) for name, each in said.items() if each is not None}
            return self._changed(release, **cut)
        values = addable(release.values)
        return self._changed(release, values=_with_total(release, values, max(int(values.sum()), 0), True))


class Total(Step):
    """With a total that is known: the nearest histogram that adds up to it, without negative values if wanted.

    ``total`` is one number for all units, or a number for each unit's label. It has to be public. ``noise_sd`` is that
    of the value before, which can only have become less unless negative values were cut.

    >>> import penstock as ps
    >>> release = ps.Release(1, np.array([9, 4, -4]), np.zeros(3, np.int8), np.array([1, 1, 2]), ps.Epsilon(1))
    >>> Total(15)(release).values
    array([10,  5,  0])
    """

    def __init__(self, total: int | Mapping[str, int], *, non_negative: bool = False) -> None:
        self._totals = total
        self.non_negative = non_negative
        for each in total.values() if isinstance(total, Mapping) else [total]:
            _require_total(each, non_negative)
        counted = "known totals" if isinstance(total, Mapping) else f"a total of {total}"
        self.says = counted + (", non-negative" if non_negative else "")

    def __call__(self, release: R) -> R:
        """The release with its total."""
        values = _with_total(release, addable(release.values), self.of(release), self.non_negative)
        return self._changed(release, values=values)

    def of(self, release: Release) -> int:
        """The total of the unit of this release."""
        if not isinstance(self._totals, Mapping):
            return self._totals
        label = release.label if isinstance(release, Published) else str(release.t)
        if label not in self._totals:
            raise BadInput(f'the total of "{label}" is not known; give one for every time unit.')
        return self._totals[label]


def _require_total(total: object, non_negative: bool) -> None:
    """Refuse what cannot be a total."""
    least = 0 if non_negative else -LARGEST_TOTAL
    if not isinstance(total, (int, np.integer)) or isinstance(total, bool) or not least <= total <= LARGEST_TOTAL:
        above = "from 0 to 2**60" if non_negative else "from -2**60 to 2**60"
        raise BadInput(f"a total must be a whole number {above}; got {total!r}.")


def _with_total(release: Release, values: Ints, total: int, non_negative: bool) -> Ints:
    everything = np.zeros(len(values), np.int64)
    return fitted(values, everything, np.array([total]), variances=variances_of(release), non_negative=non_negative)


class Rounded(Step):
    """Rounded to multiples of ``to``, the nearest, halves to the even multiple; as agencies do.

    Sums need not add up any more afterwards. ``noise_sd`` is that of the value before; rounding itself moves a value by
    up to half of ``to``.

    >>> import penstock as ps
    >>> release = ps.Release(1, np.array([14, 15, -25]), np.zeros(3, np.int8), np.ones(3), ps.Epsilon(1))
    >>> Rounded(10)(release).values
    array([ 10,  20, -20])
    """

    def __init__(self, to: int) -> None:
        from_one_to("the number to round to", to, COARSEST)
        self.to = to
        self.says = f"rounded to {to}"

    def __call__(self, release: R) -> R:
        """The release, rounded."""
        return self._changed(
            release, values=divided(np.clip(release.values, -LARGEST_SUM, LARGEST_SUM), self.to) * self.to
        )
