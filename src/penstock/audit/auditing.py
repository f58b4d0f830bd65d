"""Attacks run and judged, one verdict each, with a bar for whoever waits; and how verdicts are shown."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeVar

from rich import box
from rich.markup import escape
from rich.table import Table

from penstock.audit.bounds import require_scipy
from penstock.audit.rows import Row
from penstock.audit.trials import Advance, Case, attempt
from penstock.audit.verdict import Verdict, judged
from penstock.errors import BadInput
from penstock.parameters import at_least_one, not_negative

SHORT = ("mechanism", "claimed", "charged", "proved", "power", "largest", "s", "verdict")
LONG = (*SHORT[:4], "event", "by releases", *SHORT[4:6], "trials", *SHORT[6:])
LEAST_TRIALS = 100  # with fewer nothing can be proved
ORANGE, BLUE, GREY = "#d55e00", "#0072b2", "#999999"


class Entry(Protocol):
    """One attack of an audit, which any process can find again."""

    def __hash__(self) -> int: ...
    def row(self) -> Row:
        """The attack, and what is to be said about it."""

    def case(self) -> Case:
        """What is attacked, and how."""


E = TypeVar("E", bound=Entry)


def require_runnable(seed: int | None, workers: int, trials: int = LEAST_TRIALS) -> None:
    """Refuse what could not be run or judged."""
    require_scipy()
    at_least_one("--workers", workers)
    not_negative("--seed", seed or 0)
    if trials < LEAST_TRIALS:
        raise BadInput(f"--trials must be at least {LEAST_TRIALS}, or nothing could be proved; use 25000 or more.")


def effort(wanted: Sequence[E], trials: int) -> dict[E, int]:
    """How many trials each row takes, if a usual one takes so many."""
    return {each: trials * each.row().runs for each in wanted}


def verdicts(
    wanted: Mapping[E, int], *, alpha: float, seed: int | None, workers: int, advance: Advance
) -> Iterator[Verdict]:
    """Attack everything with so many trials, and judge. All verdicts together are wrong with ``alpha`` at most."""
    began, rows = time.monotonic(), Counter[str]()
    for finder, trials in attempt(wanted, seed, workers, advance):
        row, now = finder.row(), time.monotonic()
        rows[str(finder)] += 1
        verdict = judged(str(finder), row.attack, trials, alpha, now - began, row.remark, tests=len(wanted))
        yield replace(verdict, row=rows[str(finder)])
        began = now


def table(
    title: str, found: Sequence[Verdict], style: box.Box = box.SIMPLE_HEAD, columns: Sequence[str] = SHORT
) -> Table:
    """The verdicts, one a line."""
    shown = Table(
        title=title, title_justify="left", box=style, padding=(0, 1) if style is box.MARKDOWN else (0, 1, 0, 0)
    )
    for name in columns:
        named = name == "mechanism"
        shown.add_column(name, justify="left" if named else "right", no_wrap=not named, overflow="fold")
    for verdict in found:
        cells = _cells(verdict)
        style_of = "bold red" if verdict.fails or verdict.vacuous else None
        shown.add_row(*(cells[name] for name in columns), style=style_of)
    return shown


def _cells(verdict: Verdict) -> dict[str, str]:
    return {
        "mechanism": escape(verdict.title),
        "claimed": str(verdict.epsilon),
        "charged": f"{float(verdict.charged):.3f}",
        "proved": _shown(verdict.best.lower),
        "event": verdict.best.event,
        "by releases": _shown(verdict.released),
        "power": f"{verdict.power:.2f}",
        "largest": "" if verdict.largest is None else f"{verdict.largest:.3f}",
        "trials": f"{verdict.best.trials:,}",
        "s": f"{verdict.seconds:.0f}",
        "verdict": verdict.word,
    }


def _shown(lower: float) -> str:
    """A bound below 0 proves nothing."""
    return f"{max(lower, 0.0):.3f}"


def remarks(found: Sequence[Verdict]) -> Iterator[str]:
    """What a reader of the table has to know."""
    yield (
        f"All bounds together hold with a confidence of {100 * found[0].confidence:.6g}%. charged: the most that a"
        " ledger had booked on a protected set. proved: what all paid answers together lose at least; releases are made"
        " of them, and lose no more. power: proved / charged; 0.8 or more is tight, less is weak, unless its row"
        " explains it, and below 0.1 nothing was found either way. largest: the loss of the one transcript, of all that"
        " were seen, that tells the two streams apart best. Nothing here proves that a claim is true; that is for its"
        " proof."
    )
    for verdict in found:
        if verdict.fails:
            yield f"{verdict.title} loses more than {'it claims' if verdict.exceeded else 'its ledger has booked'}."
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
    widest = max(1.05, *lower, *charged) * 1.02
    axes.set(xlabel="part of the epsilon that is claimed", xlim=(0, widest), ylim=(-0.7, len(found) - 0.3))
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, loc="outside lower center", ncols=3)
    figure.savefig(path, dpi=120)
