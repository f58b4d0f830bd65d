"""All ratios of a board by one measure, each found once."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.bench.summary import Cell, Errors, Estimate, Outcomes, geometric


class Ratios:
    """How many times the error of the best, of every mechanism in every cell in which the measure makes sense."""

    def __init__(self, outcomes: Outcomes, measure: str) -> None:
        self.measure = measure
        self.errors = Errors(outcomes, measure)
        self.standings = self.errors.standings()
        self.mechanisms = [standing.mechanism for standing in self.standings]
        self._known = {
            (cell, mechanism): self.errors.ratio(cell, mechanism)
            for cell in self.errors.cells
            for mechanism in self.mechanisms
            if self.errors.has(cell, mechanism)
        }
        self.cells = list(dict.fromkeys(cell for cell, _ in self._known))

    def at(self, cell: Cell, mechanism: str) -> Estimate | None:
        """The ratio there, if there is one."""
        return self._known.get((cell, mechanism))

    def over(self, cells: Iterable[Cell], mechanism: str) -> list[float]:
        """Its ratios in those of the cells that have one."""
        found = (self.at(cell, mechanism) for cell in cells)
        return [ratio.value for ratio in found if ratio is not None]

    def mean(self, cells: Iterable[Cell], mechanism: str) -> float | None:
        """The geometric mean of its ratios, if there is any."""
        found = self.over(cells, mechanism)
        return geometric(found) if found else None
