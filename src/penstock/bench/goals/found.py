"""What the runs came to, and ``auto`` beside others in every cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Protocol

from penstock.bench.goals.covering import Covered
from penstock.bench.goals.plan import AUTO, Plan
from penstock.bench.metrics import Outcome
from penstock.bench.runner import Loader, R
from penstock.bench.scenario import Scenario
from penstock.bench.summary import Cell, Errors, Estimate, Outcomes


class Measuring(Protocol):
    """What runs scenarios for their seeds, and says meanwhile what it does."""

    def __call__(self, wanted: Mapping[R, int], doing: str) -> Mapping[R, Mapping[int, Outcome]]: ...


@dataclass(frozen=True)
class Found:
    """All outcomes, by what they are for. ``empty`` is the part of counts that are 0, of every stream of a board."""

    boards: Mapping[str, Outcomes]
    oracle: Outcomes
    fixed: Outcomes
    early: Outcomes
    ablation: Outcomes
    coverage: Mapping[Covered, Mapping[int, Outcome]]
    empty: Mapping[str, float]

    @staticmethod
    def of(plan: Plan, loader: Loader, measuring: Measuring) -> Found:
        """All that a plan asks for, one part after another."""
        streams = dict.fromkeys(stream for board in plan.boards.values() for stream in board.streams)
        return Found(
            boards={key: measuring(plan.compared(key), board.title) for key, board in plan.boards.items()},
            oracle=measuring(plan.oracle, "Fixed paces"),
            fixed=measuring(plan.fixed, "Fixed intervals"),
            early=measuring(plan.early, "Two windows"),
            ablation=measuring(plan.ablation, "Parts left out"),
            coverage=measuring(plan.coverage, "Intervals"),
            empty={stream: float((loader(stream).counts == 0).mean()) for stream in streams},
        )

    @property
    def seeds(self) -> dict[str, int]:
        """How often every mechanism was run in a cell, board by board."""
        return {key: max(map(len, outcomes.values()), default=0) for key, outcomes in self.boards.items()}

    def on(self, board: str, measure: str) -> Rivalry:
        """``auto`` beside all others on a board."""
        return beside(self.boards[board], self.others(board), measure)

    def with_seeds(self, board: str, number: int) -> Found:
        """The same, if the cells of a board had been run with no more than so many seeds."""
        few = {
            what: {seed: run for seed, run in runs.items() if seed < number}
            for what, runs in self.boards[board].items()
        }
        return replace(self, boards={**self.boards, board: few})

    def others(self, board: str) -> Outcomes:
        """All that were run on a board but ``auto``."""
        return {what: runs for what, runs in self.boards[board].items() if what.mechanism != AUTO}


class Rivalry:
    """How many times the errors of others ``auto`` has, by one measure, cell by cell, with seeds paired.

    The best of the others is chosen in hindsight, on the same seeds, which is hard on ``auto``.
    """

    def __init__(self, errors: Errors, others: Errors) -> None:
        self._errors, self._others = errors, others
        made_for = f"{AUTO} for {errors.measure.upper()}"
        self.own = made_for if made_for in errors.mechanisms else AUTO

    def cells(self, own: str) -> list[Cell]:
        """Those in which ``auto`` was run like this, and any of the others."""
        others = self._others
        return [
            cell
            for cell in self._errors.cells
            if self._errors.has(cell, own) and any(others.has(cell, each) for each in others.mechanisms)
        ]

    def best(self, cell: Cell) -> str:
        """Which of the others has the least mean error there."""
        return self._others.best(cell)

    def over(self, other: str, own: str = "") -> dict[Cell, Estimate]:
        """Ratios to another, where it was run; of ``auto`` as it is made for the measure, or as ``own`` says."""
        own = own or self.own
        cells = [cell for cell in self.cells(own) if self._errors.has(cell, other)]
        return {cell: self._errors.compared(cell, own, other) for cell in cells}

    def over_mean(self, other: str) -> dict[Cell, float]:
        """Mean errors over those of another: for errors that are next to nothing with some seeds."""
        means = {cell: [self._errors.mean(cell, each).value for each in (self.own, other)] for cell in self.over(other)}
        return {cell: ours / theirs for cell, (ours, theirs) in means.items()}

    def over_best(self, own: str = "") -> dict[Cell, Estimate]:
        """Ratios to the best of the others, likewise."""
        own = own or self.own
        return {cell: self._errors.compared(cell, own, self.best(cell)) for cell in self.cells(own)}


def beside(
    ours: Outcomes, others: Outcomes, measure: str, called: Callable[[Scenario], str] = attrgetter("contestant")
) -> Rivalry:
    """``auto`` among ours beside these others."""
    own = {what: runs for what, runs in ours.items() if what.mechanism == AUTO and what not in others}
    return Rivalry(Errors({**own, **others}, measure, called), Errors(others, measure, called))
