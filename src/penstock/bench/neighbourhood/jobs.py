"""What is measured, one job at a time: range counts of published histograms, of published points, and medians."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from penstock import static
from penstock.bench.neighbourhood.clouds import Asked, Scene, cloud
from penstock.bench.processes import spread
from penstock.epsilon import Epsilon
from penstock.grid import Axis, Grid
from penstock.noise import SimulationNoise
from penstock.noise.cauchy import calibrated
from penstock.points import SmoothMedian
from penstock.types import Floats, Ints

WHOLE = "domain"
FINE = Fraction(1, 10**8)  # of the grid of points, where only the radius is to matter
ANYWHERE = Asked((0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4))
MIDDLING = Asked((0.1,))
MEDIAN_STEP = Fraction(1, 10**6)
MEDIAN, SINGLE = static.Median(), static.SortedPoints()
MEDIAN_RADII = (WHOLE, "0.02", "0.005")
REPETITIONS = 300  # sets of points of each size whose median is published


class Job(Protocol):
    """Something to measure, alone. One that is equal is the same."""

    def __hash__(self) -> int: ...
    def measured(self, seed: int, runs: int) -> Floats:
        """Its figures, a row for each run."""


Results = dict[Job, Floats]


class FromBins(NamedTuple):
    """Range counts from a published histogram. Where a range cuts a bin, the bin's points are taken to lie evenly."""

    kind: str
    publication: static.Publication
    step: Fraction
    radius: str = WHOLE
    epsilon: str = "1"
    asked: Asked = ANYWHERE
    times: int = 1  # as many runs as others have, where errors vary more

    def measured(self, seed: int, runs: int) -> Floats:
        """The mean squared error of ranges of each width."""
        scene, grid = Scene.of(self.kind, self.asked, seed), grid_of(self.step)
        edges = np.minimum(grid.line.edges(), 1)  # no point lies beyond 1, and everybody knows
        rows = []
        law, seeds = _law(self.radius, self.epsilon), ((seed, run) for run in range(self.times * runs))
        for values in published(_sealed(scene.points, grid), self.publication, law, seeds):
            before = np.concatenate([[0], np.cumsum(values)])
            counted = np.interp(scene.ends, edges, before) - np.interp(scene.begins, edges, before)
            rows.append(scene.squared_error(counted))
        return np.array(rows)


class FromPoints(NamedTuple):
    """Range counts from published points in order, and how far each of these is off."""

    kind: str
    group: int
    radius: str
    step: Fraction = FINE

    def measured(self, seed: int, runs: int) -> Floats:
        """The mean squared error of ranges of each width, and at last of the points."""
        scene, grid = Scene.of(self.kind, MIDDLING, seed), grid_of(self.step)
        rows = []
        law, seeds = _law(self.radius, "1"), ((seed, run) for run in range(runs))
        for values in published(_sealed(scene.points, grid), static.SortedPoints(group=self.group), law, seeds):
            places = grid.line.centre(values)
            counted = np.searchsorted(places, scene.ends) - np.searchsorted(places, scene.begins)
            rows.append([*scene.squared_error(counted), ((places - scene.points) ** 2).mean()])
        return np.array(rows)


class Medians(NamedTuple):
    """The median of so many exponential points, other ones in every run, for each of the radii."""

    size: int
    epsilon: str

    def measured(self, seed: int, runs: int) -> Floats:
        """Smooth sensitivity, error of the published median, and that of the middle one of published points."""
        return np.array([self._once(seed, run) for run in range(REPETITIONS)])

    def _once(self, seed: int, run: int) -> list[float]:
        grid, drawn, e = grid_of(MEDIAN_STEP), (seed, self.size, run), Epsilon(self.epsilon)
        points = np.sort(cloud("exponential", self.size, np.random.default_rng(drawn)))
        sealed, cells, middle = _sealed(points, grid), grid.cell_of(points), (self.size - 1) // 2
        figures = []
        for radius in MEDIAN_RADII:
            law = _law(radius, self.epsilon).on(grid)
            smooth = SmoothMedian(cells, grid.cells, law.reach, e).width * float(calibrated(e).shift)
            (one,), (row,) = (published(sealed, each, law, [drawn]) for each in (MEDIAN, SINGLE))
            ways = grid.line.centre([one[0], row[middle]]) - points[middle]
            figures += [smooth * float(MEDIAN_STEP), *np.abs(ways)]
        return figures


def published(
    points: static.Points,
    publication: static.Publication,
    law: static.SpatialNeighbourhood,
    seeds: Iterable[tuple[int, ...]],
) -> Iterator[Ints]:
    """What is published of the points, once for each seed."""
    for seed in seeds:
        (drawn,) = np.random.SeedSequence(seed).generate_state(1, np.uint64).tolist()
        yield static.publish(points, publication, law, noise=SimulationNoise(drawn)).values


def _sealed(points: Floats, grid: Grid) -> static.Points:
    return static.Points(points, grid, size_is_public=True)


def grid_of(step: Fraction) -> Grid:
    """Cells of this width from 0 to 1, or to a little more if they do not divide it evenly."""
    return Grid((Axis(Fraction(0), math.ceil(1 / step) * step, step),))


def _law(radius: str, epsilon: str) -> static.SpatialNeighbourhood:
    return static.SpatialNeighbourhood(epsilon=epsilon, radius=radius)


def measured(jobs: Sequence[Job], seed: int, runs: int, workers: int, advance: Callable[[], None]) -> Results:
    """All jobs, each as often as wanted; the same for a seed, however many processes share them."""
    results: Results = {}
    for job, figures in zip(jobs, spread(partial(_done, seed=seed, runs=runs), jobs, workers), strict=True):
        results[job] = figures
        advance()
    return results


def _done(job: Job, seed: int, runs: int) -> Floats:
    return job.measured(seed, runs)
