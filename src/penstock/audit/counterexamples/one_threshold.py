"""SPAS (Li et al. 2025) draws the noise of its threshold once, for ever. Decisions elsewhere reveal it.

All for one bin and epsilon 1, divided as in the paper: a quarter decides, the rest publishes. A window differs between
neighbours, by one record in each unit. The units before it are the same, and so is the chance of what is decided there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from rich import box
from rich.table import Table

from penstock.audit.counterexamples.pattern import Answers, Draws, Pattern, SparseVector
from penstock.audit.counterexamples.showing import (
    CLAIM,
    PRINTED,
    QUIET,
    REPAIRED,
    SHADES,
    Headline,
    Simulated,
    dressed,
    table_of_trials,
)
from penstock.audit.counterexamples.trials import Event, Trials, higher, noes, yeses
from penstock.bench.trials import ruled
from penstock.epsilon import Epsilon
from penstock.primitives.segment import SegmentPlan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DECIDE, PUBLISH = Epsilon("0.25"), Epsilon("0.75")
WINDOW = 120
COUNTS = (1, 2, 5, 10, 30)  # C, the yeses of a window
OTHERS = (0, 1, 4, 10, 33, 83)  # L, windows before
FAR = 40.0  # scales of the query's noise: so far apart, answers are as good as certain to be surprising
TAUS = (4, 8, 12, 19)  # noes before the yes
KNOWN = (0, 10, 50, 200, 2000)  # pairs of a yes and a no before the window
PREFIX = 200
SHOWN = (8, 12)
RUNS = 4 * len(SHOWN)


def printed(count: int = 1) -> SparseVector:
    """The noises as printed, for C yeses a window."""
    return SparseVector(2 / float(DECIDE), 4 * count / float(DECIDE))


def repaired(count: int = 1) -> SparseVector:
    """The noises of a segment, which is over, and has a new threshold, after a few yeses."""
    plan = SegmentPlan.windowed(count, DECIDE)
    return SparseVector(1 / float(plan.u), 1 / float(plan.v))


def total(others: float, count: int, window: int = WINDOW, bins: int = 1) -> float:
    """The loss of SPAS as printed, after so many other windows of ``count`` yeses each. In closed form."""
    return float(PUBLISH) + float(DECIDE) * min(1 + others / 4, window / (4 * count)) / bins


def extremal(others: int, count: int, window: int = WINDOW, bins: int = 1) -> float:
    """The same by quadrature, of the most telling answers: noes far above the threshold, yeses below it."""
    far, moved = FAR * printed(count).query, 1 / bins
    before = [Answers(True, others * count, far)]
    here, there = (
        [*before, Answers(False, window - count, 2 * far + by), Answers(True, count, -by)] for by in (0.0, moved)
    )
    return float(PUBLISH) + printed(count).loss(here, there)


def prefix(pairs: int) -> Pattern:
    """What was decided before the window: as often yes as no, all at the threshold."""
    return (Answers(True, pairs, 0.0), Answers(False, pairs, 0.0))


def inside(noes: int, moved: float) -> Pattern:
    """What is decided in the window: noes, then a yes. Neighbours have a record more at the noes, one less at the yes.

    The counts lie at the threshold; they are ``moved`` records up, then down.
    """
    return (Answers(False, noes, moved), Answers(True, 1, -moved))


def loss(vector: SparseVector, noes: int, pairs: int) -> float:
    """Exactly: the loss of noes, a yes, and a release above its mean, given the prefix."""
    before = prefix(pairs) if pairs else ()
    return float(PUBLISH) + vector.loss((*before, *inside(noes, 0.0)), (*before, *inside(noes, 1.0)))


def limit(noes: int) -> float:
    """What the loss rises to as more is known: each answer tells 1 / scale once rho is known."""
    return float(PUBLISH) + (noes + 1) / printed().query


def event(vector: SparseVector, rho: Draws, tau: int, moved: float) -> Event:
    """Counts trials with noes, a yes, and a release above the level that the counts have without the neighbour."""

    def hits(rng: np.random.Generator, size: int) -> tuple[int, ...]:
        asked = noes(rng, rho(rng, size), vector.query, [moved] * tau)
        picked = yeses(rng, asked, vector.query, -moved)
        return (higher(rng, picked, 1 / float(PUBLISH), moved),)

    return hits


@dataclass(frozen=True)
class OneThreshold:
    """What was found about SPAS's threshold."""

    name: ClassVar = "spas"
    simulated: list[Simulated]

    def headline(self) -> Headline:
        proved = self.simulated[0].tally.loss_at_least  # chosen before anything was counted
        return Headline("SPAS", "one threshold noise for ever", 1, total(math.inf, 1), proved, loss(repaired(), 19, 0))

    def tables(self, style: box.Box) -> Mapping[str, Table]:
        trials = table_of_trials("SPAS, one threshold for ever", self.simulated, style)
        return {
            "spas-total": table_of_totals(style),
            "spas-exact": table_of_losses(style),
            "spas-trials": trials,
            "spas-noise": table_of_noise(style),
        }

    def draw(self, figure: Figure) -> None:
        totals, patterns = figure.subplots(1, 2)
        others = range(101)
        for count, colour in zip(COUNTS[:4], SHADES, strict=False):
            totals.plot(others, [total(n, count) for n in others], color=colour, linewidth=2.2, label=f"C = {count}")
        totals.axhline(1, color=CLAIM, linestyle="--", linewidth=1.4, label="claimed")
        dressed(totals, "SPAS as printed: worst loss, w = 120", "other windows L", "loss (claimed: 1)")
        totals.legend(frameon=False, fontsize=11)
        self._draw_patterns(patterns)

    def _draw_patterns(self, panel: Axes) -> None:
        taus = range(20)
        for pairs, style in ((10, ":"), (PREFIX, "-")):
            found = [loss(printed(), tau, pairs) for tau in taus]
            panel.plot(taus, found, style, color=PRINTED, linewidth=2.2, label=f"printed, {pairs} yeses before")
        panel.plot(taus, [limit(tau) for tau in taus], color=QUIET, linewidth=1.2, label="limit (noes + 1)/16 + 3/4")
        panel.plot(taus, [loss(repaired(), tau, 0) for tau in taus], color=REPAIRED, linewidth=2.2, label="repaired")
        for tau, row in zip(SHOWN * 2, self.simulated, strict=True):
            colour = PRINTED if row.form == "printed" else REPAIRED
            panel.plot([tau], [row.tally.loss_at_least], "^", color=colour, markersize=9)
        panel.axhline(1, color=CLAIM, linestyle="--", linewidth=1.4)
        dressed(panel, "Noes, a yes, a high release; triangles: proved", "noes", "loss (claimed: 1)")
        panel.set_xticks(range(0, 20, 4))
        panel.legend(frameon=False, fontsize=11)


