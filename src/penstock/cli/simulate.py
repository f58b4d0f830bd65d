"""``penstock simulate``: what error to expect, before anything is spent."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from penstock import catalogue
from penstock.cli import options, picture
from penstock.cli.console import as_json, progress, results, several
from penstock.cli.settings import parameters_of
from penstock.cli.trial import Trial, tried
from penstock.errors import BadInput, NotProven
from penstock.mechanisms.base import Mechanism
from penstock.models import PrivacyModel, model_of
from penstock.noise import SimulationNoise
from penstock.streams import Stream, synthetic

USUAL_LENGTH = 520


def simulate(
    mechanism: options.MechanismName = None,
    parameters: options.Parameters = [],  # noqa: B006
    model: options.ModelName = "w-event",
    epsilon: options.EpsilonText = "1",
    w: options.W = None,
    horizon: options.Horizon = None,
    steps: options.Steps = None,
    neighbours: options.Neighbours = None,
    per_unit: options.PerUnit = None,
    kind: options.StreamKind = "seasonal",
    bins: Annotated[int, typer.Option(help="How many bins your stream has.")] = 8,
    length: Annotated[int | None, typer.Option(help="Time units to publish; else 520, or the horizon.")] = None,
    mean: Annotated[float | None, typer.Option(help="About how large a count is, on average.")] = None,
    trials: Annotated[int, typer.Option(help="How often to try.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of streams and noise.")] = 1,
    to: options.Picture = None,
    json: options.Json = False,
) -> None:
    """Try mechanisms on made-up streams of your shape, to know the error before spending anything.

    Nothing here may come from the raw stream: choose the shape by what is public about it.
    """
    window = {"w": w or (52 if model == "w-event" else None)}
    law = model_of(options.law(model, epsilon=epsilon, **window, horizon=horizon, steps=steps, neighbours=neighbours,
                               per_unit=per_unit))  # fmt: skip
    if to:
        picture.require_drawable(to)
    chosen = [mechanism] if mechanism else list(catalogue.mechanisms())
    made = {key: found for key in chosen if (found := _made(key, parameters, law, only=mechanism is not None))}
    length = _within_horizon(length, law)
    streams = [_scaled(synthetic(kind, bins=bins, steps=length, seed=seed + i), mean) for i in range(_several(trials))]
    outcomes = _all_tried(made, streams, seed)
    rows = sorted((_row(key, tries, law) for key, tries in outcomes.items()), key=lambda row: row["mean_error"])
    if json:
        as_json({"stream": kind, "bins": bins, "length": length, "simulated": True, "mechanisms": rows})
    else:
        shape = f"{several(length, 'unit')} of made-up {kind} streams, {several(bins, 'bin')}"
        title = f"{shape}; epsilon {law.epsilon} in {law.window}"
        results.print(_table(title, rows))
    if to:
        best = rows[0]["mechanism"]
        _draw(
            outcomes[best][0], f"{best} on a made-up {kind} stream, epsilon = {law.epsilon} in {law.window} units", to
        )
        results.print(f"[dim]Picture of the widest bin under {best}: {to}[/]")


def _made(key: str, parameters: list[str], law: PrivacyModel, *, only: bool) -> Mechanism | None:
    try:
        return catalogue.made(key, parameters_of(parameters) if only else {}, law)
    except NotProven:
        if only:
            raise
        return None


def _within_horizon(length: int | None, law: PrivacyModel) -> int:
    """As many units as told, or as a stream under this law can have."""
    if length is not None and law.is_over(length):
        raise BadInput(f"a stream with a horizon of {law.window} has no {length} units; use a smaller --length.")
    return length if length is not None else law.window if law.horizon_bound else USUAL_LENGTH


def _several(trials: int) -> int:
    if trials < 1:
        raise BadInput(f"at least one trial is needed; got {trials}.")
    return trials


def _scaled(stream: Stream, mean: float | None) -> Stream:
    """The stream with counts about as large as told."""
    if mean is None:
        return stream
    if mean <= 0:
        raise BadInput("the mean count must be above 0; say about how large your counts are.")
    factor = mean / max(float(stream.counts.mean()), 1e-9)
    return Stream(np.rint(stream.counts * factor).astype(np.int64), name=stream.name)


def _all_tried(made: dict[str, Mechanism], streams: list[Stream], seed: int) -> dict[str, list[Trial]]:
    outcomes: dict[str, list[Trial]] = {key: [] for key in made}
    with progress("Simulating", len(made) * len(streams)) as show:
        for number, stream in enumerate(streams):
            for i, (key, mechanism) in enumerate(made.items()):
                outcomes[key].append(tried(stream, mechanism, SimulationNoise(seed + number)))
                show(number * len(made) + i + 1)
    return outcomes


def _row(key: str, tries: list[Trial], law: PrivacyModel) -> dict[str, Any]:
    errors = np.array([each.mean_error for each in tries])
    return {
        "mechanism": key,
        "mean_error": round(float(errors.mean()), 3),
        "lowest": round(float(errors.min()), 3),
        "highest": round(float(errors.max()), 3),
        "relative_error": round(float(np.mean([each.relative_error for each in tries])), 4),
        "releases_per_window": round(float(np.mean([each.releases_per_window(law.window) for each in tries])), 2),
        "fullest_window": str(max(each.peak for each in tries)),
    }


def _table(title: str, rows: list[dict[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left", caption="simulated: seeded noise that protects nobody")
    table.add_column("mechanism")
    for heading in ("mean error", "range", "relative", "releases per window", "fullest window"):
        table.add_column(heading, justify="right")
    for row in rows:
        span = f"{row['lowest']:.0f}-{row['highest']:.0f}"
        cells = [f"{row['mean_error']:.1f}", span, f"{row['relative_error']:.1%}", f"{row['releases_per_window']:.1f}"]
        style = "bold green" if row is rows[0] else None
        table.add_row(row["mechanism"], *cells, row["fullest_window"], style=style)
    return table


def _draw(trial: Trial, title: str, to: Any) -> None:
    widest = int(trial.truth.mean(axis=0).argmax())
    picture.to_file(trial.truth[:, widest].astype(float), trial.values[:, widest].astype(float), title, to)
