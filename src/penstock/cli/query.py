"""``penstock query`` and ``penstock table``: what releases tell about some bins, and records made up from them."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Annotated, Any

import typer
from rich.table import Table

from penstock.asking import count
from penstock.asking import table as records
from penstock.asking.counting import USUAL_CONFIDENCE
from penstock.cli import options
from penstock.cli.console import as_json, messages, reader_may_leave, results, several
from penstock.cli.released import Released, released
from penstock.domain import Domain
from penstock.errors import BadInput
from penstock.streams.lines import STANDARD
from penstock.streams.sinks import unwritable
from penstock.types import Mask, Published

WHAT, WHEN = "Which bins", "Which time"

Given = Annotated[str, typer.Argument(metavar="RELEASES", help='A file of releases, a store, or "-".')]
StreamOf = Annotated[str | None, typer.Option(help="Which stream, if a store has several.")]
DomainText = Annotated[
    str | None,
    typer.Option("--domain", help="What bins are made of, if their names do not tell: row=8,column=8."),
]
Where = Annotated[
    list[str], typer.Option(help="A condition: sex=f, age=18..25, bin=north|south.", rich_help_panel=WHAT)
]
At = Annotated[str | None, typer.Option(help="One time unit, by its label or number; else the last.")]


def query(
    releases: Given,
    where: Where = [],  # noqa: B006
    by: Annotated[str | None, typer.Option(help="A row for each value of an attribute.", rich_help_panel=WHAT)] = None,
    at: Annotated[str | None, typer.Option(help="One unit, by label or number.", rich_help_panel=WHEN)] = None,
    begin: Annotated[str | None, typer.Option("--from", help="From this unit on.", rich_help_panel=WHEN)] = None,
    end: Annotated[str | None, typer.Option("--to", help="Up to this unit.", rich_help_panel=WHEN)] = None,
    together: Annotated[
        bool, typer.Option("--sum", help="Over all of that time together.", rich_help_panel=WHEN)
    ] = False,
    confidence: Annotated[float, typer.Option(help="Of noise intervals.")] = USUAL_CONFIDENCE,
    domain: DomainText = None,
    stream: StreamOf = None,
    head: options.HeadPath = None,
    input_format: options.InputFormat = None,
    json: options.Json = False,
) -> None:
    """How many records lie in some bins, as releases tell it. Without a time: in the last release. Costs nothing.

    A noise interval says how far the noise may have moved a count. Only counts of fresh values have one.
    """
    if at is not None and (begin is not None or end is not None):
        raise BadInput("ask about one unit with --at, or about several with --from and --to.")
    with released(releases, stream, input_format, head) as given, reader_may_leave():
        made_of = domain_of(given.bins, domain)
        asked = _questions(made_of, where, by)
        found = list(_in_time(given, at or begin, at or end, last=at is None and begin is None and end is None))
    groups = [found] if together else [[release] for release in found]
    rows = [
        {"time": _span(group), **({by: name} if by else {}), **asdict(count(group, mask, confidence=confidence))}
        for group in groups
        for name, mask in asked.items()
    ]
    if json:
        as_json({"releases": releases, "where": where, "counts": rows})
    else:
        _show(rows, by, confidence)


def table(
    releases: Given,
    output: Annotated[str, typer.Option("--output", "-o", help='A CSV file, or "-".')] = "-",
    at: At = None,
    rows: Annotated[int | None, typer.Option(help="Draw so many; else as many as the release holds.")] = None,
    seed: Annotated[int | None, typer.Option(help="Draw the same again.")] = None,
    domain: DomainText = None,
    stream: StreamOf = None,
    head: options.HeadPath = None,
    input_format: options.InputFormat = None,
) -> None:
    """Make up a table of records that a release could have come from, for tools that want records. Costs nothing."""
    with released(releases, stream, input_format, head) as given, reader_may_leave():
        made_of = domain_of(given.bins, domain)
        (release,) = _in_time(given, at, at, last=at is None)
        drawn = records(release, made_of, rows=rows, seed=seed)
        written = 0
        with _opened(output) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(made_of.attributes)
            for row in drawn:
                writer.writerow(row)
                written += 1
    messages.print(f"done: {several(written, 'made-up record')} of {release.label}.")


def domain_of(bins: tuple[str, ...], told: str | None) -> Domain:
    """What bins are made of: as told, or as their names tell."""
    if told is None:
        return Domain.of_bins(bins)
    made = Domain.parsed(told)
    if len(made) != len(bins):
        raise BadInput(f"the domain {told} has {len(made)} bins, and the releases have {len(bins)}; they must agree.")
    return made


def _questions(domain: Domain, where: list[str], by: str | None) -> dict[str, Mask]:
    """The bins that are asked about, by the value of ``by`` if there is one."""
    conditions: dict[str, str] = {}
    for told in where:
        name, equals, value = told.partition("=")
        if not equals or name.strip() in conditions:
            raise BadInput(f"a condition is written attribute=value, each attribute once; got {told!r}.")
        conditions[name.strip()] = value.strip()
    mask = domain.where(conditions)
    if by is None:
        return {"": mask}
    domain.where({by: ".."})  # refused if there is no such attribute
    single = {value: mask & domain.where({by: [value]}) for value in domain.attributes[by]}
    return {value: each for value, each in single.items() if each.any()}


def _in_time(given: Released, begin: str | None, end: str | None, *, last: bool) -> Iterator[Published]:
    """The releases from one unit to another, both included; or the last one alone."""
    begun, ended, latest = begin is None and not last, False, None
    for release in given:
        latest = release
        begun = begun or (begin is not None and _is_called(release, begin))
        if begun:
            yield release
        if begun and end is not None and _is_called(release, end):
            ended = True
            break
    if last and latest is not None:
        yield latest
    elif latest is None:
        raise BadInput("there are no releases yet; publish some first.")
    elif not begun or (end is not None and not ended):
        raise BadInput(f"no release is called {end if begun else begin}; ask for a label or a number of a unit.")


def _is_called(release: Published, name: str) -> bool:
    return name in (release.label, str(release.t))


def _span(group: list[Published]) -> str:
    first, last = group[0].label, group[-1].label
    return first if len(group) == 1 else f"{first} to {last}"


def _show(rows: list[dict[str, Any]], by: str | None, confidence: float) -> None:
    shown = Table(show_edge=False)
    for heading in ("time", *([by] if by else []), "count", f"{100 * confidence:g}% noise interval"):
        shown.add_column(heading, justify="left" if heading in ("time", by) else "right")
    for row in rows:
        interval = "-" if row["low"] is None else f"{row['low']} to {row['high']}"
        shown.add_row(row["time"], *([row[by]] if by else []), str(row["value"]), interval)
    results.print(shown)
    for warning in dict.fromkeys(row["warning"] for row in rows if row["warning"]):
        messages.print(f"[bold]no noise interval:[/] {warning}")


@contextmanager
def _opened(output: str) -> Iterator[IO[str]]:
    """A new file, or standard output."""
    if output == STANDARD:
        yield sys.stdout
        return
    try:
        with Path(output).open("x", encoding="utf-8", newline="") as file:
            yield file
    except FileExistsError:
        raise BadInput(f"{output} is there already; name another file, or move it away.") from None
    except OSError as fault:
        raise unwritable(output, fault) from None
