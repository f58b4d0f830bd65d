"""Tables of a report, before they are text of any kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from penstock.bench.boards import LEFT_OUT
from penstock.bench.metrics import RULES
from penstock.bench.report.ratios import Ratios
from penstock.bench.report.shown import DAGGER, STAND_IN, About, Measured, cells_of, whole
from penstock.bench.report.wording import MEANING, NOTHING, SHORT, STAND_INS, error, ratio, share
from penstock.bench.summary import Cell, Standing


class Entry(NamedTuple):
    """What stands in one place of a table. ``shade`` is the ratio that colours it."""

    text: str
    beside: str = ""  # of less weight
    name: bool = False  # as it is written in commands
    mark: str = ""  # behind a name
    strong: bool = False
    shade: float | None = None


class Sheet(NamedTuple):
    """A table. Rows come in groups; the columns that ``words`` names are words, the others numbers.

    ``sentences`` are those of the words that may be broken into lines. ``beside`` says what has less weight.
    """

    title: str
    head: Sequence[str]
    groups: Sequence[Sequence[Sequence[Entry]]]
    words: Sequence[str]
    notes: Sequence[str] = ()
    sentences: Sequence[str] = ()
    beside: str = ""

    @property
    def header(self) -> str:
        """The column that names the rows."""
        rows = (row for group in self.groups for row in group)
        named = (name for row in rows for name, entry in zip(self.head, row, strict=True) if entry.name)
        return next(named, self.head[0])


def standings(board: Measured, ratios: Ratios) -> Sheet:
    """All mechanisms by one measure, the best first."""
    head = (
        *("rank", "mechanism", "ratio", "worst", "within 5 %", "first"),
        *("releases", "used", "cells", "worst at"),
    )
    rows = [_standing(board, ratios, rank, each) for rank, each in enumerate(ratios.standings, start=1)]
    stand_in = board.marks(each.worst_at.stream for each in ratios.standings)
    notes = (MEANING, STAND_INS) if stand_in else (MEANING,)
    return Sheet(f"Standings by {_called(ratios)}", head, [rows], ("mechanism", "worst at"), notes)


def _standing(board: Measured, ratios: Ratios, rank: int, standing: Standing) -> list[Entry]:
    at = standing.worst_at
    figures = (
        ratio(standing.ratio),
        ratio(standing.worst),
        share(standing.near),
        share(standing.first),
        f"{standing.publications:.1f}",
        f"{standing.used:.2f}",
        str(standing.cells),
    )
    return [
        Entry(str(rank)),
        Entry(standing.mechanism + board.told(standing.mechanism), name=True),
        *map(Entry, figures),
        Entry(f"{at.stream}{board.mark(at.stream)}, {at.promise}"),
    ]


def _called(ratios: Ratios) -> str:
    return f"{ratios.measure}, {SHORT[ratios.measure]}"


def side_by_side(board: Measured) -> Sheet:
    """The standings by every measure, in short."""
    columns = [
        [f"{each.mechanism} {ratio(each.ratio)}" for each in ratios.standings] for ratios in board.by_measure.values()
    ]
    most = max(len(column) for column in columns)
    rows = [
        [Entry(str(rank + 1)), *(Entry(column[rank] if rank < len(column) else NOTHING) for column in columns)]
        for rank in range(most)
    ]
    return Sheet("Standings by every measure", ("rank", *board.by_measure), [rows], tuple(board.by_measure))


def by_stream(board: Measured, ratios: Ratios) -> Sheet:
    """Ratios of every mechanism on every stream: the mean over the promises, and the worst."""
    head, groups = ("stream", "bins", *ratios.mechanisms), _grouped(board, ratios, _ratios)
    notes = ["Mean over the promises. Bold: the best of a row.", *_stand_ins(board)]
    title = f"By stream: {_called(ratios)}"
    return Sheet(title, head, groups, ("stream",), notes, beside="Behind the stroke: the worst of the promises.")


def errors_by_stream(board: Measured, ratios: Ratios) -> Sheet:
    """Mean errors of a mechanism that is alone, on every stream under every promise."""
    promises = dict.fromkeys(str(cell.promise) for cell in ratios.cells)
    groups = _grouped(board, ratios, _errors)
    return Sheet(
        f"Mean errors: {_called(ratios)}", ("stream", "bins", *promises), groups, ("stream",), _stand_ins(board)
    )


def _grouped(board: Measured, ratios: Ratios, found: Callable[[Ratios, str], list[Entry]]) -> list[list[list[Entry]]]:
    """What is found of each stream, behind its name and its bins; those of one bin come first."""
    return [
        [
            [
                Entry(stream, name=True, mark=board.mark(stream)),
                Entry(str(board.about(stream).bins)),
                *found(ratios, stream),
            ]
            for stream in group
        ]
        for group in board.by_bins
    ]


def _stand_ins(board: Measured) -> list[str]:
    return [STAND_INS] * board.marks(board.streams)


def _ratios(ratios: Ratios, stream: str) -> list[Entry]:
    cells = cells_of(ratios, [stream])
    means = [ratios.mean(cells, mechanism) for mechanism in ratios.mechanisms]
    best = ratio(min((mean for mean in means if mean is not None), default=None))
    entries = []
    for mechanism, mean in zip(ratios.mechanisms, means, strict=True):
        if mean is None:
            entries.append(Entry(NOTHING))
            continue
        worst = max(ratios.over(cells, mechanism))
        entries.append(Entry(ratio(mean), f" / {ratio(worst)}", strong=ratio(mean) == best, shade=mean))
    return entries


def _errors(ratios: Ratios, stream: str) -> list[Entry]:
    (mechanism,) = ratios.mechanisms
    cells = (Cell(stream, promise) for promise in dict.fromkeys(cell.promise for cell in ratios.cells))
    return [
        Entry(error(ratios.errors.mean(cell, mechanism).value) if ratios.at(cell, mechanism) else NOTHING)
        for cell in cells
    ]


def streams(told: Sequence[About]) -> Sheet:
    """What streams are, each once: a beginning is no stream of its own."""
    longest = {whole(each.name): each for each in sorted(told, key=lambda each: each.steps)}
    rows = [
        [
            Entry(name, name=True, mark=DAGGER if longest[name].origin == STAND_IN else ""),
            Entry(str(longest[name].bins)),
            Entry(str(longest[name].steps)),
            Entry(longest[name].origin, strong=longest[name].origin == STAND_IN),
            Entry(longest[name].about),
        ]
        for name in dict.fromkeys(whole(each.name) for each in told)
    ]
    notes = [STAND_INS] * any(each.origin == STAND_IN for each in told)
    head, words = ("stream", "bins", "units", "origin", "what it is"), ("stream", "origin", "what it is")
    return Sheet("Streams", head, [rows], words, notes, words[-1:])


def rules() -> Sheet:
    """What every measure is."""
    return _explained("Measures", ("measure", "what it is"), RULES)


def left_out() -> Sheet:
    """Mechanisms that are on no board, or not on all, and why."""
    return _explained("Left out", ("mechanism", "because it"), LEFT_OUT)


def _explained(title: str, head: tuple[str, str], told: Mapping[str, str]) -> Sheet:
    rows = [[Entry(key, name=True), Entry(sentence)] for key, sentence in told.items()]
    return Sheet(title, head, [rows], head, sentences=head[-1:])
