"""``penstock query`` and ``penstock table``: what releases tell about some bins, and records made up from them."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from itertools import product
from typing import Annotated, Any, NamedTuple

import typer
from rich.table import Table
from rich.text import Text

from penstock.asking import Answer
from penstock.asking import table as records
from penstock.asking.counting import USUAL_CONFIDENCE, Counting
from penstock.cli import options
from penstock.cli.console import as_json, messages, results, several
from penstock.cli.files import opened
from penstock.cli.released import Released, released
from penstock.domain import Domain
from penstock.errors import BadInput
from penstock.types import CONFIDENCE, Mask, Published

WHAT, WHEN = "Which bins", "Which time"

Question = tuple[tuple[str, ...], Mask]  # values of the attributes that rows go by, and the bins that have them

Given = Annotated[str, typer.Argument(metavar="RELEASES", help='A file of releases, a store, or "-".')]
StreamOf = Annotated[str | None, typer.Option(help="Which stream, if a store has several.")]
DomainText = Annotated[
    str | None,
    typer.Option("--domain", help="What bins are made of, if their names do not tell: row=8,column=8."),
]
Where = Annotated[
    list[str], typer.Option(help="A condition: sex=f, age=18..25, 'bin=north|south'.", rich_help_panel=WHAT)
]
By = Annotated[
    list[str],
    typer.Option(help="A row for each value of an attribute; told twice, for each pair.", rich_help_panel=WHAT),
]
At = Annotated[str | None, typer.Option(help="One time unit, by its label, or as t=5; else the last.")]


def query(
    releases: Given,
    where: Where = [],  # noqa: B006
    by: By = [],  # noqa: B006
    at: Annotated[str | None, typer.Option(help="One unit, by its label, or as t=5.", rich_help_panel=WHEN)] = None,
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

    A noise interval says how far the noise may have moved a count. Only counts of fresh values have one. A credible
    interval is the one that a release gives for a single count, by its mechanism's model.
    """
    if at is not None and (begin is not None or end is not None):
        raise BadInput("ask about one unit with --at, or about several with --from and --to.")
    if together and at is None and begin is None and end is None:
        raise BadInput("say over which time --sum adds up, with --from and --to; --from t=1 is all there is.")
    with released(releases, stream, input_format, head) as given:
        made_of = domain_of(given.bins, domain)
        conditions = _conditions(made_of, where, by)
        first, final = (begin, end) if at is None else (at, at)
        asked = _in_time(given, first, final, last=first is None and final is None)
        questions = partial(_questions, made_of, conditions, by)
        rows = list(_answered(asked, questions, confidence, together=together))
    if json:
        as_json({"releases": releases, "where": where, "by": by, "counts": [row.as_dict(by) for row in rows]})
    else:
        _show(rows, by, confidence, credible=given.intervals)


def _answered(
    asked: Iterator[Published], questions: Callable[[], Iterator[Question]], confidence: float, *, together: bool
) -> Iterator[Row]:
    """The answers to all questions about every release, or about all of them together."""
    for span in [asked] if together else ([release] for release in asked):
        counts = [(values, Counting(mask, confidence=confidence)) for values, mask in questions()]
        ends: list[str] = []
        for release in span:
            ends[1:] = [release.label]
            for _, each in counts:
                each.add(release)
        time = " to ".join(ends)
        yield from (Row(time, values, each.answer()) for values, each in counts)


class Row(NamedTuple):
    """What came of one question: when, for which values of the attributes that rows go by, and the answer."""

    time: str
    group: tuple[str, ...]
    answer: Answer

    def as_dict(self, by: list[str]) -> dict[str, Any]:
        """For a script."""
        return {"time": self.time, "group": dict(zip(by, self.group, strict=True)), **asdict(self.answer)}


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
    with released(releases, stream, input_format, head) as given:
        made_of = domain_of(given.bins, domain)
        (release,) = _in_time(given, at, at, last=at is None)
        drawn = records(release, made_of, rows=rows, seed=seed)
        written = 0
        with opened(output) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(made_of.attributes)
            for row in drawn:
                writer.writerow(row)
                written += 1
    messages.print(Text(f"done: {several(written, 'made-up record')} of {release.label}."))


