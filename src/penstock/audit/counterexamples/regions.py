"""RescueDP (Wang et al. 2016) keeps a budget for every region. Someone who moves about is in many of them.

The allocation follows its common description, with the parts of the shipped mechanism. What a window really costs is,
for somebody who is at every unit in the region that spends most, the sum of those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from rich import box
from rich.table import Table

from penstock.audit.counterexamples.showing import CLAIM, PRINTED, QUIET, REPAIRED, Headline, dressed
from penstock.audit.counterexamples.trials import Trials
from penstock.bench.trials import ruled
from penstock.charges import Fact, Point, recount
from penstock.curator import Curator
from penstock.epsilon import NANO, Epsilon
from penstock.mechanisms.rescue_dp import PARTS, REMEMBERED, RescueDP
from penstock.models import WEvent
from penstock.noise import SimulationNoise
from penstock.primitives.grouping import small_together, spread_in
from penstock.primitives.kalman import Kalman
from penstock.primitives.pid import PID
from penstock.streams import Stream, synthetic
from penstock.types import Floats, Ints, Mask

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WINDOW, UNITS, SEEDS = 40, 400, 3
MODEL = WEvent(epsilon=1, w=WINDOW)
REGIONS = (1, 5, 20, 64)
KINDS = ("bursts", "seasonal", "walk")
STEPS = len(KINDS) * len(REGIONS)  # settings; nothing here is counted in trials


class PerRegion:
    """RescueDP with a budget for every region. It claims no privacy; ``spent`` tells what each region's budget saw."""

    def __init__(self, regions: int, seed: int) -> None:
        self.spent: Floats = np.zeros((UNITS + 1, regions))  # a row for each unit, from 1 on
        self._asked = RescueDP(model=MODEL)  # for its parameters
        self._filter = Kalman(regions, self._asked.process)
        self._pid = PID(0.9, 0.1, 0, REMEMBERED, loops=regions)
        self._history: Floats | None = None
        self._interval: Floats = np.ones(regions)
        self._due: Ints = np.ones(regions, np.int64)
        self._rng = np.random.default_rng(seed)

    def step(self, t: int, counts: Ints) -> None:
        """Measure the regions due, each with a part of what its own budget has left."""
        self._filter.predict_to(t)
        due = self._due <= t
        if not due.any():
            return
        left = 1 - self.spent[max(t - WINDOW + 1, 0) : t].sum(axis=0)
        part = np.minimum(self._asked.phi * np.log(self._interval + 1), self._asked.most)
        self._measure(t, counts, np.minimum(part * left, 1 / PARTS), due)
        self._pace(t, due, left)

    def _measure(self, t: int, counts: Ints, e: Floats, due: Mask) -> None:
        """Sums of groups, with the noise of the smallest budget among the members."""
        labels = self._groups(due)[due]
        shared, sizes = np.full(labels.max() + 1, np.inf), np.bincount(labels)
        np.minimum.at(shared, labels, e[due])
        sums = np.bincount(labels, counts[due]) + self._rng.laplace(0.0, 1 / shared)
        self.spent[t, due] = shared[labels]
        noise_sd = np.sqrt(2) / (shared * sizes)[labels]
        variance = noise_sd**2 + spread_in(self._asked.small, sizes[labels])
        self._filter.correct((sums / sizes)[labels], variance, noise_sd, due)

    def _groups(self, due: Mask) -> Ints:
        if self._history is None:
            return np.where(due, np.cumsum(due) - 1, -1)
        asked = self._asked
        return small_together(self._history, due, asked.small, asked.apart, asked.alike)

    def _pace(self, t: int, due: Mask, left: Floats) -> None:
        """What changes by more than the noise of all that is left is measured sooner."""
        values = self._filter.values
        if self._history is None:
            self._history = np.tile(values, (REMEMBERED, 1))
            return
        change = self._pid.update(t, np.abs(values - self._history[-1])[due], due)
        self._history = np.vstack([self._history[1:], values])
        wanted = self._interval[due] + self._asked.gain * (1 - (change * left[due]) ** 2)
        self._interval[due] = np.clip(wanted, 1, WINDOW)
        self._due[due] = t + np.rint(self._interval[due]).astype(np.int64)


