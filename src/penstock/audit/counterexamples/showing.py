"""How findings are shown: tables in the command and on the page, and figures that can be read on a slide."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from rich import box
from rich.table import Table

from penstock.audit.counterexamples.trials import Tally
from penstock.bench.trials import ruled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PRINTED, REPAIRED, CLAIM, QUIET = "#D55E00", "#0072B2", "#000000", "#999999"  # colour-blind safe
SHADES = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#D55E00")


class Found(Protocol):
    """What one counter-example came to."""

    name: ClassVar[str]  # of its figure

    def headline(self) -> Headline:
        """It in a line."""

    def tables(self, style: box.Box) -> Mapping[str, Table]:
        """Its tables, by the name of their place on the page."""

    def draw(self, figure: Figure) -> None:
        """Its picture."""


class Headline(NamedTuple):
    """Whose mistake it is and which, the loss that is claimed, the worst, what was proved of it, and the repaired."""

    mechanism: str
    mistake: str
    claimed: float
    worst: float
    proved: float
    repaired: float


class Simulated(NamedTuple):
    """One event, how large its loss is exactly, and what was counted of it."""

    form: str
    event: str
    exact: float
    tally: Tally


def table_of_all(found: Sequence[Found], style: box.Box) -> Table:
    """All of them, a line each."""
    names = ["mechanism", "what goes wrong", "claimed", "worst loss", "proved or recounted", "repaired"]
    table = ruled("Five ways: privacy loss", names, style, words=2)
    for way in found:
        mechanism, mistake, *losses = way.headline()
        table.add_row(mechanism, mistake, *(number(each) for each in losses))
    return table


def table_of_trials(title: str, rows: Sequence[Simulated], style: box.Box, claimed: float = 1.0) -> Table:
    """What was counted with a stream and its neighbour, and what loss that proves."""
    trials = rows[0].tally.trials
    names = ["form", "event", "hits", "neighbour's hits", "exact loss", "proved with 99.9%", f"above {claimed:g}"]
    table = ruled(f"{title}: hits of {trials:,} trials", names, style, words=2)
    for form, event, exact, tally in rows:
        proved = tally.loss_at_least
        above = "yes" if proved > claimed else "no"
        hits, other_hits = f"{tally.hits:,}", f"{tally.other_hits:,}"
        table.add_row(form, event, hits, other_hits, number(exact), number(proved), above)
    return table


def number(value: float) -> str:
    """A loss, or that it has no bound, or that none is proved."""
    if math.isinf(value):
        return "unbounded" if value > 0 else "nothing"
    return f"{value:.3f}"


def dressed(panel: Axes, title: str, x: str, y: str) -> None:
    """Titles and axes in sizes for a slide."""
    panel.set_title(title, fontsize=13)
    panel.set_xlabel(x, fontsize=12)
    panel.set_ylabel(y, fontsize=12)
    panel.tick_params(labelsize=11)
    panel.grid(True, color="#e5e5e5", linewidth=0.7)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def drawn(found: Found, folder: Path) -> Path:
    """The figure of one counter-example, in its file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.4), layout="constrained")
    found.draw(figure)
    to = folder / f"{found.name}.png"
    figure.savefig(to, dpi=90)
    return to
