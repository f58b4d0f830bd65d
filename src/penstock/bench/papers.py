"""``python -m penstock.bench.papers``: does what two papers show hold here, with default parameters?

DSAT is put beside DSFT with the threshold that turns out best, and beside Fixed with as many releases: on the dynamic
census of Li et al. (2015), and on streams that jump. Then it is measured how soon it publishes after a jump. SPAS is
put beside itself with the warm-up that turns out best. What is best is chosen on the runs that are judged, which
favours it: among many thresholds one is lucky, the more so the fewer the counts, so streams of few counts take many
runs. ``--data FOLDER`` takes the census from the pool of people there; else one is made up.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from penstock.bench.cache import Cache
from penstock.bench.processes import spread
from penstock.bench.runner import measured
from penstock.bench.scenario import Promise, Scenario
from penstock.bench.suite.files import codes, found
from penstock.bench.suite.naming import Loaded
from penstock.bench.trials import Options, bar, refused, ruled
from penstock.catalogue import made
from penstock.curator import Curator
from penstock.errors import BadInput
from penstock.noise import SimulationNoise
from penstock.streams import Stream, synthetic
from penstock.streams.people import census
from penstock.types import Ints

HORIZON = 1000
USER = Promise("user-level", "1", HORIZON)
RELEASES = 10  # C of DSFT and DSAT in this horizon, and as many for Fixed
THRESHOLDS = tuple(float(f"{0.005 * 1.15**i:.3g}") for i in range(38))  # up to 0.88
COARSE = THRESHOLDS[::3]  # where many thresholds do as well
FEWER = 10  # of the runs are enough for the census, and for SPAS, as errors of many counts or units vary little
PEOPLE, POOL = 500_000, 3_000_000  # of the paper: counted, and in all
JUMPING = {"one count": 1, "five counts": 5, "twenty counts": 20}
JUMPS, JUMPED = 8, 551  # in a stream, and when the one of ten times the noise comes
FAR, SOON, RUNS = 10, 3, 100  # standard deviations of a comparison, units after the jump, runs
WINDOWS = (8, 12, 20, 30, 52)
WARM_UPS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 20, 30, 52)
MOVING = ("ramp", "walk", "constant")
UNITS = 4000  # of each, as on the leaderboard

OVER_DSFT, OVER_FIXED, PROMPT, OVER_SPAS = 1.2, 1.0, 0.95, 1.3  # what is asked

Errors = Mapping[Scenario, float]
Shown = tuple[Table, list[str]]  # and what does not hold


class Beside(NamedTuple):
    """The error of a default beside the best choice in hindsight: what that is, and its error. Fixed besides."""

    name: str
    error: float
    choice: str
    best: float
    fixed: float = float("nan")

    @property
    def ratio(self) -> float:
        return self.error / self.best


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure everything, show it, and say whether all of it holds."""
    try:
        options = _options(arguments)
        people = _people(options.data)
    except BadInput as fault:
        return refused(fault)
    console, style = Console(width=140), box.MARKDOWN if options.markdown else box.SIMPLE_HEAD
    few = max(options.seeds // FEWER, 2)
    missed: list[str] = []
    parts: list[Callable[[int, box.Box], Shown]] = [
        partial(_show_thresholds, people, few, options.seeds),
        _show_jumps,
        *(partial(_show_warm_ups, w, few) for w in WINDOWS),
    ]
    for show in parts:
        table, misses = show(options.workers, style)
        console.print(table)
        missed += misses
    console.print("everything holds" if not missed else "does not hold: " + "; ".join(missed), soft_wrap=True)
    return int(bool(missed))


def _show_thresholds(people: Ints | None, few: int, seeds: int, workers: int, style: box.Box) -> Shown:
    """DSAT on the census and on what jumps; judged are the census, and means over the streams of a kind."""
    judged = beside_dsft({"census": paper_census(people)}, few, workers)
    shown, missed = list(judged), list[str]()
    for name, bins in JUMPING.items():
        each = beside_dsft({f"{name}, {seed}": jumping(bins, seed) for seed in (1, 2, 3)}, seeds, workers, COARSE)
        mean = _mean(f"{name}, mean", each)
        missed += [f"{name} is worse than Fixed"] * (mean.error > OVER_FIXED * mean.fixed)
        judged.append(mean)
        shown += [*each, mean]
    missed += [f"{each.name}: {each.ratio:.2f} of the best threshold" for each in judged if each.ratio > OVER_DSFT]
    return _table_of_thresholds(shown, style), missed


def _mean(name: str, each: Sequence[Beside]) -> Beside:
    error, best, fixed = (
        float(np.mean(column)) for column in zip(*((x.error, x.best, x.fixed) for x in each), strict=True)
    )
    return Beside(name, error, "", best, fixed)


def _show_jumps(workers: int, style: box.Box) -> Shown:
    prompt = {name: soon_after_a_jump(bins, RUNS, workers) for name, bins in JUMPING.items()}
    missed = [f"{name}: {part:.0%} soon after a jump" for name, part in prompt.items() if part < PROMPT]
    return _table_of_jumps(prompt, style), missed


def _show_warm_ups(w: int, seeds: int, workers: int, style: box.Box) -> Shown:
    warmed = beside_warm_ups(w, UNITS, seeds, workers)
    missed = [f"SPAS, w={w}, {each.name}: {each.ratio:.2f}" for each in warmed if each.ratio > OVER_SPAS]
    return _table_of_warm_ups(w, warmed, style), missed


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    options = Options("penstock.bench.papers", "DSAT and SPAS by default.", "a folder with census_pool.csv", seeds=20)
    options.add_argument("--markdown", action="store_true", help="tables for a document")
    return options.told(arguments)


def _people(folder: str) -> Ints | None:
    """The pool of people in a folder, as often as it takes; None if there is no folder."""
    if not folder:
        return None
    path = found(Path(folder), "census_pool.csv")
    if path is None:
        raise BadInput(f"{folder} has no census_pool.csv; leave out --data to have people made up.")
    pool = codes(path)
    return np.tile(pool, (-(-POOL // len(pool)), 1))


def paper_census(people: Ints | None, counted: int = PEOPLE) -> Ints:
    """The dynamic census of Li et al. (2015), by three attributes: 2,304 bins."""
    return np.array(list(census(counted, attributes=3, steps=HORIZON, pool=people, seed=1).rows()))


def jumping(bins: int, seed: int) -> Ints:
    """Counts from 2,000 to 20,000 that jump eight times in a horizon, ten times as far as a comparison's noise."""
    rng = np.random.default_rng(seed)
    units = np.sort(rng.choice(np.arange(5, HORIZON), JUMPS, replace=False))
    levels = [rng.integers(2000, 20_000, bins)]
    while len(levels) <= JUMPS:
        level = rng.integers(2000, 20_000, bins)
        if np.abs(level - levels[-1]).sum() >= FAR * comparison_noise(bins):
            levels.append(level)
    counts: Ints = np.array(levels)[np.searchsorted(units, np.arange(HORIZON), side="right")]
    return counts


def comparison_noise(bins: int) -> float:
    """The standard deviation of the noise in a comparison of DSAT, of both together."""
    mechanism: Any = made("dsat", {}, USER.model).start(Curator(USER.model, bins, noise=SimulationNoise(1)))
    return float(mechanism.decision_sd)


def beside_dsft(
    streams: Mapping[str, Ints], seeds: int, workers: int, thresholds: Sequence[float] = THRESHOLDS
) -> list[Beside]:
    """DSAT on each stream, beside DSFT with the best threshold and Fixed with as many releases."""
    fixed, dsat = ("fixed", (("every", HORIZON // RELEASES),)), ("dsat", ())
    others = [("dsft", (("threshold", each),)) for each in thresholds]
    errors = _errors(streams, [Scenario(name, USER, *told) for name in streams for told in (fixed, dsat, *others)],
                     seeds, workers)  # fmt: skip
    results = []
    for name in streams:
        best, choice = min((errors[Scenario(name, USER, *told)], told[1][0][1]) for told in others)
        error, even = (errors[Scenario(name, USER, *told)] for told in (dsat, fixed))
        results.append(Beside(name, error, f"{choice}", best, even))
    return results


def beside_warm_ups(w: int, units: int, seeds: int, workers: int) -> list[Beside]:
    """SPAS on each kind of stream with its own warm-up, beside the best of all."""
    promise, intervals = Promise("w-event", "1", w), [each for each in WARM_UPS if each <= w]
    streams = {name: moving(name, units) for name in MOVING}
    told: list[tuple[tuple[str, Any], ...]] = [(), *((("warm_up", each),) for each in intervals)]
    errors = _errors(streams, [Scenario(name, promise, "spas", each) for name in streams for each in told],
                     seeds, workers)  # fmt: skip
    results = []
    for name in streams:
        own, *others = (errors[Scenario(name, promise, "spas", each)] for each in told)
        best, choice = min(zip(others, intervals, strict=True))
        results.append(Beside(name, own, f"{choice}", best))
    return results


def moving(name: str, units: int) -> Ints:
    """A count that rises by 50 a unit, one that walks, or one that rests."""
    if name == "ramp":
        return 1000 + 50 * np.arange(units)[:, np.newaxis]
    return synthetic(name, steps=units, seed=1).counts


def _errors(streams: Mapping[str, Ints], wanted: Iterable[Scenario], seeds: int, workers: int) -> Errors:
    """The mean absolute error of each scenario over its seeds."""
    loaded = {name: Loaded(name, each, "generated", name, (each.shape[1],)) for name, each in streams.items()}
    runs = dict.fromkeys(wanted, seeds)
    with bar(len(runs) * seeds) as advance:
        outcomes = measured(
            runs, loaded.__getitem__, Cache.in_memory(), workers, lambda done, _: advance(int(done > 0))
        )
    return {what: float(np.mean([run.mae for run in each.values()])) for what, each in outcomes.items()}


def soon_after_a_jump(bins: int, runs: int, workers: int) -> float:
    """In which part of the runs DSAT publishes within three units of a jump of ten times a comparison's noise."""
    counts = np.full((HORIZON, bins), 20_000)
    counts[JUMPED - 1 :, 0] += round(FAR * comparison_noise(bins))
    return float(np.mean(list(spread(partial(_soon, counts), range(runs), workers))))


def _soon(counts: Ints, seed: int) -> bool:
    mechanism = made("dsat", {}, USER.model).start(Curator(USER.model, counts.shape[1], noise=SimulationNoise(seed)))
    fresh = [release.t for release in map(mechanism.step, Stream(counts[: JUMPED + SOON - 1])) if release.is_new]
    return fresh[-1] >= JUMPED


def _table_of_thresholds(results: Iterable[Beside], style: box.Box) -> Table:
    names = ["stream", "Fixed", "best DSFT", "its T", "DSAT", "over best DSFT", "over Fixed"]
    table = ruled(f"DSAT by default, {USER.terms}, {USER}: mean absolute error", names, style)
    for each in results:
        errors = f"{each.fixed:.1f}", f"{each.best:.1f}", each.choice, f"{each.error:.1f}"
        table.add_row(each.name, *errors, f"{each.ratio:.2f}", f"{each.error / each.fixed:.3f}")
    return table


def _table_of_jumps(prompt: Mapping[str, float], style: box.Box) -> Table:
    title = f"A jump of {FAR} times the noise of a comparison: runs with a release within {SOON} units, of {RUNS}"
    table = ruled(title, ["counts", "noise", "soon"], style)
    for name, part in prompt.items():
        table.add_row(name, f"{comparison_noise(JUMPING[name]):.0f}", f"{part:.0%}")
    return table


def _table_of_warm_ups(w: int, results: Iterable[Beside], style: box.Box) -> Table:
    names = ["stream", "SPAS", "best warm-up", "SPAS with it", "ratio"]
    table = ruled(f"SPAS by default, w-event, epsilon 1, w = {w}: mean absolute error", names, style)
    for each in results:
        table.add_row(each.name, f"{each.error:.1f}", each.choice, f"{each.best:.1f}", f"{each.ratio:.2f}")
    return table


if __name__ == "__main__":
    sys.exit(main())
