"""What the commands of ``penstock bench`` are told alike."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Protocol

import typer

from penstock.bench.cache import Cache
from penstock.bench.runner import Loader, Outcomes, R, measured
from penstock.bench.suite.naming import Loaded
from penstock.bench.suite.streams import load
from penstock.cli.console import counted, messages
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
    require_folder(data)
    return partial(load, data=data)


def require_folder(data: Path | None) -> None:
    """Refuse a folder of streams that is not there; no folder is fine."""
    if data is not None and not data.is_dir():
        raise BadInput(f"there is no folder {data}; leave out --data to run on generated streams.")


def run(wanted: Mapping[R, int], doing: str, loader: Loader, cache: Cache, workers: int) -> Outcomes[R]:
    """What is known, and what is not run now, under a bar; who stops it loses nothing."""
    with counted(doing) as show:
        try:
            return measured(wanted, loader, cache, workers, show)
        except KeyboardInterrupt:
            messages.print("Stopped; what was run is kept, and the same command goes on where it was.")
            raise


class Origin(Protocol):
    """A stream that says where it comes from."""

    @property
    def name(self) -> str: ...
    @property
    def origin(self) -> str: ...


def tell_stand_ins(streams: Iterable[Origin]) -> list[str]:
    """Say which streams are made up because their files are missing."""
    missing = sorted({each.name.split("[")[0] for each in streams if each.origin == "stand-in"})
    if missing:
        messages.print(
            f"[yellow]Made up, because there is no file of them: {', '.join(missing)}.[/] Say with --data where they"
            " are, or see penstock bench fetch."
        )
    return missing
