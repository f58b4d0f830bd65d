"""MA(k) (Li, Quan, Yu) looks for the nearest of several averages without noise. Neighbours can differ in the winner.

Two bins, the third unit, epsilon 1 and m = 4: an eighth of epsilon decides, and a sixteenth would publish. The unit may
repeat the last release, or the mean of the last two. One person moves, and the other of them is nearer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from rich import box
from rich.table import Table

from penstock.audit.counterexamples.showing import (
    PRINTED,
    REPAIRED,
    Headline,
    Simulated,
    dressed,
    table_of_trials,
)
from penstock.audit.counterexamples.trials import Trials
from penstock.bench.trials import ruled
from penstock.types import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LAST, MEAN = np.array([10.0, 0.0]), np.array([6.2, 3.8])  # what could be repeated
COUNTS, MOVED = np.array([8.0, 2.0]), np.array([9.0, 1.0])
M, DECIDE, PUBLISH = 4, 1 / 8, 1 / 16
SENSITIVITY = 1.0  # of a mean distance over two bins: a move changes both
RUNS = 4


class Form(NamedTuple):
    """Which average is tested, and how: noise on its distance, and up to where it is repeated."""

    private: bool
    noise: float
    threshold: float


# As printed 2 / (m e1 / 2) and 2 / (m e2); repaired what the halves of e1 buy, and what a release would be off by.
FORMS = {
    "printed": Form(False, 4 / (M * DECIDE), 2 / (M * PUBLISH)),
    "repaired": Form(True, 2 * SENSITIVITY / DECIDE, 2 / PUBLISH),
}


def distances(counts: Floats) -> tuple[float, float]:
    """From the last release and from the mean of the last two, each a mean over the bins."""
    return float(np.abs(counts - LAST).mean()), float(np.abs(counts - MEAN).mean())


def picks_mean(form: Form, counts: Floats) -> float:
    """The chance that the mean is the one that is tested; permute-and-flip if that is found out privately."""
    last, mean = distances(counts)
    if not form.private:
        return float(mean < last)
    flipped = math.exp(-DECIDE / 2 * abs(last - mean) / (2 * SENSITIVITY))
    return 1 - flipped / 2 if mean < last else flipped / 2


def repeats_mean(form: Form, counts: Floats) -> float:
    """The chance that the mean is published."""
    _, mean = distances(counts)
    within = (form.threshold - mean) / form.noise
    return picks_mean(form, counts) * (1 - math.exp(-within) / 2)


def hits(form: Form, counts: Floats, rng: np.random.Generator, size: int) -> tuple[int, ...]:
    """How often the mean is published."""
    last, mean = distances(counts)
    tested = picked(form, last, mean, rng, size)
    return (int(np.count_nonzero(mean + rng.laplace(0.0, form.noise, tested) <= form.threshold)),)


def picked(form: Form, last: float, mean: float, rng: np.random.Generator, size: int) -> int:
    """How often the mean is tested: by permute-and-flip, the first in random order whose coin falls."""
    if not form.private:
        return size if mean < last else 0
    best = min(last, mean)
    rate = DECIDE / 2 / (2 * SENSITIVITY)
    last_falls, mean_falls = (rng.random(size) < math.exp(-rate * (score - best)) for score in (last, mean))
    mean_first = rng.random(size) < 0.5
    return int(np.count_nonzero(mean_falls & (mean_first | ~last_falls)))


@dataclass(frozen=True)
class Nearest:
    """What was found about MA's search."""

    name: ClassVar = "ma"
    simulated: list[Simulated]

    def headline(self) -> Headline:
        printed, repaired = self.simulated
        proved = printed.tally.loss_at_least
        return Headline("MA(2) (a decision)", "a search without noise", DECIDE, math.inf, proved, repaired.exact)

    def tables(self, style: box.Box) -> Mapping[str, Table]:
        trials = table_of_trials("MA(2), one unit, one person moves", self.simulated, style, claimed=DECIDE)
        return {"ma-chances": table_of_chances(style), "ma-trials": trials}

    def draw(self, figure: Figure) -> None:
        distant, chances = figure.subplots(1, 2)
        people = {"9 and 1": MOVED, "8 and 2": COUNTS}
        at = np.arange(2)
        for shift, colour, what in ((-0.2, "#E69F00", "last release"), (0.2, "#56B4E9", "mean of the last two")):
            chosen = 0 if shift < 0 else 1
            found = [distances(counts)[chosen] for counts in people.values()]
            distant.bar(at + shift, found, 0.38, color=colour, label=f"to the {what}")
        dressed(distant, "One person moves: the mean is nearer", "counts", "mean distance")
        for shift, (form, colour) in zip((-0.2, 0.2), (("printed", PRINTED), ("repaired", REPAIRED)), strict=True):
            found = [repeats_mean(FORMS[form], counts) for counts in people.values()]
            bars = chances.bar(at + shift, found, 0.38, color=colour, label=form)
            chances.bar_label(bars, fmt="%.3f", fontsize=11)
        dressed(chances, "The mean of the last two is published", "counts", "chance")
        distant.set_ylim(0, 3.6)
        chances.set_ylim(0, 1)
        for panel in (distant, chances):
            panel.set_xticks(at, list(people))
            panel.legend(frameon=False, fontsize=11)


def measured(trials: Trials) -> Nearest:
    """Count how often the mean is published before and after the move."""
    simulated = []
    for name, form in FORMS.items():
        (tally,) = trials.tallies(partial(hits, form, COUNTS), partial(hits, form, MOVED))
        chance, other = repeats_mean(form, COUNTS), repeats_mean(form, MOVED)
        exact = math.log(chance / other) if other else math.inf
        simulated.append(Simulated(name, "the mean is published", exact, tally))
    return Nearest(simulated)


def table_of_chances(style: box.Box) -> Table:
    """The chances that the mean is published, exactly."""
    title = f"MA(2): the chance that the mean of the last two is published; the loss may be {DECIDE}"
    table = ruled(title, ["form", "counts 8 and 2", "counts 9 and 1", "loss"], style)
    for name, form in FORMS.items():
        chance, other = repeats_mean(form, COUNTS), repeats_mean(form, MOVED)
        loss = f"{math.log(chance / other):.4f}" if other else "unbounded"
        table.add_row(name, f"{chance:.4f}", f"{other:.4f}", loss)
    return table
