"""``python -m penstock.bench.ranges``: how far range counts are off by histogram method and size, and how often noise
intervals hold.

Populations are made up; with ``--data FOLDER`` real ones are added. ``--figure FILE`` draws the errors.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from penstock.asking import count
from penstock.bench.populations import Population, from_files, made_up
from penstock.bench.trials import Options, bar, refused, ruled
from penstock.drawing import require_drawable
from penstock.errors import BadInput
from penstock.histograms import Adaptive, Histogram, Laplace, Quadtree
from penstock.mechanisms.uniform import Uniform
from penstock.models import EventLevel
from penstock.noise import SimulationNoise
from penstock.publisher import publish
from penstock.streams import Stream
from penstock.types import Floats, Ints, Release

METHODS: tuple[Histogram, ...] = (Laplace(), Quadtree(), Quadtree(split=4), Adaptive())
EPSILONS = ("0.1", "1")
PARTS = (0.0001, 0.001, 0.01, 0.1, 0.5)  # of the domain
QUERIES = 100  # of each size
NEAR = 1.4  # a box may be so many times larger or smaller than it should be
BUDGETS = ("0.01", "0.03", "0.1", "0.3", "1")
BINS = 100_000
COVERED = 40  # boxes of each size whose intervals are looked at, and in how many releases
DRAWN = 100
COLOURS = ("#000000", "#0072B2", "#56B4E9", "#D55E00")

Box = tuple[slice, ...]
Errors = dict[tuple[str, str, Histogram], Floats]  # of a population, an epsilon and a method: one for each size


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure everything, show it, and draw it."""
    try:
        options = Options("penstock.bench.ranges", "Range counts.", "a folder of real populations to add", seeds=5)
        options.add_argument("--markdown", action="store_true", help="tables for a document")
        options.add_argument("--figure", default="", help="a file to draw the errors into")
        told = options.told(arguments)
        if told.figure:
            require_drawable(Path(told.figure))
        populations = made_up() + (from_files(Path(told.data)) if told.data else [])
    except BadInput as fault:
        return refused(fault)
    with bar(len(populations) * len(EPSILONS) * len(METHODS) * told.seeds) as advance:
        errors = measured(populations, told.seeds, advance)
    style = box.MARKDOWN if told.markdown else box.SIMPLE_HEAD
    console = Console(width=140)
    for population in populations:
        console.print(_table_of_errors(population, errors, style))
    console.print(_table_of_coverage(style), _table_of_range_coverage(style))
    if told.figure:
        draw(populations, errors, Path(told.figure))
        console.print(f"drawn: {told.figure}")
    return 0


def measured(populations: Sequence[Population], seeds: int, advance: Callable[[], None]) -> Errors:
    """The mean absolute error of the counts of random boxes of every size."""
    errors: Errors = {}
    for population in populations:
        boxes = [list(random_boxes(population.shape, part, QUERIES)) for part in PARTS]
        truth = _answers(population.counts, population.shape, boxes)
        for epsilon in EPSILONS:
            for method in METHODS:
                off = []
                for seed in range(seeds):
                    values = released(population, method, epsilon, seed).values
                    off.append(np.abs(_answers(values, population.shape, boxes) - truth).mean(axis=1))
                    advance()
                errors[population.name, epsilon, method] = np.mean(off, axis=0)
    return errors


def released(population: Population, method: Histogram, epsilon: str, seed: int) -> Release:
    """One release of a population, with all of epsilon."""
    model = EventLevel(epsilon=epsilon)
    mechanism = Uniform(model=model, histogram=method, shape=population.shape)
    return next(iter(publish(Stream(population.counts[np.newaxis]), mechanism, noise=SimulationNoise(seed))))


def random_boxes(shape: tuple[int, ...], part: float, number: int) -> Iterator[Box]:
    """Boxes of about this part of a domain, of any proportions, anywhere in it."""
    rng, lengths = np.random.default_rng(1), np.array(shape)
    wanted = max(part * math.prod(shape), 1.0)
    found = 0
    while found < number:
        sides = np.floor(np.exp(rng.random(len(shape)) * np.log(lengths + 1))).astype(np.int64)
        if wanted / NEAR <= sides.prod() <= wanted * NEAR:
            begin = rng.integers(0, lengths - sides + 1)
            yield tuple(slice(a, a + n) for a, n in zip(begin.tolist(), sides.tolist(), strict=True))
            found += 1


