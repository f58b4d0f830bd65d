"""Baseline: what user-level privacy costs without a plan."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.mechanisms.uniform import Uniform
from penstock.models import UserLevel


@dataclass(kw_only=True)
class Baseline(Uniform):
    """Publish always, with epsilon / N for each of the N units of the horizon: Uniform, at user level (Li et al. 2015).

    Every other user-level mechanism has to beat it; on a long horizon that is easy.

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = Baseline(model=UserLevel(epsilon=1, horizon=2))
    >>> for release in publish(Stream([[5], [7]]), mechanism, noise=ScriptedNoise([1, -2])):
    ...     print(release.t, release.values, release.charged)
    1 [6] 0.5
    2 [5] 0.5
    """

    proven_for: ClassVar = (UserLevel,)
    paper: ClassVar = "Li et al. 2015"
