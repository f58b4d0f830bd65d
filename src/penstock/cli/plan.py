"""``penstock plan``: how to divide epsilon among the units of a stream, when some of them matter more than others."""

from __future__ import annotations

import csv
import shlex
from dataclasses import dataclass
from textwrap import shorten
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from penstock.allocation import Error, Plan, TopUp
from penstock.allocation import plan as best_plan
from penstock.allocation.days import first_day_of, unit_of, when_of
from penstock.allocation.program import POWERS
from penstock.allocation.weighing import Weighing, weighing_of
from penstock.allocation.weights import Listed, is_file, read_weights, weights_of
from penstock.cli import options, plan_picture
from penstock.cli.console import as_json, messages, results, several
from penstock.cli.files import opened, require_new
from penstock.cli.plan_rows import Row, rows_of
from penstock.drawing import require_drawable
from penstock.errors import BadInput
from penstock.models import WEvent
from penstock.parameters import at_least_one, of_kind
from penstock.streams.lines import STANDARD

USUAL_UNITS = 365
LONGEST_TITLE = 60
SHOWN, AT_THE_END = 20, 4  # rows in a terminal, and how many of them are the last ones
ERRORS = {"squared": "variance", "absolute": "error"}

WeightsText = Annotated[
    str, typer.Option("--weights", help="A file of weights, or a rule: 'every monday: 5; every day: 1'.")
]
Units = Annotated[int | None, typer.Option(help="Units to plan; else the whole file, or a year of days.")]
FirstDay = Annotated[
    str | None, typer.Option("--first-day", "--start", help="Of the first unit, for rules about days: 2026-01-05.")
]
Length = Annotated[str | None, typer.Option(help="How long a unit is: hour, day, week or month; else a day.")]


def plan(
    weights: WeightsText,
    window: Annotated[
        int, typer.Option(help="Units of a window: w, steps, or a horizon.", rich_help_panel=options.LAW)
    ],
    epsilon: Annotated[str, typer.Option(help="What a window may spend.", rich_help_panel=options.LAW)] = "1",
    neighbours: options.Neighbours = None,
    per_unit: options.PerUnit = None,
    units: Units = None,
    repeat: Annotated[bool, typer.Option("--repeat", help="Begin a file again when it is over.")] = False,
    first_day: FirstDay = None,
    unit: Length = None,
    error: Annotated[str, typer.Option(help="What is to be small: squared or absolute.")] = "squared",
    output: Annotated[str | None, typer.Option("--output", "-o", help='All of it as CSV: a file, or "-".')] = None,
    to: options.Picture = None,
    json: options.Json = False,
) -> None:
    """Divide epsilon among time units by how much each of them matters, as well as can be, and prove it.

    Weights are public: they say what is wanted, and must not come from the counts. Nothing is published or spent.
    """
    law = options.law(None, epsilon=epsilon, w=window, neighbours=neighbours, per_unit=per_unit)
    model, measure = WEvent(**law), of_kind("error", error, Error)
    if json and output == STANDARD:
        raise BadInput("JSON and CSV cannot both go to standard output; name a file for the CSV.")
    if output:
        require_new(output)
    if to:
        require_drawable(to)
    asked = Asked(weights, first_day_of(first_day), unit_of(unit), repeat)
    listed = asked.listed(units, window)
    made = best_plan(listed.weights, window, model.epsilon, error=measure)
    rows = rows_of(made, listed.labels, model.sensitivity)
    published = sum(row.weight > 0 for row in rows)
    about = f"{published} of {several(len(rows), 'unit')} published, epsilon {model.epsilon} in any {window}"
    said = asked.said(made, law, model.sensitivity)
    if json:
        as_json(_summary(made, model.sensitivity) | said | {"units": [row.as_dict() for row in rows]})
    elif output != STANDARD:
        _show(made, rows, about, said)
    if output:
        _write(rows, output)
    if to:
        plan_picture.draw(made, rows, f"{shorten(weights, LONGEST_TITLE, placeholder='...')} \u2013 {about}", to)
        messages.print(Text(f"drawn: {to}"))


