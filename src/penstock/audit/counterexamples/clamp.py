"""DSAT (Li et al. 2015) clamps its noisy threshold to the possible distances. Where the clamp binds, the noise is gone.

Distances are parts of all n records, from 0 to 2. The first unit is released and nothing after it, so that the whole
path of the threshold follows from the published parameters and the noise. DSFT, its sister without a path, is here too:
its noise suits queries that only ever grow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from rich import box
from rich.table import Table

from penstock.audit.counterexamples.pattern import Answers, Pattern, SparseVector, log_below
from penstock.audit.counterexamples.showing import (
    CLAIM,
    PRINTED,
    REPAIRED,
    Headline,
    Simulated,
    dressed,
    table_of_trials,
)
from penstock.audit.counterexamples.trials import Trials, noes
from penstock.bench.trials import ruled
from penstock.epsilon import Epsilon
from penstock.primitives.segment import SegmentPlan
from penstock.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

START, TOLERANCE, RATE, GAIN, FARTHEST = 0.025, 0.05, 0.01, 0.5, 2.0  # RATE: C / N
BURN_IN = 2  # units without a comparison
SHARE = 0.0532  # k, the part of epsilon that decides, at C = 10
PEOPLE = (100, 1000, 500_000)
GAINS = (GAIN, 0.05)
COMPARISONS = (1, 2, 10, 50, 150)
RECORDS, RELEASES = 1000, 3  # of the stream whose loss is measured; epsilon 1 decides
SHOWN = (8, 12)  # noes at a threshold of 0
LENGTHS = (8, 12, 50, 300)
COUNTS = (2, 3, 5, 10, 50)  # C of DSFT
FAR = 40.0
RUNS = 4


class Clamped(NamedTuple):
    """x -> clip(x + shift, low, high). One such map after another is such a map again."""

    shift: float = 0.0
    low: float = -math.inf
    high: float = math.inf

    def then(self, other: Clamped) -> Clamped:
        """This map, then the other."""
        low, high = (float(other(end)) for end in (self.low, self.high))
        return Clamped(self.shift + other.shift, low, high)

    def __call__(self, x: Floats | float) -> Floats:
        clipped: Floats = np.clip(np.asarray(x) + self.shift, self.low, self.high)
        return clipped

    def binds(self, centre: float, scale: float) -> float:
        """The chance that nothing is left of Laplace noise around ``centre``."""
        if self.low >= self.high:
            return 1.0
        ends = np.array([self.low, self.high]) - self.shift - centre
        below, above = np.exp(log_below(ends, scale))
        return float(1 - (above - below))


def path(gain: float = GAIN, *, both: bool = False) -> Iterator[Clamped]:
    """What has become of the threshold at each comparison, as printed: up to 2 at most, or down to 0 at least.

    With ``both`` the public threshold of the repaired form, which never leaves 0 to 2.
    """
    so_far, unit = Clamped(), BURN_IN
    while True:
        unit += 1
        ahead = 1 / unit - RATE
        step = gain * abs(abs(ahead) - TOLERANCE) / TOLERANCE
        low, high = (0.0 if both or ahead <= 0 else -math.inf), (FARTHEST if both or ahead > 0 else math.inf)
        so_far = so_far.then(Clamped(step if ahead > 0 else -step, low, high))
        yield so_far


def erased(people: int, comparisons: int, gain: float = GAIN) -> float:
    """The chance that the threshold has lost its noise by then, with the published sensitivity 2 / (n - 1)."""
    *_, last = islice(path(gain), comparisons)
    return last.binds(START, 4 / (people - 1) / SHARE)


def lost(comparisons: float, releases: int = RELEASES) -> float:
    """What noes against a known threshold lose, as a multiple of epsilon 1: each tells 1 / (2 C)."""
    return comparisons / (2 * releases)


def first_at_zero() -> int:
    """The number of the first comparison whose public threshold is 0."""
    return next(number for number, at in enumerate(path(both=True), start=1) if at(START) == 0)


def repaired(releases: int = RELEASES) -> SparseVector:
    """The noises of one segment for a whole horizon, in records."""
    plan = SegmentPlan.whole_horizon(releases - 1, Epsilon(1))
    return SparseVector(1 / float(plan.u), 1 / float(plan.v))


def pattern(comparisons: int, moved: float) -> Pattern:
    """Noes, repaired, in records: one just before the threshold is 0, where neighbours agree, and then so many."""
    return (Answers(False, 1, -_above_zero()), Answers(False, comparisons, moved))


def kept(comparisons: int) -> float:
    """What the same noes lose in the repaired form, by quadrature."""
    return repaired().loss(pattern(comparisons, 0.0), pattern(comparisons, 1.0))


def _above_zero() -> float:
    """The last public threshold above 0, in records. All before are so high that a no is certain."""
    *_, last = islice(path(both=True), first_at_zero() - 1)
    return float(last(START)) * RECORDS


def printed_hits(moved: float, rng: np.random.Generator, size: int) -> tuple[int, ...]:
    """As printed: the noise goes through the clamp, then come noes at counts that rest where they were released."""
    first, longest = first_at_zero(), max(SHOWN)
    maps = list(islice(path(), first - 2, first + longest - 1))
    noise = rng.laplace(0.0, 2 / RECORDS, size)
    hits = []
    for number, at in enumerate(maps):
        distance = (moved if number else 0.0) + rng.laplace(0.0, 2 * RELEASES, len(noise))
        noise = noise[distance < at(START + noise) * RECORDS]
        if number in SHOWN:
            hits.append(len(noise))
    return tuple(hits)


def repaired_hits(moved: float, rng: np.random.Generator, size: int) -> tuple[int, ...]:
    """Repaired: the threshold is public, and its noise is added where it is compared."""
    vector = repaired()
    rho = noes(rng, vector.unknown(rng, size), vector.query, [-_above_zero()])
    hits = []
    for number in range(1, max(SHOWN) + 1):
        rho = noes(rng, rho, vector.query, [moved])
        if number in SHOWN:
            hits.append(len(rho))
    return tuple(hits)


def constant(releases: int) -> float:
    """What DSFT's decisions lose as printed, as a multiple of epsilon 1, in closed form."""
    return 0.5 + (releases - 1) / releases


