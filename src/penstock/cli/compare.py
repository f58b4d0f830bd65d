"""``penstock compare``: every mechanism on your own histogram, in simulation, before anything is spent."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from penstock.bench.boards import compared_under, contestants
from penstock.bench.cache import Cache
from penstock.bench.metrics import ERRORS, RULES
from penstock.bench.neighbourhood.showing import brief
from penstock.bench.runner import measured
from penstock.bench.scenario import Promise, Scenario
from penstock.bench.suite.files import rows
from penstock.bench.suite.naming import Loaded
from penstock.bench.summary import NEAR, Cell, Errors, Estimate, estimated
from penstock.catalogue import made
from penstock.cli import options
from penstock.cli.console import as_json, counted, messages, results, several
from penstock.cli.simulate import Shape
from penstock.errors import BadInput
from penstock.laws import model_of, named
from penstock.models import EventLevel, PrivacyModel
from penstock.own import is_file
from penstock.parameters import nearest
from penstock.types import Ints

NAME = "yours"
SELDOM = 0.5  # units of a window with something new in them
ALONE, TOGETHER = ("requests",), ("range_error", "range_relative")  # measures for one bin, and for several
BANNER = (
    "Errors on your own counts tell something about them, and so does a choice that was made by these errors: it is"
    " [bold]outside the privacy guarantee[/]. Do this with data that are public, old enough, or yours alone, and"
    " publish neither the table nor why you chose."
)
UNCOMPARED = "auto"  # chooses by what it has published, so whoever takes it has chosen nothing by the counts
WITHOUT = (
    f"Without comparing: [bold]{UNCOMPARED}[/] finds its own pace from what it has published, inside the guarantee. The"
    " table shows what a choice would gain over it."
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
        typer.Option(help="Compare on a made-up stream of this kind and the same shape; no count is used."),
    ] = None,
    mean: Annotated[float | None, typer.Option(help="With --instead: about how large a count is.")] = None,
    seeds: Annotated[int, typer.Option(min=2, help="Runs of each mechanism.")] = 5,
    own: options.Own = [],  # noqa: B006
    allow_unproven: options.AllowUnproven = False,
    workers: Annotated[int, typer.Option(min=1, help="Processes that share the work.")] = os.cpu_count() or 1,
    json: options.Json = False,
) -> None:
    """Try every mechanism on your own stream in simulation, and recommend one with its expected error.

    Looking at private data to choose is outside any guarantee; see what the banner offers instead.
    """
    if model == "m-context":
        raise BadInput("under m-context it has to be known who is present; try a made-up crowd with penstock simulate.")
    windows = {"w": 52 if w is None and model == "w-event" else w, "horizon": horizon, "steps": steps}
    law = model_of(options.law(model, epsilon=epsilon, **windows, neighbours=neighbours, per_unit=per_unit))
    _require_measure(measure)
    counts = _counts(file, instead, mean)
    _require_sense(measure, counts.shape[1])
    _require_length(law, len(counts))
    _warn(file, law, measure, instead)
    chosen = [*compared_under(Promise.of(law)), *_own(own, law, allow_unproven)]
    scenarios = _scenarios(Promise.of(law), chosen, measure, allow_unproven)
    errors, expected = _measured(scenarios, counts, measure, seeds, workers)
    if json:
        as_json(_plain(errors, expected, made_up=instead is not None))
    else:
        results.print(_table(errors, "Your stream" if instead is None else f"Made up, {instead}"))
        results.print(_advice(errors, expected))


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


def _require_sense(measure: str, bins: int) -> None:
    if measure in (ALONE if bins > 1 else TOGETHER):
        raise BadInput(
            f"{measure} makes no sense for a stream of {several(bins, 'bin')}; choose another --measure, say mae."
        )


def _require_length(law: PrivacyModel, units: int) -> None:
    if law.is_over(units):
        raise BadInput(f"the stream has {units} units, more than the horizon of {law.window}; use a longer horizon.")
    if units < law.window and not law.horizon_bound:
        raise BadInput(
            f"the stream has {several(units, 'unit')}, fewer than a window of {law.window}, and says nothing about"
            " later ones; use a shorter window, or a longer stream."
        )


def _warn(file: Path, law: PrivacyModel, measure: str, instead: str | None) -> None:
    """What is outside the guarantee, and what to do instead."""
    name = escape(str(file))
    if instead is not None:
        messages.print(
            f"[dim]Of {name} only its number of bins and units is used; the counts are made up: {instead}.[/]"
        )
        return
    width = min(messages.width, 100)
    messages.print(Panel(BANNER, title="Not private", border_style="yellow", width=width), soft_wrap=False)
    told = [f"--model {named(law)} --epsilon {law.epsilon} --neighbours {law.neighbours} --per-unit {law.per_unit}"]
    told += [] if isinstance(law, EventLevel) else [f"--{law.called} {law.window}"]
    same = escape(f"penstock compare {shlex.quote(str(file))} {' '.join(told)} --measure {measure}")
    messages.print(f"Without looking at counts: {same} --instead seasonal")
    messages.print("[dim]--mean says about how large a count is, as far as that is public.[/]")
    if UNCOMPARED in compared_under(Promise.of(law)):
        messages.print(WITHOUT)


def _own(keys: list[str], law: PrivacyModel, allow_unproven: bool) -> list[str]:
    """Mechanisms of one's own, if they can be tried; those of this package take part anyway."""
    for key in keys:
        made(key, {}, law, allow_unproven=allow_unproven)
    return [key for key in keys if is_file(key)]


