"""The streams of the SPAS paper, repeated end to end as its authors repeat them, from files that hold one copy each."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from penstock.errors import BadInput
from penstock.streams import Stream
from penstock.types import Ints

FIRST_WEEK = 40  # a flu season goes from week 40 to week 39


@dataclass(frozen=True)
class Recipe:
    """How a stream is made of a file: ``first`` rows of it, ``copies`` times, without the ``dropped`` first rows.

    ``seasons`` puts the latest flu season first; ``steps`` is where the stream ends if that is inside a copy.
    """

    file: str
    copies: int = 1
    first: int | None = None
    dropped: int = 0
    steps: int | None = None
    seasons: bool = False

    def made(self, folder: Path) -> Ints:
        """The counts, one row a step."""
        labels, counts = rows(folder / self.file)
        if self.seasons:
            counts = counts[_latest_season_first(labels, self.file)]
        repeated: Ints = np.tile(counts[: self.first], (self.copies, 1))
        return Stream(repeated[self.dropped :][: self.steps], name=self.file).counts


FLU_OUTPATIENT, FLU_DEATH, UNEMPLOYMENT = "flu outpatient", "flu death", "unemployment"
SYNTHETIC_2, SYNTHETIC_3 = "synthetic 2", "synthetic 3"
STATE_FLU, T_DRIVE, RETAIL = "state flu", "T-Drive", "retail"

# The authors' readers lose the first row of some of their files.
RECIPES: Mapping[str, Recipe] = {
    FLU_OUTPATIENT: Recipe("flu_outpatient.csv", copies=4),
    FLU_DEATH: Recipe("flu_death.csv", copies=10, dropped=1, seasons=True),
    UNEMPLOYMENT: Recipe("unemployment.csv", copies=8, first=609, dropped=1),
    SYNTHETIC_2: Recipe("synthetic2.csv"),
    STATE_FLU: Recipe("state_flu.csv", copies=6, dropped=1),
    T_DRIVE: Recipe("tdrive64.csv", copies=2, dropped=1),
    SYNTHETIC_3: Recipe("synthetic3.csv"),
    RETAIL: Recipe("retail_100.csv", copies=26, steps=3627),
}


def repeated(folder: Path) -> dict[str, Ints]:
    """All streams, from the files in a folder."""
    return {name: recipe.made(folder) for name, recipe in RECIPES.items()}


def rows(path: Path) -> tuple[list[str], Ints]:
    """The times and the counts of a CSV file whose first line names its columns."""
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.reader(lines))[1:]
    except OSError as fault:
        raise BadInput(f"{path} cannot be read: {fault.strerror}; --data names the folder of the streams.") from None
    try:
        return [row[0] for row in rows], np.array([[int(cell) for cell in row[1:]] for row in rows], np.int64)
    except (ValueError, IndexError):
        raise BadInput(f"{path} must hold a time and whole numbers in every row, after a line of names.") from None


def _latest_season_first(labels: list[str], file: str) -> list[int]:
    """The order of rows with times like 2021-W40: by season, the latest one first, and by time within a season."""
    try:
        weeks = [tuple(map(int, label.split("-W"))) for label in labels]
        seasons = [year - (week < FIRST_WEEK) for year, week in weeks]
    except ValueError:
        raise BadInput(f"{file} must name its weeks like 2021-W40, because it is put in order of seasons.") from None
    return sorted(range(len(labels)), key=lambda row: (-seasons[row], row))