def _answers(values: Ints, shape: tuple[int, ...], boxes: list[list[Box]]) -> Floats:
    cells = values.reshape(shape)
    return np.array([[float(cells[each].sum()) for each in row] for row in boxes])


def _table_of_errors(population: Population, errors: Errors, style: box.Box) -> Table:
    cells, empty = len(population.counts), float((population.counts == 0).mean())
    about = f"{population.name}: {int(population.counts.sum()):,} records in {cells:,} cells, {empty:.0%} of them empty"
    names = ["epsilon", "method", *(f"{max(round(part * cells), 1):,} cells" for part in PARTS)]
    table = ruled(f"{about}. Mean error of counts, and over Laplace's", names, style, words=2)
    for epsilon in EPSILONS:
        plain = errors[population.name, epsilon, METHODS[0]]
        for method in METHODS:
            off = errors[population.name, epsilon, method]
            table.add_row(
                epsilon, str(method), *(f"{_shown(a)} ({a / b:.2f})" for a, b in zip(off, plain, strict=True))
            )
    return table


def _shown(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _table_of_coverage(style: box.Box) -> Table:
    """How many of very many fresh bins lie within their 95% noise intervals."""
    title = "Noise intervals of single fresh bins, nominal 95%; noise is whole, so they may hold a little more often"
    table = ruled(title, ["budget", "interval", "holds with chance", f"of {BINS:,} bins"], style, words=2)
    flat = Population("flat", (BINS,), np.full(BINS, 1000))
    for seed, budget in enumerate(BUDGETS):
        release = released(flat, Laplace(), budget, seed)
        answer = count(release, np.arange(BINS) == 0, histogram=Laplace())
        reach = (answer.high or 0) - answer.value
        held = float((np.abs(release.values - flat.counts) <= reach).mean())
        p = math.exp(-float(budget))
        table.add_row(budget, f"± {reach}", f"{1 - 2 * p ** (reach + 1) / (1 + p):.1%}", f"{held:.1%}")
    return table


def _table_of_range_coverage(style: box.Box) -> Table:
    """How many boxes of the census lie within their 95% noise intervals."""
    population = made_up()[0]
    title = (
        f"Noise intervals of boxes in the census, nominal 95%: how many hold, of {COVERED} in each of {DRAWN} releases"
    )
    table = ruled(title, ["method", "epsilon", *(f"{part:.2%} of it" for part in PARTS)], style, words=2)
    boxes = [list(random_boxes(population.shape, part, COVERED)) for part in PARTS]
    truth = _answers(population.counts, population.shape, boxes)
    for method in METHODS[:3]:
        releases = [released(population, method, EPSILONS[0], seed) for seed in range(DRAWN)]
        reach = np.array([[_reach(releases[0], population.shape, each, method) for each in row] for row in boxes])
        off = [np.abs(_answers(release.values, population.shape, boxes) - truth) for release in releases]
        held = np.mean(np.array(off) <= reach, axis=(0, 2))
        table.add_row(str(method), EPSILONS[0], *(f"{each:.1%}" for each in held))
    return table


def _reach(release: Release, shape: tuple[int, ...], where: Box, method: Histogram) -> int:
    """How far the noise interval of a box reaches, which is the same for every release with this budget."""
    mask = np.zeros(shape, np.bool_)
    mask[where] = True
    answer = count(release, mask.reshape(-1), histogram=method, shape=shape)
    return 0 if answer.high is None else answer.high - answer.value


def draw(populations: Sequence[Population], errors: Errors, to: Path) -> None:
    """Errors by size of the range, a panel for each population and epsilon."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.6 * len(populations)), layout="constrained")
    panels = figure.subplots(len(populations), len(EPSILONS), squeeze=False)
    for row, population in zip(panels, populations, strict=True):
        sizes = [max(part * len(population.counts), 1.0) for part in PARTS]
        for panel, epsilon in zip(row, EPSILONS, strict=True):
            for method, colour in zip(METHODS, COLOURS, strict=True):
                off = errors[population.name, epsilon, method]
                panel.loglog(sizes, off, "o-", color=colour, label=str(method), linewidth=1.8, markersize=4)
            panel.set(title=f"{population.name}, epsilon = {epsilon}", xlabel="cells of the range")
            panel.set_ylabel("mean absolute error")
            panel.grid(True, which="major", color="#dddddd", linewidth=0.6)
            panel.spines[["top", "right"]].set_visible(False)
    panels[0][0].legend(frameon=False)
    figure.savefig(to, dpi=100)


if __name__ == "__main__":
    sys.exit(main())
