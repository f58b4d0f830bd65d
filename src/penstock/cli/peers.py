"""``penstock bench peers``: our errors beside those that others have measured."""

from __future__ import annotations

from collections.abc import Mapping
from json import dumps
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from penstock.bench import peers as entries
from penstock.bench.cache import Cache
from penstock.bench.runner import measured
from penstock.bench.trials import ruled
from penstock.cli import benching
from penstock.cli.console import counted, results
from penstock.errors import BadInput


def peers(
    data: benching.Data = None,
    into: benching.Into = benching.INTO,
    seeds: Annotated[int, typer.Option(min=2, help="Runs of each of our mechanisms.")] = 40,
    workers: benching.Workers = benching.CORES,
    json: Annotated[Path | None, typer.Option(help="Write all figures into this file, too.")] = None,
) -> None:
    """Compare errors with those that others have measured or published, on their streams.

    Exit code 1 if one differs and nothing explains it.
    """
    loader = benching.loader(data)
    entries.require_files(data)
    if json and not json.parent.is_dir():
        raise BadInput(f"{json} cannot be written, because its folder does not exist.")
    with Cache(into / benching.RESULTS).open() as cache, counted("Measuring") as show:
        found = entries.results(seeds, lambda wanted: measured(wanted, loader, cache, workers, show))
    figures = entries.figures(found)
    results.print(_table_of_figures(figures, seeds), _table_of_stages(found))
    if json:
        json.write_text(dumps(entries.plain_data(found), indent=1) + "\n", encoding="utf-8")
    if any(figure.met == "NO" for figure in figures):
        raise typer.Exit(1)


def _table_of_figures(figures: list[entries.Figure], seeds: int) -> Table:
    names = ["figure", "measured", "theirs", "ratio", "bar", "met"]
    table = ruled("Mean relative errors, w=120", names, box.SIMPLE_HEAD)
    table.caption = f"{seeds} runs each, ± 95%. BD and BA: the interval meets the bar."
    table.caption_justify = "left"
    colours: Mapping[str, str] = {"yes": "green", "explained": "yellow", "NO": "bold red"}
    for figure in figures:
        ratio, verdict = figure.measured.error / figure.reference, f"[{colours[figure.met]}]{figure.met}[/]"
        name = f"{figure.mechanism}, {figure.stream}"
        table.add_row(name, str(figure.measured), f"{figure.reference:g}", f"{ratio:.2f}", f"{figure.bar:.0%}", verdict)
    return table


def _table_of_stages(found: entries.Results) -> Table:
    title = "SPAS as published, transcribed; where ours differs, its faults removed one after another"
    table = ruled(title, ["stream", "variant", "measured", "ratio", "spent"], box.SIMPLE_HEAD, words=2)
    table.caption = "Spent in the fullest window, over epsilon: by releases alone; in Penstock's line, by everything."
    table.caption_justify = "left"
    for stream, name, came_to in entries.stages(found):
        ratio, last = came_to.error / entries.STORED[stream], name == "Penstock"
        table.add_row(stream, name, str(came_to), f"{ratio:.2f}", f"{came_to.spent:.2f}", end_section=last)
    return table
