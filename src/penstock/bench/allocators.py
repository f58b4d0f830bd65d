"""``python -m penstock.bench.allocators``: how near budgets come to the best plan if weights are not known beforehand.

Errors are weighted errors over what no plan could be below that knew all weights; they are endless if a unit that
weighs something got nothing, because less than a billionth was left for it. Last, how long the best plan takes.
``--write PAGE`` puts the tables into their places on a page, ``--json FILE`` keeps the figures.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from penstock.allocation import Allocator, Error, PredictAndHedge, TopUp, UniformShares, plan
from penstock.bench.page import require_places, rewritten
from penstock.bench.processes import spread
from penstock.bench.trials import bar, refused, ruled
from penstock.errors import BadInput
from penstock.parameters import at_least_one, not_negative
from penstock.types import Floats

WINDOW, UNITS = 30, 150
LONG_WINDOW, LONG_UNITS = 100, 10_000
TRUST = FLOOR = 0.5
POWERS: dict[Error, int] = {"squared": 2, "absolute": 1}
RISING = "rising, stopped at the worst"
ORDERS = 96  # of magnitude that rising weights cover
TABLES = (*POWERS, "plans")

Kind = Callable[[np.random.Generator, int], Floats]


def _month_ends(units: int) -> Floats:
    days = np.datetime64("2026-01-01") + np.arange(units)
    ends = days.astype("datetime64[M]") != (days + 1).astype("datetime64[M]")
    return np.where(ends, 100.0, 1.0)


STREAMS: dict[str, Kind] = {
    "every day, heavy Mondays": lambda rng, n: np.where(np.arange(n) % 7 == 0, 10.0, 1.0),
    "every day, heavy month ends": lambda rng, n: _month_ends(n),
    "Mondays only": lambda rng, n: np.where(np.arange(n) % 7 == 0, 1.0, 0.0),
    "uniform": lambda rng, n: rng.random(n),
    "lognormal, sigma 2": lambda rng, n: rng.lognormal(0, 2, n),
}
LONG_STREAMS: dict[str, Kind] = STREAMS | {
    "Pareto, index 0.5": lambda rng, n: rng.pareto(0.5, n) + 1e-3,
    "12 orders of magnitude": lambda rng, n: 10 ** rng.uniform(-6, 6, n),
    "half of them 0": lambda rng, n: np.where(rng.random(n) < 0.5, rng.random(n), 0.0),
    "all alike": lambda rng, n: np.ones(n),
}
PREDICTIONS: dict[str, Kind] = {
    "right": lambda rng, n: np.ones(n),
    "noisy": lambda rng, n: rng.lognormal(0, 1, n),
    "backwards": lambda rng, n: np.ones(n),
}


def _foretold(predicted: Floats) -> Callable[[int, int], Sequence[float]]:
    return lambda first, number: np.append(predicted, np.zeros(number))[first - 1 :][:number].tolist()


Make = Callable[[Error, Floats], Allocator]
RULES: dict[str, Make] = {
    "equal shares": lambda error, predicted: UniformShares(WINDOW, 1, error),
    "predict and hedge": lambda error, told: PredictAndHedge(WINDOW, 1, error, predicted=told.tolist(), trust=TRUST),
    "top up": lambda error, told: TopUp(WINDOW, 1, error, predict=_foretold(told), floor=FLOOR),
    "top up, no floor": lambda error, told: TopUp(WINDOW, 1, error, predict=_foretold(told), floor=0),
}


class Trial(NamedTuple):
    """One rule on one stream, with one kind of predictions."""

    rule: str
    stream: str
    predictions: str
    error: Error
    seed: int

    def ratio(self) -> float:
        """The rule's error over the best plan's."""
        if self.stream == RISING:
            return max(self._stopped(units) for units in range(1, WINDOW + 1))
        weights = STREAMS[self.stream](np.random.default_rng([self.seed, *self.stream.encode()]), UNITS)
        return self._error(weights, self._predicted(weights)) / plan(weights, WINDOW, 1, error=self.error).bound

    def _stopped(self, units: int) -> float:
        """The same where each weight dwarfs the one before it, up to a unit after which nothing comes.

        All of it lies in one window, so the best plan is known.
        """
        whole = 10.0 ** np.linspace(-ORDERS / 2, ORDERS / 2, WINDOW)
        weights = np.where(np.arange(WINDOW) < units, whole, 0.0)
        told = self._predicted(whole if self.predictions == "backwards" else weights)
        power = POWERS[self.error]
        return self._error(weights, told) / math.fsum(weights ** (1 / (power + 1))) ** (power + 1)

    def _predicted(self, weights: Floats) -> Floats:
        factors = PREDICTIONS[self.predictions](np.random.default_rng(self.seed), len(weights))
        return (weights[::-1] if self.predictions == "backwards" else weights) * factors

    def _error(self, weights: Floats, predicted: Floats) -> float:
        rule = RULES[self.rule](self.error, predicted)
        pairs = [(weight, float(rule.next(weight))) for weight in weights.tolist()]
        power = POWERS[self.error]
        return math.fsum(w / budget**power if budget else math.inf for w, budget in pairs if w)


class Timed(NamedTuple):
    """A long plan: how long it took, in how many steps, how good it is, and how much worse equal shares are."""

    stream: str
    error: Error
    seconds: float
    steps: int
    gap: float
    equal: float


class Found(NamedTuple):
    """All that was measured."""

    ratios: dict[Trial, float]
    timed: list[Timed]

    def tables(self, style: box.Box) -> dict[str, Table]:
        """All tables, by name."""
        return {error: self._of_ratios(error, style) for error in POWERS} | {"plans": self._of_plans(style)}

    def _of_ratios(self, error: Error, style: box.Box) -> Table:
        most = WINDOW ** POWERS[error]
        title = (
            f"{error.capitalize()} error over the best plan's; no rule can promise less than {most:,} on every stream"
        )
        table = ruled(title, ["weights", "predictions", *RULES], style, words=2)
        rows = {trial[1:3]: trial for trial in self.ratios if trial.error == error}
        for (stream, predictions), trial in rows.items():
            cells = [self.ratios.get(trial._replace(rule=rule)) for rule in RULES]
            shown = ["" if cell is None else _shown(cell) for cell in cells]
            table.add_row(stream if predictions == "right" else "", predictions, *shown)
        table.add_section()
        table.add_row("guarantee", "right", *_promised(POWERS[error], WINDOW, 1 / TRUST))
        table.add_row("", "any", *_promised(POWERS[error], WINDOW, WINDOW / (1 - TRUST)))
        return table

    def _of_plans(self, style: box.Box) -> Table:
        title = f"Best plans for {LONG_UNITS:,} units, window {LONG_WINDOW}"
        names = ["weights", "error", "seconds", "steps", "relative gap", "equal shares / plan"]
        table = ruled(title, names, style, words=2)
        for each in self.timed:
            row = f"{each.seconds:.1f}", f"{each.steps}", f"{each.gap:.0e}", _shown(each.equal)
            table.add_row(each.stream, each.error, *row)
        return table


def _promised(power: int, window: int, hedged: float) -> list[str]:
    return [_shown(factor**power) for factor in (window, hedged, window / FLOOR)] + ["none"]


def _shown(ratio: float) -> str:
    if math.isinf(ratio):
        return "endless"  # a unit that weighs something got nothing
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.2f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure everything, show it, and write it down."""
    began = time.monotonic()
    try:
        told = _told(arguments)
        wanted = _trials(told.seed)
        with bar(len(wanted) + len(LONG_STREAMS) * len(POWERS)) as advance:
            ratios = {}
            for trial, ratio in zip(wanted, spread(Trial.ratio, wanted, told.workers), strict=True):
                ratios[trial] = ratio
                advance()
            found = Found(ratios, _timed(told.seed, advance))
        _show(found, told)
    except BadInput as fault:
        return refused(fault)
    Console().print(f"{time.monotonic() - began:.0f} s in all")
    return 0


