"""``python -m penstock.bench.retroactive``: does RG beat publishing always, and if not, why?

Errors are mean squared errors of sliding sums at event level, over those of Baseline with the same budget. Streams are
made up; with ``--data FOLDER`` some real ones are added.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from penstock.bench.cache import Cache
from penstock.bench.runner import measured
from penstock.bench.scenario import Promise, Scenario
from penstock.bench.suite.files import rows
from penstock.bench.suite.naming import Loaded
from penstock.bench.summary import Estimate, estimated
from penstock.bench.trials import Options, bar, refused, ruled
from penstock.catalogue import made
from penstock.curator import Curator
from penstock.errors import BadInput
from penstock.models import EventLevel
from penstock.noise import SimulationNoise
from penstock.primitives.sampling import expected_errors
from penstock.streams import Stream, synthetic
from penstock.types import Kind

EPSILONS = ("0.1", "1")
WIDTHS = (1, 15)
MADE_UP = ("constant", "bursts", "jumps", "walk")
FILES = ("geolife_hour_2009h1", "geolife_dayfold", "tdrive64", "state_flu", "worldcup98_hour")
LONGEST = 1000  # units of each stream
SAMPLED_UP_TO = 3000  # records in a bin; above it, drawing samples takes too long
WATCHFUL = 0.8
SHARES = (0.1, 0.3, 0.5, WATCHFUL)

Parameters = tuple[tuple[str, float], ...]
Results = dict[Scenario, Estimate]
VARIANTS: dict[str, tuple[str, Parameters]] = {
    "RG": ("rg", ()),
    "RG, half sampled": ("rg", (("rate", 0.5), ("limit", SAMPLED_UP_TO))),
    f"RG, {WATCHFUL} watches": ("rg", (("monitor_share", WATCHFUL),)),
    "PeGaSus": ("pegasus", ()),
    "sliding Baseline": ("sliding_baseline", ()),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure everything and show it."""
    try:
        options = _options(arguments)
        streams = _streams(options.data)
    except BadInput as fault:
        return refused(fault)
    results = _results(streams, options.seeds, options.workers)
    style = box.MARKDOWN if options.markdown else box.SIMPLE_HEAD
    console = Console(width=140)  # the tables are wide
    for width in WIDTHS:
        for epsilon in EPSILONS:
            console.print(_table_of_errors(results, streams, epsilon, width, style))
    console.print(_table_of_shares(style), _table_of_rates(style))
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    options = Options("penstock.bench.retroactive", "RG against Baseline.", "a folder of real streams to add", seeds=5)
    options.add_argument("--markdown", action="store_true", help="tables for a document")
    return options.told(arguments)


def _streams(folder: str) -> dict[str, Loaded]:
    counts = {kind: synthetic(kind, bins=16, steps=LONGEST, seed=2).counts for kind in MADE_UP}
    if folder:
        counts |= {file: rows(Path(folder) / f"{file}.csv")[1][:LONGEST] for file in FILES}
    return {name: Loaded(name, each, "file", name, (each.shape[1],)) for name, each in counts.items()}


def _results(streams: Mapping[str, Loaded], seeds: int, workers: int) -> Results:
    """The squared error of all bins, in the mean over time, of everything that is compared."""
    settings = [
        setting
        for stream, loaded in streams.items()
        for epsilon in EPSILONS
        for width in WIDTHS
        for setting in (
            _baseline(stream, epsilon, width),
            *_variants(stream, int(loaded.counts.max()), epsilon, width).values(),
        )
    ]
    with bar(len(settings) * seeds) as advance:
        found = measured(
            dict.fromkeys(settings, seeds),
            dict(streams).__getitem__,
            Cache.in_memory(),
            workers,
            lambda done, _: advance(int(done > 0)),
        )
    return {what: estimated(np.array([run.sse for run in runs.values()])) for what, runs in found.items()}


def sums(key: str, parameters: Parameters, stream: str, epsilon: str, width: int) -> Scenario:
    """Sums over a sliding window of what a mechanism publishes of a stream at event level."""
    told = (*parameters, ("width", width)) if key == "sliding_baseline" else parameters
    return Scenario(stream, Promise("event-level", epsilon), key, told, width, clipped=False)


def _baseline(stream: str, epsilon: str, width: int) -> Scenario:
    return sums("baseline", (), stream, epsilon, width)


def _variants(stream: str, largest: int, epsilon: str, width: int) -> dict[str, Scenario]:
    """What is compared with Baseline on a stream; samples of large counts are left out."""
    return {
        name: sums(key, parameters, stream, epsilon, width)
        for name, (key, parameters) in VARIANTS.items()
        if largest <= SAMPLED_UP_TO or "rate" not in dict(parameters)
    }


def _table_of_errors(
    results: Results, streams: Mapping[str, Loaded], epsilon: str, width: int, style: box.Box
) -> Table:
    what = "single units" if width == 1 else f"sums of {width} units"
    table = ruled(
        f"epsilon = {epsilon}, {what}: squared error over that of Baseline, ± 95%", ["stream", *VARIANTS], style
    )
    for stream, loaded in streams.items():
        base = results[_baseline(stream, epsilon, width)]
        variants = _variants(stream, int(loaded.counts.max()), epsilon, width)
        cells = [_ratio(results[variants[name]], base) if name in variants else "-" for name in VARIANTS]
        table.add_row(stream, *cells)
    return table


def _ratio(error: Estimate, base: Estimate) -> str:
    ratio = error.value / base.value
    spread = ratio * math.hypot(*((each.high - each.value) / each.value for each in (error, base)))
    return f"{ratio:.2f} ± {spread:.2f}"


def _table_of_shares(style: box.Box) -> Table:
    """How often a bin that rests is taken to have moved: if its last release was exact, and as it is."""
    title = "Why: the noise of the monitor against its threshold, sqrt(2) / e2"
    table = ruled(title, ["monitor share", "noise sd / threshold", "false alarms at least", "measured"], style)
    for share in SHARES:
        odds = share / (1 - share)  # e1 over e2
        table.add_row(f"{share}", f"{1 / odds:.2f}", f"{math.exp(-math.sqrt(2) * odds):.1%}", f"{_alarms(share):.1%}")
    return table


def _alarms(share: float) -> float:
    """The part of bins that are published alone although nothing moves."""
    model, stream = EventLevel(epsilon="0.1"), Stream(np.full((LONGEST, 64), 1000))
    publishing = made("rg", {"monitor_share": share}, model)
    publishing.start(Curator(model, stream.bins, noise=SimulationNoise(1)))
    kinds = np.array([publishing.step(snapshot).kind for snapshot in stream])
    return float((kinds[1:] == Kind.FRESH).mean())


def _table_of_rates(style: box.Box) -> Table:
    """The expected squared error of the monitor at several sampling rates, over that at rate 1."""
    title = "Why not sample: squared error of a monitor that looks at a part of the records, over that at 100%"
    shown = (0.1, 0.25, 0.5, 0.75, 1.0)
    table = ruled(title, ["records, e1", *(f"{rate:.0%}" for rate in shown)], style)
    for records in (10, 1000, 100_000):
        for e in (0.01, 0.1):
            errors = expected_errors(records, 1, e)
            table.add_row(f"{records:,}, {e}", *(f"{errors[round(rate * 100) - 1] / errors[-1]:.2f}" for rate in shown))
    return table


if __name__ == "__main__":
    sys.exit(main())