class Spent(NamedTuple):
    """The fullest windows of one run."""

    region: float  # the fullest one of any region's own budget
    really: float  # of somebody who is always in the region that spends most
    shipped: float  # of the repaired mechanism on the same stream


def spent(kind: str, regions: int, seed: int) -> Spent:
    """One stream, with a budget for each region and with one for all."""
    stream = synthetic(kind, bins=regions, steps=UNITS, seed=seed)
    per_region = PerRegion(regions, seed)
    for t, counts in enumerate(stream.counts, start=1):
        per_region.step(t, counts)
    budgets = per_region.spent
    region = max(_fullest(column) for column in budgets.T)
    return Spent(region, _fullest(budgets.max(axis=1)), _shipped(stream, seed))


def _fullest(by_unit: Floats) -> float:
    """The fullest window of charges, recounted as the charges of a ledger are."""
    charges = (Point(t, Epsilon.of_nano(int(e * NANO)), "publish") for t, e in enumerate(by_unit.tolist()) if e)
    return float(recount(charges, MODEL))


def _shipped(stream: Stream, seed: int) -> float:
    facts: list[Fact] = []
    curator = Curator(MODEL, stream.bins, noise=SimulationNoise(seed), journal=facts.append)
    publishing = RescueDP(model=MODEL).start(curator)
    for snapshot in stream:
        publishing.step(snapshot)
    return float(recount(facts, MODEL))


@dataclass(frozen=True)
class Regions:
    """What was found about a budget for each region."""

    name: ClassVar = "rescue-dp"
    fullest: Mapping[tuple[str, int], list[Spent]]  # by kind of stream and number of regions

    def headline(self) -> Headline:
        runs = [run for runs in self.fullest.values() for run in runs]
        really, shipped = max(run.really for run in runs), max(run.shipped for run in runs)
        return Headline("RescueDP", "a budget for each region", 1, WINDOW / PARTS, really, shipped)

    def tables(self, style: box.Box) -> Mapping[str, Table]:
        title = f"RescueDP, w = {WINDOW}, epsilon = 1: the fullest window, largest of {SEEDS} runs"
        names = ["stream", "regions", "of any region's budget", "of a person who moves", "shipped"]
        table = ruled(title, names, style)
        for (kind, regions), runs in self.fullest.items():
            table.add_row(kind, f"{regions}", *(f"{max(column):.3f}" for column in zip(*runs, strict=True)))
        return {"rescue-dp": table}

    def draw(self, figure: Figure) -> None:
        panels = figure.subplots(1, len(KINDS), sharey=True)
        at = np.arange(len(REGIONS))
        looks = ((QUIET, "any region's own budget"), (PRINTED, "a person who moves"), (REPAIRED, "Penstock's"))
        for panel, kind in zip(panels, KINDS, strict=True):
            rows = [self.fullest[kind, regions] for regions in REGIONS]
            for number, (colour, label) in enumerate(looks):
                highest = [max(run[number] for run in runs) for runs in rows]
                panel.bar(at + (number - 1) * 0.27, highest, 0.25, color=colour, label=label)
            panel.axhline(1, color=CLAIM, linestyle="--", linewidth=1.4)
            dressed(panel, f"stream: {kind}", "regions", "fullest window (claimed: 1)" if kind == KINDS[0] else "")
            panel.set_xticks(at, [str(regions) for regions in REGIONS])
        panels[0].legend(frameon=False, fontsize=11, loc="upper left")


def measured(trials: Trials) -> Regions:
    """Run both forms on streams of several kinds and sizes, with the seed of the trials and those after it."""
    fullest = {}
    for kind in KINDS:
        for regions in REGIONS:
            fullest[kind, regions] = [spent(kind, regions, trials.seed + run) for run in range(SEEDS)]
            trials.advance()
    return Regions(fullest)
