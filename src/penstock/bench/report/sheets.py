"""Tables of a report, before they are text of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from penstock.bench.boards import LEFT_OUT
from penstock.bench.metrics import RULES
from penstock.bench.report.ratios import Ratios
from penstock.bench.report.shown import DAGGER, STAND_IN, About, Measured, cells_of, whole
from penstock.bench.report.wording import MEANING, NOTHING, SHORT, STAND_INS, ratio, share
from penstock.bench.summary import Standing


class Entry(NamedTuple):
    """What stands in one place of a table. ``shade`` is the ratio that colours it."""

    text: str
    beside: str = ""  # of less weight
    name: bool = False  # as it is written in commands
    mark: str = ""  # behind a name
    strong: bool = False
    shade: float | None = None


class Sheet(NamedTuple):
    """A table. Rows come in groups; the columns that ``words`` names are words, the others numbers."""

    title: str
    head: Sequence[str]
    groups: Sequence[Sequence[Sequence[Entry]]]
    words: Sequence[str]
    notes: Sequence[str] = ()


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
    groups = [[_stream(board, ratios, stream) for stream in group] for group in board.by_bins]
    notes = ["Mean over the promises / worst. Bold: the best of a row."]
    notes += [STAND_INS] * board.marks(board.streams)
    return Sheet(f"By stream: {_called(ratios)}", ("stream", "bins", *ratios.mechanisms), groups, ("stream",), notes)


def _stream(board: Measured, ratios: Ratios, stream: str) -> list[Entry]:
    cells = cells_of(ratios, [stream])
    means = [ratios.mean(cells, mechanism) for mechanism in ratios.mechanisms]
    best = ratio(min((mean for mean in means if mean is not None), default=None))
    entries = [Entry(stream, name=True, mark=board.mark(stream)), Entry(str(board.about(stream).bins))]
    for mechanism, mean in zip(ratios.mechanisms, means, strict=True):
        if mean is None:
            entries.append(Entry(NOTHING))
            continue
        worst = max(ratios.over(cells, mechanism))
        entries.append(Entry(ratio(mean), f" / {ratio(worst)}", strong=ratio(mean) == best, shade=mean))
    return entries


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
    return Sheet("Streams", ("stream", "bins", "units", "origin", "what it is"), [rows], _STREAM_WORDS, notes)


_STREAM_WORDS = ("stream", "origin", "what it is")


def rules() -> Sheet:
    """What every measure is."""
    rows = [[Entry(measure, name=True), Entry(rule)] for measure, rule in RULES.items()]
    return Sheet("Measures", ("measure", "what it is"), [rows], ("measure", "what it is"))


def left_out() -> Sheet:
    """Mechanisms that are on no board, or not on all, and why."""
    rows = [[Entry(key, name=True), Entry(why)] for key, why in LEFT_OUT.items()]
    return Sheet("Left out", ("mechanism", "because it"), [rows], ("mechanism", "because it"))
