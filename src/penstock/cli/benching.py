"""What the commands of ``penstock bench`` are told alike."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from penstock.bench.suite.naming import Loaded
from penstock.bench.suite.streams import load
from penstock.errors import BadInput

CORES = os.cpu_count() or 1
INTO = Path("benchmarks")
RESULTS = "results.csv"  # in that folder: what is known already

Data = Annotated[
    Path | None,
    typer.Option(envvar="PENSTOCK_DATA", help="A folder of streams; what it lacks is made up, and labelled."),
]
Into = Annotated[Path, typer.Option(help="The folder of known results and of the report.")]
Workers = Annotated[int, typer.Option(min=1, help="Processes that share the work.")]


def loader(data: Path | None) -> partial[Loaded]:
    """Streams by their names, from a folder if there is one."""
    if data is not None and not data.is_dir():
        raise BadInput(f"there is no folder {data}; leave out --data to run on generated streams.")
    return partial(load, data=data)