def domain_of(bins: tuple[str, ...], told: str | None) -> Domain:
    """What bins are made of: as told, or as their names tell."""
    if told is None:
        return Domain.of_bins(bins)
    made = Domain.parsed(told)
    if len(made) != len(bins):
        raise BadInput(f"the domain {told} has {len(made)} bins, and the releases have {len(bins)}; they must agree.")
    return made


def _conditions(domain: Domain, where: list[str], by: list[str]) -> dict[str, str]:
    """What has to hold, by attribute."""
    conditions: dict[str, str] = {}
    for told in where:
        name, equals, value = (piece.strip() for piece in told.partition("="))
        if not equals or name in conditions:
            raise BadInput(
                f"a condition is written attribute=value, each attribute once ('age=20|21' for several values);"
                f" got {told!r}."
            )
        conditions[name] = value
    domain.where(dict.fromkeys(by, "..") | conditions)  # refused now
    if len(set(by)) < len(by):
        raise BadInput(f"rows go by each attribute once; got {', '.join(by)}.")
    return conditions


def _questions(domain: Domain, conditions: dict[str, str], by: list[str]) -> Iterator[Question]:
    """The bins that are asked about, for each combination of values of the attributes in ``by``."""
    mask = domain.where(conditions)
    for values in product(*(domain.attributes[name] for name in by)):
        of_values = mask & domain.where({name: [value] for name, value in zip(by, values, strict=True)})
        if of_values.any() or not by:
            yield values, of_values


def _in_time(given: Released, begin: str | None, end: str | None, *, last: bool) -> Iterator[Published]:
    """The releases from one unit to another, both included; or the last one alone."""
    begun, ended, latest = begin is None and not last, False, None
    passed = False  # the end came before the beginning
    for release in given:
        latest = release
        begun = begun or (begin is not None and _is_called(release, begin))
        passed = passed or (not begun and end is not None and _is_called(release, end))
        if begun:
            yield release
        if begun and end is not None and _is_called(release, end):
            ended = True
            break
    if last and latest is not None:
        yield latest
    elif latest is None:
        raise BadInput("there are no releases yet; publish some first.")
    elif passed:
        raise BadInput(f"{end} lies before {begin}; ask from the earlier to the later one.")
    elif not begun or (end is not None and not ended):
        raise BadInput(
            f"no release is called {end if begun else begin}; ask for a label, or give the number of a unit as t=5."
        )


def _is_called(release: Published, name: str) -> bool:
    """Whether a unit is meant: by its label, or as messages write its number. A bare number is a label."""
    return name in (release.label, f"t={release.t}")


def _show(rows: list[Row], by: list[str], confidence: float, *, credible: bool) -> None:
    shown = Table(show_edge=False)
    for heading in ("time", *by):
        shown.add_column(Text(heading), overflow="fold")
    model = f"{100 * CONFIDENCE:g}% credible interval"
    for heading in ("count", f"{100 * confidence:g}% noise interval", *([model] if credible else [])):
        shown.add_column(heading, justify="right")
    for time, group, answer in rows:
        cells = [str(answer.value), _interval(answer.low, answer.high)]
        cells += [_interval(answer.credible_low, answer.credible_high)] if credible else []
        shown.add_row(Text(time), *map(Text, group), *cells)
    results.print(shown)
    for warning in dict.fromkeys(row.answer.warning for row in rows if row.answer.warning):
        messages.print(Text.assemble(("no noise interval: ", "bold"), warning))
    if credible and any(row.answer.values > 1 for row in rows):
        why = (
            "releases have one for each count, and those of several counts do not add up; ask for one bin in one unit."
        )
        messages.print(Text.assemble(("no credible interval: ", "bold"), why))


def _interval(low: int | None, high: int | None) -> str:
    return "-" if low is None else f"{low} to {high}"
