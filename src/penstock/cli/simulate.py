"""``penstock simulate``: what error to expect, before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from penstock import catalogue
from penstock.cli import options, picture, target
from penstock.cli.console import as_json, progress, results, several
from penstock.cli.settings import parameters_of
from penstock.cli.target import LONGEST_HORIZON, Again, Target
from penstock.cli.trial import Trial, tried
from penstock.drawing import require_drawable
from penstock.errors import BadInput, NotProven
from penstock.laws import model_of
from penstock.mechanisms.base import Mechanism
from penstock.models import MContext, PrivacyModel
from penstock.noise import SimulationNoise
from penstock.streams import Stream, crowd, synthetic

USUAL_LENGTH = 520
USUAL_USERS = 400


def simulate(
    mechanism: options.MechanismName = None,
    parameters: options.Parameters = [],  # noqa: B006
    allow_unproven: options.AllowUnproven = False,
    model: options.ModelName = "w-event",
    epsilon: options.EpsilonText = "1",
    w: options.W = None,
    horizon: options.Horizon = None,
    m: options.M = None,
    steps: options.Steps = None,
    neighbours: options.Neighbours = None,
    per_unit: options.PerUnit = None,
    kind: options.MaybeStreamKind = None,
    bins: Annotated[int, typer.Option(help="How many bins your stream has.")] = 8,
    length: Annotated[int | None, typer.Option(help="Time units to publish; else 520, or the horizon.")] = None,
    mean: Annotated[float | None, typer.Option(help="About how large a count is, on average.")] = None,
    width: Annotated[int, typer.Option(help="Judge sums over so many units.")] = 1,
    trials: Annotated[int, typer.Option(help="How often to try.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of streams and noise.")] = 1,
    target_error: Annotated[float | None, typer.Option(help=target.HELP, callback=target.sane)] = None,
    to: options.Picture = None,
    json: options.Json = False,
) -> None:
    """Try mechanisms on made-up streams of your shape, to know the error before spending anything.

    Nothing here may come from the raw stream: choose the shape by what is public about it.
    """
    windows = {"w": 52 if w is None and model == "w-event" else w, "horizon": horizon, "m": m, "steps": steps}
    law = model_of(options.law(model, epsilon=epsilon, **windows, neighbours=neighbours, per_unit=per_unit))
    if to:
        require_drawable(to)
    chosen = [mechanism] if mechanism else list(catalogue.mechanisms())
    told = _told(parameters, mechanism)
    made = {key: found for key in chosen if (found := _made(key, told, law, mechanism is not None, allow_unproven))}
    shape = Shape(_kind(kind, law), bins, _within_horizon(length, law), mean)
    outcomes = _all_tried(made, shape.streams(seed, _several(trials)), seed, width)
    rows = sorted((_row(key, tries, law) for key, tries in outcomes.items()), key=lambda row: row["mean_error"])
    about = {"stream": shape.kind, "bins": bins, "length": shape.length, "width": width, "simulated": True}
    title = f"{shape}{'' if width == 1 else f', sums over {width}'}; {_promise(law)}"
    if target_error is not None:
        sought = Target(target_error, law, trials, _windows(length, law, shape))
        again = Again(told, _streams(shape, length, seed, trials), seed, width, allow_unproven)
        target.show(sought, sought.rows(outcomes, again), title, about if json else None)
    elif json:
        as_json(about | {"mechanisms": rows})
    else:
        results.print(_table(title, rows))
    if to:
        best = rows[0]["mechanism"]
        _draw(outcomes[best][0], f"{best} on a made-up {shape.kind} stream, {_promise(law)}", to)
        results.print(f"[dim]Picture of the widest bin under {best}: {to}[/]")


def _kind(told: str | None, law: PrivacyModel) -> str:
    """As told; but under m-context only a crowd knows who is present."""
    if isinstance(law, MContext) and told is not None:
        raise BadInput("under m-context a crowd of people is made up, who come and go; leave out --kind.")
    return "crowd" if isinstance(law, MContext) else told or "seasonal"


def _promise(law: PrivacyModel) -> str:
    return f"epsilon {law.epsilon} in any {several(law.window, 'presence' if isinstance(law, MContext) else 'unit')}"


def _told(parameters: list[str], mechanism: str | None) -> dict[str, Any]:
    """The parameters of one mechanism; all of them together take only what they have in common."""
    told, common = parameters_of(parameters), [field.name for field in Mechanism.parameter_fields()]
    own = [name for name in told if mechanism is None and name not in common]
    if own:
        raise BadInput(f"{own[0]} is no parameter of all mechanisms; say with --mechanism whose it is.")
    return told


def _made(key: str, parameters: dict[str, Any], law: PrivacyModel, only: bool, unproven: bool) -> Mechanism | None:
    """The mechanism, or None if it is not proven for the law and not the ``only`` one that is tried."""
    try:
        return catalogue.made(key, parameters, law, allow_unproven=unproven)
    except NotProven:
        if only:
            raise
        return None


def _within_horizon(length: int | None, law: PrivacyModel) -> int:
    """As many units as told, or as a stream under this law can have."""
    if length is not None and law.is_over(length):
        raise BadInput(f"a stream with a horizon of {law.window} has no {length} units; use a smaller --length.")
    return length if length is not None else law.window if law.horizon_bound else USUAL_LENGTH


def _windows(length: int | None, law: PrivacyModel, shape: Shape) -> range:
    """Which windows to look at: none that a made-up stream does not fill, and no horizon that is too short for it."""
    if law.horizon_bound:
        return range(length or 1, max(LONGEST_HORIZON, law.window) + 1)
    return range(1, max(shape.length, law.window) + 1)


def _streams(shape: Shape, length: int | None, seed: int, trials: int) -> Callable[[PrivacyModel], list[Stream]]:
    """The streams to try under a law: with a horizon they are as long as that, if nothing else was told."""
    made = lru_cache(maxsize=8)(lambda units: replace(shape, length=units).streams(seed, trials))
    return lambda law: made(_within_horizon(length, law))


def _several(trials: int) -> int:
    if trials < 1:
        raise BadInput(f"at least one trial is needed; got {trials}.")
    return trials


@dataclass
class Shape:
    """What the stream to be published looks like, as far as that is public."""

    kind: str
    bins: int
    length: int
    mean: float | None

    def __str__(self) -> str:
        return f"{several(self.length, 'unit')} of made-up {self.kind} streams, {several(self.bins, 'bin')}"

    def streams(self, seed: int, trials: int) -> list[Stream]:
        """As many made-up streams of this shape, from one seed after another."""
        return [self.stream(seed + i) for i in range(trials)]

    def stream(self, seed: int) -> Stream:
        """A made-up stream of this shape."""
        if self.mean is not None and self.mean <= 0:
            raise BadInput("the mean count must be above 0; say about how large your counts are.")
        if self.kind == "crowd":
            users = USUAL_USERS if self.mean is None else math.ceil(2 * self.mean * self.bins)  # half are present
            return crowd(users, bins=self.bins, steps=self.length, seed=seed)
        stream = synthetic(self.kind, bins=self.bins, steps=self.length, seed=seed)
        if self.mean is None:
            return stream
        factor = self.mean / max(float(stream.counts.mean()), 1e-9)
        return Stream(np.rint(stream.counts * factor).astype(np.int64), name=stream.name)


def _all_tried(made: dict[str, Mechanism], streams: list[Stream], seed: int, width: int) -> dict[str, list[Trial]]:
    outcomes: dict[str, list[Trial]] = {key: [] for key in made}
    with progress("Simulating", len(made) * len(streams)) as show:
        for number, stream in enumerate(streams):
            for i, (key, mechanism) in enumerate(made.items()):
                outcomes[key].append(tried(stream, mechanism, SimulationNoise(seed + number), width))
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
    table.add_column("mechanism", no_wrap=True)
    for heading in ("mean error", "range", "relative", "releases per window", "fullest window"):
        table.add_column(heading, justify="right")
    for row in rows:
        span = f"{row['lowest']:.3g}-{row['highest']:.3g}"
        cells = [f"{row['mean_error']:.1f}", span, f"{row['relative_error']:.1%}", f"{row['releases_per_window']:.1f}"]
        style = "bold green" if row is rows[0] else None
        table.add_row(row["mechanism"], *cells, row["fullest_window"], style=style)
    return table


def _draw(trial: Trial, title: str, to: Any) -> None:
    widest = int(trial.truth.mean(axis=0).argmax())
    picture.to_file(trial.truth[:, widest].astype(float), trial.values[:, widest].astype(float), title, to)
