"""``penstock bench auto``: what is asked of ``auto``, and what it comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from penstock.bench.cache import Cache
from penstock.bench.goals import Found, Goal, Plan, document, goals
from penstock.bench.goals.cost import cost
from penstock.bench.goals.made import load
from penstock.bench.goals.tables import VERDICTS
from penstock.bench.metrics import Outcome
from penstock.bench.runner import R
from penstock.bench.trials import ruled
from penstock.cli import benching
from penstock.cli.console import results

PAGE = "auto.md"  # in the folder of results
COLOURS: Mapping[bool | None, str] = {True: "green", False: "bold red", None: "yellow"}


def auto(
    data: benching.Data = None,
    into: benching.Into = benching.INTO,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Runs in each cell, instead of 3, 5 of long or 27 of short.")
    ] = None,
    adopt: benching.Adopt = None,
    workers: benching.Workers = benching.CORES,
) -> None:
    """Measure auto by what is asked of it: beside others, without its parts, in time and memory, and where it loses.

    Runs of the leaderboard are used where they are known; what is missing is run, and kept.
    """
    benching.require_folder(data)
    plan, loader = Plan(seeds=seeds), partial(load, data=data)
    with Cache(into / benching.RESULTS).open() as cache:

        def measuring(wanted: Mapping[R, int], doing: str) -> Mapping[R, Mapping[int, Outcome]]:
            return benching.run(wanted, doing, loader, cache, workers, adopt)

        found = Found.of(plan, loader, measuring)
    stand_ins = benching.tell_stand_ins(loader(name) for name in found.empty)
    command = "penstock bench auto" + (f" --seeds {seeds}" if seeds else "")
    page = into / PAGE
    text = document(found, plan.boards, cost(), command=command, origins=cache.origins, stand_ins=stand_ins)
    page.write_text(text, encoding="utf-8")
    results.print(_table(goals(found)))
    results.print(f"[dim]Report: {escape(str(page))}[/]", soft_wrap=True)


def _table(asked: Sequence[Goal]) -> Table:
    """As much of the goals as a terminal has room for."""
    table = ruled("What is asked of auto", ["goal", "asked", "measured", "met"], box.SIMPLE_HEAD)
    table.columns[0].no_wrap = False
    for goal in asked:
        verdict = f"[{COLOURS[goal.met]}]{VERDICTS[goal.met]}[/]"
        table.add_row(escape(f"{goal.where}: {goal.what}"), goal.asked, goal.measured, verdict)
    return table
