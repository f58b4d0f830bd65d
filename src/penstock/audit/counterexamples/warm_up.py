"""SPAS's warm-up (Li et al. 2025) spends all of epsilon on the first window; then the stream begins as if nothing were.

With w = 120 and a release every 20 units, units 21 to 140 hold five of the six warm-up releases, and all that SPAS may
spend in a window besides. Neighbours have a record more at those five and wherever the answer is no, and one less where
it is yes. From unit 121 on the counts are two higher; nothing else happens in this stream. C starts at 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from rich import box
from rich.table import Table

from penstock.audit.counterexamples.one_threshold import PUBLISH, WINDOW, printed
from penstock.audit.counterexamples.pattern import NODES, WEIGHTS, Answers
from penstock.audit.counterexamples.showing import (
    CLAIM,
    PRINTED,
    REPAIRED,
    Headline,
    Simulated,
    dressed,
    table_of_trials,
)
from penstock.audit.counterexamples.trials import Trials, higher
from penstock.bench.trials import ruled
from penstock.charges import Fact, recount
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.mechanisms.spas import SPAS
from penstock.models import WEvent
from penstock.noise import SimulationNoise
from penstock.streams import Stream
from penstock.types import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EVERY = 20
SAMPLES = WINDOW // EVERY
INSIDE = SAMPLES - 1  # those that a window from unit 21 on still holds
EACH = 1 / SAMPLES  # what each spends as printed
EACH_REPAIRED = PUBLISH / SAMPLES
LEVEL, RISE = 100, 2
TAUS = (0, 2, 4, 8, 19)
SHOWN = (0, 2)
RUNS = 2 * len(SHOWN) + 2
STREAMS = 40  # of the shipped mechanism
UNITS = 2 * WINDOW + EVERY
PANELS = (0.0, 1.0, 5.0, 20.0, 60.0, 240.0)  # how far the last warm-up release lies below the counts


def loss(tau: int) -> float:
    """Exactly: the loss of five low warm-up releases, so many noes, a yes, and a high release."""
    return math.log(_chance(tau, 0.0) / _chance(tau, 1.0))


def worst() -> float:
    """The losses of the five, of a window's decisions and of its release."""
    return INSIDE * EACH + 1


def _chance(tau: int, moved: float) -> float:
    """Integrated over how low the last warm-up release is, because distances are measured from it."""
    edges = np.array(PANELS)
    low = ((edges[1:] + edges[:-1]) / 2)[:, np.newaxis] + (np.diff(edges) / 2)[:, np.newaxis] * NODES
    weights = (np.diff(edges) / 2)[:, np.newaxis] * WEIGHTS * EACH * np.exp(-low * EACH)
    decided = np.array([[_decided(tau, moved, float(each)) for each in row] for row in low])
    lows = (0.5 * math.exp(-EACH * moved)) ** INSIDE
    return lows * float((weights * decided).sum()) * 0.5 * math.exp(-float(PUBLISH) * moved)


def _decided(tau: int, moved: float, low: float) -> float:
    up, down = _aparts(np.array(low), moved)
    return math.exp(printed().log_chance([Answers(False, tau, float(up)), Answers(True, 1, float(down))]))


def _aparts(low: Floats, moved: float) -> tuple[Floats, Floats]:
    """How far the distances at noes and at the yes lie above the threshold, which is 1 / (publishing budget)."""
    threshold = 1 / float(PUBLISH)
    return np.abs(low + RISE + moved) - threshold, np.abs(low + RISE - moved) - threshold


def printed_hits(tau: int, moved: float, rng: np.random.Generator, size: int) -> tuple[int, ...]:
    """As printed, from unit 21 on: low, low, low, low, low, noes, a yes, high."""
    for _ in range(INSIDE - 1):
        size = size - higher(rng, size, 1 / EACH, -moved)
    released = moved + rng.laplace(0.0, 1 / EACH, size)
    up, down = _aparts(-released[released < 0], moved)
    vector = printed()
    rho = vector.unknown(rng, len(up))
    for _ in range(tau):
        no = up + rng.laplace(0.0, vector.query, len(rho)) <= rho
        up, down, rho = up[no], down[no], rho[no]
    picked = int(np.count_nonzero(down + rng.laplace(0.0, vector.query, len(rho)) > rho))
    return (higher(rng, picked, 1 / float(PUBLISH), moved),)


def repaired_hits(moved: float, rng: np.random.Generator, size: int) -> tuple[int, ...]:
    """Repaired, and C = 1 as well: the five are low, and have left too little for anything to be decided."""
    for _ in range(INSIDE):
        size = size - higher(rng, size, 1 / float(EACH_REPAIRED), -moved)
    return (size,)


