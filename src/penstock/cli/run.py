"""``penstock run``: publish a file or standard input through a durable store."""

from __future__ import annotations

import signal
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from penstock import streams
from penstock.cli import options
from penstock.cli.console import as_json, messages, progress, reader_may_leave, several
from penstock.cli.settings import Settings, from_toml, overridden, parameters_of
from penstock.cli.stopping import StoppableSource
from penstock.publisher import Publisher
from penstock.store import Store
from penstock.streams.text import STANDARD
from penstock.types import Cause, Kind, Published


@dataclass
class Summary:
    """What a run has done."""

    stream: str
    t: int = 0
    released: int = 0
    fresh: int = 0
    lost: int = 0
    remaining: str = ""
    stopped: bool = False

    def count(self, release: Published) -> None:
        self.t, self.remaining = release.t, str(release.remaining)
        self.released += 1
        self.fresh += bool((release.kind == Kind.FRESH).any())
        self.lost += release.cause in (Cause.LOST, Cause.FAILED)


def run(
    config: Annotated[Path | None, typer.Argument(help="A TOML file; options given besides it win.")] = None,
    source: options.Input = None,
    output: options.Output = None,
    store: options.StoreFile = None,
    stream: options.StreamName = None,
    key: options.KeyPath = None,
    head: options.HeadPath = None,
    mechanism: options.MechanismName = None,
    parameters: options.Parameters = [],  # noqa: B006
    model: options.ModelName = None,
    epsilon: options.EpsilonText = None,
    w: options.W = None,
    horizon: options.Horizon = None,
    m: options.M = None,
    steps: options.Steps = None,
    neighbours: options.Neighbours = None,
    per_unit: options.PerUnit = None,
    population: options.People = None,
    population_epsilon: options.PeopleEpsilon = None,
    time: options.TimeColumn = None,
    every: options.Every = None,
    gaps: options.Gaps = None,
    input_format: options.InputFormat = None,
    output_format: options.OutputFormat = None,
    json: options.Json = False,
) -> None:
    """Publish histogram rows through a durable store. Kill it anywhere, run it again: it goes on where it was."""
    windows = {"w": w, "horizon": horizon, "m": m, "steps": steps}
    settings = overridden(
        from_toml(config) if config else Settings(),
        input=source,
        output=output,
        store=store,
        stream=stream,
        key=key and str(key),
        head=head and str(head),
        population=population,
        population_epsilon=population_epsilon,
        time=time,
        every=every,
        gaps=gaps,
        input_format=input_format,
        output_format=output_format,
        mechanism=({"name": mechanism} if mechanism else {}) | parameters_of(parameters),
        model=options.law(model, epsilon=epsilon, **windows, neighbours=neighbours, per_unit=per_unit),
    )
    settings.require_complete()
    with reader_may_leave():
        _report(_published(settings), settings, json)


def _published(settings: Settings) -> Summary:
    """Check everything, then publish."""
    made = settings.made()
    summary = Summary(settings.name)
    with (
        StoppableSource(streams.read(settings.input, form=settings.input_format, time=settings.time)) as source,
        Store(settings.store, key=settings.key, head=settings.head) as store,
        Publisher(
            made,
            store,
            settings.name,
            bins=source.bins,
            population=settings.population,
            population_epsilon=settings.population_epsilon,
        ) as publisher,
        streams.write(settings.output, source.bins, form=settings.output_format) as sink,
        progress("Publishing, time unit") as show,
    ):
        summary.t = publisher.t
        for release in publisher.run(source, sink, every=settings.every, gaps=settings.gaps):
            summary.count(release)
            show(release.t)
        summary.stopped = source.signal == signal.SIGINT
    return summary


def _report(summary: Summary, settings: Settings, json: bool) -> None:
    if json and settings.output != STANDARD:
        as_json(asdict(summary))
    else:
        how = "stopped" if summary.stopped else "done"
        lost = f", {summary.lost} lost to a crash" if summary.lost else ""
        messages.print(
            f'{how}: stream "{escape(summary.stream)}" is at t={summary.t};'
            f" {several(summary.released, 'release')} written, {summary.fresh} fresh{lost}."
        )
    if summary.stopped:
        raise typer.Exit(130)
