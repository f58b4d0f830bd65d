"""Attacks run and judged, one verdict each, with a bar for whoever waits; and how verdicts are shown."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from rich import box
from rich.table import Table

from penstock.audit.rows import Row
from penstock.audit.trials import Advance, Case, attempt
from penstock.audit.verdict import Verdict, judged
from penstock.bench.trials import ruled

COLUMNS = ("mechanism", "claimed", "proved", "power", "largest", "event", "trials", "s", "verdict")
ORANGE, BLUE, GREY = "#d55e00", "#0072b2", "#999999"


class Audited(Protocol):
    """A row of an audit that any process can find again."""

    def __hash__(self) -> int: ...
    def row(self) -> Row:
        """The attack, and what is to be said about it."""

    def case(self) -> Case:
        """What is attacked, and how."""


A = TypeVar("A", bound=Audited)


def effort(wanted: Sequence[A], trials: int) -> dict[A, int]:
    """How many trials each row takes, if a usual one takes so many."""
    return {each: trials * each.row().runs for each in wanted}


def verdicts(
    wanted: Mapping[A, int], *, alpha: float, seed: int | None, workers: int, advance: Advance
) -> Iterator[Verdict]:
    """Attack everything with so many trials, and judge. All verdicts together are wrong with ``alpha`` at most."""
    began = time.monotonic()
    for finder, trials in attempt(wanted, seed, workers, advance):
        row, now = finder.row(), time.monotonic()
        yield judged(str(finder), row.attack, trials, alpha, now - began, row.remark, tests=len(wanted))
        began = now


def table(title: str, found: Sequence[Verdict], style: box.Box = box.SIMPLE_HEAD) -> Table:
    """The verdicts, one a line."""
    shown = ruled(title, COLUMNS, style)
    for verdict in found:
        shown.add_row(*_cells(verdict), style="bold red" if verdict.exceeded or verdict.vacuous else None)
    return shown


def _cells(verdict: Verdict) -> tuple[str, ...]:
    largest = "" if verdict.largest is None else f"{verdict.largest:.3f}"
    numbers = str(verdict.epsilon), f"{verdict.best.lower:.3f}", f"{verdict.power:.2f}", largest
    effort = f"{verdict.best.trials:,}", f"{verdict.seconds:.0f}"
    return verdict.title, *numbers, verdict.best.event, *effort, verdict.word


def remarks(found: Sequence[Verdict]) -> Iterator[str]:
    """What a reader of the table has to know."""
    confidence = found[0].confidence
    yield (
        f"proved: what is lost at least, by this event; all bounds together hold with a confidence of {confidence:.1%}."
        " power: proved / the most that a ledger had booked on a protected set (tight: 0.8 or more). largest: the loss"
        " of the one transcript, of all that were seen, that tells the two streams apart best."
    )
    for verdict in found:
        if verdict.exceeded:
            yield f"{verdict.title} loses more than it claims."
        elif verdict.word != "tight":
            yield f"{verdict.title}: {verdict.remark or 'more trials may prove more'}."


def draw(found: Sequence[Verdict], path: Path) -> None:
    """Claimed, charged and proved, as parts of what is claimed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 1.2 + 0.28 * len(found)), layout="constrained")
    axes = figure.subplots()
    places = range(len(found))[::-1]
    claimed = [float(verdict.epsilon) for verdict in found]
    lower = [max(verdict.best.lower, 0.0) / claim for verdict, claim in zip(found, claimed, strict=True)]
    charged = [float(verdict.charged) / claim for verdict, claim in zip(found, claimed, strict=True)]
    axes.barh(places, charged, color=GREY, alpha=0.4, height=0.8, label="charged by the ledger")
    axes.barh(places, lower, color=BLUE, height=0.45, label="proved to be lost at least")
    axes.axvline(1, color=ORANGE, linewidth=1.5, label="claimed")
    axes.set_yticks(places, [verdict.title for verdict in found])
    axes.set(xlabel="part of the epsilon that is claimed", xlim=(0, max(1.05, *lower, *charged) * 1.02))
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, loc="outside lower center", ncols=3)
    figure.savefig(path, dpi=120)
