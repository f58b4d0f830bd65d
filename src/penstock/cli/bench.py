"""``penstock bench``: every mechanism on every stream, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from penstock.bench.boards import BOARDS, DEV, Board, board_named, require_long_enough, require_mechanisms
from penstock.bench.cache import Cache
from penstock.bench.originals import ORIGINALS, original_named
from penstock.bench.originals import fetch as fetched
from penstock.bench.report import About, Shown, standings_table, write
from penstock.bench.runner import known
from penstock.bench.suite.naming import Loaded
from penstock.bench.suite.streams import LONG, NAMED, named
from penstock.bench.summary import Errors
from penstock.cli import benching, options
from penstock.cli.console import messages, progress, results, several
from penstock.cli.goals import auto
from penstock.cli.peers import peers
from penstock.drawing import require_drawable
from penstock.errors import BadInput

app = typer.Typer(no_args_is_help=True, help="Compare every mechanism on every stream, in simulation.")
app.command()(peers)
app.command()(auto)

PART = "part"  # in the folder of the report: a report that is not of everything


@app.command()
def leaderboard(
    data: benching.Data = None,
    into: benching.Into = benching.INTO,
    boards: Annotated[list[str], typer.Option("--board", help=f"Only this one of {', '.join(BOARDS)}.")] = [],  # noqa: B006
    only: Annotated[
        list[str],
        typer.Option(
            "--only",
            "--mechanism",
            help="Run only this mechanism, perhaps of your own: mine.py; others as far as they are known.",
        ),
    ] = [],  # noqa: B006
    allow_unproven: options.AllowUnproven = False,
    streams: Annotated[list[str], typer.Option("--stream", help="On this stream, see penstock bench streams.")] = [],  # noqa: B006
    dev: Annotated[bool, typer.Option("--dev", help="Only six short streams, for working on a mechanism.")] = False,
    seeds: Annotated[int | None, typer.Option(min=1, help="Runs in each cell, instead of 3, or 9 of short.")] = None,
    adopt: benching.Adopt = None,
    workers: benching.Workers = benching.CORES,
    figures: Annotated[bool, typer.Option(help="Draw heat maps, and put them into the report.")] = True,
) -> None:
    """Run every mechanism on every stream, and write tables, figures and a report.

    What is known already is not run again; who is interrupted goes on where they were. The report of a part of it goes
    into a folder of its own.
    """
    whole = not (boards or only or streams or dev)
    chosen = _chosen(boards, streams, dev=dev)
    keys, loader = require_mechanisms(only, chosen), benching.loader(data)
    figures = figures and _can_draw()
    about = {name: _about(name, loader(name)) for board in chosen for name in board.streams}
    for board in chosen:
        require_long_enough(board, {name: each.steps for name, each in about.items()})
    shown: list[Shown] = []
    with Cache(into / benching.RESULTS).open() as cache:
        if cache.dropped:
            messages.print(f"{several(cache.dropped, 'row')} of {escape(str(cache.path))} cannot be trusted; dropped.")
        for board in chosen:
            wanted = board.wanted(keys, seeds, allow_unproven=allow_unproven)
            found = benching.run(wanted, board.title, loader, cache, workers, adopt)
            others = known(board.wanted(seeds=seeds), loader, cache) if keys else {}  # as far as they are
            shown.append(Shown(board, others | found))
            results.print(standings_table(shown[-1]))
            _tell_deserted(shown[-1])
    command = _command({"--board": boards, "--only": only, "--stream": streams}, seeds, dev, allow_unproven)
    folder = into if whole else into / PART
    written = write(folder, shown, list(about.values()), figures=figures, command=command, origins=cache.origins)
    benching.tell_stand_ins(about.values())
    report = next(path for path in written if path.suffix == ".html")
    results.print(f"[dim]Report: {escape(str(report))}[/]", soft_wrap=True)


@app.command()
def streams(data: benching.Data = None) -> None:
    """List the streams of the benchmark, and whether they come from files."""
    table = Table(title="Streams", title_justify="left")
    for heading in ("name", "board", "from", "what it is"):
        table.add_column(heading, no_wrap=heading == "name")
    for name, each in NAMED.items():
        missing = each.file and not each.is_there(data)
        source = f"[yellow]made up, no {each.file}[/]" if missing else each.file or "generated"
        table.add_row(name, "long" if name in LONG else "", source, each.about)
    results.print(table)


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(ORIGINALS)}.")],
    to: Annotated[Path, typer.Option(help="The folder of streams to put it into.")],
    at: Annotated[str | None, typer.Option(help="Another host that has it: https://mirror.example.org.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Replace what is there.")] = False,
) -> None:
    """Download the public original of a stream, where its terms allow that."""
    original = original_named(name)
    results.print(f"{original.about}\n[dim]{original.licence} {original.credit}[/]")
    arrived = 0
    with progress(f"Fetching {name}, bytes") as show:

        def advance(number: int) -> None:
            nonlocal arrived
            arrived += number
            show(arrived)

        written = fetched(name, to, at=at, again=again, progress=advance)
    for path in written:
        results.print(f"written: {escape(str(path))}", soft_wrap=True)


def _chosen(keys: Sequence[str], names: Sequence[str], *, dev: bool) -> list[Board]:
    """The boards that are meant, on other streams than their own if some are named."""
    if dev and keys:
        raise BadInput("--dev is a board of its own; leave out --board.")
    boards = [DEV] if dev else [board_named(key) for key in keys or BOARDS]
    for name in names:
        named(name.split("[")[0])
    return [board.on(names) if names else board for board in boards]


def _command(lists: Mapping[str, Sequence[str]], seeds: int | None, dev: bool, allow_unproven: bool) -> str:
    """What was asked for, without where things lie on this machine."""
    told = [f"{name} {each}" for name, chosen in lists.items() for each in chosen]
    told += ["--dev"] * dev + [f"--seeds {seeds}"] * (seeds is not None) + ["--allow-unproven"] * allow_unproven
    return " ".join(["penstock bench leaderboard", *told])


def _can_draw() -> bool:
    """Whether figures can be drawn; if not, it is said how they could be."""
    try:
        require_drawable(Path("figure.svg"))
    except BadInput as fault:
        messages.print(f"[yellow]No figures:[/] {escape(str(fault))}")
        return False
    return True


def _tell_deserted(shown: Shown) -> None:
    errors = Errors(shown.outcomes, shown.board.measures[0])
    if len({what.mechanism for what in shown.outcomes}) == 1:
        messages.print("Nothing else is known here, so ratios say nothing; run the others, too: leave out --only.")
    elif errors.deserted:
        messages.print(
            f"{several(errors.deserted, 'cell')} left out, where few mechanisms are known; leave out --only."
        )


def _about(name: str, loaded: Loaded) -> About:
    return About(name, loaded.about, loaded.origin, len(loaded), loaded.bins)
