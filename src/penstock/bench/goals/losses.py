"""Where others are better than ``auto``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from penstock.bench.boards import Board
from penstock.bench.goals.found import Found
from penstock.bench.report.shown import whole
from penstock.bench.summary import NEAR, Cell, Estimate, geometric


class Loss(NamedTuple):
    """A cell in which another is better by a measure, and by how much."""

    board: str
    cell: Cell
    measure: str
    own: str
    better: str
    ratio: Estimate


class Tally(NamedTuple):
    """A stream over all boards, promises and measures: ratios to the best of the others."""

    stream: str
    cells: int
    lost: int
    mean: float
    worst: float


def losses(found: Found, boards: Mapping[str, Board]) -> list[Loss]:
    """All cells in which ``auto`` is not as good as the best of the others, the worst first."""
    lost = [each for each in _all(found, boards) if each.ratio.value > NEAR]
    return sorted(lost, key=lambda each: -each.ratio.value)


def tallies(found: Found, boards: Mapping[str, Board]) -> list[Tally]:
    """Every stream, in the order of the boards."""
    by_stream: dict[str, list[float]] = {}
    for each in _all(found, boards):
        by_stream.setdefault(whole(each.cell.stream), []).append(each.ratio.value)
    return [_tally(stream, ratios) for stream, ratios in by_stream.items()]


def _tally(stream: str, ratios: Sequence[float]) -> Tally:
    lost = sum(ratio > NEAR for ratio in ratios)
    return Tally(stream, len(ratios), lost, geometric(ratios), max(ratios))


def _all(found: Found, boards: Mapping[str, Board]) -> Iterator[Loss]:
    for key, board in boards.items():
        for measure in board.measures:
            rivalry = found.on(key, measure)
            for cell, ratio in rivalry.over_best().items():
                yield Loss(key, cell, measure, rivalry.own, rivalry.best(cell), ratio)
