"""What the commands of ``penstock bench`` are told alike."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Protocol

import typer
from rich.markup import escape

from penstock.bench.cache import Cache
from penstock.bench.runner import Loader, Outcomes, R, adopted, measured
from penstock.bench.spot_checks import Verdict
from penstock.bench.suite.naming import Loaded
from penstock.bench.suite.streams import load
from penstock.cli.console import counted, messages, several
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
Adopt = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Adopt runs of older code if so many of every mechanism under every law come out the same, to the last"
        " digit; where one does not, if so many on a stream do.",
    ),
]


def loader(data: Path | None) -> partial[Loaded]:
    """Streams by their names, from a folder if there is one."""
    require_folder(data)
    return partial(load, data=data)


def require_folder(data: Path | None) -> None:
    """Refuse a folder of streams that is not there; no folder is fine."""
    if data is not None and not data.is_dir():
        raise BadInput(f"there is no folder {data}; leave out --data to run on generated streams.")


def run(
    wanted: Mapping[R, int], doing: str, loader: Loader, cache: Cache, workers: int, adopt: int | None = None
) -> Outcomes[R]:
    """What is known, and what is not run now, under a bar; who stops it loses nothing."""
    try:
        if adopt:
            with counted(f"{doing}, spot checks") as show:
                verdict = adopted(wanted, adopt, loader, cache, workers, show)
            _tell_adopted(doing, verdict)
        with counted(doing) as show:
            return measured(wanted, loader, cache, workers, show)
    except KeyboardInterrupt:
        messages.print("Stopped; what was run is kept, and the same command goes on where it was.")
        raise


def _tell_adopted(doing: str, verdict: Verdict) -> None:
    """What became of runs that only older code had made, if there were any."""
    compared, otherwise, taken, refused, where = verdict
    if not compared + taken + refused:
        return
    differing = f"; {otherwise} came out otherwise" if otherwise else "; all that were came out the same"
    anew = f", {refused} are run anew because another of their group differs" if refused else ""
    messages.print(
        f"{doing}: {several(compared, 'run')} of older code compared with new ones{differing}."
        f" {taken} others are adopted{anew}."
    )
    for name in dict.fromkeys(group.name for group in where):
        streams = dict.fromkeys(group.stream for group in where if group.name == name)
        messages.print(escape(f"  {name} has changed on {', '.join(streams)}"))


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
