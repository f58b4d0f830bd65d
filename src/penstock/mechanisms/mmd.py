"""MMD: dynamic allocation of budgets, with every earlier release to repeat."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.mechanisms.adj import LONGEST, Adj
from penstock.models import DeltaNeighbourhood, EventLevel, MContext, UserLevel, WEvent
from penstock.parameters import from_one_to


@dataclass(kw_only=True)
class MMD(Adj):
    """Repeat whichever earlier release is nearest to the counts, or publish anew (Cao, Yoshikawa 2015).

    It is Adj with more to choose from. Best where counts come and go between a few states.

    ``memory``  how many of the last releases to search; time and memory of a step grow with it, and not beyond

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = MMD(model=MContext(epsilon=40, m=2))
    >>> stream = Stream([[9, 0], [0, 9], [9, 0]], presence=[[f"user {i}" for i in range(9)]] * 3)
    >>> for release in publish(stream, mechanism, noise=ScriptedNoise()):
    ...     print(release.t, release.values, release.kind, release.charged)
    1 [9 0] [0 0] 10
    2 [0 9] [0 0] 15
    3 [9 0] [1 1] 10
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, MContext, DeltaNeighbourhood)
    paper: ClassVar = "Cao, Yoshikawa 2015"

    memory: int = 100

    @property
    def reach(self) -> int:
        return self.memory

    def validate(self) -> None:
        from_one_to("memory", self.memory, LONGEST)
        super().validate()
