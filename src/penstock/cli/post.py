"""``penstock post``: releases that are smoothed, summed, made to add up, rounded; at no cost, since they are public."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from penstock import streams
from penstock.cli import options
from penstock.cli.console import messages, progress, several
from penstock.cli.released import Released, released
from penstock.cli.settings import read_toml, require_different_files, require_same_origin
from penstock.errors import BadInput, BadRow
from penstock.post import Chain, Levels, NonNegative, Rounded, SlidingSum, Smoothed, Step, Total
from penstock.streams.lines import Lines, called, open_bytes
from penstock.streams.parquet_sink import ParquetSink
from penstock.streams.sinks import FileSink, StreamSink
from penstock.types import Published

STEPS = "What to do, in this order"
WHOLE = re.compile(r"-?[0-9]{1,30}")
NUMBER = re.compile(r"[-+0-9.eE]{1,30}")


@dataclass(frozen=True)
class Wanted:
    """What is to be done. The order is fixed: whatever has to add up is made to after averages and sums are taken."""

    smooth: int | None
    median: bool
    width: int | None
    levels: str | None
    total: str | None
    non_negative: bool
    round_to: int | None

    def require_something(self) -> None:
        """Refuse to copy."""
        if self.median and self.smooth is None:
            raise BadInput("--median needs to know of how many releases; say so with --smooth.")
        if not self.non_negative and {self.smooth, self.width, self.levels, self.total, self.round_to} == {None}:
            raise BadInput(
                "say what to do with the releases: --smooth, --width, --levels, --total, --non-negative or --round."
            )

    def steps(self, bins: tuple[str, ...]) -> Chain:
        """All of it, for releases of these bins."""
        steps: list[Step] = []
        if self.smooth is not None:
            steps.append(Smoothed(self.smooth, by="median" if self.median else "mean"))
        if self.width is not None:
            steps.append(SlidingSum(self.width))
        steps += self._constraints(bins)
        if self.round_to is not None:
            steps.append(Rounded(self.round_to))
        return Chain(steps)

    def _constraints(self, bins: tuple[str, ...]) -> list[Step]:
        """What has to hold at the same time is one step."""
        total = None if self.total is None else total_of(self.total)
        if self.levels is not None:
            return [Levels(bins, parts_of(Path(self.levels)), non_negative=self.non_negative, total=total)]
        if total is not None:
            return [Total(total, non_negative=self.non_negative)]
        return [NonNegative()] if self.non_negative else []


def parts_of(path: Path) -> dict[str, Any]:
    """The parts of every bin that has some, from a TOML file: ``nation = ["north", "south"]``."""
    told = read_toml(path)
    for name, parts in told.items():
        if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
            raise BadInput(f'{path.name} has to list the parts of "{name}": {name} = ["one", "another"].')
    return told


def total_of(told: str) -> int | dict[str, int]:
    """A total for all units, or one for each from a file of a time and a total a line."""
    if WHOLE.fullmatch(told):
        return int(told)
    if NUMBER.fullmatch(told):
        raise BadInput(f"a total is a whole number, or a file of them; got {told}.")
    lines, totals = Lines(open_bytes(told), called(told)), dict[str, int]()
    try:
        rows = lines.rows()
        if next(rows, (0, []))[1][1:] != ["total"]:
            raise BadInput(f'{lines.name} has to begin with "t,total", and then tell the total of every time unit.')
        for number, row in rows:
            if len(row) != 2 or row[0] in totals or not WHOLE.fullmatch(row[1]):
                raise BadRow(f"{lines.name}, line {number}: a line has a time, once, and a whole number; mend it.")
            totals[row[0]] = int(row[1])
    finally:
        lines.close()
    return totals


def post(
    releases: Annotated[str, typer.Argument(metavar="RELEASES", help='A file of releases, a store, or "-".')],
    output: Annotated[str, typer.Option("--output", "-o", help='A file, or "-".')] = "-",
    stream: Annotated[str | None, typer.Option(help="Which stream, if a store has several.")] = None,
    head: options.HeadPath = None,
    smooth: Annotated[int | None, typer.Option(help="Means of so many releases.", rich_help_panel=STEPS)] = None,
    median: Annotated[bool, typer.Option("--median", help="Medians instead.", rich_help_panel=STEPS)] = False,
    width: Annotated[int | None, typer.Option(help="Sums over so many units.", rich_help_panel=STEPS)] = None,
    levels: Annotated[
        str | None,
        typer.Option(
            help="Bins are the sums of their parts: a TOML file. (People count once on every level: see --per-unit.)",
            rich_help_panel=STEPS,
        ),
    ] = None,
    total: Annotated[
        str | None, typer.Option(help="They add up to a public total: a number, or a file.", rich_help_panel=STEPS)
    ] = None,
    non_negative: Annotated[
        bool, typer.Option("--non-negative", help="None is below 0.", rich_help_panel=STEPS)
    ] = False,
    round_to: Annotated[int | None, typer.Option("--round", help="To multiples.", rich_help_panel=STEPS)] = None,
    input_format: options.InputFormat = None,
    output_format: options.OutputFormat = None,
) -> None:
    """Work on releases that are published already. Run it again: it goes on where it was."""
    wanted = Wanted(smooth, median, width, levels, total, non_negative, round_to)
    wanted.require_something()
    require_different_files({"input": releases, "levels": levels, "total": total, "output": output})
    written = 0
    with released(releases, stream, input_format, head) as given:
        steps = wanted.steps(given.bins)
        intervals = given.intervals and steps.keeps_intervals
        with (
            streams.write(output, given.bins, form=output_format, intervals=intervals) as sink,
            progress("Processing, time unit", given.units) as show,
        ):
            for release in following(given, steps, sink, output):
                sink.write(release)
                written += 1
                show(release.t)
    messages.print(f"done: {several(written, 'release')} written, {escape(steps.says)}.")


def following(
    given: Released, steps: Step, sink: FileSink | StreamSink | ParquetSink, output: str
) -> Iterator[Published]:
    """What the output lacks: everything, or what comes after its last release, which these steps have to have made."""
    last = (sink.last or 0) if isinstance(sink, FileSink) else 0
    releases = given.after(max(last - 1 - steps.reach, 0))
    first = next(releases, None)
    joined = last == 0
    if first is not None and isinstance(sink, ParquetSink) and sink.last:
        _require_same_beginning(output, first)
    if first is not None and first.t > last > 0:
        _require_no_look_back(output, sink, steps, first)
        joined = True
    for release in chain([] if first is None else [first], releases):
        made = steps(release)
        if release.t == last and isinstance(sink, FileSink):
            require_same_origin(output, sink.mechanism, made.mechanism)
            joined = sink.ended_with(made)
        if release.t >= last and not joined:
            raise _foreign(output)
        if release.t > last:
            yield made
    if not joined:
        raise _foreign(output)


def _foreign(output: str) -> BadInput:
    return BadInput(f"the last row of {output} is not what this makes of the release of its unit; name another output.")


def _require_no_look_back(
    output: str, sink: FileSink | StreamSink | ParquetSink, steps: Step, first: Published
) -> None:
    """A pipe may begin after what was written, if nothing from before is needed."""
    if steps.reach:
        raise BadInput(
            f"the releases begin after those that {output} ends with, and earlier ones are needed; give them from"
            f" t={max((sink.last or 0) - steps.reach, 1)} on, or name another output."
        )
    require_same_origin(output, sink.mechanism, steps.named(first.mechanism))


def _require_same_beginning(output: str, first: Published) -> None:
    """What cannot be continued is written anew; but not by something else."""
    with streams.read_releases(output, form="parquet") as before:
        known = next(iter(before), None)
    if known is not None and (known.t, known.link) != (first.t, first.link):
        raise BadInput(f"{output} begins with another release than the input; name another output.")
