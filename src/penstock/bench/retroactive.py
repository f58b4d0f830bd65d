"""``python -m penstock.bench.retroactive``: does RG beat publishing always, and if not, why?

Errors are mean squared errors of sliding sums at event level, over those of Baseline with the same budget. Streams are
made up; with ``--data FOLDER`` some real ones are added.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from penstock.bench.repeated import rows
from penstock.bench.trials import Measured, Options, Run, Streams, measure_shown, refused, ruled
from penstock.catalogue import made
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.errors import BadInput
from penstock.models import EventLevel
from penstock.noise import SimulationNoise
from penstock.post.sliding import SlidingSum, sliding_sums
from penstock.primitives.sampling import expected_errors
from penstock.streams import Stream, synthetic
from penstock.types import Ints, Kind

EPSILONS = ("0.1", "1")
WIDTHS = (1, 15)
MADE_UP = ("constant", "bursts", "jumps", "walk")
FILES = ("geolife_hour_2009h1", "geolife_dayfold", "tdrive64", "state_flu", "worldcup98_hour")
LONGEST = 1000  # units of each stream
SAMPLED_UP_TO = 3000  # records in a bin; above it, drawing samples takes too long
WATCHFUL = 0.8
SHARES = (0.1, 0.3, 0.5, WATCHFUL)

Parameters = tuple[tuple[str, float], ...]
VARIANTS: dict[str, tuple[str, Parameters]] = {
    "RG": ("rg", ()),
    "RG, half sampled": ("rg", (("rate", 0.5), ("limit", SAMPLED_UP_TO))),
    f"RG, {WATCHFUL} watches": ("rg", (("monitor_share", WATCHFUL),)),
    "PeGaSus": ("pegasus", ()),
    "sliding Baseline": ("sliding_baseline", ()),
}


class Sums(NamedTuple):
    """Sums over a sliding window of what a mechanism publishes of a stream at event level."""

    key: str
    parameters: Parameters
    stream: str
    epsilon: str
    width: int

    def run(self, seed: int, streams: Streams) -> Run:
        """The squared error of all bins, in the mean over time."""
        counts, model = streams[self.stream], EventLevel(epsilon=self.epsilon)
        sums_itself = self.key == "sliding_baseline"
        parameters = dict(self.parameters) | ({"width": self.width} if sums_itself else {})
        publishing = made(self.key, parameters, model)
        publishing.start(Curator(model, counts.shape[1], noise=SimulationNoise(seed)))
        sliding = SlidingSum(1 if sums_itself else self.width)
        values = np.array([sliding(publishing.step(snapshot)).values for snapshot in Stream(counts)])
        error = float(((values - sliding_sums(counts, self.width)) ** 2).sum(axis=1).mean())
        peak = publishing.curator.ledger.audit().peak
        return Run(error, peak.nano / Epsilon(self.epsilon).nano)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure everything and show it."""
    try:
        options = _options(arguments)
        streams = _streams(options.data)
    except BadInput as fault:
        return refused(fault)
    results = measure_shown(_wanted(streams, options.seeds), streams, options.workers)
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


def _streams(folder: str) -> dict[str, Ints]:
    streams = {kind: synthetic(kind, bins=16, steps=LONGEST, seed=2).counts for kind in MADE_UP}
    if folder:
        streams |= {file: rows(Path(folder) / f"{file}.csv")[1][:LONGEST] for file in FILES}
    return streams


def _wanted(streams: Streams, seeds: int) -> dict[Sums, int]:
    settings = [
        setting
        for stream, counts in streams.items()
        for epsilon in EPSILONS
        for width in WIDTHS
        for setting in (
            _baseline(stream, epsilon, width),
            *_variants(stream, int(counts.max()), epsilon, width).values(),
        )
    ]
    return dict.fromkeys(settings, seeds)


def _baseline(stream: str, epsilon: str, width: int) -> Sums:
    return Sums("baseline", (), stream, epsilon, width)


def _variants(stream: str, largest: int, epsilon: str, width: int) -> dict[str, Sums]:
    """What is compared with Baseline on a stream; samples of large counts are left out."""
    return {
        name: Sums(key, parameters, stream, epsilon, width)
        for name, (key, parameters) in VARIANTS.items()
        if largest <= SAMPLED_UP_TO or "rate" not in dict(parameters)
    }


def _table_of_errors(
    results: dict[Sums, Measured], streams: Streams, epsilon: str, width: int, style: box.Box
) -> Table:
    what = "single units" if width == 1 else f"sums of {width} units"
    table = ruled(
        f"epsilon = {epsilon}, {what}: squared error over that of Baseline, ± 95%", ["stream", *VARIANTS], style
    )
    for stream, counts in streams.items():
        base = results[_baseline(stream, epsilon, width)]
        variants = _variants(stream, int(counts.max()), epsilon, width)
        cells = [_ratio(results[variants[name]], base) if name in variants else "-" for name in VARIANTS]
        table.add_row(stream, *cells)
    return table


def _ratio(measured: Measured, base: Measured) -> str:
    ratio = measured.error / base.error
    spread = ratio * math.hypot(measured.half_width / measured.error, base.half_width / base.error)
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
