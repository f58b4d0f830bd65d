"""``penstock compare``: every mechanism on your own histogram, in simulation, before anything is spent."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.panel import Panel
from rich.table import Table

from penstock.bench.boards import compared_under, parameters_of
from penstock.bench.cache import Cache
from penstock.bench.metrics import ERRORS, RULES
from penstock.bench.runner import measured
from penstock.bench.scenario import Promise, Scenario
from penstock.bench.suite.files import rows
from penstock.bench.suite.naming import Loaded
from penstock.bench.summary import NEAR, Cell, Errors
from penstock.cli import options
from penstock.cli.console import as_json, counted, messages, results, several
from penstock.cli.simulate import Shape
from penstock.errors import BadInput
from penstock.laws import model_of, named
from penstock.models import EventLevel, MContext, PrivacyModel
from penstock.parameters import nearest
from penstock.types import Ints

NAME = "yours"
BANNER = (
    "Errors on your own counts tell something about them, and so does a choice that was made by these errors: it is"
    " [bold]outside the privacy guarantee[/]. Do this with data that are public, old enough, or yours alone, and"
    " publish neither the table nor why you chose."
)


def compare(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A histogram stream: CSV, a time and counts in a row.")],
    model: options.ModelName = "w-event",
    epsilon: options.EpsilonText = "1",
    w: options.W = None,
    horizon: options.Horizon = None,
    steps: options.Steps = None,
    neighbours: options.Neighbours = None,
    per_unit: options.PerUnit = None,
    measure: Annotated[str, typer.Option(help=f"What to choose by: {', '.join(ERRORS)}.")] = "mae",
    instead: Annotated[
        str | None,
        typer.Option(help="Compare on a made-up stream of this kind and the same shape; counts stay unread."),
    ] = None,
    mean: Annotated[float | None, typer.Option(help="With --instead: about how large a count is.")] = None,
    seeds: Annotated[int, typer.Option(min=2, help="Runs of each mechanism.")] = 5,
    workers: Annotated[int, typer.Option(min=1, help="Processes that share the work.")] = os.cpu_count() or 1,
    json: options.Json = False,
) -> None:
    """Try every mechanism on your own stream in simulation, and recommend one with its expected error.

    Looking at private data to choose is outside any guarantee; see what the banner offers instead.
    """
    windows = {"w": w or (52 if model == "w-event" else None), "horizon": horizon, "steps": steps}
    law = model_of(options.law(model, epsilon=epsilon, **windows, neighbours=neighbours, per_unit=per_unit))
    _require_measure(measure)
    counts = _counts(file, instead, mean)
    _require_length(law, len(counts))
    _warn(file, law, counts, instead)
    errors = _errors(Promise.of(law), counts, measure, seeds, workers)
    if json:
        as_json(_plain(errors, made_up=instead is not None))
    else:
        results.print(_table(errors), _advice(errors))


def _require_measure(measure: str) -> None:
    if measure not in ERRORS:
        raise BadInput(f"a measure is one of {', '.join(ERRORS)}; got {measure!r}.{nearest(measure, ERRORS)}")


def _counts(file: Path, instead: str | None, mean: float | None) -> Ints:
    """The counts of the file; or of a made-up stream of the same shape."""
    if mean is not None and instead is None:
        raise BadInput("--mean says how large made-up counts are; use it with --instead.")
    _, counts = rows(file)
    if instead is None:
        return counts
    return Shape(instead, counts.shape[1], len(counts), mean).stream(seed=1).counts


def _require_length(law: PrivacyModel, units: int) -> None:
    if isinstance(law, MContext):
        raise BadInput("under m-context it has to be known who is present; try a made-up crowd with penstock simulate.")
    if law.is_over(units):
        raise BadInput(f"the stream has {units} units, more than the horizon of {law.window}; use a longer horizon.")
    if units < law.window and not law.horizon_bound:
        raise BadInput(
            f"the stream has {several(units, 'unit')}, fewer than a window of {law.window}, and says nothing about"
            " later ones; use a shorter window, or a longer stream."
        )


def _warn(file: Path, law: PrivacyModel, counts: Ints, instead: str | None) -> None:
    """What is outside the guarantee, and what to do instead."""
    if instead is not None:
        messages.print(
            f"[dim]Of {file} only its number of bins and units is used; the counts are made up: {instead}.[/]"
        )
        return
    messages.print(
        Panel(BANNER, title="Not private", border_style="yellow", width=min(messages.width, 100)), soft_wrap=False
    )
    length = "" if isinstance(law, EventLevel) else f" --{law.called} {law.window}"
    told = f"--model {named(law)} --epsilon {law.epsilon}{length}"
    messages.print(f"Without looking at counts: penstock compare {shlex.quote(str(file))} {told} --instead seasonal")


def _errors(promise: Promise, counts: Ints, measure: str, seeds: int, workers: int) -> Errors:
    """Every mechanism that is proven for the promise, on the stream."""
    scenarios = [Scenario(NAME, promise, key, parameters_of(key, promise)) for key in compared_under(promise)]
    stream = Loaded(NAME, counts, "file", "your own", (counts.shape[1],))
    with counted("Comparing") as show:
        wanted, loader = dict.fromkeys(scenarios, seeds), {NAME: stream}.__getitem__
        found = measured(wanted, loader, Cache.in_memory(), workers, show)
    errors = Errors(found, measure)
    if not errors.standings():
        raise BadInput(f"{measure} makes no sense for a stream of several bins; choose another --measure.")
    return errors


def _advice(errors: Errors) -> str:
    """Which to take, what to expect of it, and what is as good."""
    (cell,) = errors.cells
    best, *others = (standing.mechanism for standing in errors.standings())
    error = errors.mean(cell, best)
    alike = [other for other in others if errors.compared(cell, other, best).low <= NEAR]
    text = (
        f"Recommended: [bold green]{best}[/]. Expect {RULES[errors.measure].split(';')[0]}: {error.value:.3g}"
        f" ({max(error.low, 0):.3g} to {error.high:.3g})."
    )
    return f"{text} Not clearly worse: {', '.join(alike)}." if alike else text


def _table(errors: Errors) -> Table:
    (cell,) = errors.cells
    table = Table(title=f"Your stream, {cell.promise}; {errors.measure}", title_justify="left")
    table.caption = f"simulated: seeded noise that protects nobody. {RULES[errors.measure].capitalize()}."
    table.caption_justify = "left"
    table.add_column("mechanism", no_wrap=True)
    for heading in (errors.measure, "95%", "over the best", "releases per window", "fullest window"):
        table.add_column(heading, justify="right")
    for row in _rows(errors, cell):
        span = f"{max(row['low'], 0):.3g}-{row['high']:.3g}"
        last = f"{row['over_best']:.2f}", f"{row['releases_per_window']:.1f}", f"{row['fullest_window']:.3g}"
        style = "bold green" if row["recommended"] else None
        table.add_row(row["mechanism"], f"{row['error']:.3g}", span, *last, style=style)
    return table


def _rows(errors: Errors, cell: Cell) -> list[dict[str, Any]]:
    best, *_ = order = [standing.mechanism for standing in errors.standings()]
    rows = []
    for key in order:
        error, over = errors.mean(cell, key), errors.compared(cell, key, best)
        row = {"mechanism": key, "error": error.value, "low": error.low, "high": error.high, "over_best": over.value}
        made, fullest = (float(errors.of(cell, key, name).mean()) for name in ("publications", "fullest"))
        rows.append(row | {"releases_per_window": made, "fullest_window": fullest, "recommended": key == best})
    return rows


def _plain(errors: Errors, *, made_up: bool) -> dict[str, Any]:
    (cell,) = errors.cells
    about = {"measure": errors.measure, "rule": RULES[errors.measure], "promise": str(cell.promise), "simulated": True}
    return about | {"outside_the_guarantee": not made_up, "mechanisms": _rows(errors, cell)}
