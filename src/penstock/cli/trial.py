"""A mechanism tried on a made-up stream, where the truth is known because nobody lives in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.mechanisms.base import Mechanism
from penstock.noise import Noise
from penstock.post.sliding import SlidingSum, sliding_sums
from penstock.streams import Stream
from penstock.types import Ints


@dataclass(frozen=True)
class Trial:
    """What a mechanism published of a stream, and what it cost. Errors are per bin and time unit."""

    truth: Ints
    values: Ints
    fresh: int
    peak: Epsilon

    @property
    def mean_error(self) -> float:
        """The mean absolute error."""
        return float(np.abs(self.values - self.truth).mean())

    @property
    def relative_error(self) -> float:
        """The mean error as a part of the count; counts of 0 divide by 1."""
        return float((np.abs(self.values - self.truth) / np.maximum(self.truth, 1)).mean())

    def releases_per_window(self, window: int) -> float:
        """How many releases that are not just repeated a window has on average."""
        return self.fresh * min(window, len(self.truth)) / len(self.truth)


def tried(stream: Stream, mechanism: Mechanism, noise: Noise | None = None, width: int = 1) -> Trial:
    """Publish the stream in memory, as sums over the last ``width`` units."""
    curator = Curator(mechanism.model, stream.bins, noise=noise)
    mechanism.start(curator)
    releases = [mechanism.step(snapshot) for snapshot in stream]
    fresh = sum(release.is_new for release in releases)
    values = np.array([release.values for release in map(SlidingSum(width), releases)])
    return Trial(sliding_sums(stream.counts, width), values, fresh, curator.ledger.audit().peak)
