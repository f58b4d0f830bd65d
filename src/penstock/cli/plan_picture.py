"""A plan as a picture: what units get, what windows hold, and what error that makes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.allocation import Plan
from penstock.cli.plan_rows import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLANNED, UNIFORM, LIMIT = "#0072B2", "#D55E00", "#000000"
ERRORS = {"squared": "variance of the noise", "absolute": "mean size of the noise"}
MOST_LINES = 150  # beyond so many, lines down from the dots would be one dark area
LABELS = 9
DOT: dict[str, Any] = {"color": PLANNED, "marker": "o", "markersize": 4, "linestyle": "none"}


def draw(made: Plan, rows: Sequence[Row], title: str, to: Path) -> None:
    """Budgets, windows and errors below each other; needs the ``plot`` extra."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 8), layout="constrained")
    figure.suptitle(title, fontsize=13, parse_math=False)
    panels = figure.subplots(3, sharex=True, height_ratios=(3, 2, 3))
    published = [row for row in rows if row.error is not None]
    _budgets(panels[0], made, published)
    _windows(panels[1], made)
    _errors(panels[2], made, published)
    for panel in panels:
        panel.grid(True, color="#e5e5e5", linewidth=0.7)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    shown = rows[:: -(-len(rows) // LABELS)]
    panels[2].set_xticks([row.unit for row in shown], [row.time for row in shown], parse_math=False)
    panels[2].set(xlabel="time unit", xlim=(0, len(rows) + 1))
    handles = [handle for panel in panels[:2] for handle in panel.get_legend_handles_labels()[0]]
    figure.legend(handles=handles, frameon=False, loc="outside lower center", ncols=4)
    figure.savefig(to, dpi=120)


def _budgets(panel: Axes, made: Plan, published: Sequence[Row]) -> None:
    units, budgets = [row.unit for row in published], [float(row.budget) for row in published]
    if len(published) <= MOST_LINES:
        panel.vlines(units, 0, budgets, color=PLANNED, linewidth=1.5)
    panel.plot(units, budgets, label="planned", **DOT)
    panel.axhline(float(made.epsilon / made.window), color=UNIFORM, linewidth=1.8, label="the same at every unit")
    panel.set(ylabel="budget of a unit", ylim=(0, 1.08 * max(budgets)))


def _windows(panel: Axes, made: Plan) -> None:
    """What the window that ends at each unit holds; the first ones are not whole yet."""
    begun = list(accumulate(float(budget) for budget in made.budgets[: made.window - 1]))
    held = begun + [float(each) for each in made.window_sums()]
    panel.fill_between(range(1, len(held) + 1), held, step="mid", color=PLANNED, alpha=0.25, linewidth=0)
    panel.step(
        range(1, len(held) + 1), held, where="mid", color=PLANNED, linewidth=1.8, label="window, up to this unit"
    )
    panel.axhline(float(made.epsilon), color=LIMIT, linestyle="--", linewidth=1.4, label="epsilon")
    panel.set(ylabel=f"spent in {made.window} units", ylim=(0, 1.15 * float(made.epsilon)))


def _errors(panel: Axes, made: Plan, published: Sequence[Row]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator

    errors = [row.error or 0.0 for row in published]
    uniform = published[0].uniform or 0.0
    panel.plot([row.unit for row in published], errors, **DOT)
    panel.axhline(uniform, color=UNIFORM, linewidth=1.8)
    panel.set(ylabel=ERRORS[made.error], yscale="log", ylim=(min(*errors, uniform) / 2, max(*errors, uniform) * 2))
    panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    panel.minorticks_off()