def decided(vector: SparseVector, releases: int) -> float:
    """The same by quadrature: very many noes far above the threshold, then all the yeses, far below them."""
    far = FAR * vector.query
    here, there = ((Answers(False, 20 * releases, far + by), Answers(True, releases - 1, -by)) for by in (0.0, 1.0))
    return vector.loss(here, there)


def in_all(decisions: float) -> float:
    """The whole loss if the decisions lose so many times their part of epsilon, which is k."""
    return 1 - SHARE + SHARE * decisions


@dataclass(frozen=True)
class Clamp:
    """What was found about DSAT's clamp, and DSFT's constant."""

    name: ClassVar = "dsat"
    simulated: list[Simulated]

    def headline(self) -> Headline:
        proved, longest = self.simulated[1].tally.loss_at_least, max(LENGTHS)  # chosen before anything was counted
        return Headline("DSAT (decisions)", "the noisy threshold is clamped", 1, lost(longest), proved, kept(longest))

    def tables(self, style: box.Box) -> Mapping[str, Table]:
        trials = table_of_trials("DSAT's decisions, epsilon 1 = 1, C = 3", self.simulated, style)
        return {
            "dsat-erased": table_of_chances(style),
            "dsat-loss": table_of_losses(style),
            "dsat-trials": trials,
            "dsft": table_of_constants(style),
        }

    def draw(self, figure: Figure) -> None:
        clamped, public, losses = figure.subplots(1, 3)
        scale = 4 / (PEOPLE[0] - 1) / SHARE
        noise = np.random.default_rng(4).laplace(0.0, scale, 12)
        steps = list(islice(path(), 8)), list(islice(path(both=True), 8))
        units = BURN_IN + np.arange(0, 9)
        for x in noise:
            printed = [START + x, *(float(at(START + x)) for at in steps[0])]
            clamped.plot(units, printed, "o-", color=PRINTED, linewidth=1.3, markersize=3, alpha=0.8)
            moving = [START + x, *(float(at(START)) + x for at in steps[1])]
            public.plot(units, moving, "o-", color=REPAIRED, linewidth=1.3, markersize=3, alpha=0.8)
        for panel, title in ((clamped, "Printed: clamp after noise"), (public, "Repaired: noise after clamp")):
            dressed(panel, title, "unit", "noisy threshold, 12 runs")
            panel.set_ylim(-2.5, 4.5)
        self._draw_losses(losses)

    def _draw_losses(self, panel: Axes) -> None:
        lengths = range(1, 15)
        panel.plot(lengths, [lost(n) for n in lengths], color=PRINTED, linewidth=2.2, label="printed")
        exact = [kept(n) for n in lengths]
        panel.plot(lengths, exact, color=REPAIRED, linewidth=2.2, label="repaired")
        for length, row in zip(SHOWN * 2, self.simulated, strict=True):
            colour = PRINTED if row.form == "printed" else REPAIRED
            panel.plot([length], [row.tally.loss_at_least], "^", color=colour, markersize=9)
        panel.axhline(1, color=CLAIM, linestyle="--", linewidth=1.4, label="claimed")
        panel.set_xticks(range(0, 15, 2))
        dressed(panel, "Loss; triangles: proved", "noes at the clamp", "loss of the decisions")
        panel.legend(frameon=False, fontsize=11)