def _told(arguments: Sequence[str] | None) -> argparse.Namespace:
    options = argparse.ArgumentParser(prog="python -m penstock.bench.allocators", description="Budgets against plans.")
    options.add_argument("--seed", type=int, default=1, help="of weights and predictions that are drawn")
    options.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes that share the work")
    options.add_argument("--write", default="", help="a page whose marked tables are replaced")
    options.add_argument("--json", metavar="FILE", default="", help="write all figures into this file too")
    told = options.parse_args(arguments)
    not_negative("--seed", told.seed)
    at_least_one("--workers", told.workers)
    require_places(told.write, TABLES)
    if told.json and not Path(told.json).parent.is_dir():
        raise BadInput(f"{told.json} cannot be written, because its folder does not exist.")
    return told


def _trials(seed: int) -> list[Trial]:
    """Equal shares predict nothing, so they are tried once."""
    return [
        Trial(rule, stream, predictions, error, seed)
        for error in POWERS
        for stream in (*STREAMS, RISING)
        for predictions in PREDICTIONS
        for rule in RULES
        if rule != "equal shares" or predictions == "right"
    ]


def _timed(seed: int, advance: Callable[[], None]) -> list[Timed]:
    """Long plans, one after the other, when no other process is at work."""
    timed = []
    for stream, kind in LONG_STREAMS.items():
        weights = kind(np.random.default_rng(seed), LONG_UNITS)
        for error in POWERS:
            begin = time.perf_counter()
            made = plan(weights, LONG_WINDOW, 1, error=error)
            seconds = time.perf_counter() - begin
            timed.append(Timed(stream, error, seconds, made.steps, made.gap, made.uniform_value / made.value))
            advance()
    return timed


def _show(found: Found, told: argparse.Namespace) -> None:
    console = Console(width=140)
    console.print(*found.tables(box.SIMPLE_HEAD).values())
    if told.write:
        page = Path(told.write)
        text = rewritten(page.read_text(encoding="utf-8"), found.tables(box.MARKDOWN))
        page.write_text(text, encoding="utf-8")
        console.print(f"written: {page}")
    if told.json:
        ratios = [trial._asdict() | {"ratio": _plain(ratio)} for trial, ratio in found.ratios.items()]
        kept = {"window": WINDOW, "ratios": ratios, "plans": [each._asdict() for each in found.timed]}
        Path(told.json).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def _plain(ratio: float) -> float | None:
    return None if math.isinf(ratio) else ratio


if __name__ == "__main__":
    sys.exit(main())
