"""Baseline: what privacy costs without a plan."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.mechanisms.uniform import Uniform
from penstock.models import EventLevel, UserLevel


@dataclass(kw_only=True)
class Baseline(Uniform):
    """Publish always: Uniform, by the name it has in experiments at user level and at event level (Li et al. 2015).

    At user level each of the N units of the horizon has epsilon / N, which every other mechanism has to beat; on a long
    horizon that is easy. At event level (Chen et al. 2015) every unit has all of epsilon, which is hard to beat; sums
    over a sliding window are made of its releases by ``post.SlidingSum``.

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = Baseline(model=UserLevel(epsilon=1, horizon=2))
    >>> for release in publish(Stream([[5], [7]]), mechanism, noise=ScriptedNoise([1, -2])):
    ...     print(release.t, release.values, release.charged)
    1 [6] 0.5
    2 [5] 0.5
    """

    proven_for: ClassVar = (EventLevel, UserLevel)
    paper: ClassVar = "Li et al. 2015"
