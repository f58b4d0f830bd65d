"""Adj: dynamic allocation, with the adjacent release to repeat."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from penstock.mechanisms.ma import MA
from penstock.models import DeltaNeighbourhood, EventLevel, MContext, UserLevel, WEvent


@dataclass(kw_only=True)
class Adj(MA):
    """Repeat the last release while it is near enough, or publish with half of what is left (Cao, Yoshikawa 2015).

    It is MA(1). Made for m-context; under other models much like BD. Best where users' counts seldom change.

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = Adj(model=MContext(epsilon=8, m=2))
    >>> stream = Stream([[2, 0], [2, 0], [0, 2], [1, 0]], presence=[["ann", "bob"]] * 3 + [["cyd"]])
    >>> for release in publish(stream, mechanism, noise=ScriptedNoise()):
    ...     print(release.t, release.values, release.kind, release.charged)
    1 [2 0] [0 0] 2
    2 [2 0] [1 1] 2
    3 [0 2] [0 0] 4
    4 [1 0] [0 0] 4
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, MContext, DeltaNeighbourhood)
    paper: ClassVar = "Cao, Yoshikawa 2015"

    k: int = field(default=1, init=False)
    mode: Literal["mean", "single"] = field(default="single", init=False)
