"""``python -m penstock.bench``: print every figure beside its bar; exit code 1 if one is missed."""

from __future__ import annotations

import sys
from functools import partial

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from penstock.bench import durable, speed
from penstock.histograms import Adaptive, Quadtree

SIMPLE = ("sample", "uniform", "bd", "ba", "spas")  # mechanisms that the benchmark must not hold up


def main() -> int:
    """Measure everything, show it, say whether all bars are met."""
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("measuring", total=speed.LONG_STREAM + durable.LONG_STREAM)
        results = _measured(partial(progress.advance, task))
    Console().print(_table(results))
    return 0 if all(result.met for result in results) else 1


def _measured(advance: speed.Advance) -> list[speed.Result]:
    return [
        speed.against_numpy(),
        speed.against_opendp(),
        speed.bd_step(1),
        speed.bd_step(100),
        speed.step("bd", speed.WINDOWS, 88_762, "jumps", bar=10),
        speed.step("rg", speed.EVENTS, 88_762, "bursts", bar=100),
        speed.step("pegasus", speed.EVENTS, 1000, "bursts", bar=20),
        speed.step("ada_pub", speed.EVENTS, 1000, "bursts", bar=20),
        *map(speed.simulated, SIMPLE),
        speed.searching_the_past(),
        speed.release_by(Quadtree(), 1024, bar=2),
        speed.release_by(Adaptive(), 1024, bar=10),
        speed.against_plain(1, bar=5),
        speed.against_plain(64, bar=50),
        speed.timing_leak(),
        *speed.flat(advance),
        durable.release_alone(),
        durable.releases_together(),
        *durable.aged(advance),
    ]


def _table(results: list[speed.Result]) -> Table:
    table = Table(title="Ratios of one run", title_justify="left")
    table.add_column("figure")
    table.add_column("measured", justify="right")
    table.add_column("bar", justify="right")
    table.add_column("met")
    for result in results:
        bar = f"{'>=' if result.at_least else '<='} {result.bar:g} {result.unit}"
        verdict = "[green]yes[/]" if result.met else "[bold red]NO[/]"
        table.add_row(result.name, f"{result.value:.3g} {result.unit}", bar, verdict)
    return table


if __name__ == "__main__":
    sys.exit(main())
