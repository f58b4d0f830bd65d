"""Tables of what ``auto`` comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter

from penstock.bench.boards import EVENT_WIDTH, Board
from penstock.bench.goals.asked import Goal, covered
from penstock.bench.goals.cost import WINDOWS, Cost
from penstock.bench.goals.found import Found
from penstock.bench.goals.losses import losses, tallies
from penstock.bench.goals.made import MADE
from penstock.bench.goals.plan import AUTO, switches
from penstock.bench.report.sheets import Entry, Sheet
from penstock.bench.report.shown import ALL, length, whole
from penstock.bench.report.wording import NOTHING, ratio, share
from penstock.bench.summary import Cell, Errors, geometric

VERDICTS: Mapping[bool | None, str] = {True: "yes", False: "NO", None: "not run"}

PAIRED = (
    "Ratios are errors of auto over those of others with the same seeds, in geometric means over cells: a stream under"
    " a promise. By relative errors and by squares it is auto as it is made for them, where that was run. The best"
    " other of a cell is chosen in hindsight on the same seeds, which is hard on auto."
)
LEFT_OUT = (
    "MAE without the part over MAE with it, geometric means: above 1 the part helps. The streams are made up, and on no"
    " board."
)


def goals_sheet(goals: Sequence[Goal], seeds: Mapping[str, int]) -> Sheet:
    """All goals, and with how many seeds every board was run."""
    head = "where", "what", "asked", "measured", "met", "beside it"
    rows = [
        [
            *map(Entry, (goal.where, goal.what, goal.asked, goal.measured)),
            Entry(VERDICTS[goal.met], strong=goal.met is False),
            Entry(goal.beside),
        ]
        for goal in goals
    ]
    runs = f"Seeds: {', '.join(f'{number} on the {board} board' for board, number in seeds.items())}."
    return Sheet("Goals", head, [rows], head, (PAIRED, runs))


def coverage_sheet(found: Found) -> Sheet:
    """How many counts lie inside of their intervals, stream by stream."""
    by_stream = covered(found)
    epsilons = list(dict.fromkeys(epsilon for parts in by_stream.values() for epsilon in parts))
    rows = [
        [Entry(stream, name=True), *(Entry(_part(parts.get(epsilon))) for epsilon in epsilons)]
        for stream, parts in by_stream.items()
    ]
    head = "stream", *(f"epsilon {epsilon}" for epsilon in epsilons)
    return Sheet("Counts inside of their 95 % intervals", head, [rows], ("stream",))


def ablation_sheet(found: Found) -> Sheet:
    """What each part is good for: the error without it over the error with it."""
    errors = Errors(found.ablation, "mae", attrgetter("name"))
    groups: dict[str, list[Cell]] = {}
    for cell in errors.cells:
        bins = "one bin" if MADE[whole(cell.stream)].bins == 1 else "many bins"
        groups.setdefault(f"{'long' if length(cell.stream) == ALL else 'short'}, {bins}", []).append(cell)
    rows = [_without(errors, name, groups) for name in switches()]
    head = "without", *groups, "helps most", "harms most"
    return Sheet("Parts left out", head, [rows], ("without", *head[-2:]), (LEFT_OUT,))


def _without(errors: Errors, name: str, groups: Mapping[str, Sequence[Cell]]) -> list[Entry]:
    left_out = f"{AUTO}({name}=False)"
    ratios = {cell: errors.compared(cell, left_out, AUTO).value for cell in errors.cells}
    means = [ratio(geometric(ratios[cell] for cell in cells)) for cells in groups.values()]
    ends = (pick(ratios, key=lambda cell: ratios[cell], default=None) for pick in (max, min))
    told = [f"{cell.stream}, {cell.promise}: {ratio(ratios[cell])}" if cell else NOTHING for cell in ends]
    return [Entry(name, name=True), *map(Entry, (*means, *told))]


def time_sheet(cost: Cost) -> Sheet:
    """Milliseconds of a unit."""
    rows = [
        [Entry(f"{each.bins:,}"), *(Entry(f"{ms:.2f}") for ms in (each.releasing, each.idle, each.summing))]
        for each in cost.taken
    ]
    head = "bins", "ms, unit with a release", "ms, unit without", "ms, unit at event level"
    note = (
        f"Windows of {WINDOWS.window}; at event level sums over {EVENT_WIDTH} units."
        " Medians, on the machine that wrote this."
    )
    return Sheet("Time", head, [rows], (), (note,))


def memory_sheet(cost: Cost) -> Sheet:
    """Bytes of the state."""
    units = list(dict.fromkeys(unit for each in cost.kept for unit in each.after))
    rows = [
        [Entry(each.law, name=True), Entry(f"{each.bins:,}"), *(Entry(f"{each.after[unit]:,}") for unit in units)]
        for each in cost.kept
    ]
    return Sheet("Saved state", ("promise", "bins", *(f"bytes after {unit} units" for unit in units)), [rows], ())


def streams_sheet(found: Found, boards: Mapping[str, Board]) -> Sheet:
    """Every stream in short."""
    rows = [
        [
            Entry(each.stream, name=True),
            *map(Entry, (str(each.cells), str(each.lost), share(each.lost / each.cells))),
            *map(Entry, (ratio(each.mean), ratio(each.worst))),
        ]
        for each in tallies(found, boards)
    ]
    head = "stream", "cells and measures", "lost", "part", "mean ratio", "worst"
    notes = ("Ratios to the best other, over all boards, promises and measures. Lost: more than 5 % above it.",)
    return Sheet("By stream", head, [rows], ("stream",), notes)


def losses_sheet(found: Found, boards: Mapping[str, Board]) -> Sheet:
    """Every cell in which another is better."""
    rows = [
        [
            *map(Entry, (each.board, each.cell.stream, str(each.cell.promise), each.measure, each.own)),
            *map(Entry, (each.better, ratio(each.ratio.value), f"{ratio(each.ratio.low)} to {ratio(each.ratio.high)}")),
        ]
        for each in losses(found, boards)
    ]
    head = "board", "stream", "promise", "measure", "auto", "better is", "ratio", "95 %"
    return Sheet("Cell by cell", head, [rows], head[:6])


def _part(part: float | None) -> str:
    return NOTHING if part is None else f"{part:.1%}".replace("%", " %")
