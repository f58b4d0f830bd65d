"""Several things done to releases, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.post.step import R, Step


class Chain(Step):
    """Steps in a row. Together they reach back as far as all of them do."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = tuple(steps)
        self.reach = sum(step.reach for step in steps)
        self.keeps_intervals = all(step.keeps_intervals for step in steps)
        self.says = ", ".join(step.says for step in steps)

    def __call__(self, release: R) -> R:
        """What all of them make of a release."""
        for step in self._steps:
            release = step(release)
        return release

    def named(self, mechanism: str) -> str:
        """What a release of this mechanism is said to come from afterwards."""
        for step in self._steps:
            mechanism = step.named(mechanism)
        return mechanism
