"""``penstock plan``: how to divide epsilon among the units of a stream, when some of them matter more than others."""

from __future__ import annotations

import csv
import math
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from penstock.allocation import Error, Plan
from penstock.allocation import plan as best_plan
from penstock.allocation.days import start_of, unit_of, when_of
from penstock.allocation.weighing import weighing_of
from penstock.allocation.weights import Listed, is_file, read_weights, weights_of
from penstock.cli import options, plan_picture
from penstock.cli.console import as_json, messages, reader_may_leave, results, several
from penstock.drawing import require_drawable
from penstock.epsilon import Epsilon
from penstock.errors import BadInput
from penstock.models import WEvent
from penstock.parameters import at_least_one, nearest

USUAL_UNITS = 365
SHOWN, AT_THE_END = 20, 4  # rows in a terminal, and how many of them are the last ones
HEADINGS = ("unit", "time", "weight", "budget", "fullest window", "error", "uniform error")
MEANINGS = {"squared": "the variance of its noise", "absolute": "how far its noise moves a count, on average"}

WeightsText = Annotated[
    str, typer.Option("--weights", help="A file of weights, or a rule: 'every monday: 5; every day: 1'.")
]
Units = Annotated[int | None, typer.Option(help="Units to plan; else the whole file, or a year of days.")]
Start = Annotated[str | None, typer.Option(help="The day of the first unit, for rules about days: 2026-01-05.")]
Length = Annotated[str | None, typer.Option(help="How long a unit is: hour, day, week or month; else a day.")]


def plan(
    weights: WeightsText,
    window: Annotated[int, typer.Option(help="Units of a window: w, steps, or a horizon.", rich_help_panel=options.LAW)],
    epsilon: Annotated[str, typer.Option(help="What a window may spend.", rich_help_panel=options.LAW)] = "1",
    neighbours: options.Neighbours = None,
    per_unit: options.PerUnit = None,
    units: Units = None,
    repeat: Annotated[bool, typer.Option("--repeat", help="Begin a file again when it is over.")] = False,
    start: Start = None,
    unit: Length = None,
    error: Annotated[str, typer.Option(help="What is to be small: squared or absolute.")] = "squared",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write all of it into a CSV file.")] = None,
    to: options.Picture = None,
    json: options.Json = False,
) -> None:
    """Divide epsilon among time units by how much each of them matters, as well as can be, and prove it.

    Weights are public: they say what is wanted, and must not come from the counts. Nothing is published or spent.
    """
    asked = Asked(weights, window, start_of(start), unit_of(unit), repeat, _known(error))
    model = WEvent(epsilon=epsilon, w=window, **options.law(None, neighbours=neighbours, per_unit=per_unit))
    _require_writable(output, to)
    listed = asked.listed(units)
    made = best_plan(listed.weights, window, model.epsilon, error=asked.error)
    rows = rows_of(made, listed.labels, model.sensitivity)
    about = f"{several(len(rows), 'unit')}, epsilon {model.epsilon} in any {several(window, 'unit')}"
    with reader_may_leave():
        if json:
            as_json(_summary(made, rows) | {"run": asked.command(model)})
        else:
            _show(made, rows, about, asked.command(model))
        if output:
            _write(rows, output)
            messages.print(Text(f"done: {several(len(rows), 'unit')} in {output}."))
        if to:
            plan_picture.draw(made, rows, f"{asked.weights}: {about}", to)
            messages.print(Text(f"drawn: {to}"))


@dataclass(frozen=True)
class Asked:
    """What is to be planned, as it was told."""

    weights: str
    window: int
    start: str | None
    unit: str | None
    repeat: bool
    error: Error

    def listed(self, units: int | None) -> Listed:
        """The weights of so many units, and what they are called."""
        given = read_weights(self.weights) if is_file(self.weights) else Listed(())
        number = units or len(given.weights) or max(USUAL_UNITS, 2 * self.window)
        at_least_one("--units", number)
        if given.weights and number > len(given.weights) and not self.repeat:
            raise BadInput(
                f"{self.weights} has {several(len(given.weights), 'weight')}, and {number} units are to be planned;"
                " begin it again with --repeat, or plan less."
            )
        told = given.weights or weights_of(self.weights)
        known = weighing_of(told, start=self.start, unit=self.unit, repeat=self.repeat, window=self.window)
        weights = tuple(known.expected(1, "", ahead) for ahead in range(number))
        labels = given.labels[:number] if number <= len(given.labels) else self._dates(number)
        return Listed(weights, labels)

    def _dates(self, number: int) -> tuple[str, ...]:
        first = when_of(self.start, self.unit) if self.start else None
        return tuple(str(first and first.after(ahead) or ahead + 1) for ahead in range(number))

    def command(self, model: WEvent) -> str:
        """How to run it."""
        law = options.law(None, epsilon=model.epsilon, w=self.window, neighbours=_told(model.neighbours))
        law |= options.law(None, **{"per-unit": model.per_unit if model.per_unit > 1 else None})
        told = {"weights": self.weights, "start": self.start, "unit": self.unit}
        told |= {"after": "repeat" if self.repeat else None, "error": None if self.error == "squared" else self.error}
        words = ["penstock", "run", "--input", "counts.csv", "--store", "counts.db", "--model", "w-event"]
        words += [word for name, value in law.items() for word in (f"--{name}", str(value))]
        words += ["--mechanism", "planned"]
        words += [word for name, value in told.items() if value for word in ("--set", f"{name}={value}")]
        return shlex.join(words)


