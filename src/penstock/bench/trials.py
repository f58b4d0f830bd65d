"""Many runs of mechanisms over streams whose truth is at hand, spread over processes, and what they come to."""

from __future__ import annotations

import argparse
import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from penstock.bench.plain import Faults, PlainSPAS
from penstock.bench.processes import spread
from penstock.catalogue import mechanism
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.errors import BadInput
from penstock.models import WEvent
from penstock.noise import SimulationNoise
from penstock.streams import Stream
from penstock.types import Floats, Ints

NORMAL_95 = 1.96
WINDOW = 120

Streams = Mapping[str, Ints]
S = TypeVar("S", bound="Runnable")


class Run(NamedTuple):
    """What came of one run: its error, and the spending of its fullest protected set over epsilon."""

    error: float
    spent: float


class Runnable(Protocol):
    """What is run: it says by itself how. One that is equal is the same."""

    def __hash__(self) -> int: ...
    def run(self, seed: int, streams: Streams) -> Run:
        """Publish a stream once, with numpy's noise of the seed."""


class Setting(NamedTuple):
    """A mechanism by its key, or the transcription of SPAS with these faults, on a stream."""

    what: str | Faults
    stream: str
    epsilon: str

    def run(self, seed: int, streams: Streams) -> Run:
        """The mean relative error under w-event privacy."""
        counts = streams[self.stream]
        if isinstance(self.what, Faults):
            return _plain(self.what, float(self.epsilon), counts, seed)
        return _ours(self.what, Epsilon(self.epsilon), counts, seed)


class Measured(NamedTuple):
    """The mean error of several runs, its standard deviation, their number, and the mean of their fullest windows."""

    error: float
    deviation: float
    runs: int
    spent: float

    @property
    def half_width(self) -> float:
        """Half the width of the 95% interval around the mean error."""
        return NORMAL_95 * self.deviation / math.sqrt(self.runs)

    def __str__(self) -> str:
        return f"{self.error:.3g} ± {self.half_width:.1g}"


class Options(argparse.ArgumentParser):
    """What every comparison of errors is told: where streams are, how many runs, how many processes."""

    def __init__(self, module: str, description: str, data: str, seeds: int) -> None:
        super().__init__(prog=f"python -m {module}", description=description)
        self.add_argument("--data", default=os.environ.get("PENSTOCK_DATA", ""), help=f"{data}; else PENSTOCK_DATA")
        self.add_argument("--seeds", type=int, default=seeds, help="runs of each of our mechanisms; at least 2")
        self.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes that share the work")

    def told(self, arguments: Sequence[str] | None) -> argparse.Namespace:
        """The options, or a refusal of what cannot be measured."""
        options = self.parse_args(arguments)
        if options.seeds < 2 or options.workers < 1:
            raise BadInput("an interval needs at least 2 runs (--seeds), and at least 1 process (--workers).")
        return options


def refused(fault: BadInput) -> int:
    """Say what is wrong, and the exit code."""
    Console(stderr=True, soft_wrap=True).print(f"error: {fault}", markup=False, highlight=False)
    return 2


@contextmanager
def bar(total: int, doing: str = "measuring") -> Iterator[Callable[..., None]]:
    """A bar that shows how far it is, and what moves it on, by one or by so many."""
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield partial(progress.advance, progress.add_task(doing, total=total))


def measure_shown(wanted: Mapping[S, int], streams: Streams, workers: int) -> dict[S, Measured]:
    """Measure, with a bar."""
    with bar(sum(wanted.values())) as advance:
        return measure(wanted, streams, workers, advance)


def ruled(title: str, names: Sequence[str], style: box.Box, *, words: int = 1) -> Table:
    """A table whose first columns are words, and the others numbers."""
    shown = Table(title=title, title_justify="left", box=style)
    for i, name in enumerate(names):
        shown.add_column(name, justify="left" if i < words else "right", no_wrap=True)
    return shown


def measure(wanted: Mapping[S, int], streams: Streams, workers: int, advance: Callable[[], None]) -> dict[S, Measured]:
    """Run every setting as often as wanted, each run with a seed of its own."""
    jobs = [(setting, seed) for setting, runs in wanted.items() for seed in range(runs)]
    done = defaultdict(list)
    for (setting, _), outcome in zip(
        jobs, spread(_Worker.run, jobs, workers, _Worker.prepare, (streams,)), strict=True
    ):
        done[setting].append(outcome)
        advance()
    return {setting: _summary(runs) for setting, runs in done.items()}


class _Worker:
    """A process, which is handed the streams once."""

    streams: Streams

    @classmethod
    def prepare(cls, streams: Streams) -> None:
        cls.streams = streams

    @classmethod
    def run(cls, job: tuple[Runnable, int]) -> Run:
        setting, seed = job
        return setting.run(seed, cls.streams)


def _ours(key: str, epsilon: Epsilon, counts: Ints, seed: int) -> Run:
    model = WEvent(epsilon=epsilon, w=WINDOW)
    publishing = mechanism(key)(model=model).start(Curator(model, counts.shape[1], noise=SimulationNoise(seed)))
    values = np.array([publishing.step(snapshot).values for snapshot in Stream(counts)])
    peak = publishing.curator.ledger.audit().peak
    return Run(relative_error(values, counts), peak.nano / epsilon.nano)


def _plain(faults: Faults, epsilon: float, counts: Ints, seed: int) -> Run:
    publishing = PlainSPAS(epsilon, WINDOW, counts.shape[1], seed=seed, faults=faults, remember=True)
    values = np.array([publishing.step(row) for row in counts.tolist()])
    return Run(relative_error(values, counts), publishing.fullest_window())


def relative_error(values: Ints | Floats, counts: Ints) -> float:
    """The mean of |published - true| / true over all bins and steps; counts of 0 divide by 1."""
    return float((np.abs(values - counts) / np.maximum(counts, 1)).mean())


def _summary(runs: list[Run]) -> Measured:
    errors = np.array([run.error for run in runs])
    spread = float(errors.std(ddof=1)) if len(runs) > 1 else 0.0
    return Measured(float(errors.mean()), spread, len(runs), float(np.mean([run.spent for run in runs])))
