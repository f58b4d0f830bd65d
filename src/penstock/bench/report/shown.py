"""A board that was measured, with all that tables and figures ask of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from penstock.bench.boards import Board
from penstock.bench.metrics import Outcome
from penstock.bench.report.ratios import Ratios
from penstock.bench.scenario import OBJECTIVE, Scenario
from penstock.bench.summary import Cell
from penstock.errors import BadInput

STAND_IN = "stand-in"
DAGGER = "†"
ALL = "all"


@dataclass(frozen=True)
class Shown:
    """One board that was measured."""

    board: Board
    outcomes: Mapping[Scenario, Mapping[int, Outcome]]


@dataclass(frozen=True)
class About:
    """What is said of a stream. What is said of a whole stream is true of its beginnings, too."""

    name: str
    about: str
    origin: str
    steps: int
    bins: int


class Measured:
    """The figures of a board by every measure that makes sense on it; the first of them leads."""

    def __init__(self, shown: Shown, streams: Iterable[About] = ()) -> None:
        self.board, self._outcomes = shown.board, shown.outcomes
        self._about = {each.name: each for each in streams}
        found = (Ratios(shown.outcomes, measure) for measure in shown.board.measures)
        self.by_measure = {ratios.measure: ratios for ratios in found if ratios.standings}
        if not self.by_measure:
            raise BadInput(f"there is nothing to show of the board {self.board.key}; measure it first.")
        self.streams = list(dict.fromkeys(what.stream for what in shown.outcomes))

    @property
    def alone(self) -> bool:
        """Whether one mechanism was run and no other, so that there is nothing to compare."""
        return len(self.leading.mechanisms) == 1

    @property
    def leading(self) -> Ratios:
        """The ratios by the measure that counts above all."""
        return next(iter(self.by_measure.values()))

    def about(self, stream: str) -> About:
        """What is said of a stream, or of the stream that it is the beginning of."""
        said = self._about.get(stream) or self._about.get(whole(stream))
        if said is None:
            raise BadInput(f"nothing is said of the stream {stream}; a report tells of every stream what it is.")
        return said

    def mark(self, stream: str) -> str:
        """A dagger, if the stream stands in for another. Where nothing is said of any, nothing is marked."""
        return DAGGER if self._about and self.about(stream).origin == STAND_IN else ""

    def marks(self, streams: Iterable[str]) -> bool:
        """Whether one of these is marked."""
        return any(self.mark(stream) for stream in streams)

    @cached_property
    def by_bins(self) -> list[list[str]]:
        """Streams of one bin, and streams of several, in the order of the board."""
        groups = [
            [stream for stream in self.streams if (self.about(stream).bins > 1) == many] for many in (False, True)
        ]
        return [group for group in groups if group]

    def told(self, mechanism: str) -> str:
        """What a mechanism was told, in brackets; a number that depends on the promise as the span of its values.

        For which measure it was made is part of its name.
        """
        values: dict[str, list[object]] = {}
        for what in self._outcomes:
            for name, value in what.parameters if what.contestant == mechanism else ():
                if name != OBJECTIVE:
                    values.setdefault(name, []).append(value)
        return f"({', '.join(f'{name}={_span(each)}' for name, each in values.items())})" if values else ""

    @property
    def mechanisms(self) -> int:
        """How many were run; one that was made for several measures is one."""
        return len({what.mechanism for what in self._outcomes})

    @property
    def seeds(self) -> list[int]:
        """All seeds that were run."""
        return sorted({seed for runs in self._outcomes.values() for seed in runs})

    @property
    def fullest(self) -> float:
        """What the fullest window of all runs spent, over its epsilon."""
        return max(run.fullest for runs in self._outcomes.values() for run in runs.values())


def whole(stream: str) -> str:
    """The name of the stream that this one is the beginning of."""
    return stream.split("[")[0]


def length(stream: str) -> str:
    """How many units of it are used."""
    return stream.partition("[:")[2].rstrip("]") or ALL


def cells_of(ratios: Ratios, streams: Sequence[str]) -> list[Cell]:
    """All cells of these streams."""
    return [cell for cell in ratios.cells if cell.stream in streams]


def _span(values: list[object]) -> str:
    numbers = [value for value in values if isinstance(value, int | float)]
    different = list(dict.fromkeys(values))
    if len(different) > 1 and len(numbers) == len(values):
        return f"{min(numbers)}–{max(numbers)}"
    return " or ".join(str(value) for value in different)