def measured(trials: Trials) -> Clamp:
    """Count noes at the clamp, as printed and repaired."""
    simulated = []
    for form, hits in (("printed", printed_hits), ("repaired", repaired_hits)):
        for length, tally in zip(SHOWN, trials.tallies(partial(hits, 0.0), partial(hits, 1.0)), strict=True):
            exact = lost(length) if form == "printed" else kept(length)
            simulated.append(Simulated(form, f"{length} noes", exact, tally))
    return Clamp(simulated)


def table_of_chances(style: box.Box) -> Table:
    """How soon the noise of the threshold is gone."""
    title = f"DSAT as printed: the chance that the threshold has lost its noise (k = {SHARE}, epsilon = 1, C / N = 1%)"
    names = ["records", "gain", *(f"{n} comparison{'s' if n > 1 else ''}" for n in COMPARISONS)]
    table = ruled(title, names, style, words=2)
    for gain in GAINS:
        for people in PEOPLE:
            table.add_row(f"{people:,}", f"{gain}", *(f"{erased(people, n, gain):.3f}" for n in COMPARISONS))
    return table


def table_of_losses(style: box.Box) -> Table:
    """What noes lose at a clamped threshold, and in all."""
    title = f"DSAT, noes at the clamp, C = {RELEASES}: loss of the decisions over their budget, and of everything"
    table = ruled(title, ["noes", "printed", f"in all, k = {SHARE}", "repaired"], style)
    for length in LENGTHS:
        losses = lost(length), in_all(lost(length)), kept(length)
        table.add_row(f"{length}", *(f"{each:.3f}" for each in losses))
    return table


def table_of_constants(style: box.Box) -> Table:
    """What DSFT's decisions lose, whatever its threshold does."""
    title = "DSFT: loss of the decisions over their budget"
    table = ruled(title, ["C", "formula", "quadrature", f"in all, k = {SHARE}", "repaired"], style)
    for count in COUNTS:
        formula, exact = constant(count), decided(SparseVector(2.0, 2.0 * count), count)
        losses = formula, exact, in_all(formula), decided(repaired(count), count)
        table.add_row(f"{count}", *(f"{each:.3f}" for each in losses))
    return table