@dataclass(frozen=True)
class WarmUp:
    """What was found about SPAS's warm-up."""

    name: ClassVar = "warm-up"
    simulated: list[Simulated]
    fullest: Epsilon  # window of the shipped mechanism, in many runs
    spent: list[float]  # by the window that ends at each unit, in one of them

    def headline(self) -> Headline:
        proved = self.simulated[1].tally.loss_at_least  # chosen before anything was counted
        return Headline("SPAS", "warm-up and stream have a budget each", 1, worst(), proved, float(self.fullest))

    def tables(self, style: box.Box) -> Mapping[str, Table]:
        trials = table_of_trials("SPAS, the end of the warm-up", self.simulated, style)
        return {
            "warm-up-exact": table_of_losses(style),
            "warm-up-trials": trials,
            "warm-up-ledger": self._ledger(style),
        }

    def _ledger(self, style: box.Box) -> Table:
        title = f"SPAS as shipped, {STREAMS} streams of {UNITS} units: the fullest window, recounted from the charges"
        table = ruled(title, ["", "fullest window"], style)
        table.add_row("printed, if all of it were booked", f"{worst():.3f}")
        table.add_row("shipped", f"{float(self.fullest):.9f}")
        return table

    def draw(self, figure: Figure) -> None:
        panel = figure.subplots()
        units = np.arange(1, UNITS + 1)
        lines = {
            "as printed, if SPAS releases once a window": (as_printed(), PRINTED),
            "Penstock's SPAS, from its ledger": (self.spent, REPAIRED),
        }
        for label, (spent, colour) in lines.items():
            panel.step(units, spent, where="post", color=colour, linewidth=2.4, label=label)
        panel.axhline(1, color=CLAIM, linestyle="--", linewidth=1.4, label="claimed")
        panel.axvspan(21, 140, color="#56B4E9", alpha=0.12, label="units 21 to 140, one window")
        dressed(panel, "Spent in the window that ends at a unit", "unit", "spent (claimed: 1)")
        panel.set_ylim(0, 2.6)
        panel.legend(frameon=False, fontsize=11, ncols=2, loc="upper left")


def measured(trials: Trials) -> WarmUp:
    """Count the events, and run the shipped mechanism."""
    simulated = []
    for tau in SHOWN:
        (tally,) = trials.tallies(partial(printed_hits, tau, 0.0), partial(printed_hits, tau, 1.0))
        simulated.append(Simulated("printed", f"5 low, {tau} noes, yes, high", loss(tau), tally))
    (tally,) = trials.tallies(partial(repaired_hits, 0.0), partial(repaired_hits, 1.0))
    simulated.append(Simulated("repaired", "5 low", INSIDE * float(EACH_REPAIRED), tally))
    shipped = [_shipped(seed) for seed in range(STREAMS)]
    return WarmUp(simulated, max(fullest for fullest, _ in shipped), shipped[0][1])


def as_printed() -> list[float]:
    """What the window that ends at each unit has spent, if the first comparison of every window is a yes."""
    by_unit = np.zeros(UNITS + 1)
    by_unit[1 : WINDOW + 1 : EVERY] = EACH
    by_unit[WINDOW + 1 :: WINDOW] = 1.0
    sums = np.cumsum(by_unit)
    return [float(sums[t] - sums[max(t - WINDOW, 0)]) for t in range(1, UNITS + 1)]


def _shipped(seed: int) -> tuple[Epsilon, list[float]]:
    """The fullest window of SPAS as it is here, and what the window that ends at each unit has spent."""
    model, facts = WEvent(epsilon=1, w=WINDOW), list[Fact]()
    curator = Curator(model, 1, noise=SimulationNoise(seed), journal=facts.append)
    publishing, spent = SPAS(model=model, warm_up=EVERY).start(curator), []
    counts = np.where(np.arange(1, UNITS + 1) <= WINDOW, LEVEL, LEVEL + RISE)
    for snapshot in Stream(counts[:, np.newaxis]):
        publishing.step(snapshot)
        spent.append(1 - float(curator.remaining()))
    return recount(facts, model), spent


def table_of_losses(style: box.Box) -> Table:
    """The losses by quadrature; more noes tell more, and are rarer."""
    table = ruled("SPAS, the end of the warm-up: loss as printed (claimed: 1)", ["noes", "exact loss", "worst"], style)
    for tau in TAUS:
        table.add_row(f"{tau}", f"{loss(tau):.3f}", f"{worst():.3f}")
    return table