def measured(trials: Trials) -> OneThreshold:
    """Count the events as printed, given the prefix, and with segments, for which no prefix matters."""
    forms = {"printed": (printed(), PREFIX), "repaired": (repaired(), 0)}
    simulated = []
    for form, (vector, pairs) in forms.items():
        rho = vector.known(prefix(pairs)) if pairs else vector.unknown
        for tau in SHOWN:
            (tally,) = trials.tallies(event(vector, rho, tau, 0.0), event(vector, rho, tau, 1.0))
            simulated.append(Simulated(form, f"{tau} noes, yes, high", loss(vector, tau, pairs), tally))
    return OneThreshold(simulated)


def table_of_totals(style: box.Box) -> Table:
    """The worst losses, in closed form and by quadrature."""
    title = f"SPAS as printed, w = {WINDOW}: loss after L other windows with C yeses each (claimed: 1)"
    table = ruled(title, ["C", "by", *(f"L = {others}" for others in OTHERS), "any L"], style, words=2)
    for count in COUNTS:
        table.add_row(f"{count}", "formula", *(f"{total(n, count):.3f}" for n in (*OTHERS, math.inf)))
        table.add_row("", "quadrature", *(f"{extremal(n, count):.3f}" for n in OTHERS), "")
    return table


def table_of_losses(style: box.Box) -> Table:
    """The loss of an everyday pattern, by quadrature."""
    title = "SPAS: loss of noes, a yes and a high release, after so many yeses and as many noes before the window"
    names = ["noes", *(f"{pairs:,} before" for pairs in KNOWN), "limit", "repaired"]
    table = ruled(title, names, style)
    for tau in TAUS:
        losses = [loss(printed(), tau, pairs) for pairs in KNOWN]
        table.add_row(f"{tau}", *(f"{each:.3f}" for each in (*losses, limit(tau))), f"{loss(repaired(), tau, 0):.4f}")
    return table


def table_of_noise(style: box.Box) -> Table:
    """How far off decisions are, in records: what the repair costs."""
    title = "SPAS: standard deviation of a decision's noise, in records"
    table = ruled(title, ["form", *(f"C = {count}" for count in COUNTS)], style)
    table.add_row("printed", *(f"{printed(count).spread:.1f}" for count in COUNTS))
    table.add_row("repaired", *(f"{repaired(count).spread:.1f}" for count in COUNTS))
    table.add_row("ratio", *(f"{repaired(count).spread / printed(count).spread:.2f}" for count in COUNTS))
    return table
