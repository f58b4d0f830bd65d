"""What ``auto`` comes to, as a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.bench.boards import Board
from penstock.bench.cache import NOTHING_USED, Origins
from penstock.bench.goals import tables
from penstock.bench.goals.asked import goals
from penstock.bench.goals.cost import Cost
from penstock.bench.goals.found import Found
from penstock.bench.report.markdown import code, plain, tabled, titled
from penstock.bench.report.wording import BEGINNINGS, SIMULATED, adopted

INTRODUCTION = (
    "auto is the mechanism that need not be chosen. This is what is asked of it, what it comes to, what its parts are"
    " good for, what it costs, and where another mechanism would have been better."
)
MADE_UP = "Made up, because there is no file of them, so that their figures say nothing about the originals:"


def document(
    found: Found,
    boards: Mapping[str, Board],
    cost: Cost,
    *,
    command: str,
    origins: Origins = NOTHING_USED,
    stand_ins: Sequence[str] = (),
) -> str:
    """All sections. Of what was measured the same gives the same bytes; times are measured anew."""
    parts = ["# What auto comes to", INTRODUCTION]
    if stand_ins:
        parts += [plain(f"{MADE_UP} {', '.join(stand_ins)}.")]
    parts += ["## Goals", *tabled(tables.goals_sheet(goals(found), found.seeds))]
    parts += titled(tables.coverage_sheet(found))
    parts += ["## Parts left out", *tabled(tables.ablation_sheet(found))]
    parts += ["## Cost", *titled(tables.time_sheet(cost)), *titled(tables.memory_sheet(cost))]
    parts += ["## Where it loses", *titled(tables.streams_sheet(found, boards))]
    parts += titled(tables.losses_sheet(found, boards))
    parts += [plain(BEGINNINGS), "## How it was made", f"{code(command)} writes this.", *map(plain, adopted(origins))]
    return "\n\n".join([*parts, plain(SIMULATED)]) + "\n"