@dataclass(frozen=True)
class Asked:
    """Weights as they were told."""

    weights: str
    first_day: str | None
    unit: str | None
    repeat: bool

    @property
    def ends(self) -> bool:
        """Whether there is a last one of them."""
        return is_file(self.weights) and not self.repeat

    def listed(self, units: int | None, window: int) -> Listed:
        """The weights of so many units, and what they are called."""
        given = read_weights(self.weights) if is_file(self.weights) else Listed(())
        usual = len(given.weights) if self.ends else max(USUAL_UNITS, 2 * window)
        number = usual if units is None else units
        at_least_one("--units", number)
        if self.ends and number > len(given.weights):
            raise BadInput(
                f"{self.weights} has {several(len(given.weights), 'weight')}, and {number} units are to be planned;"
                " begin it again with --repeat, or plan less."
            )
        weights = self._known(window).expected(1, number)
        return Listed(tuple(weights), given.labels[:number] if number <= len(given.labels) else self._dates(number))

    def _known(self, window: int) -> Weighing:
        return weighing_of(weights_of(self.weights), self.first_day, self.unit, repeat=self.repeat, window=window)

    def _dates(self, number: int) -> tuple[str, ...]:
        first = when_of(self.first_day, self.unit) if self.first_day else None
        return tuple(str((first and first.after(ahead)) or ahead + 1) for ahead in range(number))

    def as_it_goes(self, made: Plan) -> float | None:
        """How many times the error of the plan a run has that never ends, and so cannot plan everything at once."""
        if self.ends:
            return None
        run = TopUp(made.window, made.epsilon, made.error, predict=self._known(made.window).expected, floor=0)
        spent = np.array([float(run.next(weight)) for weight in made.weights.tolist()])
        here = made.weights > 0
        if not spent[here].all():  # epsilon is so small that something was left out
            return None
        return float((made.weights[here] / spent[here] ** POWERS[made.error]).sum()) / made.value

    def said(self, made: Plan, law: dict[str, Any], sensitivity: int) -> dict[str, Any]:
        """What is said of a plan, and how to run it."""
        certificate, run = made.certificate(sensitivity), self.command(law, made.error)
        return {"certificate": certificate, "as_it_goes": self.as_it_goes(made), "run": run}

    def command(self, law: dict[str, Any], error: Error) -> str:
        """How to run it."""
        told = {"weights": self.weights, "first_day": self.first_day, "unit": self.unit}
        told |= {"after": "repeat" if self.repeat else None, "error": None if error == "squared" else error}
        words = ["penstock", "run", "--input", "counts.csv", "--store", "counts.db", "--model", "w-event"]
        words += [word for name, value in law.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        words += ["--mechanism", "planned"]
        words += [word for name, value in told.items() if value for word in ("--set", f"{name}={value}")]
        return shlex.join(words)


def _summary(made: Plan, sensitivity: int) -> dict[str, Any]:
    """What the plan is worth. Values are sums of weight times the error of a unit, as the units have it."""
    named = {"value": made.value, "bound": made.bound, "uniform_value": made.uniform_value}
    values = {name: made.noise_of(value, sensitivity) for name, value in named.items()}
    return {"window": made.window, "epsilon": str(made.epsilon), "error": made.error, "gap": made.gap} | values


def _show(made: Plan, rows: list[Row], about: str, said: dict[str, Any]) -> None:
    results.print(_table(made, [row for row in rows if row.weight], about))
    ahead = f" A run that plans as it goes has {said['as_it_goes']:.3f} times its error." if said["as_it_goes"] else ""
    results.print(Text(f"\n{said['certificate']}{ahead}\n\nTo publish by it:\n\n  {said['run']}"), soft_wrap=True)


def _table(made: Plan, published: list[Row], about: str) -> Table:
    """The units that are published; of many the first and the last."""
    heading = ERRORS[made.error]
    meaning = f"{heading}: of the noise in a count; uniform: with {made.epsilon / made.window} at every unit"
    table = Table(title=about, title_justify="left", caption=meaning, caption_justify="left", show_edge=False)
    for name in ("unit", "time", "weight", "budget", "fullest window", heading, "uniform"):
        table.add_column(name, justify="left" if name == "time" else "right", no_wrap=True)
    many = len(published) > SHOWN + 1
    first, last = (published[: SHOWN - AT_THE_END], published[-AT_THE_END:]) if many else (published, [])
    for row in first:
        table.add_row(*_cells(row))
    if many:
        table.add_row("...", f"{len(published) - SHOWN} more", *["..."] * 5, style="dim")
    for row in last:
        table.add_row(*_cells(row))
    return table


def _cells(row: Row) -> list[str | Text]:
    numbers = [f"{row.weight:g}", str(row.budget), str(row.fullest), _number(row.error), _number(row.uniform)]
    return [str(row.unit), Text(row.time), *numbers]


def _number(error: float | None) -> str:
    return "-" if error is None else f"{error:,.0f}" if error >= 1000 else f"{error:.3g}"


def _write(rows: list[Row], output: str) -> None:
    """All of it as CSV."""
    with opened(output) as file:
        writer = csv.DictWriter(file, Row._fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row.as_dict() for row in rows)
    messages.print(Text(f"done: {several(len(rows), 'unit')}{'' if output == STANDARD else f' in {output}'}."))