def _scenarios(promise: Promise, chosen: list[str], measure: str, allow_unproven: bool) -> dict[str, Scenario]:
    """Who takes part, by the names in the table."""
    entered = (
        each._replace(allow_unproven=allow_unproven and is_file(key))
        for key in chosen
        for each in contestants(NAME, promise, key, [measure])
    )
    return {each.contestant: each for each in entered}


def _measured(
    scenarios: dict[str, Scenario], counts: Ints, measure: str, seeds: int, workers: int
) -> tuple[Errors, Estimate]:
    """Everybody, and what to expect of the best one, from as many other runs."""
    stream, cache = Loaded(NAME, counts, "file", "your own", (counts.shape[1],)), Cache.in_memory()
    loader = {NAME: stream}.__getitem__
    with counted("Comparing") as show:
        found = measured(dict.fromkeys(scenarios.values(), seeds), loader, cache, workers, show)
    errors = Errors(found, measure)
    best = scenarios[_order(errors)[0]]
    with counted("Trying the best one once more") as show:
        runs = measured({best: 2 * seeds}, loader, cache, workers, show)[best]
    fresh = [getattr(runs[seed], measure) for seed in range(seeds, 2 * seeds)]
    return errors, estimated(np.array(fresh))


def _order(errors: Errors) -> list[str]:
    """All mechanisms, the one with the least mean error first."""
    (cell,) = errors.cells
    return sorted(errors.mechanisms, key=lambda key: errors.mean(cell, key).value)


def _advice(errors: Errors, expected: Estimate) -> str:
    """Which to take, what to expect of it, and what is as good."""
    (cell,) = errors.cells
    best, *others = _order(errors)
    alike = [other for other in others if errors.compared(cell, other, best).low <= NEAR]
    text = (
        f"Recommended: [bold green]{best}[/]. Expect {RULES[errors.measure].split(';')[0]}: {brief(expected.value)}"
        f" ({brief(max(expected.low, 0))} to {brief(expected.high)}),"
        f" by {several(expected.runs, 'run')} that had no part in the choice."
    )
    text += f" Not clearly worse: {', '.join(alike)}." if alike else ""
    return text + _uncompared(errors, best) + _warning(errors, best)


def _uncompared(errors: Errors, best: str) -> str:
    """What is lost by whoever does not compare; nothing is said where that is what is recommended."""
    (cell,) = errors.cells
    own = [name for name in errors.mechanisms if name.split()[0] == UNCOMPARED]
    if not own or best in own:
        return ""
    ratio = errors.compared(cell, own[-1], best).value  # the last of them is made for this measure
    return f" {own[-1]}, which nobody has to choose by counts, has {ratio:.2f} times the error of {best}."


def _warning(errors: Errors, best: str) -> str:
    """The least error may be that of publishing next to nothing, which is of little use."""
    (cell,) = errors.cells
    if _releases(errors, best) >= SELDOM:
        return ""
    useful = next(key for key in _order(errors) if _releases(errors, key) >= SELDOM)
    error = brief(errors.mean(cell, useful).value)
    return (
        f"\n[yellow]{best} publishes next to nothing here:[/] counts are small beside the noise that privacy costs. The"
        f" best one that has something new in every window is {useful}, with {error}."
    )


def _releases(errors: Errors, key: str) -> float:
    (cell,) = errors.cells
    return float(errors.of(cell, key, "publications").mean())


def _table(errors: Errors, whose: str) -> Table:
    (cell,) = errors.cells
    table = Table(title=f"{whose}, {cell.promise}; {errors.measure}", title_justify="left")
    table.caption = f"simulated: seeded noise that protects nobody. {RULES[errors.measure].capitalize()}."
    table.caption_justify = "left"
    table.add_column("mechanism", no_wrap=True)
    for heading in (errors.measure, "95%", "over the best", "releases per window", "fullest window"):
        table.add_column(heading, justify="right")
    for row in _rows(errors, cell):
        span = f"{brief(row['low'])} to {brief(row['high'])}"
        last = f"{row['over_best']:.2f}", f"{row['releases_per_window']:.1f}", f"{row['fullest_window']:.3g}"
        style = "bold green" if row["recommended"] else None
        table.add_row(row["mechanism"], brief(row["error"]), span, *last, style=style)
    return table


def _rows(errors: Errors, cell: Cell) -> list[dict[str, Any]]:
    best, *_ = order = _order(errors)
    rows = []
    for key in order:
        error, over = errors.mean(cell, key), errors.compared(cell, key, best)
        row = {"mechanism": key, "error": error.value, "low": max(error.low, 0.0), "high": error.high}
        row |= {"over_best": over.value, "releases_per_window": _releases(errors, key)}
        fullest = float(errors.of(cell, key, "fullest").mean())
        rows.append(row | {"fullest_window": fullest, "recommended": key == best})
    return rows


def _plain(errors: Errors, expected: Estimate, *, made_up: bool) -> dict[str, Any]:
    (cell,) = errors.cells
    about = {"measure": errors.measure, "rule": RULES[errors.measure], "promise": str(cell.promise), "simulated": True}
    expect = {
        "mechanism": _order(errors)[0],
        "error": expected.value,
        "low": max(expected.low, 0.0),
        "high": expected.high,
    }
    return about | {"outside_the_guarantee": not made_up, "expect": expect, "mechanisms": _rows(errors, cell)}