def _told(neighbours: str) -> str | None:
    return None if neighbours == "add-remove" else neighbours


def _known(error: str) -> Error:
    for known in get_args(Error):
        if error == known:
            return known  # type: ignore[no-any-return]
    raise BadInput(f"an error is one of {', '.join(get_args(Error))}; got {error!r}.{nearest(error, get_args(Error))}")


def _require_writable(output: Path | None, picture: Path | None) -> None:
    """Refuse before any work is done."""
    if picture:
        require_drawable(picture)
    if output and output.suffix.lower() != ".csv":
        raise BadInput(f"a plan is written as CSV, and {output} would hold something else; name a .csv file.")
    if output and output.exists():
        raise BadInput(f"{output} is there already; name another file, or move it away.")


class Row(NamedTuple):
    """A unit of a plan. A unit that is not published has no error of its own."""

    unit: int
    time: str
    weight: float
    budget: Epsilon
    fullest: Epsilon  # what the fullest window holds that the unit is in
    error: float | None
    uniform: float | None

    def as_dict(self) -> dict[str, Any]:
        """For a script."""
        exact = {"budget": str(self.budget), "fullest": str(self.fullest)}
        return self._asdict() | exact


def rows_of(made: Plan, labels: tuple[str, ...], sensitivity: int) -> list[Row]:
    """A row for every unit."""
    uniform = predicted(made.epsilon / made.window, made.error, sensitivity)
    rows = []
    units = zip(labels, made.weights.tolist(), made.budgets, _fullest(made), strict=True)
    for t, (label, weight, budget, fullest) in enumerate(units, start=1):
        error = predicted(budget, made.error, sensitivity) if weight else None
        rows.append(Row(t, label, weight, budget, fullest, error, uniform if weight else None))
    return rows


def predicted(budget: Epsilon, error: Error, sensitivity: int) -> float | None:
    """What Laplace noise for this budget does to a count: its variance, or its mean absolute value."""
    if not budget:
        return None
    scale = sensitivity / float(budget)
    return 2 * scale**2 if error == "squared" else scale


def _fullest(made: Plan) -> list[Epsilon]:
    """Of every unit, what the fullest window holds that it is in."""
    sums = np.array([held.nano for held in made.window_sums()])
    around = np.pad(sums, made.window - 1)
    fullest = np.lib.stride_tricks.sliding_window_view(around, made.window).max(axis=1)
    return [Epsilon.of_nano(nano) for nano in fullest.tolist()]


def _summary(made: Plan, rows: list[Row]) -> dict[str, Any]:
    values = {"value": made.value, "bound": made.bound, "gap": made.gap, "uniform_value": made.uniform_value}
    law = {"window": made.window, "epsilon": str(made.epsilon), "error": made.error}
    return law | values | {"certificate": made.certificate(), "units": [row.as_dict() for row in rows]}


def _show(made: Plan, rows: list[Row], about: str, command: str) -> None:
    published = [row for row in rows if row.weight]
    results.print(_table(published, about, len(rows)))
    results.print(Text(f"\n{made.certificate()}"), soft_wrap=True)
    results.print(Text(f"\nTo publish by it, with your files instead of counts.*:\n\n  {command}"), soft_wrap=True)


def _table(published: list[Row], about: str, units: int) -> Table:
    """The units that are published; of many the first and the last."""
    table = Table(title=about, title_justify="left", show_edge=False)
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == "time" else "right", no_wrap=True)
    left_out = len(published) - SHOWN if len(published) > SHOWN + 1 else 0
    for place, row in enumerate(published):
        if left_out and place == SHOWN - AT_THE_END:
            table.add_row("...", f"{left_out} more", *["..."] * 5, style="dim")
        if not left_out or place < SHOWN - AT_THE_END or place >= len(published) - AT_THE_END:
            numbers = (_number(row.error), _number(row.uniform))
            table.add_row(str(row.unit), Text(row.time), f"{row.weight:g}", str(row.budget), str(row.fullest), *numbers)
    silent = units - len(published)
    return table


def _number(error: float | None) -> str:
    return "-" if error is None else f"{error:,.0f}" if error >= 1000 else f"{error:.3g}"


def _write(rows: list[Row], path: Path) -> None:
    """All of it as CSV."""
    try:
        with path.open("x", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, Row._fields, lineterminator="\n")
            writer.writeheader()
            writer.writerows(row.as_dict() for row in rows)
    except OSError as fault:
        raise BadInput(f"the plan {path} cannot be written: {fault.strerror}.") from None
