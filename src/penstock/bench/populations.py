"""Populations to ask range queries about: made up, or from files of real ones."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import NamedTuple

import numpy as np

from penstock.domain import Domain
from penstock.errors import BadInput
from penstock.streams.people import made_up as made_up_people
from penstock.types import Floats, Ints

CENSUS = Domain(
    {
        "age": range(96),
        "sex": range(2),
        "education": range(12),
        "native": range(2),
        "married": range(2),
        "income": range(3),
    }
)
PEOPLE = 30_000
SIDE = 256  # cells of a city along each side
TAXI_SIDE = 128
SOUTH, NORTH, WEST, EAST = 39.75, 40.10, 116.15, 116.60  # of the taxis' city


class Population(NamedTuple):
    """How many records lie in each cell of a domain."""

    name: str
    shape: tuple[int, ...]
    counts: Ints


def made_up(seed: int = 1) -> list[Population]:
    """A census of six attributes that depend on each other, and a city with a few crowded quarters."""
    rng = np.random.default_rng(seed)
    return [
        Population("census, made up", CENSUS.shape, _counted(made_up_people(PEOPLE, rng).T, CENSUS.shape)),
        Population("city, made up", (SIDE, SIDE), _counted(_places(rng), (SIDE, SIDE))),
    ]


def from_files(folder: Path) -> list[Population]:
    """The pool of census records, and where taxis were, from a folder that has both."""
    people = _numbers(folder / "census_pool.csv.gz", after=0, columns=6).astype(np.int64)
    fixes = _numbers(folder / "tdrive_events.csv.gz", after=2, columns=2)
    low, high = np.array([SOUTH, WEST]), np.array([NORTH, EAST])
    cells = np.floor((fixes - low) / (high - low) * TAXI_SIDE).astype(np.int64)
    inside = ((cells >= 0) & (cells < TAXI_SIDE)).all(axis=1)
    return [
        Population("census pool", CENSUS.shape, _counted(people.T, CENSUS.shape)),
        Population("taxis", (TAXI_SIDE, TAXI_SIDE), _counted(cells[inside].T, (TAXI_SIDE, TAXI_SIDE))),
    ]


def _numbers(path: Path, after: int, columns: int) -> Floats:
    """The columns of a packed CSV file after the first few; all of them numbers."""
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            numbers = np.array([row[after:] for row in csv.reader(file)][1:], dtype=np.float64)
    except (OSError, EOFError, ValueError):  # not there, no gzip, torn, or something else
        numbers = np.empty((0, 0))
    if not len(numbers) or numbers.shape[1:] != (columns,) or not np.isfinite(numbers).all():
        raise BadInput(f"{path} cannot be read as {columns} columns of numbers; give a folder that has it whole.")
    return numbers


def _places(rng: np.random.Generator) -> Ints:
    """Six quarters of different size and density, and some people anywhere."""
    centres, widths = rng.uniform(0.1, 0.9, (6, 2)), rng.uniform(0.01, 0.08, 6)
    quarter = rng.choice(6, PEOPLE * 3, p=np.array([10, 6, 4, 2, 1, 1]) / 24)
    places = rng.normal(centres[quarter], widths[quarter, np.newaxis])
    anywhere = rng.random(len(places)) < 0.05
    places[anywhere] = rng.random((int(anywhere.sum()), 2))
    return np.clip(places * SIDE, 0, SIDE - 1).astype(np.int64).T


def _counted(places: Ints, shape: tuple[int, ...]) -> Ints:
    """How many lie in each cell; ``places`` has a row for each dimension."""
    cells = np.ravel_multi_index(tuple(places), shape, mode="clip")
    return np.bincount(cells, minlength=int(np.prod(shape))).astype(np.int64)
