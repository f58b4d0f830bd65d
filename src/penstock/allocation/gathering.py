"""For how many units a bin is gathered before it is read, where every unit has all of epsilon to itself.

A sum of k units that is read once has the noise of one unit, not of k; but until then nothing is known of them. A small
part of epsilon looks at every unit of a bin that waits, so that a large jump is read at once. How long a bin waits is
decided by what is known of how it moves, by a table that needs no data, and by what its forecasts have missed so far.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from penstock.allocation.collecting import ALARM
from penstock.primitives.covariances import Covariances
from penstock.primitives.hearing import NOISE
from penstock.primitives.ways import Ways, all_ways
from penstock.types import Floats, Ints, Mask

LENGTHS = np.array([1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20])  # units
FIRST = 5  # units that are read one by one
PROBE, LEAST, MOST = 0.06, 0.002, 0.15  # of epsilon, for each unit that may be missed if there is one bin; bounds of it
UNSEEN = 0.03  # of the square of what a probe does not see: that of a jump, in the mean, if there is one bin
FAR = 3.0  # deviations that a forecast is off if something sudden has happened
REMEMBERED = 300  # units, of what was sudden
RECENT = 25  # readings, by which forecasts are as good as they say or not
LENT, LENDS = 0.3, 20.0  # of what was sudden in other bins, in the mean; of each so much at most: some always jump
LONGEST = 60  # units of a sum: longer ones are planned for as if they were so long
SETTLED = 120  # units of a table, after those in which it forgets how it began

LATE = np.array([np.mean(np.cumsum(np.arange(k) ** 2)) for k in LENGTHS])  # squares that a jump of 1 adds up to unread


class Gathering:
    """The plan for ``bins`` of which sums of ``width`` units are estimated. It goes by published values only."""

    def __init__(self, bins: int, width: int) -> None:
        ways = all_ways()
        self._variance = expected_variance(min(width, LONGEST), bins)
        self._seen = np.where(LENGTHS > 1, ALARM / np.maximum(probes(bins), LEAST), 0.0)  # jumps that a probe sees
        self._jumps = UNSEEN / np.sqrt(bins) * np.exp(ways.rates[1:]).sum(axis=0)
        self.chosen = np.zeros(bins, np.int64)
        self.sudden = np.zeros((bins, len(LENGTHS)))  # squares of what was sudden and would not be seen, in a unit
        self.missed, self.stated = np.zeros((2, bins))  # squares of what forecasts were off by, and should be

    @property
    def lengths(self) -> Ints:
        """Of the group that every bin is in."""
        lengths: Ints = LENGTHS[self.chosen]
        return lengths

    @property
    def worse(self) -> Floats:
        """How many times further off than they should be forecasts have been lately; never below 1."""
        worse: Floats = np.sqrt(np.maximum(self.missed / np.maximum(self.stated, NOISE), 1.0))
        return worse

    def learn(self, read: Mask, missed: Floats, stated: Floats, units: Ints) -> None:
        """Forecasts of bins that were ``read`` were off by so much, where this variance was to be expected.

        What is sudden counts as a jump of the last unit of a group of one, or of one in its middle.
        """
        kept, square = 1 - 1 / RECENT, np.square(missed)
        self.missed = np.where(read, kept * self.missed + np.minimum(square, (10 * FAR) ** 2 * stated), self.missed)
        self.stated = np.where(read, kept * self.stated + stated, self.stated)
        jump = 2 * np.abs(missed) / (units + 1)
        unseen = np.square(np.minimum(jump[:, np.newaxis], self._seen))
        self.sudden *= 1 - 1 / REMEMBERED
        self.sudden += (read & (square > FAR**2 * stated))[:, np.newaxis] * unseen / REMEMBERED

    def plan(self, likely: Floats, idle: Mask) -> None:
        """Choose anew where nothing is gathered, by how likely every way to move is: what has the least squared error.

        That is what models expect, more where forecasts have been worse than they say, and what jumps would cost.
        """
        lent = (self.sudden + LENT * np.minimum(self.sudden, LENDS).mean(axis=0)) / (1 + LENT)
        expected = likely @ self._variance.T * np.where(LENGTHS > 1, self.worse[:, np.newaxis], 1.0)
        expected += LATE * (lent + (likely @ self._jumps)[:, np.newaxis] * np.square(self._seen))
        self.chosen = np.where(idle, expected.argmin(axis=1), self.chosen)

    def give_up(self, bins: Mask) -> None:
        """What was gathered in these bins is lost: they are read at once, and then planned for anew."""
        self.chosen = np.where(bins, 0, self.chosen)

    def save(self) -> dict[str, Any]:
        return {"chosen": self.chosen, "sudden": self.sudden, "missed": self.missed, "stated": self.stated}

    def load(self, saved: dict[str, Any]) -> None:
        for name, value in saved.items():
            setattr(self, name, np.array(value))


def probes(bins: int) -> Floats:
    """The part of epsilon that looks at units of a group of each length.

    The longer it is, the more a jump costs that nobody sees. Of many bins one that jumps is a small part of all errors.
    """
    parts: Floats = np.clip(PROBE * (LENGTHS - 1) / np.sqrt(bins), LEAST, MOST)
    return np.where(LENGTHS > 1, parts, 0.0)


@lru_cache(maxsize=8)
def expected_variance(width: int, bins: int) -> Floats:
    """Of a sum of so many units, in the mean over time, by length of groups and way to move: as if noise were normal.

    >>> expected_variance(15, bins=1)[:3, [0, 14]].round(1)  # standing still, and a walk with steps of 3 noise scales
    array([[ 3.7, 29.7],
           [ 2.3, 24.7],
           [ 1.8, 44.4]])
    """
    ways = all_ways()
    known, gathered = Covariances(len(LENGTHS), width, ways), np.zeros(len(LENGTHS), np.int64)
    known.level += NOISE + ways.around
    noise = NOISE / np.square(1 - probes(bins))[:, np.newaxis]
    before, whole = 4 * max(width, LENGTHS.max()), np.zeros_like(known.level)
    for unit in range(before + SETTLED):
        known.advance()
        known.join()
        gathered += 1
        full = gathered == LENGTHS
        _settle(known, full, noise, ways)
        gathered[full] = 0
        if unit >= before:
            whole += known.sums[-1] / SETTLED
    return whole


def _settle(known: Covariances, full: Mask, noise: Floats, ways: Ways) -> None:
    """What groups that are full have gathered is read."""
    trends, gain = ways.trends, full[:, np.newaxis] / (known.gathered + noise)
    turned, along = gain[:, trends] * known.turning, gain * known.leaning
    known.sums -= gain * np.square(known.shared)
    known.crossed -= along * known.shared
    known.drifting -= turned * known.shared[..., trends]
    known.level -= along * known.leaning
    known.mixed -= turned * known.leaning[:, trends]
    known.velocity -= turned * known.turning
    known.begin_anew(full)
