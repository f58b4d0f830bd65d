"""MA(k): dynamic allocation of budgets, with moving averages of releases to repeat."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from penstock.mechanisms.adj import LONGEST, Adj
from penstock.models import DeltaNeighbourhood, EventLevel, MContext, UserLevel, WEvent
from penstock.parameters import from_one_to
from penstock.types import Floats, Ints


@dataclass(kw_only=True)
class MA(Adj):
    """Repeat the moving average of earlier releases that is nearest to the counts, or publish anew (Li, Quan, Yu).

    It is Adj with more to choose from; which average is nearest is found out privately, as it is not in print. Best
    where people come and go about a mean.

    ``k``     how many averages there are: of the last release, of the last two, ..., of the last k
    ``mode``  "mean", or "single" to choose from the last k releases themselves

    MA(1) is Adj, and MA(k) in single mode is MMD with a memory of k.

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = MA(model=MContext(epsilon=16, m=2), k=2)
    >>> stream = Stream([[9, 0], [0, 9], [4, 5]], presence=[[f"user {i}" for i in range(9)]] * 3)
    >>> for release in publish(stream, mechanism, noise=ScriptedNoise()):
    ...     print(release.t, release.values, release.kind, release.charged)
    1 [9 0] [0 0] 4
    2 [0 9] [0 0] 6
    3 [4 4] [1 1] 4
    """

    proven_for: ClassVar = (EventLevel, WEvent, UserLevel, MContext, DeltaNeighbourhood)
    paper: ClassVar = "Li, Quan, Yu"

    k: int = 3
    mode: Literal["mean", "single"] = "mean"

    @property
    def reach(self) -> int:
        return self.k

    def validate(self) -> None:
        from_one_to("k", self.k, LONGEST)
        super().validate()

    def repeatable(self) -> tuple[Ints, Floats]:
        """The averages of the last 1 .. k releases (Algorithm 2, line 1); some of them share their noise."""
        if self.mode == "single":
            return self.past, self.past_sd
        counted = np.arange(1, len(self.past) + 1)
        means = np.add.accumulate(self.past, dtype=np.float64) / counted[:, np.newaxis]
        return np.rint(means).astype(np.int64), np.add.accumulate(self.past_sd) / counted
