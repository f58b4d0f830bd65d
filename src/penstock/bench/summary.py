"""What many runs come to: means, ratios to the best, and standings, with intervals over seeds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from penstock.bench.metrics import Outcome
from penstock.bench.scenario import Promise, Scenario
from penstock.errors import BadInput
from penstock.types import Floats

NEAR = 1.05  # so many times the best is as good as the best
# The 97.5% points of Student's t for 1, 2, 3, ... degrees of freedom; beyond them the normal one is near enough.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
NORMAL = 1.96
FLOOR = 1e-3  # in ratios, no error counts as less than this part of the middle one of its cell
TINY = 1e-12
QUORUM = 0.5  # of all mechanisms must have been run in a cell that counts


class Cell(NamedTuple):
    """A stream under a promise: where mechanisms are compared."""

    stream: str
    promise: Promise


class Estimate(NamedTuple):
    """A figure, and its 95% interval over the seeds; with one seed there is none."""

    value: float
    low: float
    high: float
    runs: int


class Standing(NamedTuple):
    """A mechanism over all cells of a board, by one measure. Ratios are to the best of each cell."""

    mechanism: str
    ratio: float  # geometric mean
    worst: float
    worst_at: Cell
    near: float  # the part of cells in which it is as good as the best
    first: float  # the part in which it is the best
    publications: float
    used: float
    cells: int  # in which it was run


Outcomes = Mapping[Scenario, Mapping[int, Outcome]]


class Errors:
    """The figures of one measure, of every mechanism in every cell, for every seed: what tables are made of.

    Seeds are paired: with one seed all mechanisms see the same stream, and ratios are taken within it. Cells in which
    few mechanisms were run are left out, or whoever was run there would be the best of few: so many are ``deserted``.

    ``called`` tells those apart that are compared; a mechanism may take part for several measures.
    """

    def __init__(
        self, outcomes: Outcomes, measure: str, called: Callable[[Scenario], str] = attrgetter("contestant")
    ) -> None:
        self.measure = measure
        named = {what: called(what) for what in outcomes}
        self.mechanisms = list(dict.fromkeys(named.values()))
        self._outcomes = {(Cell(what.stream, what.promise), named[what]): runs for what, runs in outcomes.items()}
        if len(self._outcomes) != len(outcomes):
            raise BadInput("a mechanism is compared once in a cell; compare its parameters apart.")
        run = Counter(cell for cell, _ in self._outcomes)
        self.cells = [cell for cell, number in run.items() if number >= QUORUM * len(self.mechanisms)]
        self.deserted = len(run) - len(self.cells)
        self._best: dict[tuple[Cell, int | None], str] = {}

    def has(self, cell: Cell, mechanism: str) -> bool:
        """Whether it was run there, and the measure makes sense."""
        runs = self._outcomes.get((cell, mechanism), {})
        return bool(runs) and not any(math.isnan(getattr(run, self.measure)) for run in runs.values())

    def of(self, cell: Cell, mechanism: str, measure: str = "") -> Floats:
        """The figures, one for each seed that all mechanisms of the cell have, in order."""
        runs, seeds = self._outcomes[cell, mechanism], self._seeds[cell]
        return np.array([getattr(runs[seed], measure or self.measure) for seed in seeds], np.float64)

    @cached_property
    def _seeds(self) -> dict[Cell, list[int]]:
        shared: dict[Cell, set[int]] = {}
        for (cell, _), runs in self._outcomes.items():
            shared[cell] = shared.get(cell, set(runs)) & set(runs)
        return {cell: sorted(seeds) for cell, seeds in shared.items()}

    def mean(self, cell: Cell, mechanism: str) -> Estimate:
        """The mean over the seeds."""
        return estimated(self.of(cell, mechanism))

    def ratio(self, cell: Cell, mechanism: str) -> Estimate:
        """How many times the error of the best: for each seed that which is best on the other seeds."""
        return _raised(estimated(self._logs(cell, mechanism)))

    def compared(self, cell: Cell, mechanism: str, other: str) -> Estimate:
        """How many times the error of another mechanism, as a geometric mean over the paired seeds."""
        return _raised(estimated(self._log(cell, self.of(cell, mechanism)) - self._log(cell, self.of(cell, other))))

    def best(self, cell: Cell, without: int | None = None) -> str:
        """Which has the least mean error over all seeds, or all but one; of equal ones the first that was named."""
        if (cell, without) not in self._best:
            self._best[cell, without] = min(self._running(cell), key=lambda each: self._mean(cell, each, without))
        return self._best[cell, without]

    def _mean(self, cell: Cell, mechanism: str, without: int | None) -> float:
        figures = self.of(cell, mechanism)
        return float((figures if without is None else np.delete(figures, without)).mean())

    def _running(self, cell: Cell) -> list[str]:
        return [mechanism for mechanism in self.mechanisms if self.has(cell, mechanism)]

    def standings(self) -> list[Standing]:
        """All mechanisms over all cells in which the measure makes sense, the best first.

        Those that were not run in all of these cells come last, because their cells may have been the easy ones.
        """
        cells = [cell for cell in self.cells if any(self.has(cell, mechanism) for mechanism in self.mechanisms)]
        found = [self._standing(mechanism, cells) for mechanism in self.mechanisms]
        return sorted((each for each in found if each), key=lambda standing: (-standing.cells, standing.ratio))

    def _standing(self, mechanism: str, cells: Sequence[Cell]) -> Standing | None:
        running = [cell for cell in cells if self.has(cell, mechanism)]
        if not running:
            return None
        ratios = np.array([self.ratio(cell, mechanism).value for cell in running])
        worst = int(ratios.argmax())
        spent, made = (
            float(np.mean([self.of(cell, mechanism, name).mean() for cell in running]))
            for name in ("used", "publications")
        )
        return Standing(
            mechanism,
            geometric(ratios.tolist()),
            float(ratios[worst]),
            running[worst],
            near=float((ratios <= NEAR).mean()),
            first=float(np.mean([self.best(cell) == mechanism for cell in running])),
            publications=made,
            used=spent,
            cells=len(running),
        )

    def _logs(self, cell: Cell, mechanism: str) -> Floats:
        figures = self.of(cell, mechanism)
        if len(figures) == 1:
            best = self.of(cell, self.best(cell))
        else:
            best = np.array([self.of(cell, self.best(cell, without=i))[i] for i in range(len(figures))])
        return self._log(cell, figures) - self._log(cell, best)

    def _log(self, cell: Cell, figures: Floats) -> Floats:
        """Logarithms. What is next to nothing counts as FLOOR of the middle error, or one zero would outweigh all."""
        logs: Floats = np.log(np.maximum(figures, self._least[cell]))
        return logs

    @cached_property
    def _least(self) -> dict[Cell, float]:
        middle = {cell: [self._mean(cell, each, None) for each in self._running(cell)] for cell in self.cells}
        return {cell: max(FLOOR * float(np.median(errors or [0.0])), TINY) for cell, errors in middle.items()}


def estimated(figures: Floats) -> Estimate:
    """Their mean, and where it lies with 95% confidence if they are about normal."""
    runs, mean = len(figures), float(figures.mean())
    if runs == 1:
        return Estimate(mean, mean, mean, 1)
    reach = _student(runs - 1) * float(figures.std(ddof=1)) / math.sqrt(runs)
    return Estimate(mean, mean - reach, mean + reach, runs)


def _raised(logs: Estimate) -> Estimate:
    """The figure whose logarithm was estimated."""
    return Estimate(math.exp(logs.value), math.exp(logs.low), math.exp(logs.high), logs.runs)


def _student(degrees: int) -> float:
    return STUDENT[degrees - 1] if degrees <= len(STUDENT) else NORMAL + 2.4 / degrees + 2.8 / degrees**2


def geometric(figures: Iterable[float]) -> float:
    """The geometric mean."""
    return math.exp(float(np.mean([math.log(figure) for figure in figures])))
