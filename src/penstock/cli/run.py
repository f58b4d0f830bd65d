"""``penstock run``: publish a file or standard input through a durable store."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from penstock import streams
from penstock.cli import options
from penstock.cli.console import as_json, count_lines, messages, progress, several
from penstock.cli.intake import is_ready
from penstock.cli.opening import warn_of
from penstock.cli.settings import Settings, from_toml, overridden, parameters_of, require_same_origin, shaped
from penstock.cli.stopping import StoppableSource
from penstock.desk import require_accounted
from penstock.errors import BadInput
from penstock.mechanisms.base import Mechanism
from penstock.models import MContext, PrivacyModel
from penstock.publisher import Publisher, calendar_of
from penstock.store import Archive, Store, founding
from penstock.streams import Calendar, Source
from penstock.streams.lines import STANDARD
from penstock.types import Cause, Published, Snapshot


@dataclass
class Summary:
    """What a run has done."""

    stream: str
    before: int = 0  # the last unit that was stored when it began
    t: int = 0
    label: str = ""
    written: int = 0
    new: int = 0
    fresh: int = 0
    lost: int = 0
    ignored: int = 0  # rows of units that were released before
    remaining: str = ""
    stopped: bool = False
    piped: bool = False  # a pipe ends alike if its producer was killed

    def see(self, row: Snapshot) -> None:
        """Count a row that is passed over, as its time says; what it counts is not looked at."""
        self.ignored += row.t <= self.before

    def count(self, release: Published) -> None:
        new = release.t > self.before
        self.t, self.label, self.remaining = release.t, release.label, str(release.remaining)
        self.written += 1
        self.new += new
        self.fresh += new and release.is_new
        self.lost += release.t >= self.before and release.cause in (Cause.LOST, Cause.FAILED)

    def __str__(self) -> str:
        if not self.t:
            return f'{self._end}: no row has come yet, so stream "{self.stream}" was not begun.'
        new = f"{several(self.new, 'new release')}, {self.fresh} fresh" if self.new else "nothing new"
        lost = f", {self.lost} lost to a crash" if self.lost else ""
        again = f"; {self.written - self.new} older written again" if self.written > self.new else ""
        where = f" ({self.label})" if self.label not in ("", str(self.t)) else ""
        rows = several(self.ignored, "row")
        ignored = f" Ignored, changed or not: {rows} of units released before." if self.ignored else ""
        return f'{self._end}: stream "{self.stream}" is at t={self.t}{where}; {new}{lost}{again}.{ignored}'

    @property
    def _end(self) -> str:
        if self.stopped:
            return "stopped"
        return "the input ended (a pipe does not tell whether all was written)" if self.piped else "done"


def run(
    config: Annotated[Path | None, typer.Argument(help="A TOML file; options given besides it win.")] = None,
    source: options.Input = None,
    presence: options.Presence = None,
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
    on_horizon: options.OnHorizon = None,
    m: options.M = None,
    max_users: options.MaxUsers = None,
    steps: options.Steps = None,
    neighbours: options.Neighbours = None,
    per_unit: options.PerUnit = None,
    population: options.People = None,
    population_epsilon: options.PeopleEpsilon = None,
    time: options.TimeColumn = None,
    every: options.Every = None,
    gaps: options.Gaps = None,
    width: options.Width = None,
    input_format: options.InputFormat = None,
    output_format: options.OutputFormat = None,
    check: Annotated[bool, typer.Option("--check", help="Only read the input to its end, and spend nothing.")] = False,
    json: options.Json = False,
) -> None:
    """Publish histogram rows through a durable store. Kill it anywhere, run it again: it goes on where it was."""
    windows = {"w": w, "horizon": horizon, "on_horizon": on_horizon, "m": m, "max_users": max_users, "steps": steps}
    files = {"input": source, "presence": presence, "output": output, "store": store, "stream": stream}
    secrets = {"key": key and str(key), "head": head and str(head)}
    people = {"population": population, "population_epsilon": population_epsilon}
    times = {"time": time, "every": every, "gaps": gaps, "width": width}
    settings = overridden(
        from_toml(config) if config else Settings(),
        **(files | secrets | people | times),
        input_format=input_format,
        output_format=output_format,
        mechanism=({"name": mechanism} if mechanism else {}) | parameters_of(parameters),
        model=options.law(model, epsilon=epsilon, **windows, neighbours=neighbours, per_unit=per_unit),
    )
    settings.require_complete()
    if check:
        _check(settings)
        return
    _report(_published(settings), settings, json)


def _check(settings: Settings) -> None:
    """Read every row as a run would, in the calendar of the stream if it is there already."""
    made = settings.made()
    with closing(settings.source()) as source:
        made = shaped(made, source.bins)
        calendar = _calendar(settings)
        is_ready(settings, made, source)
        times, users = [], set[str]()
        for snapshot in source.snapshots(calendar):
            users.update(snapshot.present or ())
            if snapshot.t > calendar.last:
                made.model.require_going_on(snapshot.t)
                require_accounted(made.model, snapshot)
            times.append(snapshot.label)
    if isinstance(made.model, MContext) and len(users) > made.model.max_users:
        raise BadInput(f"more than {made.model.max_users} users are listed; raise --max-users.")
    span = f", {times[0]} to {times[-1]}" if times else ""
    law = f"{made.title} with {made.model.epsilon} {_stretch(made.model)}"
    messages.print(
        f"fine: {several(len(times), 'row')}{escape(span)}, {several(len(source.bins), 'bin')}; {law}; nothing spent."
    )


def _calendar(settings: Settings) -> Calendar:
    """The calendar of the stream, as far as it is published."""
    if founding.exists(settings.store):
        with Archive(settings.store, head=settings.head) as archive:
            if settings.name in archive.streams():
                account = archive.visible(settings.name)
                releases = (each for each in archive.published(account) if each.cause is not Cause.ADOPTED)
                return calendar_of(releases, settings.every, last=account.t, gaps=settings.gaps)
    return Calendar(settings.every, gaps=settings.gaps)


def _stretch(model: PrivacyModel) -> str:
    if isinstance(model, MContext):
        return f"in any {several(model.m, 'presence')} of a user"
    return f"{'over its horizon of' if model.horizon_bound else 'in any'} {several(model.window, 'unit')}"


def _published(settings: Settings) -> Summary:
    """Check everything, then publish."""
    made, summary = settings.made(), Summary(settings.name)
    with StoppableSource(settings.source(), summary.see) as source:
        made = shaped(made, source.bins)
        if is_ready(settings, made, source):
            _publish(settings, made, source, summary)
        summary.stopped, summary.piped = source.signal is not None, source.live
    if source.signal is not None:
        _report(summary, settings, json=False)
        raise typer.Exit(128 + source.signal)
    return summary


def _publish(settings: Settings, made: Mechanism, source: Source, summary: Summary) -> None:
    """Publish what is new in a source that was found ready."""
    intervals, rows = made.intervals and settings.sliding().keeps_intervals, count_lines(settings.input)
    with (
        Store(settings.store, key=settings.key, head=settings.head) as store,
        _opened(settings, made, store, source.bins) as publisher,
        streams.write(settings.output, source.bins, form=settings.output_format, intervals=intervals) as sink,
        progress("Publishing, time unit", rows) as show,
    ):
        require_same_origin(settings.output, sink.mechanism, settings.sliding().named(made.title))
        summary.before = summary.t = publisher.t
        for release in publisher.run(source, sink, post=[settings.sliding()], gaps=settings.gaps):
            summary.count(release)
            show(summary.written if rows else release.t)


def _opened(settings: Settings, made: Mechanism, store: Store, bins: tuple[str, ...]) -> Publisher:
    """A publisher of the stream, unless a new one would begin by mistake."""
    warn_of(made.model.epsilon)
    return Publisher(
        made,
        store,
        settings.name,
        bins=bins,
        every=settings.every,
        population=settings.population,
        population_epsilon=settings.population_epsilon,
    )


def _report(summary: Summary, settings: Settings, json: bool) -> None:
    if json and settings.output != STANDARD:
        as_json(asdict(summary))
    else:
        messages.print(escape(str(summary)))
